#pragma once
// Finds the system package that owns a file. Layer: repair. Reads the lists of dpkg and apk; asks rpm where
// that is the system's. Source: dpkg-query(1), deb-status; Alpine's wiki, 'Apk spec', for the list of apk;
// package URLs: purl-spec, types deb, apk and rpm.

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

/// By path, of those of `files` that a package owns. `files`: paths without links; a package may call them by
/// the directories from before the merge of /usr. Of apk the lists count of whatever system the file lies in:
/// an unpacked Alpine has the libraries for wheels of musl. A machine without dpkg, apk and rpm owns none.
/// Errors: kIo, kCorrupt (a list above 64 MiB), kCancelled.
Result<std::map<AbsPath, SystemPackage>> FindOwners(Env& env, const std::vector<AbsPath>& files);

}  // namespace ptpkg::repair
