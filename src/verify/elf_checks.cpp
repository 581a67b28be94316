#include "verify/elf_checks.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

#include "support/json.h"
#include "support/text.h"
#include "verify/elf_tables.h"
#include "wheel/core_metadata.h"

namespace ptpkg::verify {
namespace {

// build/ links with one absolute folder of this name, to reserve room for later search paths.
constexpr std::string_view kPadName = "ptpkg-search-path-pad";
// From site-packages up to the environment: lib/pythonX.Y/site-packages.
constexpr std::size_t kWheelLevels = 3;
constexpr std::uint64_t kMaxMetadataBytes = 64U << 20U;

bool MatchesAny(std::span<const std::string_view> globs, std::string_view name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](std::string_view glob) { return GlobMatch(glob, name); });
}

bool MatchesAny(const std::vector<std::string>& globs, std::string_view name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return GlobMatch(glob, name); });
}

class Findings {
 public:
  Findings(std::vector<Finding>& list, const ElfMember& member) : list_(list), file_(member.path.str()) {}

  void Add(std::string id, Severity severity, std::string message, std::string fix) {
    list_.push_back({std::move(id), severity, file_, std::move(message), std::move(fix)});
  }

 private:
  std::vector<Finding>& list_;
  std::string file_;
};

bool IsWheelTree(const ElfTree& tree) {
  return std::any_of(tree.files.begin(), tree.files.end(), [](const RelPath& path) {
    return path.Name() == "WHEEL" && path.ParentText().ends_with(".dist-info") &&
           path.ParentText().find('/') == std::string::npos;
  });
}

/// Whether a dependency of `packages` provides `name`, and whether one might that the table does not know.
struct Provided {
  bool known = false;
  bool possible = false;
};

Provided FindProvider(const std::vector<std::string>& packages, std::string_view name) {
  Provided provided;
  for (const std::string& package : packages) {
    bool listed = false;
    for (const Provider& provider : Providers()) {
      if (provider.package != package) continue;
      listed = true;
      const std::vector<std::string> globs = Split(provider.libraries, ' ');
      provided.known = provided.known || MatchesAny(globs, name);
    }
    provided.possible = provided.possible || !listed;
  }
  return provided;
}

/// Resolves names for the members of one tree; remembers each member's own search path.
class Resolver {
 public:
  Resolver(Env& env, const ElfTree& tree) : env_(env), tree_(tree) {
    for (const ElfMember& member : tree.members) paths_.push_back(ExplainSearchPath(env, tree, member));
    for (std::size_t i = 0; i < tree.members.size(); ++i) {
      for (const std::string& name : tree.members[i].facts.needed) {
        if (const auto found = FindLibrary(env, tree, paths_[i], name)) loaders_[*found].push_back(i);
      }
    }
  }

  /// The tree path that ld.so finds for `name` on behalf of member `index`.
  std::optional<std::string> Resolve(std::size_t index, const std::string& name) {
    if (auto found = FindLibrary(env_, tree_, paths_[index], name)) return found;
    if (tree_.members[index].facts.runpath) return std::nullopt;
    // ld.so goes on with the DT_RPATH of whoever loaded this file.
    const auto loaders = loaders_.find(tree_.members[index].path.str());
    if (loaders == loaders_.end()) return std::nullopt;
    for (const std::size_t loader : loaders->second) {
      if (tree_.members[loader].facts.runpath) continue;
      if (auto found = FindLibrary(env_, tree_, paths_[loader], name)) return found;
    }
    return std::nullopt;
  }

 private:
  Env& env_;
  const ElfTree& tree_;
  std::vector<std::vector<PathEntry>> paths_;
  std::map<std::string, std::vector<std::size_t>> loaders_;
};

struct NeededContext {
  const ElfTree& tree;
  const CheckOptions& options;
  const std::vector<std::string>& dependencies;
};

void CheckUnresolved(const NeededContext& context, const std::string& name, Findings findings) {
  if (MatchesAny(context.options.allow_unresolved, name)) return;
  if (MatchesAny(SystemLibraries(), name) || MatchesAny(DriverLibraries(), name)) return;
  const Provided provided = FindProvider(context.dependencies, name);
  if (provided.known) return;
  if (const auto same = context.tree.by_name.find(name); same != context.tree.by_name.end()) {
    findings.Add("elf-unreachable-needed", Severity::kError,
                 fmt::format("needs '{}', which is at '{}', but the search path does not lead there", name,
                             same->second.front()),
                 "add the folder to the search path, relative to $ORIGIN");
    return;
  }
  findings.Add(
      "elf-unresolved-needed", provided.possible ? Severity::kWarning : Severity::kError,
      provided.possible
          ? fmt::format("needs '{}', which is not in the tree; one of the dependencies has to bring it", name)
          : fmt::format("needs '{}', which neither the tree, a dependency nor the system brings", name),
      "pack the library, depend on the package that has it, or allow the name");
}

