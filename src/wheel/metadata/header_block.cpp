// Reads and writes "Name: value" blocks without loss. ParseHeaderBlock keeps the whole text in `written`.
// FormatHeaderBlock reads that text again, and copies each field that still has its name and value, byte for
// byte. A change therefore rewrites the lines of changed fields only. Foreign METADATA keeps its folding, its
// white space and its line breaks. Invariant: a block that was not changed gives the bytes from which it was
// read. Equal fields are matched in written order, which is why Unused has a queue for each pair of name and
// value.

#include "wheel/metadata/header_block.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "support/text/text.h"

namespace ptpkg::wheel {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

/// Printable ASCII but ':' (RFC 822 field-name).
bool IsFieldName(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (c <= ' ' || c > '~' || c == ':') return false;
  }
  return true;
}

Error LineError(std::string message, const std::string& name, int line_number, std::string_view line) {
  SourceSpan span;
  span.file = name;
  span.line = line_number;
  span.length = std::max(1, static_cast<int>(line.size()));
  span.excerpt = std::string(line);
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(std::move(span));
}

std::string_view TrimLeadingBlanks(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  return text;
}

/// One field as it was written, its last line break included.
struct WrittenField {
  std::string_view name;
  std::string value;
  std::string_view text;
  int line = 1;
};

/// The next line of `rest` without its break (LF or CRLF); `rest` moves on.
std::string_view TakeLine(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

/// Hands each field, once it is whole, to `take`; returns what begins with the first empty line.
template <typename Take>
Result<std::string_view> ReadFields(std::string_view text, const std::string& name, const Take& take) {
  std::optional<WrittenField> field;
  const auto finish = [&](const char* end) {
    if (!field) return;
    field->text = std::string_view(field->text.data(), static_cast<std::size_t>(end - field->text.data()));
    take(*std::exchange(field, std::nullopt));
  };
  std::string_view rest = text;
  for (int line_number = 1; !rest.empty(); ++line_number) {
    const std::string_view here = rest;
    const std::string_view line = TakeLine(rest);
    if (line.empty()) {
      finish(here.data());
      return here;
    }
    // Python's reader takes a lone carriage return for a line break, so it could smuggle a field in.
    if (line.find_first_of(std::string_view("\0\r", 2)) != std::string_view::npos) {
      return LineError("a header has a NUL byte or a lone carriage return", name, line_number, "");
    }
    if (IsBlank(line.front())) {
      if (!field) {
        return LineError("continuation line before the first field", name, line_number, line);
      }
      field->value.append("\n").append(line);
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !IsFieldName(line.substr(0, colon))) {
      return LineError("expected 'Field: value'", name, line_number, line);
    }
    finish(here.data());
    field = WrittenField{.name = line.substr(0, colon),
                         .value = std::string(TrimLeadingBlanks(line.substr(colon + 1))),
                         .text = here,
                         .line = line_number};
  }
  finish(text.data() + text.size());
  return std::string_view();
}

std::string_view BodyOf(std::string_view tail) {
  TakeLine(tail);
  return tail;
}

void AppendField(std::string_view name, std::string_view value, std::string_view line_break,
                 std::string& out) {
  out.append(name).append(": ");
  // Python's reader ends a line at each of the three breaks, so all of them are folded in the same way.
  const std::string lines = ReplaceAll(ReplaceAll(value, "\r\n", "\n"), "\r", "\n");
  std::string_view rest = lines;
  out.append(TakeLine(rest));
  while (!rest.empty()) {
    const std::string_view line = TakeLine(rest);
    out.append(line_break);
    // An empty line would end the headers, an unindented one would begin a field.
    if (line.empty() || !IsBlank(line.front())) out.append("        ");
    out.append(line);
  }
  out.append(line_break);
}

/// The last line of a file may have no break, or half of one.
void EndLine(std::string_view line_break, std::string& out) {
  if (out.empty() || out.back() == '\n') return;
  out.append(out.back() == '\r' ? "\n" : line_break);
}

/// Fields of a written text that were not used yet, by name and value, each in written order.
using Unused = std::map<std::pair<std::string_view, std::string>, std::deque<std::string_view>>;

}  // namespace

Result<HeaderBlock> ParseHeaderBlock(std::string_view text, const std::string& name) {
  HeaderBlock block;
  PTPKG_TRY(const std::string_view tail, ReadFields(text, name, [&](WrittenField field) {
              block.fields.emplace_back(field.name, std::move(field.value));
              block.lines.push_back(field.line);
            }));
  block.body = std::string(BodyOf(tail));
  block.written = std::string(text);
  return block;
}

std::string FormatHeaderBlock(const HeaderBlock& block) {
  Unused unused;
  const Result<std::string_view> read = ReadFields(block.written, "", [&](WrittenField field) {
    unused[{field.name, std::move(field.value)}].push_back(field.text);
  });
  const std::string_view tail = read ? *read : std::string_view();
  const std::size_t first_break = block.written.find('\n');
  const bool crlf =
      first_break != std::string::npos && first_break > 0 && block.written[first_break - 1] == '\r';
  const std::string_view line_break = crlf ? "\r\n" : "\n";
  std::string out;
  for (const auto& [name, value] : block.fields) {
    EndLine(line_break, out);
    const auto written = unused.find({name, value});
    if (written == unused.end() || written->second.empty()) {
      AppendField(name, value, line_break, out);
      continue;
    }
    out.append(written->second.front());
    written->second.pop_front();
  }
  // `tail` begins with the empty line before the body. The copy keeps the form of that line's break.
  if (block.body == BodyOf(tail)) {
    if (!tail.empty()) EndLine(line_break, out);
    out.append(tail);
  } else if (!block.body.empty()) {
    EndLine(line_break, out);
    out.append(line_break).append(block.body);
  }
  return out;
}

}  // namespace ptpkg::wheel
