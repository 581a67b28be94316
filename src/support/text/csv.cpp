#include "support/text/csv.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg {

std::string FormatCsvRow(const CsvRow& row) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) line += ',';
    if (row[i].find_first_of(",\"\r\n") == std::string::npos) {
      line += row[i];
    } else {
      line += '"' + ReplaceAll(row[i], "\"", "\"\"") + '"';
    }
  }
  return line + "\n";
}

namespace {

// RECORD has three; a text of commas would take 32 times its size.
constexpr std::size_t kMaxFields = 64;

/// One pass over the text, a field at a time.
class CsvParser {
 public:
  CsvParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<void> Run(const std::function<Result<void>(const CsvRow&)>& on_row) {
    while (at_ < text_.size()) {
      const bool quoted = AtQuote();
      PTPKG_TRY(const CsvRow row, ParseRow());
      // Empty lines are skipped, but "" is a row with one empty field.
      if (row.size() > 1 || !row[0].empty() || quoted) PTPKG_CHECK(on_row(row));
    }
    return Ok();
  }

 private:
  Result<CsvRow> ParseRow() {
    CsvRow row;
    for (;;) {
      PTPKG_TRY(std::string field, AtQuote() ? ParseQuoted() : ParsePlain());
      row.push_back(std::move(field));
      if (row.size() > kMaxFields)
        return Bad(fmt::format("a row has more than {} fields", kMaxFields), line_);
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        continue;
      }
      PTPKG_CHECK(TakeLineBreak());
      return row;
    }
  }

  [[nodiscard]] bool AtQuote() const { return at_ < text_.size() && text_[at_] == '"'; }

  Result<std::string> ParsePlain() {
    const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string field(text_.substr(at_, end - at_));
    at_ = end;
    return field;
  }

  Result<std::string> ParseQuoted() {
    std::string field;
    // The mistake is where the quote opens, not at the end of the text.
    const int opened_on = line_;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        // Two quotes stand for one, and the second of them is added below.
        if (!AtQuote()) return field;
      } else if (text_[at_] == '\n') {
        ++line_;
      }
      field += text_[at_];
    }
    return Bad("a quoted field is never closed", opened_on);
  }

  Result<void> TakeLineBreak() {
    if (at_ == text_.size()) return Ok();
    // A '\r' alone also ends a row, as for Python's csv.
    if (text_[at_] == '\r') ++at_;
    if (at_ < text_.size() && text_[at_] == '\n') {
      ++at_;
      ++line_;
      return Ok();
    }
    if (at_ == text_.size() || text_[at_ - 1] == '\r') return Ok();
    return Bad("text follows a closing quote", line_);
  }

  [[nodiscard]] Error Bad(std::string_view what, int line) const {
    SourceSpan span;
    span.file = name_;
    span.line = line;
    return Error(ErrorCode::kCorrupt, fmt::format("{} is not valid CSV: {}", name_, what)).At(span);
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

Result<void> ReadCsv(std::string_view text, const std::string& name,
                     const std::function<Result<void>(const CsvRow&)>& on_row) {
  return CsvParser(text, name).Run(on_row);
}

Result<std::vector<CsvRow>> ParseCsv(std::string_view text, const std::string& name) {
  std::vector<CsvRow> rows;
  PTPKG_CHECK(ReadCsv(text, name, [&](const CsvRow& row) {
    rows.push_back(row);
    return Ok();
  }));
  return rows;
}

}  // namespace ptpkg
