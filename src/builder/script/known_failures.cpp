// Hints for failures that other people had before. The rows are data, with a source and an example each. A
// row fits a line that contains all of its texts in their order, which is enough for messages of compilers
// and easy to review.

#include "builder/script/known_failures.h"

#include <algorithm>
#include <fmt/core.h>

#include "builder/known_failures_yaml.h"  // generated from data/known_failures.yaml
#include "support/text/yaml.h"

namespace ptpkg::builder {

namespace {

Error BadRow(const SourceSpan& span, std::string message) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span);
}

Result<void> ReadField(const YamlEntry& field, KnownFailure& row) {
  using Kind = YamlNode::Kind;
  if (field.key == "line") {
    if (field.value.kind != Kind::kSequence)
      return BadRow(field.value.span, "'line' must be a list of texts");
    for (const YamlNode& item : field.value.items) {
      if (item.kind != Kind::kScalar || item.scalar.empty())
        return BadRow(item.span, "an item of 'line' must be text");
      row.texts.push_back(item.scalar);
    }
    return Ok();
  }
  std::string* text = nullptr;
  if (field.key == "hint") text = &row.hint;
  if (field.key == "source") text = &row.source;
  if (field.key == "example") text = &row.example;
  if (text == nullptr)
    return BadRow(field.key_span,
                  fmt::format("unknown key '{}': the keys are line, hint, source, example", field.key));
  if (field.value.kind != Kind::kScalar)
    return BadRow(field.value.span, fmt::format("'{}' must be text", field.key));
  *text = field.value.scalar;
  return Ok();
}

bool FitsRow(const KnownFailure& row, std::string_view line) {
  return std::all_of(row.texts.begin(), row.texts.end(), [&line](const std::string& text) {
    const std::size_t at = line.find(text);
    if (at == std::string_view::npos) return false;
    line.remove_prefix(at + text.size());
    return true;
  });
}

}  // namespace

Result<KnownFailures> KnownFailures::Parse(std::string_view text, const std::string& name) {
  KnownFailures table;
  PTPKG_TRY(const YamlNode root, ParseYaml(text, name));
  const YamlNode* const failures = root.kind == YamlNode::Kind::kMapping ? root.Find("failures") : nullptr;
  if (failures == nullptr || failures->kind != YamlNode::Kind::kMapping)
    return BadRow(root.span, "the table of known failures has no 'failures'");
  for (const YamlEntry& entry : failures->entries) {
    KnownFailure row{.id = entry.key};
    for (const YamlEntry& field : entry.value.entries) PTPKG_CHECK(ReadField(field, row));
    if (row.texts.empty() || row.hint.empty() || row.source.empty() || row.example.empty())
      return BadRow(entry.key_span, fmt::format("'{}' has no line, hint, source or example", entry.key));
    table.rows_.push_back(std::move(row));
  }
  return table;
}

Result<KnownFailures> KnownFailures::BuiltIn() { return Parse(kKnownFailuresYaml, "known_failures.yaml"); }

const KnownFailure* KnownFailures::Match(std::string_view line) const {
  const auto row =
      std::find_if(rows_.begin(), rows_.end(), [&](const KnownFailure& one) { return FitsRow(one, line); });
  return row == rows_.end() ? nullptr : &*row;
}

}  // namespace ptpkg::builder
