// A library is named in three places: NEEDED and the version requirements of its users, and its own SONAME.
// Tools that rename a library often change only some of them. The user then sees a failure of ld.so that
// names neither the tool nor the rename.

#include "verify/rules/dependency_consistency.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>
#include <tuple>

#include "elf/load/search_path.h"
#include "support/text/globs.h"
#include "support/text/text.h"
#include "verify/elf/elf_tables.h"
#include "verify/file_findings.h"

namespace ptpkg::verify {
namespace {

void CheckVersionFiles(const ElfMember& member, FileFindings findings) {
  const auto& needed = member.facts.needed;
  for (const std::string& name : member.facts.version_files) {
    // glibc asserts that the library of each requirement is loaded (elf/dl-version.c,
    // _dl_check_map_versions). Nothing guarantees that for a library outside NEEDED.
    if (std::find(needed.begin(), needed.end(), name) != needed.end()) {
      if (!elf::UsesAnyToken(name)) continue;
      findings.Add(
          "elf-version-requirement", Severity::kError,
          fmt::format("requires symbol versions of '{}', where ld.so expands no tokens, so it aborts", name),
          "link with the plain name of the library, and put its directory into the search path");
      continue;
    }
    findings.Add("elf-version-requirement", Severity::kError,
                 fmt::format("requires symbol versions of '{}', which it does not list as needed", name),
                 "rename the library in both places: ld.so aborts on this file");
  }
}

void CheckRepeatedNeeds(const ElfMember& member, FileFindings findings) {
  std::set<std::string_view> seen;
  std::set<std::string> repeated;
  for (const std::string& name : member.facts.needed) {
    if (!seen.insert(name).second) repeated.insert(name);
  }
  for (const std::string& name : repeated) {
    findings.Add("elf-duplicate-needed", Severity::kWarning, fmt::format("needs '{}' more than once", name),
                 "remove the repeated entry: a later rename would change only one of them");
  }
}

/// The versions that `member` requires of `name` exist in `library`, which the loader will take.
void CheckVersions(const ElfMember& member, const std::string& name, const ElfMember& library,
                   FileFindings findings) {
  std::vector<std::string> missing;
  for (const elf::RequiredVersion& required : member.required_versions) {
    if (required.library != name || required.weak) continue;
    // ReadDefinedVersions sorts them.
    const auto& defined = library.defined_versions;
    if (!std::binary_search(defined.begin(), defined.end(), required.version))
      missing.push_back(required.version);
  }
  if (missing.empty()) return;
  // Against a library without any versions ld.so only prints a warning. CheckSymbols finds those against
  // which it ends.
  const bool fatal = !library.defined_versions.empty();
  findings.Add("elf-version-missing", fatal ? Severity::kError : Severity::kWarning,
               fmt::format("requires '{}' of '{}', which the library at '{}' does not define",
                           Join(missing, "', '"), name, library.path.str()),
               "pack the library that the file was linked with");
}

void CheckProviders(const ElfTree& tree, const ResolvedLibraries& loads, std::vector<Finding>& list) {
  for (std::size_t i = 0; i < tree.members.size(); ++i) {
    const ElfMember& member = tree.members[i];
    for (const std::string& name :
         std::set<std::string>(member.facts.needed.begin(), member.facts.needed.end())) {
      for (const std::string& path : loads.Of(i, name).found) {
        const auto index = tree.FindMember(path);
        if (!index) continue;
        const ElfMember& library = tree.members[*index];
        CheckVersions(member, name, library, FileFindings(list, member));
        const auto& soname = library.facts.soname;
        if (!soname || *soname == name) continue;
        FileFindings(list, member)
            .Add("elf-soname-mismatch", Severity::kInfo,
                 fmt::format("needs '{}', but the SONAME of the library there is '{}'", name, *soname),
                 "set the SONAME when you rename a library; otherwise it can be loaded twice");
      }
    }
  }
}

void CheckRepeatedSonames(const ElfTree& tree, std::vector<Finding>& list) {
  using Key = std::tuple<std::string, std::uint16_t, elf::ElfClass>;
  std::map<Key, std::vector<const ElfMember*>> by_soname;
  for (const ElfMember& member : tree.members) {
    // Files for other processors or of the other class never meet in one process, so both are part of the
    // key.
    if (!member.facts.soname || member.facts.soname->empty() || IsVariant(member)) continue;
    by_soname[{*member.facts.soname, member.machine, member.elf_class}].push_back(&member);
  }
  for (const auto& [key, members] : by_soname) {
    if (members.size() < 2) continue;
    std::vector<std::string> paths;
    for (const ElfMember* const member : members) paths.push_back(member->path.str());
    FileFindings(list, *members[1])
        .Add("elf-duplicate-soname", Severity::kWarning,
             fmt::format("{} files have the SONAME '{}': '{}'", members.size(), std::get<0>(key),
                         Join(paths, "', '")),
             "pack one of them: a process gets whichever it loads first");
  }
}

void CheckOpenMp(const ElfTree& tree, std::vector<Finding>& list) {
  std::vector<std::string> runtimes;
  for (const ElfMember& member : tree.members) {
    if (MatchesAnyGlob(OpenMpLibraries(), member.path.Name())) runtimes.push_back(member.path.str());
  }
  // Each of them starts its own pool of threads, and the pools compete for the same cores.
  if (runtimes.size() < 2) return;
  list.push_back({"elf-duplicate-openmp", Severity::kWarning, runtimes[1],
                  fmt::format("the tree has {} OpenMP run-time libraries: '{}'", runtimes.size(),
                              Join(runtimes, "', '")),
                  "pack one of them and link all libraries with it"});
}

}  // namespace

void CheckDependencyConsistency(const ElfTree& tree, const ResolvedLibraries& loads,
                                std::vector<Finding>& findings) {
  for (const ElfMember& member : tree.members) {
    CheckVersionFiles(member, FileFindings(findings, member));
    CheckRepeatedNeeds(member, FileFindings(findings, member));
  }
  CheckProviders(tree, loads, findings);
  CheckRepeatedSonames(tree, findings);
  CheckOpenMp(tree, findings);
}

void CheckFlags(const ElfTree& tree, std::vector<Finding>& findings) {
  for (const ElfMember& member : tree.members) {
    FileFindings here(findings, member);
    if (member.text_relocations) {
      here.Add("elf-text-relocations", Severity::kWarning, "needs writable code while it is loaded",
               "compile all objects with -fPIC");
    }
    if (member.facts.stack == elf::StackFlag::kExecutable) {
      here.Add("elf-executable-stack", Severity::kWarning,
               "requests an executable stack; recent C libraries refuse to load it",
               "link with -z noexecstack, or clear the flag");
    }
    if (MatchesAnyGlob(DriverLibraries(), member.path.Name())) {
      here.Add("elf-driver-library", Severity::kError,
               "is part of the graphics driver and fits one driver only",
               "remove the library; the driver of the machine provides it");
    }
  }
}

}  // namespace ptpkg::verify
