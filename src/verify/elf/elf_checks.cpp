// Two questions for each ELF file: will ld.so find the libraries that it needs, and is each entry of its
// search path valid on every machine?
// A library that the tree lacks is not always a fault. The order of the decision matters: first absolute
// names and files that ld.so refuses, then libraries of the system, the driver, a declared dependency or the
// list of allowed names. Only the rest is missing. For a library elsewhere in the tree, the hint is the entry
// that would reach it. An entry must be relative to $ORIGIN. Absolute, relative and empty entries depend on
// the machine or on the working directory of the process. Directories of stubs are refused by name: their
// libraries have no code and hide the ones of the driver. Entries that lead out of the tree or to no
// directory are collected into one finding per file, because a layout for several companions has many of
// them.

#include "verify/elf/elf_checks.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/text/globs.h"
#include "support/text/json.h"
#include "support/text/text.h"
#include "verify/declaration.h"
#include "verify/elf/elf_tables.h"
#include "verify/file_findings.h"
#include "wheel/metadata/core_metadata.h"

namespace ptpkg::verify {
namespace {

// build/ links with one absolute directory of this name, to reserve room for later search paths.
constexpr std::string_view kPadName = "ptpkg-search-path-pad";
// From site-packages up to the environment: lib/pythonX.Y/site-packages.
constexpr std::size_t kWheelLevels = 3;

bool IsWheelTree(const ElfTree& tree) {
  return std::any_of(tree.files.begin(), tree.files.end(), [](const RelPath& path) {
    return path.Name() == "WHEEL" && path.ParentText().ends_with(".dist-info") &&
           path.ParentText().find('/') == std::string::npos;
  });
}

class NeededChecks {
 public:
  NeededChecks(const ElfTree& tree, const CheckOptions& options, const std::vector<std::string>& dependencies)
      : tree_(tree), options_(options), dependencies_(dependencies) {}

  void Check(const Need& need, FileFindings findings) const {
    const auto& [member, name, outcome] = need;
    if (name.find('/') != std::string::npos && !elf::AfterOrigin(name)) {
      findings.Add("elf-needed-path", Severity::kError,
                   fmt::format("needs '{}' by absolute path, which exists on one machine only", name),
                   "link against a library that has a SONAME");
      return;
    }
    if (outcome.refused) {
      findings.Add(
          "elf-shadowed-needed", Severity::kError,
          fmt::format("needs '{}', but its search path finds '{}' first, where ld.so fails with '{}'", name,
                      outcome.refused->path, outcome.refused->reason),
          "remove that file, or put the library's directory before it in the search path");
      return;
    }
    if (outcome.missing && FromSystem(name) && SearchesOwnPathOnly(member)) {
      findings.Add("elf-unresolved-needed", Severity::kError,
                   fmt::format("needs '{}' of the system, but has the flag DF_1_NODEFLIB, so ld.so searches "
                               "only the file's own search path",
                               name),
                   "link without -z nodefaultlib");
      return;
    }
    // After the refusal: with a broken file in the way, a driver or a dependency that has the library doesn't
    // help.
    if (IsFound(outcome) || FromElsewhere(name)) return;
    if (MatchesAnyGlob(options_.allowed_by_package, name)) {
      findings.Add("elf-allowed-needed", Severity::kInfo,
                   fmt::format("needs '{}', which the package expects on the machine", name),
                   "nothing to do if every target machine has the library");
    } else if (outcome.missing) {
      AddMissing(need, findings);
    } else {
      findings.Add("elf-conditional-needed", Severity::kWarning,
                   fmt::format("needs '{}', which ld.so does not find {}", name, outcome.missing_where),
                   "pack a library for all machines into a directory of the search path");
    }
  }

  [[nodiscard]] NeedState StateOf(const Need& need) const {
    if (need.outcome.refused) return NeedState::kMissing;
    if (IsFound(need.outcome)) return NeedState::kFound;
    if (FromSystem(need.name)) return NeedState::kSystem;
    const Provided provided = FindProvider(dependencies_, need.name);
    if (provided.known) return NeedState::kDependency;
    const bool allowed = MatchesAnyGlob(options_.allow_unresolved, need.name) ||
                         MatchesAnyGlob(options_.allowed_by_package, need.name);
    if (allowed) return NeedState::kAllowed;
    // A library that the tree has, for this or another processor, is not expected from a dependency.
    const bool elsewhere = need.outcome.missing && need.outcome.passed_over.empty() && !PlaceInTree(need);
    return elsewhere && provided.possible ? NeedState::kDependency : NeedState::kMissing;
  }

