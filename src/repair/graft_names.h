#pragma once
// Names of bundled libraries and the files that dlopen them. Layer: repair. Hashed names are those of
// auditwheel.

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
  std::string asker = {};                  ///< The first file that asks for it, for people.
  bool needed = false;                     ///< True if some NEEDED leads to it.
  std::set<std::string> asked_for = {};    ///< Its names in GraftOptions::opened.
};

/// Names each of `found`, as PlanGrafts says. What is opened by name, or asked for by one, gets the name that
/// serves all who open it; a file with several of its names in it, which falls back from one to the other, is
/// served by any of them. Links beside it count as its names too; who is not served by the name is warned of.
/// Returns the files that open one: by path in the wheel, or source of a copy. Errors:
/// kInvalidInput for two of one name, for one that would need two names, for a name that the wheel has
/// already, and for one of GraftOptions::opened that nobody needs or opens; kCorrupt (a file of the wheel),
/// kIo.
Result<std::set<std::string>> NameGrafts(const GraftContext& context, const GraftOptions& options,
                                         std::vector<FoundLibrary>& found);

/// The last component of a NEEDED, which may be a path.
std::string FileNameOf(const std::string& needed);

/// "libx-1a2b3c4d.so.1.2" for "libx.so.1.2", as auditwheel has it; a name that says so already stays.
std::string HashedName(const std::string& file_name, const Sha256& digest);

}  // namespace ptpkg::repair
