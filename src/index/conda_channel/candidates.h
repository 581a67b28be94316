#pragma once
// Reads the packages of a local conda channel. Layer: index.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/artifact.h"
#include "support/env.h"

namespace ptpkg::index {

/// A package that a build can use: one in a channel, or one that a plan will make.
struct Candidate {
  std::string name;
  std::string version = {};
  std::string build = {};
  std::uint64_t build_number = 0;
  std::string subdir = {};
  std::vector<std::string> depends = {};  ///< MatchSpec text, as in index.json.
  std::vector<std::string> constrains = {};
  /// "weak", "strong", "noarch", "weak_constrains", "strong_constrains" → MatchSpec text.
  std::map<std::string, std::vector<std::string>> run_exports = {};
  ArtifactFormat format = ArtifactFormat::kConda;
  std::string file_name = {};
  std::optional<Sha256> sha256 = {};  ///< Unknown for planned packages.
  std::optional<AbsPath> path = {};   ///< Unknown for planned packages.
  std::string planned_by = {};        ///< Id of the plan's node that will make it; "" = it exists.
  std::string damage = {};            ///< Why the package cannot be read; "" = it can.

  /// "name-version-build".
  [[nodiscard]] std::string Stem() const { return name + "-" + version + "-" + build; }
};

/// The packages in `<channel>/<subdir>` and `<channel>/noarch`, directories that can be missing, by file
/// name. Rows of the index's cache or of repodata.json (with run_exports.json) replace reading. A row is
/// valid if the file still has the size and time of the row, or is not younger than the index. Other packages
/// are opened and hashed. For a damaged package, or one named after another, sets only the name and `damage`.
/// Errors: kIo, kCancelled.
Result<std::vector<Candidate>> ReadChannel(Env& env, const AbsPath& channel, const std::string& subdir);

}  // namespace ptpkg::index
