#pragma once
// Plans which libraries a wheel bundles. Layer: repair. Names (graft_names.h) and choice follow auditwheel
// (tests/e2e/wheel/repair_test.py), apart from what graft_rules.h says of some libraries.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "repair/graft_rules.h"
#include "repair/host_libraries.h"
#include "verify/elf/elf_tree_map.h"
#include "verify/elf/resolved_libraries.h"
#include "verify/wheel/policy_libraries.h"

namespace ptpkg::repair {

struct GraftOptions {
  std::string folder = {};  ///< Directory in the wheel for the copies.
  Rename rename = Rename::kHash;
  std::vector<std::string> exclude = {};  ///< Globs of names, and of paths on this machine.
  /// Globs of names that the recipe allows to be unresolved: they stay outside where this machine lacks them.
  std::vector<std::string> left_by_wheel = {};
  std::vector<std::string> never_rename = {};  ///< Globs, besides those of the rules.
  std::vector<std::string> never_graft = {};   ///< Globs, besides those of the rules.
  /// Names of libraries that are opened at run time: copied under these, although no file needs them.
  std::vector<std::string> opened = {};
  /// Name in `opened` → the files of the wheel, other than ELF files, that contain the name.
  std::map<std::string, std::set<std::string>> opened_by_text = {};
  /// Only system libraries that this policy lets a wheel expect count as such; nullopt: the newest policy.
  std::optional<verify::GlibcVersion> policy = {};
  bool musl = false;                           ///< The wheel is for systems of musl.
  std::vector<std::string> dependencies = {};  ///< Normalised; libraries that they bring are not copied.
};

struct Graft {
  AbsPath source = AbsPath::Literal("/nonexistent");  ///< The file itself, links followed.
  std::set<std::string> asked = {};                   ///< The names by which files ask for it.
  std::string name = {};                              ///< In the wheel: of the file, and its SONAME.
  std::string path = {};                              ///< In the wheel.
  Sha256 sha256 = {};                                 ///< Digest of `source`.
  std::string opened_by = {};  ///< Has this name, because this file opens it by that; "" if none does.
};

/// Changes of a file of the wheel, or of a copied library.
struct NeedChange {
  std::map<std::string, std::string> renamed = {};  ///< New name of a NEEDED by its old one.
  std::vector<std::string> dropped = {};            ///< NEEDED that go.
  std::set<std::string> folders = {};               ///< Wheel directories that the search path must reach.
};

/// ExcludedLibrary::why of what GraftOptions::exclude names.
inline constexpr std::string_view kExcluded = "--exclude";

/// A library that stays outside.
struct ExcludedLibrary {
  std::string library;  ///< Name in NEEDED.
  std::string why;  ///< kExcluded, "the wheel expects it on the machine", "a dependency provides it", "never
                    ///< bundled".
  auto operator<=>(const ExcludedLibrary&) const = default;
};

struct GraftPlan {
  std::vector<Graft> grafts = {};                  ///< Sorted by path.
  std::map<std::string, NeedChange> changes = {};  ///< By path in the wheel; grafts have one each.
  std::set<ExcludedLibrary> left_out = {};
  std::set<std::string> excludes_used = {};  ///< The GraftOptions::exclude that match a needed library.
};

/// Inputs of the planner; borrowed.
struct GraftContext {
  Env& env;
  const verify::ElfTree& tree;
  const verify::ResolvedLibraries& loads;
  const HostLibraries& host;
  const GraftRules& rules;
  const verify::PolicyLibraries& policies;
};

/// Follows every name that ld.so does not find in the wheel, and the names that the copies need. A library
/// that the wheel has, but to which no search path leads, is made known instead of copied. A NEEDED that is a
/// path stays outside by its file name too, and is that name then, unless `exclude` or the wheel's recipe
/// leaves it as it is. A copy gets the name of it that occurs among the constants of another file, which
/// opens it by that. Writes nothing.
/// Errors: kNotFound for all names that are nowhere on this machine, with the files that need them;
/// kInvalidInput for two libraries of one name, or one that the wheel has already, and for a name that
/// different libraries of the wheel have, none of them in the directory of who asks, and for a name of
/// `opened` that is never copied, or that no file has, for a copy that would have to be found under two
/// names, and for a library for glibc where the wheel is for musl; kCorrupt (a library of this machine), kIo,
/// kCancelled.
Result<GraftPlan> PlanGrafts(const GraftContext& context, const GraftOptions& options);

}  // namespace ptpkg::repair