 private:
  static bool IsFound(const NeedOutcome& outcome) {
    return !outcome.missing && outcome.missing_where.empty();
  }

  static bool FromSystem(const std::string& name) {
    return MatchesAnyGlob(SystemLibraries(), name) || MatchesAnyGlob(DriverLibraries(), name);
  }

  /// A library with the flag gets what its process has loaded already. An absolute entry of the search path
  /// can lead to the system.
  static bool SearchesOwnPathOnly(const ElfMember& member) {
    const auto& path = member.facts.Effective();
    const std::vector<std::string> entries = path ? Split(path->text, ':') : std::vector<std::string>();
    return IsProgram(member) && (member.facts.flags_1 & elf::kFlag1NoDefaultLibraries) != 0 &&
           std::all_of(entries.begin(), entries.end(),
                       [](const std::string& entry) { return elf::AfterOrigin(entry).has_value(); });
  }

  [[nodiscard]] bool FromElsewhere(const std::string& name) const {
    return MatchesAnyGlob(options_.allow_unresolved, name) || FromSystem(name) ||
           FindProvider(dependencies_, name).known;
  }

  void AddMissing(const Need& need, FileFindings& findings) const {
    if (const auto place = PlaceInTree(need)) {
      const std::string when = need.outcome.missing_from
                                   ? fmt::format(" when '{}' is loaded first",
                                                 tree_.members[*need.outcome.missing_from].path.str())
                                   : "";
      findings.Add("elf-unreachable-needed", Severity::kError,
                   fmt::format("cannot find '{}': it is at '{}', which is not on the search path{}",
                               need.name, *place, when),
                   fmt::format("add '{}' to its search path: extra.ptpkg.layouts in the recipe, "
                               "INSTALL_RPATH in CMake, or 'ptpkg relink --add-rpath'",
                               OriginPath(need.member.path, *place)));
      return;
    }
    if (!need.outcome.passed_over.empty()) {
      findings.Add("elf-unreachable-needed", Severity::kError,
                   fmt::format("needs '{}', but '{}' is for another architecture, so ld.so skips it",
                               need.name, *need.outcome.passed_over.begin()),
                   "pack the library for the architecture of the file");
      return;
    }
    const bool possible = FindProvider(dependencies_, need.name).possible;
    findings.Add(
        "elf-unresolved-needed", possible ? Severity::kWarning : Severity::kError,
        possible
            ? fmt::format("needs '{}', which is not in the tree: a dependency must provide it", need.name)
            : fmt::format("needs '{}', which the tree, its dependencies and the system don't provide",
                          need.name),
        "pack the library, depend on its package, or allow it with extra.ptpkg.allow_unresolved");
  }

  /// The entry of a search path that leads from `file` to the directory of `place`.
  static std::string OriginPath(const RelPath& file, const std::string& place) {
    std::vector<std::string> from = Split(file.ParentText(), '/');
    std::vector<std::string> to = Split(place, '/');
    to.pop_back();
    std::erase(from, "");
    const auto [up, down] = std::mismatch(from.begin(), from.end(), to.begin(), to.end());
    std::string path = "$ORIGIN";
    for (auto step = up; step != from.end(); ++step) path += "/..";
    for (auto step = down; step != to.end(); ++step) path += "/" + *step;
    return path;
  }

  /// Path in the tree of a file of the needed name that the processor can load.
  [[nodiscard]] std::optional<std::string> PlaceInTree(const Need& need) const {
    const auto same = tree_.by_name.find(need.name);
    if (same == tree_.by_name.end()) return std::nullopt;
    for (const std::string& path : same->second) {
      const auto member = tree_.FindMember(tree_.map.Follow("", path).path);
      if (member && HostOf(tree_.members[*member]) == HostOf(need.member)) return path;
    }
    return std::nullopt;
  }