std::size_t ClimbAboveRoot(const ElfMember& member, std::string_view below) {
  std::size_t depth = member.path.Components().size() - 1;
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

void CheckEntry(const ElfMember& member, const PathEntry& entry, bool wheel, Findings findings) {
  if (entry.text.find(kPadName) != std::string::npos) {
    findings.Add("elf-search-path-pad", Severity::kError,
                 "the search path still holds the pad that reserves room at link time",
                 "relink the file with a layout rule before packing");
    return;
  }
  const std::vector<std::string> parts = Split(entry.text, '/');
  if (std::find(parts.begin(), parts.end(), "stubs") != parts.end()) {
    findings.Add("elf-search-path-stubs", Severity::kError,
                 fmt::format("the search path entry '{}' is a folder of link-time stubs", entry.text),
                 "remove the entry: a stub library has no code, and hides the driver's");
    return;
  }
  switch (entry.kind) {
    case EntryKind::kInTree:
    case EntryKind::kDead:
      return;
    case EntryKind::kOutside: {
      const std::string below = entry.text.substr(entry.text.find('/') + 1);
      const bool in_environment = wheel && ClimbAboveRoot(member, below) <= kWheelLevels;
      findings.Add("elf-search-path-escapes", in_environment ? Severity::kWarning : Severity::kError,
                   fmt::format("the search path entry '{}' climbs above the root of the tree", entry.text),
                   "give the entry as many '..' as the file is deep, not more");
      return;
    }
    case EntryKind::kAbsolute:
      findings.Add("elf-search-path-absolute", Severity::kError,
                   fmt::format("the search path entry '{}' exists on one machine only", entry.text),
                   "make the entry relative to $ORIGIN");
      return;
    case EntryKind::kRelative:
      findings.Add("elf-search-path-relative", Severity::kError,
                   fmt::format("the search path entry '{}' is relative to the working folder of the process",
                               entry.text),
                   "make the entry relative to $ORIGIN");
      return;
    case EntryKind::kEmpty:
      findings.Add("elf-search-path-empty", Severity::kError,
                   "the search path has an empty entry, which means the working folder of the process",
                   "remove the superfluous ':'");
      return;
  }
}

/// One finding per file: a layout for several companions has many entries that only some installs fill.
void CheckDeadEntries(const std::vector<PathEntry>& entries, bool wheel, Findings findings) {
  std::vector<std::string> dead;
  for (const PathEntry& entry : entries) {
    if (entry.kind == EntryKind::kDead) dead.push_back(entry.text);
  }
  if (dead.empty()) return;
  // In site-packages the folder may belong to another distribution.
  findings.Add("elf-search-path-dead", wheel ? Severity::kInfo : Severity::kWarning,
               fmt::format("the search path entries '{}' lead to no folder of the tree", Join(dead, "', '")),
               "remove them, unless a dependency fills the folders");
}

void CheckVersionFiles(const ElfMember& member, Findings findings) {
  const auto& needed = member.facts.needed;
  for (const std::string& name : member.facts.version_files) {
    if (std::find(needed.begin(), needed.end(), name) != needed.end()) continue;
    findings.Add("elf-version-requirement", Severity::kError,
                 fmt::format("requires symbol versions of '{}', which it does not list as needed", name),
                 "rename the library in both places: ld.so aborts on such a file");
  }
}

void CheckSonames(Env& env, const ElfTree& tree, std::vector<Finding>& list) {
  std::map<std::string, const ElfMember*, std::less<>> by_path;
  for (const ElfMember& member : tree.members) by_path[member.path.str()] = &member;
  Resolver resolver(env, tree);
  for (std::size_t i = 0; i < tree.members.size(); ++i) {
    for (const std::string& name : tree.members[i].facts.needed) {
      const auto found = resolver.Resolve(i, name);
      const auto library = found ? by_path.find(*found) : by_path.end();
      if (library == by_path.end()) continue;
      const auto& soname = library->second->facts.soname;
      if (!soname || *soname == name) continue;
      Findings(list, tree.members[i])
          .Add("elf-soname-mismatch", Severity::kInfo,
               fmt::format("needs '{}', but the library there calls itself '{}'", name, *soname),
               "set the SONAME when a library is renamed, or it may be loaded twice");
    }
  }
}

void CheckOpenMp(const ElfTree& tree, std::vector<Finding>& list) {
  std::vector<std::string> runtimes;
  for (const ElfMember& member : tree.members) {
    if (MatchesAny(OpenMpLibraries(), member.path.Name())) runtimes.push_back(member.path.str());
  }
  if (runtimes.size() < 2) return;
  list.push_back({"elf-duplicate-openmp", Severity::kWarning, runtimes[1],
                  fmt::format("the tree holds {} OpenMP run-time libraries: '{}'", runtimes.size(),
                              Join(runtimes, "', '")),
                  "pack one and let all libraries need it"});
}

Result<void> ReadRequirements(Env& env, const AbsPath& path, std::vector<std::string>& names) {
  PTPKG_TRY(const std::string text, ReadFile(env.fs, path, kMaxMetadataBytes));
  const auto metadata = wheel::ParseCoreMetadata(text, path.str());
  if (!metadata) return Ok();  // the wheel's own checks report it
  for (const std::string& value : metadata->GetAll("Requires-Dist")) {
    const auto requirement = wheel::ParseRequirement(value);
    if (requirement) names.push_back(wheel::NormalizeName(requirement->name));
  }
  return Ok();
}

Result<void> ReadIndexDepends(Env& env, const AbsPath& path, std::vector<std::string>& names) {
  PTPKG_TRY(const std::string text, ReadFile(env.fs, path, kMaxMetadataBytes));
  const auto index = ParseJson(text, path.str());
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

void CheckNeeded(Env& env, const ElfTree& tree, const CheckOptions& options,
                 const std::vector<std::string>& dependencies, std::vector<Finding>& findings) {
  Resolver resolver(env, tree);
  const NeededContext context{.tree = tree, .options = options, .dependencies = dependencies};
  for (std::size_t i = 0; i < tree.members.size(); ++i) {
    for (const std::string& name : tree.members[i].facts.needed) {
      Findings here(findings, tree.members[i]);
      if (name.find('/') != std::string::npos) {
        here.Add("elf-needed-path", Severity::kError,
                 fmt::format("needs '{}' by path, so it is found on one machine only", name),
                 "link against a library that has a SONAME");
      } else if (!resolver.Resolve(i, name)) {
        CheckUnresolved(context, name, here);
      }
    }
  }
}

void CheckSearchPaths(Env& env, const ElfTree& tree, const CheckOptions& options,
                      std::vector<Finding>& findings) {
  const bool wheel = IsWheelTree(tree);
  for (const ElfMember& member : tree.members) {
    Findings here(findings, member);
    if (member.facts.rpath && member.facts.runpath) {
      here.Add("elf-search-path-two-tags", Severity::kWarning,
               "has both DT_RPATH and DT_RUNPATH; ld.so ignores the first", "keep one of the two");
    }
    const std::vector<PathEntry> entries = ExplainSearchPath(env, tree, member);
    CheckDeadEntries(entries, wheel, here);
    for (const PathEntry& entry : entries) {
      const auto forbidden = std::find_if(
          options.forbidden_paths.begin(), options.forbidden_paths.end(), [&](const std::string& text) {
            return !text.empty() && entry.text.find(text) != std::string::npos;
          });
      if (forbidden != options.forbidden_paths.end()) {
        here.Add(
            "elf-search-path-forbidden", Severity::kError,
            fmt::format("the search path entry '{}' holds '{}', a path of the build", entry.text, *forbidden),
            "relink the file with a layout rule before packing");
      } else {
        CheckEntry(member, entry, wheel, here);
      }
    }
  }
}

void CheckConsistency(Env& env, const ElfTree& tree, std::vector<Finding>& findings) {
  for (const ElfMember& member : tree.members) {
    Findings here(findings, member);
    CheckVersionFiles(member, here);
    if (member.text_relocations) {
      here.Add("elf-text-relocations", Severity::kWarning, "needs its code to be writable while it is loaded",
               "compile all objects with -fPIC");
    }
    if (member.facts.stack == elf::StackFlag::kExecutable) {
      here.Add("elf-executable-stack", Severity::kWarning,
               "asks for an executable stack; recent C libraries refuse to load it",
               "link with -z noexecstack, or clear the flag");
    }
    if (MatchesAny(DriverLibraries(), member.path.Name())) {
      here.Add("elf-driver-library", Severity::kError,
               "is part of the graphics driver and fits one driver only",
               "leave the library out; the driver of the machine brings it");
    }
  }
  CheckSonames(env, tree, findings);
  CheckOpenMp(tree, findings);
}

Result<Report> CheckTree(Env& env, const AbsPath& root, const CheckOptions& options) {
  Report report;
  report.subject = root.str();
  PTPKG_TRY(const ElfTree tree, ReadElfTree(env, root, report.findings));
  PTPKG_TRY(std::vector<std::string> dependencies, DeclaredDependencies(env, tree));
  for (const std::string& name : options.dependencies) dependencies.push_back(wheel::NormalizeName(name));
  CheckNeeded(env, tree, options, dependencies, report.findings);
  CheckSearchPaths(env, tree, options, report.findings);
  CheckConsistency(env, tree, report.findings);
  std::sort(report.findings.begin(), report.findings.end(), [](const Finding& left, const Finding& right) {
    return std::tie(left.file, left.id, left.message) < std::tie(right.file, right.id, right.message);
  });
  return report;
}

}  // namespace ptpkg::verify
