#pragma once
// Collects the info/ members of a package. Layer: conda.

#include <string>

#include "conda/info/container.h"
#include "conda/package.h"

namespace ptpkg::conda {

class InfoCollector {
 public:
  /// True if `member` lies below info/. Names must be exact: a reader in the field that looks for
  /// "info/index.json" does not find "./info/index.json".
  static bool IsInfo(const archive::TarMember& member);

  /// Takes a file or hard link below info/; other kinds are ignored. Errors: kCorrupt (a name that could
  /// leave the directory, or twice; a text that is too large; a document that is a symlink, or a hard link to
  /// something outside info/), those of `content`.
  Result<void> Add(const archive::TarMember& member, ByteSource& content);

  [[nodiscard]] bool Has(const std::string& name) const { return files_.count(name) != 0; }

  /// Files by name below info/.
  [[nodiscard]] const std::map<std::string, std::string>& files() const { return files_; }

  /// Parses what was collected. `where` names the package in errors.
  /// Errors: kInvalidInput (index.json missing or against its schema, a file that is no JSON).
  Result<PackageInfo> Finish(ArtifactFormat format, const std::string& where) &&;

 private:
  std::map<std::string, std::string> files_;  // by name below info/
  std::uint64_t bytes_ = 0;
};

}  // namespace ptpkg::conda
