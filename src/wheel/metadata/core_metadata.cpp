#include "wheel/metadata/core_metadata.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/text/text.h"
#include "wheel/metadata/header_block.h"

namespace ptpkg::wheel {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Nothing is copied: a hostile METADATA has millions of fields, each compared for each question.
bool SameField(std::string_view left, std::string_view right) {
  return left.size() == right.size() && std::equal(left.begin(), left.end(), right.begin(),
                                                   [](char a, char b) { return Lower(a) == Lower(b); });
}

}  // namespace

std::string CoreMetadata::Get(std::string_view field) const {
  for (const auto& [key, value] : fields) {
    if (SameField(key, field)) return value;
  }
  return "";
}

std::vector<std::string> CoreMetadata::GetAll(std::string_view field) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : fields) {
    if (SameField(key, field)) values.push_back(value);
  }
  return values;
}

void CoreMetadata::Set(std::string_view field, std::string value) {
  const auto first = std::find_if(fields.begin(), fields.end(),
                                  [&](const auto& entry) { return SameField(entry.first, field); });
  if (first == fields.end()) {
    Add(field, std::move(value));
    return;
  }
  first->second = std::move(value);
  // A second value would count for readers that take the last one.
  fields.erase(std::remove_if(first + 1, fields.end(),
                              [&](const auto& entry) { return SameField(entry.first, field); }),
               fields.end());
}

void CoreMetadata::Add(std::string_view field, std::string value) {
  fields.emplace_back(std::string(field), std::move(value));
}

Result<CoreMetadata> ParseCoreMetadata(std::string_view text, const std::string& name) {
  PTPKG_TRY(HeaderBlock block, ParseHeaderBlock(text, name));
  CoreMetadata metadata{std::move(block.fields), std::move(block.body), std::move(block.written)};
  // The three fields that the core metadata specification requires. A second one would let readers disagree
  // about the identity of the wheel.
  for (const std::string_view field : {"Metadata-Version", "Name", "Version"}) {
    const std::vector<std::string> values = metadata.GetAll(field);
    if (values.size() == 1 && !Trim(values.front()).empty()) continue;
    SourceSpan span;
    span.file = name;
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the field '{}' must occur once with a value, found {} times", field,
                             values.size()))
        .At(std::move(span));
  }
  return metadata;
}

std::string FormatCoreMetadata(const CoreMetadata& metadata) {
  return FormatHeaderBlock(
      {.fields = metadata.fields, .body = metadata.description, .written = metadata.written});
}

/// verify/ reports requirements that don't parse, so they don't end anything here.
std::vector<std::string> RequiredProjects(const CoreMetadata& metadata) {
  std::vector<std::string> names;
  for (const std::string& text : metadata.GetAll("Requires-Dist")) {
    const auto requirement = ParseRequirement(text);
    if (requirement && !requirement->IsOfAnExtra()) names.push_back(NormalizeName(requirement->name));
  }
  return names;
}

std::string NormalizeName(std::string_view name) {
  std::string out;
  for (const char c : ToLower(name)) {
    const bool separator = c == '-' || c == '_' || c == '.';
    if (!separator) {
      out += c;
    } else if (out.empty() || out.back() != '-') {
      out += '-';
    }
  }
  return out;
}

}  // namespace ptpkg::wheel
