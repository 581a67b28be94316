// There are two readings of WHEEL. Installers refuse a wheel for Wheel-Version alone, and CheckVersion
// follows them exactly. ptpkg also needs Root-Is-Purelib and the tags:
// - ParseWheelFile is strict, for checks.
// - ReadWheelFile is lenient, for commands that mend a wheel. A broken Tag is only recorded, because
//   installers take the tags from the file name.
//
// Tags are bounded by the number of plain tags that all of them stand for, since each Tag can be a product of
// sets.

#include "wheel/wheel_file.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "support/limits.h"
#include "support/text/text.h"
#include "wheel/metadata/header_block.h"

namespace ptpkg::wheel {
namespace {

/// uv compares names of fields byte by byte.
constexpr std::array<std::string_view, 5> kFields = {"Wheel-Version", "Generator", "Root-Is-Purelib", "Tag",
                                                     "Build"};

Error InvalidAt(const std::string& name, int line, std::string message) {
  SourceSpan span;
  span.file = name;
  span.line = line;
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(std::move(span));
}

/// "1." and numbers joined by dots.
bool IsVersionOne(std::string_view version) {
  if (!version.starts_with("1.")) return false;
  for (const std::string& number : Split(version, '.')) {
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) return false;
  }
  return true;
}

/// The spelling of names of fields: as uv takes them, or any, for what mends a wheel.
enum class Spelling : std::uint8_t { kExact, kAny };

Result<void> CheckVersion(const HeaderBlock& block, const std::string& name, Spelling spelling) {
  for (std::size_t i = 0; i < block.fields.size(); ++i) {
    const auto& [field, value] = block.fields[i];
    if (ToLower(field) != "wheel-version") continue;
    // Readers of Python count the fold of a value in.
    const std::string_view version =
        value.find('\n') == std::string::npos ? Trim(value) : std::string_view(value);
    const bool spelled = field == "Wheel-Version" || spelling == Spelling::kAny;
    if (spelled && IsVersionOne(version)) return Ok();
    if (version.empty()) break;
    if (!spelled)
      return InvalidAt(name, block.lines[i],
                       fmt::format("uv takes the field '{}' in the spelling 'Wheel-Version' alone", field));
    return Error(ErrorCode::kUnsupported, fmt::format("'{}': Wheel-Version '{}' is not 1.x", name, version));
  }
  return InvalidAt(name, 1, "the field 'Wheel-Version' is missing");
}

/// Reads one Tag; `plain_tags` counts what all of them stand for. Errors: kInvalidInput.
Result<void> AddTag(std::string_view value, std::size_t& plain_tags, WheelFile& file) {
  PTPKG_TRY(Tag tag, ParseTag(value));
  plain_tags += CountTags(tag);
  if (plain_tags > limits::kTags) {
    return Error(ErrorCode::kInvalidInput, fmt::format("its tags expand to more than {}", limits::kTags));
  }
  file.tags.push_back(std::move(tag));
  return Ok();
}

Result<WheelFile> Read(std::string_view text, const std::string& name, Spelling spelling) {
  PTPKG_TRY(const HeaderBlock block, ParseHeaderBlock(text, name));
  PTPKG_CHECK(CheckVersion(block, name, spelling));
  WheelFile file;
  std::vector<std::string> purelib;
  std::size_t plain_tags = 0;
  for (std::size_t i = 0; i < block.fields.size(); ++i) {
    const auto& [field, raw] = block.fields[i];
    const std::string value(Trim(raw));
    const auto* const known =
        std::find_if(kFields.begin(), kFields.end(),
                     [&, &field = field](std::string_view one) { return ToLower(one) == ToLower(field); });
    if (known == kFields.end()) continue;
    if (*known != field && spelling == Spelling::kExact)
      return InvalidAt(name, block.lines[i],
                       fmt::format("uv takes the field '{}' in the spelling '{}' alone", field, *known));
    if (*known == "Generator") {
      file.generator = value;
    } else if (*known == "Build") {
      file.build = value;
    } else if (*known == "Root-Is-Purelib") {
      purelib.push_back(value);
    } else if (*known == "Tag") {
      const Result<void> added = AddTag(value, plain_tags, file);
      if (!added) file.tag_faults.push_back(InvalidAt(name, block.lines[i], added.error().message()));
      if (plain_tags > limits::kTags) break;
    }
  }
  // Repaired wheels with two of them exist (pypa/auditwheel#642).
  if (purelib.size() != 1 || (ToLower(purelib[0]) != "true" && ToLower(purelib[0]) != "false")) {
    return InvalidAt(name, 1, "the field 'Root-Is-Purelib' must occur once, as true or false");
  }
  file.root_is_purelib = ToLower(purelib[0]) == "true";
  if (file.tags.empty() && file.tag_faults.empty())
    file.tag_faults.push_back(InvalidAt(name, 1, "the field 'Tag' is missing"));
  return file;
}

}  // namespace

Result<WheelFile> ReadWheelFile(std::string_view text, const std::string& name) {
  return Read(text, name, Spelling::kAny);
}

Result<WheelFile> ParseWheelFile(std::string_view text, const std::string& name) {
  PTPKG_TRY(WheelFile file, Read(text, name, Spelling::kExact));
  if (!file.tag_faults.empty()) return std::move(file.tag_faults.front());
  return file;
}

Result<void> CheckWheelVersion(std::string_view text, const std::string& name) {
  PTPKG_TRY(const HeaderBlock block, ParseHeaderBlock(text, name));
  return CheckVersion(block, name, Spelling::kExact);
}

std::string FormatWheelFile(const WheelFile& file) {
  std::string out = fmt::format("Wheel-Version: 1.0\nGenerator: {}\nRoot-Is-Purelib: {}\n", file.generator,
                                file.root_is_purelib ? "true" : "false");
  for (const Tag& tag : file.tags) out += fmt::format("Tag: {}\n", tag.str());
  if (!file.build.empty()) out += fmt::format("Build: {}\n", file.build);
  return out;
}

}  // namespace ptpkg::wheel
