#pragma once
// Names of bundled libraries and the files that dlopen them. Layer: repair. Hashed names match auditwheel's.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "repair/graft_plan.h"

namespace ptpkg::repair {

/// A library that is to be copied, and has no name yet.
struct FoundLibrary {
  Graft graft = {};                        ///< Without `name`, `path` and `opened_by`.
  std::optional<std::string> soname = {};  ///< On this machine.
  std::vector<std::string> mentions = {};  ///< Names of libraries among its constants.
  std::string asker = {};                  ///< The first file that needs it, for messages.
  bool needed = false;                     ///< True if some NEEDED leads to it.
  std::set<std::string> asked_for = {};    ///< Its names in GraftOptions::opened.
};

/// Names each of `found` by the rules of PlanGrafts. A library that some file opens by name, or that
/// GraftOptions::opened lists, gets the name that serves all these files. A file that contains several of its
/// names falls back from one to the next, so any of them serves it. Links next to the library count as names
/// too. Warns of files that the name does not serve. Returns the files that open a library: by path in the
/// wheel, or source of a copy.
///
/// Errors: kInvalidInput for two libraries with one name, for a library that would need two names, and for a
/// name that the wheel already has. Also for an entry of GraftOptions::opened that no file needs or opens.
/// Also kCorrupt (a file of the wheel), kIo.
Result<std::set<std::string>> NameGrafts(const GraftContext& context, const GraftOptions& options,
                                         std::vector<FoundLibrary>& found);

/// The last component of a NEEDED, which may be a path.
std::string FileNameOf(const std::string& needed);

/// "libx-1a2b3c4d.so.1.2" for "libx.so.1.2", as in auditwheel; a name that already has the hash stays.
std::string HashedName(const std::string& file_name, const Sha256& digest);

}  // namespace ptpkg::repair
