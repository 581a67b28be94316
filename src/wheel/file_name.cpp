// The parts are separated by '-', which no part contains: names and versions have '_' instead. Five parts are
// the least. A sixth part is a build tag, or the label of a variant (PEP 825, a draft). The third part
// decides: a build tag begins with a digit, and no Python tag does.

#include "wheel/file_name.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/text/text.h"
#include "wheel/metadata/pep440_version.h"
#include "wheel/variant.h"
#include "wheel/wheel_characters.h"

namespace ptpkg::wheel {
namespace {

/// PyPA names: letters, digits, and "-_." inside; '-' cannot occur within a part of the file name.
/// Dots and capital letters pass. The normal form has neither, but installers read them, and verify/ reports
/// them.
bool IsFileNamePart(std::string_view name) {
  if (name.empty() || !IsAlphaNumeric(name.front()) || !IsAlphaNumeric(name.back())) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return IsAlphaNumeric(c) || c == '_' || c == '.'; });
}

bool IsBuild(std::string_view build) {
  if (build.empty() || build.front() < '0' || build.front() > '9') return false;
  return std::all_of(build.begin(), build.end(),
                     [](char c) { return IsAlphaNumeric(c) || c == '_' || c == '.'; });
}

/// True if a part can only be a python tag or a set of python tags: "cp311", "py2.py3".
bool IsPythonTag(std::string_view part) {
  for (const std::string_view prefix : {"py", "cp", "pp", "ip", "jy", "graalpy"}) {
    if (!part.starts_with(prefix) || part.size() == prefix.size()) continue;
    const char next = part[prefix.size()];
    if (next >= '0' && next <= '9') return true;
  }
  return false;
}

Error BadName(std::string_view file_name, std::string why) {
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a wheel's file name: {}", file_name, why))
      .WithHint("a wheel is named name-version[-build]-python-abi-platform[-variant].whl");
}

}  // namespace

std::string FileName::str() const {
  return fmt::format("{}{}-{}{}.whl", Stem(), build.empty() ? "" : "-" + build, tag.str(),
                     variant.empty() ? "" : "-" + variant);
}

Result<FileName> FileName::Of(const CoreMetadata& metadata) {
  FileName name;
  name.name = ReplaceAll(NormalizeName(metadata.Get("Name")), "-", "_");
  PTPKG_TRY(name.version, NormalizeVersion(metadata.Get("Version")));
  return name;
}

Result<FileName> FileName::Parse(std::string_view file_name) {
  if (!file_name.ends_with(".whl")) return BadName(file_name, "it does not end in '.whl'");
  const std::vector<std::string> parts = Split(file_name.substr(0, file_name.size() - 4), '-');
  if (parts.size() < 5 || parts.size() > 7) {
    return BadName(file_name, fmt::format("it has {} parts instead of 5 to 7", parts.size()));
  }
  if (!IsFileNamePart(parts[0])) return BadName(file_name, fmt::format("'{}' is not a name", parts[0]));
  FileName out;
  out.name = ReplaceAll(NormalizeName(parts[0]), "-", "_");
  // Some tools write '_' for the '-' of a local version; PEP 440 reads both alike.
  Result<std::string> version = NormalizeVersion(parts[1]);
  if (!version) return BadName(file_name, version.error().message());
  out.version = *version;
  // No python tag begins with a digit, so six parts have a build tag or a label.
  const bool has_build = IsBuild(parts[2]);
  if (!has_build &&
      (parts.size() == 7 || (parts.size() == 6 && IsPythonTag(parts[3]) && !IsPythonTag(parts[2])))) {
    return BadName(file_name, fmt::format("the build tag '{}' does not begin with a digit", parts[2]));
  }
  if (has_build) out.build = parts[2];
  const std::size_t tag = has_build ? 3 : 2;
  if (parts.size() < tag + 3) return BadName(file_name, "it has no platform");
  if (parts.size() == tag + 4) {
    out.variant = parts.back();
    if (!IsVariantLabel(out.variant)) {
      return BadName(file_name, fmt::format("'{}' is not a variant label", out.variant))
          .WithHint("labels consist of 0-9, a-z, '_' and '.'");
    }
  }
  Result<Tag> parsed = ParseTag(parts[tag] + "-" + parts[tag + 1] + "-" + parts[tag + 2]);
  if (!parsed) return BadName(file_name, parsed.error().message());
  out.tag = SortTag(*parsed);
  return out;
}

}  // namespace ptpkg::wheel
