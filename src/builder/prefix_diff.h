#pragma once
// Lists the changes of a build script in the host prefix. Layer: builder.

#include <map>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::builder {

/// The state of a prefix before the script: every file and link, with the metadata that a write changes.
class PrefixSnapshot {
 public:
  /// `helpers`: files that ptpkg adds for the build, and that belong to no package.
  static Result<PrefixSnapshot> Take(Env& env, const AbsPath& prefix,
                                     const std::vector<RelPath>& helpers = {});

  /// All paths, helpers too, sorted.
  [[nodiscard]] std::vector<RelPath> Paths() const;
  [[nodiscard]] bool Contains(const RelPath& path) const;
  /// From now on `path` counts as new.
  void Forget(const RelPath& path) { before_.erase(path); }

  /// Paths of new files and links, sorted. A helper counts from when the script has replaced it. Host package
  /// files that the script changed or removed are reported as warnings and excluded from the result: two
  /// packages with one file cannot be installed together.
  Result<std::vector<RelPath>> Added(Env& env, const AbsPath& prefix) const;

 private:
  std::map<RelPath, FileStat> before_;
  std::map<RelPath, FileStat> helpers_;
};

/// Removes every file and link below `prefix` except `keep` (sorted). Directories stay.
Result<void> RemoveAllExcept(Env& env, const AbsPath& prefix, const std::vector<RelPath>& keep);

}  // namespace ptpkg::builder
