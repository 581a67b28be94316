#include "wheel/wheel_file.h"

#include <fmt/core.h>

#include "support/limits.h"
#include "support/text.h"
#include "wheel/header_block.h"

namespace ptpkg::wheel {
namespace {

Error Invalid(const std::string& name, std::string message) {
  SourceSpan span;
  span.file = name;
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(std::move(span));
}

/// The value of Wheel-Version, "" for none.
Result<void> CheckVersion(std::string_view version, const std::string& name) {
  if (version.empty()) return Invalid(name, "the field 'Wheel-Version' is missing");
  if (version.starts_with("1.")) return Ok();
  return Error(ErrorCode::kUnsupported, fmt::format("'{}': Wheel-Version '{}' is not 1.x", name, version));
}

}  // namespace

Result<WheelFile> ParseWheelFile(std::string_view text, const std::string& name) {
  PTPKG_TRY(const HeaderBlock block, ParseHeaderBlock(text, name));
  WheelFile file;
  std::string version;
  std::vector<std::string> purelib;
  std::size_t plain_tags = 0;
  for (const auto& [field, raw] : block.fields) {
    const std::string key = ToLower(field);
    const std::string value(Trim(raw));
    if (key == "wheel-version") {
      version = value;
    } else if (key == "generator") {
      file.generator = value;
    } else if (key == "build") {
      file.build = value;
    } else if (key == "root-is-purelib") {
      purelib.push_back(value);
    } else if (key == "tag") {
      Result<Tag> tag = ParseTag(value);
      if (!tag) return Invalid(name, tag.error().message());
      plain_tags += CountTags(*tag);
      if (plain_tags > limits::kTags) {
        return Invalid(name, fmt::format("its tags stand for more than {} plain ones", limits::kTags));
      }
      file.tags.push_back(*std::move(tag));
    }
  }
  PTPKG_CHECK(CheckVersion(version, name));
  if (purelib.size() != 1 || (ToLower(purelib[0]) != "true" && ToLower(purelib[0]) != "false")) {
    return Invalid(name, "the field 'Root-Is-Purelib' must occur once, as true or false");
  }
  file.root_is_purelib = ToLower(purelib[0]) == "true";
  if (file.tags.empty()) return Invalid(name, "the field 'Tag' is missing");
  return file;
}

Result<void> CheckWheelVersion(std::string_view text, const std::string& name) {
  constexpr std::string_view kField = "wheel-version:";
  for (const std::string& line : Split(text, '\n')) {
    if (Trim(line).empty()) break;  // the body follows
    if (!ToLower(line).starts_with(kField)) continue;
    return CheckVersion(Trim(std::string_view(line).substr(kField.size())), name);
  }
  return CheckVersion("", name);
}

std::string FormatWheelFile(const WheelFile& file) {
  std::string out = fmt::format("Wheel-Version: 1.0\nGenerator: {}\nRoot-Is-Purelib: {}\n", file.generator,
                                file.root_is_purelib ? "true" : "false");
  for (const Tag& tag : file.tags) out += fmt::format("Tag: {}\n", tag.str());
  if (!file.build.empty()) out += fmt::format("Build: {}\n", file.build);
  return out;
}

}  // namespace ptpkg::wheel
