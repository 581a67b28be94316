#pragma once
// Collects the info/ members of a package. Layer: conda.

#include <string>

#include "conda/info/container.h"
#include "conda/package.h"

namespace ptpkg::conda {

class InfoCollector {
 public:
  /// True if `member` is below info/. Names must be exact: a reader that looks for "info/index.json" does not
  /// find "./info/index.json".
  static bool IsInfo(const archive::TarMember& member);

  /// Adds a file or hard link below info/; ignores other kinds. Errors: any error from `content`. kCorrupt
  /// for:
  /// - a name that could leave the directory, or a duplicate name
  /// - a text that is too large
  /// - a document that is a symlink, or a hard link to something outside info/
  Result<void> Add(const archive::TarMember& member, ByteSource& content);

  [[nodiscard]] bool Has(const std::string& name) const { return files_.count(name) != 0; }

  /// Files by name below info/.
  [[nodiscard]] const std::map<std::string, std::string>& files() const { return files_; }

  /// Parses the collected files. `where` names the package in errors. Errors: kInvalidInput (index.json
  /// missing or against its schema, a file that is not JSON).
  Result<PackageInfo> Finish(ArtifactFormat format, const std::string& where) &&;

 private:
  std::map<std::string, std::string> files_;  // by name below info/
  std::uint64_t bytes_ = 0;
};

}  // namespace ptpkg::conda
