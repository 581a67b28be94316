// CEP 26 and CEP 33 rules as code. Layer: conda.
#include "conda/names.h"

#include <algorithm>
#include <fmt/format.h>

#include "support/text.h"

namespace ptpkg::conda {
namespace {

constexpr std::size_t kMaxPart = 64;
constexpr std::size_t kMaxSubdir = 32;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsNameSeparator(char c) { return c == '-' || c == '.' || c == '_'; }

Error Broken(std::string_view what, std::string_view text, std::string_view rule) {
  return {ErrorCode::kInvalidInput, fmt::format("{} '{}' {}", what, text, rule)};
}

Result<void> CheckLength(std::string_view what, std::string_view text, std::size_t limit) {
  if (text.empty()) return Error(ErrorCode::kInvalidInput, fmt::format("{} is empty", what));
  if (text.size() > limit) {
    return Broken(what, text, fmt::format("is longer than {} characters", limit));
  }
  return Ok();
}

/// A number of CEP 33 must fit into 31 bits, leading zeros aside.
bool NumbersFit(std::string_view version) {
  std::uint64_t value = 0;
  for (const char c : version) {
    value = IsDigit(c) ? value * 10 + static_cast<std::uint64_t>(c - '0') : 0;
    if (value > 0x7FFFFFFFU) return false;
  }
  return true;
}

bool SegmentsFilled(std::string_view part) {
  if (part.empty() || !(IsDigit(part.front()) || IsLower(part.front()))) return false;
  char previous = part.front();
  for (const char c : part.substr(1)) {
    const bool both = (c == '.' || c == '_') && (previous == '.' || previous == '_');
    if (both) return false;
    previous = c;
  }
  return previous != '.';  // one trailing '_' is openssl's way to sort before a letter
}

}  // namespace

Result<void> CheckPackageName(std::string_view name) {
  PTPKG_CHECK(CheckLength("package name", name, kMaxPart));
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!IsLower(c) && !IsDigit(c) && !IsNameSeparator(c)) {
      return Broken("package name", name, "may hold only a-z, 0-9, '-', '.' and '_'");
    }
    if (i > 0 && IsNameSeparator(c) && IsNameSeparator(name[i - 1])) {
      return Broken("package name", name, "holds two separators in a row");
    }
  }
  if (name.front() == '-' || name.front() == '.') {
    return Broken("package name", name, "must begin with a letter, a digit or '_'");
  }
  return Ok();
}

Result<void> CheckVersion(std::string_view version) {
  PTPKG_CHECK(CheckLength("version", version, kMaxPart));
  const bool known = std::all_of(version.begin(), version.end(), [](char c) {
    return IsLower(c) || IsDigit(c) || c == '.' || c == '_' || c == '+' || c == '!';
  });
  if (!known) return Broken("version", version, "may hold only a-z, 0-9, '.', '_', '+' and '!'");
  std::string_view rest = version;
  if (const std::size_t mark = rest.find('!'); mark != std::string_view::npos) {
    const std::string_view epoch = rest.substr(0, mark);
    if (epoch.empty() || !std::all_of(epoch.begin(), epoch.end(), IsDigit)) {
      return Broken("version", version, "has an epoch that is no number");
    }
    rest.remove_prefix(mark + 1);
  }
  const std::size_t plus = rest.find('+');
  const std::string_view local = plus == std::string_view::npos ? "0" : rest.substr(plus + 1);
  if (rest.find('!') != std::string_view::npos || local.find('+') != std::string_view::npos) {
    return Broken("version", version, "holds '!' or '+' more than once");
  }
  if (!SegmentsFilled(rest.substr(0, plus)) || !SegmentsFilled(local)) {
    return Broken("version", version, "has an empty segment");
  }
  if (!NumbersFit(version)) return Broken("version", version, "holds a number above 2147483647");
  return Ok();
}

Result<void> CheckBuildString(std::string_view build) {
  PTPKG_CHECK(CheckLength("build string", build, kMaxPart));
  const bool known = std::all_of(build.begin(), build.end(), [](char c) {
    return IsLower(c) || IsUpper(c) || IsDigit(c) || c == '.' || c == '_' || c == '+';
  });
  if (!known) return Broken("build string", build, "may hold only letters, digits, '.', '_' and '+'");
  return Ok();
}

Result<void> CheckSubdir(std::string_view subdir) {
  PTPKG_CHECK(CheckLength("subdir", subdir, kMaxSubdir));
  if (subdir == "noarch") return Ok();
  const std::vector<std::string> parts = Split(subdir, '-');
  const bool shaped =
      parts.size() == 2 && std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
        return !part.empty() &&
               std::all_of(part.begin(), part.end(), [](char c) { return IsLower(c) || IsDigit(c); });
      });
  if (!shaped) return Broken("subdir", subdir, "is neither 'noarch' nor of the form 'os-arch'");
  return Ok();
}

bool IsSubdir(std::string_view text) { return CheckSubdir(text).has_value(); }

std::string DistName::FileName() const { return Stem() + std::string(ArtifactExtension(format)); }

Result<DistName> DistName::Parse(std::string_view file_name) {
  DistName dist;
  std::string_view stem;
  for (const ArtifactFormat format : {ArtifactFormat::kConda, ArtifactFormat::kTarBz2}) {
    const std::string_view extension = ArtifactExtension(format);
    if (!file_name.ends_with(extension)) continue;
    dist.format = format;
    stem = file_name.substr(0, file_name.size() - extension.size());
  }
  const std::size_t second = stem.rfind('-');
  const std::size_t first =
      second == std::string_view::npos || second == 0 ? std::string_view::npos : stem.rfind('-', second - 1);
  if (first == std::string_view::npos || first == 0 || first + 1 == second || second + 1 == stem.size()) {
    return Broken("file name", file_name, "is not of the form 'name-version-build.conda' or '.tar.bz2'");
  }
  dist.name = stem.substr(0, first);
  dist.version = stem.substr(first + 1, second - first - 1);
  dist.build = stem.substr(second + 1);
  return dist;
}

}  // namespace ptpkg::conda
