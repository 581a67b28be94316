// CEP 26 rules as code. Layer: conda.
#include "conda/channel_names.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg::conda {
namespace {

constexpr std::size_t kMaxSubdir = 32;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

Error Broken(std::string_view what, std::string_view text, std::string_view rule) {
  return {ErrorCode::kInvalidInput, fmt::format("{} '{}' {}", what, text, rule)};
}

}  // namespace

Result<void> CheckSubdir(std::string_view subdir) {
  if (subdir == "noarch") return Ok();
  if (subdir.empty()) return Error(ErrorCode::kInvalidInput, "subdir is empty");
  if (subdir.size() > kMaxSubdir) {
    return Broken("subdir", subdir, fmt::format("is longer than {} characters", kMaxSubdir));
  }
  const std::vector<std::string> parts = Split(subdir, '-');
  const bool shaped =
      parts.size() == 2 && std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
        return !part.empty() &&
               std::all_of(part.begin(), part.end(), [](char c) { return IsLower(c) || IsDigit(c); });
      });
  if (!shaped) return Broken("subdir", subdir, "is neither 'noarch' nor of the form 'os-arch'");
  return Ok();
}

bool IsKnownSubdir(std::string_view subdir) {
  constexpr std::array<std::string_view, 34> kKnown = {"noarch",
                                                       "linux-32",
                                                       "linux-64",
                                                       "linux-aarch64",
                                                       "linux-armv6l",
                                                       "linux-armv7l",
                                                       "linux-loongarch64",
                                                       "linux-ppc64le",
                                                       "linux-ppc64",
                                                       "linux-ppc",
                                                       "linux-s390x",
                                                       "linux-riscv32",
                                                       "linux-riscv64",
                                                       "freebsd-32",
                                                       "freebsd-64",
                                                       "freebsd-arm64",
                                                       "freebsd-ppc64le",
                                                       "freebsd-ppc64",
                                                       "osx-64",
                                                       "osx-arm64",
                                                       "ios-arm64",
                                                       "iossimulator-64",
                                                       "iossimulator-arm64",
                                                       "android-32",
                                                       "android-64",
                                                       "android-aarch64",
                                                       "android-armv7a",
                                                       "win-32",
                                                       "win-64",
                                                       "win-arm64",
                                                       "zos-z",
                                                       "emscripten-wasm32",
                                                       "emscripten-wasm64",
                                                       "wasi-wasm32"};
  return std::find(kKnown.begin(), kKnown.end(), subdir) != kKnown.end();
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
  // Only names can have a '-' in them (CEP 26). Versions and build strings can't, so the split is
  // unambiguous.
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
