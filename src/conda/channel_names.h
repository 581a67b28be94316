#pragma once
// Validates and splits subdirs and file names of a channel. Layer: conda. Source: CEP 26 "Identifying
// packages and channels". Names, versions and build strings: versions/package_names.h.

#include <string>
#include <string_view>

#include "model/artifact.h"

namespace ptpkg::conda {

/// "noarch" or "<os>-<arch>". Errors: kInvalidInput naming the text and the rule that it breaks.
Result<void> CheckSubdir(std::string_view subdir);

/// True for "noarch" and the platforms that conda, py-rattler or both have a name for: clients look into no
/// other subdirs. Source: rattler_conda_types Platform (py-rattler 0.28), conda's KNOWN_SUBDIRS.
[[nodiscard]] bool IsKnownSubdir(std::string_view subdir);

/// True for a directory name that CheckSubdir accepts.
[[nodiscard]] bool IsSubdir(std::string_view text);

/// The three parts of "name-version-build" and the format that the extension names.
struct DistName {
  std::string name;
  std::string version;
  std::string build;
  ArtifactFormat format = ArtifactFormat::kConda;

  [[nodiscard]] std::string Stem() const { return name + "-" + version + "-" + build; }
  /// "name-version-build.conda" or ".tar.bz2".
  [[nodiscard]] std::string FileName() const;
  /// Splits at the last two hyphens. Errors: kInvalidInput unless the extension is .conda or .tar.bz2
  /// and three non-empty parts remain. The parts themselves are not judged.
  static Result<DistName> Parse(std::string_view file_name);
};

/// A file name longer than this is refused by CEP 26.
inline constexpr std::size_t kMaxFileName = 211;

}  // namespace ptpkg::conda
