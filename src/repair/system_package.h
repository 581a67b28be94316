#pragma once
// Finds the system package that owns a file. Layer: repair. Reads the lists of dpkg and apk, and asks rpm on
// its systems. Sources: dpkg-query(1), deb-status, Alpine's wiki 'Apk spec' (list of apk), purl-spec (package
// URLs of the types deb, apk and rpm).

#include <map>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::repair {

struct SystemPackage {
  std::string name;
  std::string version;  ///< With revision, and "epoch:" before it if there is one.
  std::string url;      ///< "pkg:deb/debian/libgfortran5@12.2.0-14?arch=amd64"

  bool operator==(const SystemPackage&) const = default;
};

/// Owners by path, for the `files` that a package owns. `files`: paths without links; a package can list them
/// under the directories from before the /usr merge. The apk list of the system that contains the file
/// counts, because an unpacked Alpine has the libraries for musl wheels. Empty on a machine without dpkg, apk
/// and rpm. Errors: kIo, kCorrupt (a list above 64 MiB), kCancelled.
Result<std::map<AbsPath, SystemPackage>> FindOwners(Env& env, const std::vector<AbsPath>& files);

}  // namespace ptpkg::repair