  const ElfTree& tree_;
  const CheckOptions& options_;
  const std::vector<std::string>& dependencies_;
};

/// Number of directories above the root that the entry reaches. A way back into the tree does not count,
/// because the names above the root are not known.
std::size_t ClimbAboveRoot(const ElfMember& member, std::string_view below) {
  const std::string origin = OriginOf(member);
  std::size_t depth = origin.empty() ? 0 : Split(origin, '/').size();
  std::size_t above = 0;
  for (const std::string& part : Split(below, '/')) {
    if (part == "..") {
      if (depth == 0) {
        ++above;
      } else {
        --depth;
      }
    } else if (!part.empty() && part != "." && above == 0) {
      ++depth;
    }
  }
  return above;
}

/// Reports faults of one entry that do not depend on the tree.
void CheckEntry(const PathEntry& entry, FileFindings findings) {
  if (entry.text.find(kPadName) != std::string::npos) {
    findings.Add("elf-search-path-pad", Severity::kError,
                 "the search path still has the padding from link time",
                 "relink the file with a layout rule before packing");
    return;
  }
  const std::vector<std::string> parts = Split(entry.text, '/');
  if (std::find(parts.begin(), parts.end(), "stubs") != parts.end()) {
    findings.Add("elf-search-path-stubs", Severity::kError,
                 fmt::format("the search path entry '{}' is a directory of link-time stubs", entry.text),
                 "remove the entry: a stub library has no code, and hides the driver's");
    return;
  }
  switch (entry.kind) {
    case EntryKind::kInTree:
    case EntryKind::kDead:
    case EntryKind::kOutside:
      return;
    case EntryKind::kAbsolute:
      findings.Add(
          "elf-search-path-absolute", Severity::kError,
          fmt::format("the search path entry '{}' is absolute: it differs on every machine", entry.text),
          "make the entry relative to $ORIGIN");
      return;
    case EntryKind::kRelative:
      findings.Add(
          "elf-search-path-relative", Severity::kError,
          fmt::format("the search path entry '{}' is relative to the working directory of the process",
                      entry.text),
          "make the entry relative to $ORIGIN");
      return;
    case EntryKind::kEmpty:
      findings.Add("elf-search-path-empty", Severity::kError,
                   "the search path has an empty entry, which means the working directory of the process",
                   "remove the superfluous ':'");
      return;
  }
}

/// One finding per file: a layout for several companions has many entries that only some installs fill.
void CheckDeadEntries(const std::vector<PathEntry>& entries, bool wheel, FileFindings findings) {
  std::vector<std::string> dead;
  for (const PathEntry& entry : entries) {
    if (entry.kind == EntryKind::kDead) dead.push_back(entry.text);
  }
  if (dead.empty()) return;
  // In site-packages the directory may belong to another distribution.
  findings.Add(
      "elf-search-path-dead", wheel ? Severity::kInfo : Severity::kWarning,
      fmt::format("the search path entries '{}' point to no directory of the tree", Join(dead, "', '")),
      "remove them, unless a dependency provides the directories");
}

/// One finding per file and severity, as above.
void CheckEscapes(const ElfMember& member, const std::vector<PathEntry>& entries, bool wheel,
                  FileFindings findings) {
  std::vector<std::string> in_environment;
  std::vector<std::string> beyond;
  for (const PathEntry& entry : entries) {
    if (entry.kind != EntryKind::kOutside) continue;
    const std::string below = entry.text.substr(entry.text.find('/') + 1);
    // The entry stays inside the environment, where other packages can have the directory.
    const bool inside = wheel && ClimbAboveRoot(member, below) <= kWheelLevels;
    (inside ? in_environment : beyond).push_back(entry.text);
  }
  for (const auto& [list, severity] :
       {std::pair(&in_environment, Severity::kWarning), std::pair(&beyond, Severity::kError)}) {
    if (list->empty()) continue;
    findings.Add("elf-search-path-escapes", severity,
                 fmt::format("the search path entries '{}' leave the tree", Join(*list, "', '")),
                 "use at most as many '..' as the file is deep");
  }
}

Result<void> ReadRequirements(Env& env, const AbsPath& path, std::vector<std::string>& names) {
  PTPKG_TRY(const auto text, ReadDeclaration(env, path));
  if (!text) return Ok();
  const auto metadata = wheel::ParseCoreMetadata(*text, path.str());
  if (!metadata) return Ok();  // the wheel's own checks report it
  for (std::string& name : wheel::RequiredProjects(*metadata)) names.push_back(std::move(name));
  return Ok();
}

Result<void> ReadIndexDepends(Env& env, const AbsPath& path, std::vector<std::string>& names) {
  PTPKG_TRY(const auto text, ReadDeclaration(env, path));
  if (!text) return Ok();
  const auto index = ParseJson(*text, path.str());
  if (!index) return Ok();  // the package's own checks report it
  const auto depends = JsonStringsOr(*index, "depends", {}, path.str());
  if (!depends) return Ok();
  for (const std::string& spec : *depends) {
    names.push_back(wheel::NormalizeName(spec.substr(0, spec.find_first_of(" =<>!~[;"))));
  }
  return Ok();
}

}  // namespace

Result<std::vector<std::string>> DeclaredDependencies(Env& env, const ElfTree& tree) {
  std::vector<std::string> names;
  for (const RelPath& path : tree.files) {
    if (path.Name() == "METADATA" && path.ParentText().ends_with(".dist-info")) {
      PTPKG_CHECK(ReadRequirements(env, tree.root / path, names));
    } else if (path.str() == "info/index.json") {
      PTPKG_CHECK(ReadIndexDepends(env, tree.root / path, names));
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void CheckNeeded(const ElfTree& tree, const CheckOptions& options,
                 const std::vector<std::string>& dependencies, const ResolvedLibraries& loads,
                 std::vector<Finding>& findings) {
  const NeededChecks checks(tree, options, dependencies);
  for (std::size_t i = 0; i < tree.members.size(); ++i) {
    const ElfMember& member = tree.members[i];
    for (const std::string& name : member.facts.needed) {
      checks.Check({.member = member, .name = name, .outcome = loads.Of(i, name)},
                   FileFindings(findings, member));
    }
  }
}

DependencyResolution ResolveDependency(const ElfTree& tree, const CheckOptions& options,
                                       const std::vector<std::string>& dependencies, const Need& need) {
  const NeededChecks checks(tree, options, dependencies);
  DependencyResolution verdict{.state = checks.StateOf(need)};
  if (verdict.state != NeedState::kMissing) return verdict;
  std::vector<Finding> findings;
  checks.Check(need, FileFindings(findings, need.member));
  if (!findings.empty()) verdict.problem = findings.front().message;
  return verdict;
}

std::vector<elf::TokenValues> TokensOf(const ElfTree& tree, const ElfMember& member) {
  const auto& path = member.facts.Effective();
  if (!path || (!elf::UsesToken(path->text, "LIB") && !elf::UsesToken(path->text, "PLATFORM"))) return {{}};
  std::vector<elf::TokenValues> tokens;
  for (LoaderMachine& machine : MachinesFor(tree, HostOf(member), elf::IsaLevel::kV4)) {
    tokens.push_back({.origin = {}, .lib = std::move(machine.lib), .platform = std::move(machine.platform)});
  }
  return tokens;
}

void CheckSearchPaths(const ElfTree& tree, const CheckOptions& options, std::vector<Finding>& findings) {
  const bool wheel = IsWheelTree(tree);
  for (const ElfMember& member : tree.members) {
    FileFindings here(findings, member);
    if (member.facts.rpath && member.facts.runpath) {
      here.Add("elf-search-path-two-tags", Severity::kWarning,
               "has both DT_RPATH and DT_RUNPATH; ld.so ignores the first", "keep one of them");
    }
    const std::vector<PathEntry> entries = ExplainSearchPath(tree, member, TokensOf(tree, member));
    CheckDeadEntries(entries, wheel, here);
    CheckEscapes(member, entries, wheel, here);
    for (const PathEntry& entry : entries) {
      const auto forbidden = std::find_if(
          options.forbidden_paths.begin(), options.forbidden_paths.end(), [&](const std::string& text) {
            return !text.empty() && entry.text.find(text) != std::string::npos;
          });
      if (forbidden != options.forbidden_paths.end()) {
        here.Add(
            "elf-search-path-forbidden", Severity::kError,
            fmt::format("the search path entry '{}' contains the build path '{}'", entry.text, *forbidden),
            "relink the file with a layout rule before packing");
      } else {
        CheckEntry(entry, here);
      }
    }
  }
}

}  // namespace ptpkg::verify
