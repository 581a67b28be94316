#pragma once
// Plans which libraries a wheel bundles. Layer: repair. Names (graft_names.h) and choice follow auditwheel
// (tests/e2e/wheel/repair_test.py), except for the libraries in graft_rules.h.

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
  /// Globs of names that the recipe allows to be unresolved: not bundled if this machine lacks them.
  std::vector<std::string> left_by_wheel = {};
  std::vector<std::string> never_rename = {};  ///< Globs, besides the rules' own.
  std::vector<std::string> never_graft = {};   ///< Globs, besides the rules' own.
  /// Names of libraries that are opened at run time: copied under these names, although no file needs them.
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
  std::set<std::string> asked = {};                   ///< The names by which files need or open it.
  std::string name = {};                              ///< In the wheel: of the file, and its SONAME.
  std::string path = {};                              ///< In the wheel.
  Sha256 sha256 = {};                                 ///< Digest of `source`.
  /// The file that opens the library by this name, which it keeps for that; "" if none does.
  std::string opened_by = {};
};

/// Changes of a file of the wheel, or of a copied library.
struct NeedChange {
  std::map<std::string, std::string> renamed = {};  ///< New name of a NEEDED by its old one.
  std::vector<std::string> dropped = {};            ///< NEEDED entries to remove.
  std::set<std::string> folders = {};               ///< Wheel directories that the search path must reach.
};

/// ExcludedLibrary::why for libraries in GraftOptions::exclude.
inline constexpr std::string_view kExcluded = "--exclude";

/// A library that is not bundled.
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
/// that the wheel has, but no search path reaches, gets a search path instead of a copy. A NEEDED that is a
/// path is matched by its file name too. If it is not bundled, the file name replaces the path, unless
/// `exclude` or the wheel's recipe keeps it. A copy gets the name that occurs among the constants of another
/// file, which opens it by that name. Writes nothing. Errors:
///
/// - kNotFound: all names that this machine lacks, with the files that need them
/// - kInvalidInput: two libraries with one name, or one that the wheel already has
/// - kInvalidInput: a needed name that different libraries of the wheel have, if none of them is in the
///   directory of the file that needs it
/// - kInvalidInput: a name in `opened` that is never copied, or that no file has
/// - kInvalidInput: a copy that would need two names, or a glibc library in a wheel for musl
/// - kUnsupported: a library of this machine that DT_AUXILIARY names
/// - kCorrupt (a library of this machine), kIo, kCancelled
Result<GraftPlan> PlanGrafts(const GraftContext& context, const GraftOptions& options);

}  // namespace ptpkg::repair
