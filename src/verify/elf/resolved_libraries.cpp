// Idea: what a NEEDED resolves to can depend on the program that was started and on what it loaded before.
// So every file that can begin a process (programs, Python modules, files that nothing else loads) is
// simulated with loader.h, once per kind of machine, and the outcomes of all processes are merged per
// NEEDED.
// A member is "settled" if every name that it and its libraries need leads all askers to the same file, or
// to none. A settled member that some process has loaded need not begin a process of its own, which saves
// most simulations in large trees.
// Invariants: a member that loads an unsettled member is unsettled; no member is settled in a tree with hard
// links or for several kinds of machines; hard links count as one file, as they do for ld.so; in the end
// some process has loaded each member.

#include "verify/elf/resolved_libraries.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/load/search_path.h"
#include "support/text/text.h"
#include "verify/wheel/platform_policies.h"

namespace ptpkg::verify {
namespace {

/// Debian's and Ubuntu's directory name for a machine.
std::string Multiarch(std::string_view machine) {
  if (machine == "i686") return "i386-linux-gnu";
  if (machine == "armv7l") return "arm-linux-gnueabihf";
  if (machine == "ppc64le") return "powerpc64le-linux-gnu";
  return fmt::format("{}-linux-gnu", machine);
}

/// Fedora, SUSE and the upstream default; Arch; Debian and Ubuntu.
std::vector<std::string> LibValues(const elf::Host& host) {
  const std::string_view machine = MachineName(host.machine, host.order);
  std::vector<std::string> values = {"lib"};
  if (host.elf_class == elf::ElfClass::k64) values.insert(values.begin(), "lib64");
  if (!machine.empty()) values.push_back("lib/" + Multiarch(machine));
  return values;
}

/// glibc sysdeps/x86/cpu-features.c names two families of x86-64 processors; otherwise the kernel's word.
std::vector<std::string> PlatformValues(const elf::Host& host) {
  const std::string machine(MachineName(host.machine, host.order));
  if (machine == "x86_64") return {machine, "haswell", "xeon_phi"};
  if (machine == "i686") return {"i686", "i586", "haswell", "xeon_phi"};
  return {machine};
}

std::string_view LastComponent(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool MentionsToken(const ElfTree& tree, std::string_view name) {
  return std::any_of(tree.members.begin(), tree.members.end(), [&](const ElfMember& member) {
    const auto& path = member.facts.Effective();
    const auto& needed = member.facts.needed;
    return (path && elf::UsesToken(path->text, name)) ||
           std::any_of(needed.begin(), needed.end(),
                       [&](const std::string& text) { return elf::UsesToken(text, name); });
  });
}

bool HasLevels(const ElfTree& tree) {
  const auto& nodes = tree.map.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
    return node.second.kind != FileKind::kRegular && LastComponent(node.first) == "glibc-hwcaps";
  });
}

/// "where $LIB is 'lib64'": what sets `machine` apart in a tree that tells `all` apart.
std::string DescribeMachine(const LoaderMachine& machine, const std::vector<LoaderMachine>& all) {
  const LoaderMachine& other = all.back();
  std::vector<std::string> words;
  if (all.front().lib != other.lib) words.push_back(fmt::format("$LIB is '{}'", machine.lib));
  if (all.front().platform != other.platform) {
    words.push_back(fmt::format("$PLATFORM is '{}'", machine.platform));
  }
  if (all.front().isa != other.isa) {
    words.push_back(fmt::format("the processor is of level {}", elf::IsaLevelName(machine.isa)));
  }
  return "where " + Join(words, " and ");
}

/// Modules that Python imports, and files that programs open by path.
bool IsModule(const ElfMember& member) {
  const std::string_view name = member.path.Name();
  return name.ends_with(".so") && !name.starts_with("lib");
}

/// Which members get the same libraries in every process that loads them, whatever else it has loaded: every
/// name that they and their libraries need leads all who ask for it to one file, or to none.
class SettledMembers {
 public:
  explicit SettledMembers(const ElfTree& tree) : tree_(tree), settled_(tree.members.size(), true) {}

  std::vector<bool> Find() && {
    has_rpath_ = std::any_of(tree_.members.begin(), tree_.members.end(), [](const ElfMember& member) {
      return member.facts.rpath && !member.facts.runpath;
    });
    for (const auto& node : tree_.map.nodes()) in_tree_.emplace(LastComponent(node.first));
    for (const ElfMember& member : tree_.members) {
      if (member.facts.soname) in_tree_.emplace(*member.facts.soname);
    }
    for (std::size_t i = 0; i < tree_.members.size(); ++i) {
      for (const std::string& name : tree_.members[i].facts.needed) Ask(i, name);
      for (const ElfFilter& filter : tree_.members[i].filters) Ask(i, filter.name);
    }
    for (std::size_t i = 0; i < tree_.members.size(); ++i) {
      const auto& soname = tree_.members[i].facts.soname;
      const auto name = soname ? names_.find(*soname) : names_.end();
      if (name == names_.end() || (name->second.agreed && name->second.file == i)) continue;
      name->second.agreed = false;
      settled_[i] = false;
    }
    Spread();
    return std::move(settled_);
  }

 private:
  struct Name {
    bool agreed = true;
    std::optional<std::size_t> file;  // nullopt: none in the tree
    std::vector<std::size_t> askers;
  };

  void Ask(std::size_t member, const std::string& name) {
    const auto [place, fresh] = names_.try_emplace(name);
    place->second.askers.push_back(member);
    std::optional<std::size_t> file;
    if (!Search(tree_.members[member], name, file)) {
      settled_[member] = false;
      place->second.agreed = false;
    } else if (fresh) {
      place->second.file = file;
    } else if (place->second.file != file) {
      place->second.agreed = false;
    }
  }

  /// False where what is found may depend on the process, or needs a closer look.
  bool Search(const ElfMember& member, const std::string& name, std::optional<std::size_t>& file) const {
    // Paths and tokens depend on $ORIGIN and on the machine. They are rare, so the simulation decides about
    // them.
    if (name.empty() || name == "." || name == ".." || name.find_first_of("/$") != std::string::npos)
      return false;
    // No file or link has this name, so no process can find the library in the tree.
    if (!in_tree_.contains(name)) return true;
    const auto& path = member.facts.Effective();
    const std::string origin = OriginOf(member);
    for (const std::string& entry : path ? elf::SplitSearchPath(path->text) : std::vector<std::string>()) {
      const auto below = elf::AfterOrigin(entry);
      if (!below || below->find('$') != std::string::npos) return false;
      const std::optional<std::string> folder = tree_.map.FollowToFolder(origin, *below);
      if (!folder) continue;
      const Walk walk = tree_.map.Follow(*folder, name);
      // Like ld.so, which continues only if the file is missing or unreadable. Any other end decides the
      // search.
      if (walk.end == WalkEnd::kMissing) continue;
      file = walk.end == WalkEnd::kFound ? tree_.FindMember(walk.path) : std::nullopt;
      return file && walk.path == Child(*folder, name) && IsPlainLibrary(tree_.members[*file], member);
    }
    // The search of the file itself found nothing. DT_RPATH of its loaders can still lead somewhere, unless
    // the file has a DT_RUNPATH: ld.so then ignores every DT_RPATH.
    return (path && member.facts.runpath) || !has_rpath_;
  }

  static bool IsPlainLibrary(const ElfMember& library, const ElfMember& asker) {
    // Each of these cases makes ld.so skip or refuse the file, or gives it another $ORIGIN.
    return HostOf(library) == HostOf(asker) && library.position_independent && library.faults.empty() &&
           (library.facts.flags_1 & elf::kFlag1Pie) == 0 && OriginOf(library) == library.path.ParentText();
  }

  /// A member that loads an unsettled one is unsettled too.
  void Spread() {
    std::vector<std::vector<std::size_t>> loaders(tree_.members.size());
    std::vector<std::size_t> open;
    for (const auto& [text, name] : names_) {
      for (const std::size_t asker : name.askers) {
        if (name.file) loaders[*name.file].push_back(asker);
        if (!name.agreed) settled_[asker] = false;
      }
    }
    for (std::size_t i = 0; i < settled_.size(); ++i) {
      if (!settled_[i]) open.push_back(i);
    }
    while (!open.empty()) {
      const std::size_t member = open.back();
      open.pop_back();
      for (const std::size_t loader : loaders[member]) {
        if (settled_[loader]) open.push_back(loader);
        settled_[loader] = false;
      }
    }
  }

  const ElfTree& tree_;
  bool has_rpath_ = false;
  std::set<std::string, std::less<>> in_tree_;  // all that a name could lead to
  std::vector<bool> settled_;
  std::map<std::string, Name> names_;
};

class LoaderSimulation {
 public:
  LoaderSimulation(Env& env, const ElfTree& tree, elf::IsaLevel least)
      : tree_(tree), least_(least), loader_(env, tree), loaded_(tree.members.size()) {
    // ld.so recognizes a loaded file by device and inode, so hard links share their outcomes.
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> first;
    for (std::size_t i = 0; i < tree_.members.size(); ++i) {
      const TreeNode& node = tree_.map.nodes().find(tree_.members[i].path.str())->second;
      first_twin_.push_back(first.try_emplace({node.device, node.inode}, i).first->second);
    }
  }

  Result<void> SimulateAllProcesses() {
    const std::set<std::size_t> wanted = Wanted();
    const std::vector<bool> settled = FindSettled();
    // A process that loads a settled file shows all of it. Those that nobody needs show most.
    for (std::size_t i = 0; i < tree_.members.size(); ++i) {
      if (settled[i] && !wanted.contains(i)) PTPKG_CHECK(Begin(i));
    }
    for (std::size_t i = 0; i < tree_.members.size(); ++i) {
      if (settled[i] && IsLoaded(i)) continue;
      if (IsProgram(tree_.members[i]) || IsModule(tree_.members[i])) PTPKG_CHECK(Begin(i));
    }
    for (std::size_t i = 0; i < tree_.members.size(); ++i) {
      if (!IsLoaded(i) && !wanted.contains(i)) PTPKG_CHECK(Begin(i));
    }
    // Circles, and libraries whose users do not find them.
    for (std::size_t i = 0; i < tree_.members.size(); ++i) {
      if (!IsLoaded(i)) PTPKG_CHECK(Begin(i));
    }
    return Ok();
  }

  [[nodiscard]] const std::vector<std::size_t>& first_twin() const { return first_twin_; }

  std::map<std::pair<std::size_t, std::string>, NeedOutcome> Outcomes() && {
    for (auto& [need, seen] : seen_) Conclude(need.first, seen);
    std::map<std::pair<std::size_t, std::string>, NeedOutcome> outcomes;
    for (auto& [need, seen] : seen_) outcomes.emplace(need, std::move(seen.outcome));
    return outcomes;
  }

 private:
  struct OnMachine {
    bool found = false;
    std::optional<std::size_t> missing_from;
  };
  struct Seen {
    NeedOutcome outcome;
    std::map<LoaderMachine, OnMachine> machines;
  };

  const std::vector<LoaderMachine>& Machines(const ElfMember& member) {
    const elf::Host host = HostOf(member);
    const auto [place, fresh] = machines_.try_emplace(host);
    if (fresh) place->second = MachinesFor(tree_, host, least_);
    return place->second;
  }

  /// None in a tree of hard links or for several kinds of machines.
  std::vector<bool> FindSettled() {
    std::vector<bool> none(tree_.members.size(), false);
    for (std::size_t i = 0; i < tree_.members.size(); ++i) {
      if (first_twin_[i] != i || Machines(tree_.members[i]).size() != 1) return none;
    }
    return SettledMembers(tree_).Find();
  }

  Result<void> Begin(std::size_t entry) {
    loaded_[first_twin_[entry]] = true;
    for (const LoaderMachine& machine : Machines(tree_.members[entry])) {
      PTPKG_TRY(const std::vector<Load> loads, loader_.Run(entry, machine));
      for (const Load& load : loads) Note(entry, machine, load);
    }
    return Ok();
  }

  void Note(std::size_t entry, const LoaderMachine& machine, const Load& load) {
    Seen& seen = seen_[{first_twin_[load.needed_by], load.name}];
    OnMachine& here = seen.machines[machine];
    seen.outcome.passed_over.insert(load.passed_over.begin(), load.passed_over.end());
    switch (load.end) {
      case LoadEnd::kFound:
        here.found = true;
        seen.outcome.found.insert(load.path);
        NoteRule(load, seen.outcome);
        MarkLoaded(load.path);
        break;
      case LoadEnd::kMissing:
        if (!here.missing_from) here.missing_from = entry;
        break;
      case LoadEnd::kRefused:
        if (!seen.outcome.refused) seen.outcome.refused = {.path = load.path, .reason = load.reason};
        break;
    }
  }

  static void NoteRule(const Load& load, NeedOutcome& outcome) {
    const auto [place, fresh] = outcome.rules.try_emplace(load.path, load.rule);
    // "already loaded" explains nothing. A process that searched tells where the library was found.
    if (!fresh && place->second.kind == LoadRule::Kind::kLoaded) place->second = load.rule;
  }

  /// Hard links are one file to ld.so, whichever it opened.
  void MarkLoaded(const std::string& path) {
    const auto member = tree_.FindMember(path);
    if (member) loaded_[first_twin_[*member]] = true;
  }

  [[nodiscard]] bool IsLoaded(std::size_t member) const { return loaded_[first_twin_[member]]; }

  void Conclude(std::size_t member, Seen& seen) {
    NeedOutcome& outcome = seen.outcome;
    const auto missing = [](const auto& entry) { return entry.second.missing_from.has_value(); };
    // Missing on all machines is a fault of the tree; on some of them, it depends on the machine
    // (missing_where).
    outcome.missing = std::all_of(seen.machines.begin(), seen.machines.end(), missing);
    const auto first = std::find_if(seen.machines.begin(), seen.machines.end(), missing);
    if (first == seen.machines.end()) return;
    if (!outcome.missing) {
      outcome.missing_where = DescribeMachine(first->first, Machines(tree_.members[member]));
    } else if (first->second.found) {
      outcome.missing_from = first->second.missing_from;
    }
  }

  /// Members that another one of the same processor asks for by one of their names.
  std::set<std::size_t> Wanted() const {
    // By file name, SONAME and names of links: ld.so compares the SONAME of loaded files, too.
    std::map<std::string, std::set<std::size_t>, std::less<>> by_name;
    for (std::size_t i = 0; i < tree_.members.size(); ++i) {
      by_name[std::string(tree_.members[i].path.Name())].insert(i);
      if (const auto& soname = tree_.members[i].facts.soname) by_name[*soname].insert(i);
    }
    for (const auto& [path, node] : tree_.map.nodes()) {
      if (node.kind != FileKind::kSymlink) continue;
      const Walk walk = tree_.map.Follow("", path);
      const auto member = tree_.FindMember(walk.path);
      if (member) by_name[std::string(LastComponent(path))].insert(*member);
    }
    std::set<std::size_t> wanted;
    for (std::size_t i = 0; i < tree_.members.size(); ++i) {
      for (const std::string& name : tree_.members[i].facts.needed) {
        const auto named = by_name.find(name);
        if (named == by_name.end()) continue;
        for (const std::size_t member : named->second) {
          if (member != i && HostOf(tree_.members[member]) == HostOf(tree_.members[i])) wanted.insert(member);
        }
      }
    }
    return wanted;
  }

  const ElfTree& tree_;
  const elf::IsaLevel least_;
  Loader loader_;
  std::vector<bool> loaded_;
  std::vector<std::size_t> first_twin_;  ///< By member: itself, but for the later ones of hard links.
  std::map<elf::Host, std::vector<LoaderMachine>> machines_;
  std::map<std::pair<std::size_t, std::string>, Seen> seen_;
};

}  // namespace

std::vector<LoaderMachine> MachinesFor(const ElfTree& tree, const elf::Host& host, elf::IsaLevel least) {
  const std::vector<std::string> libs =
      MentionsToken(tree, "LIB") ? LibValues(host) : std::vector<std::string>{""};
  const std::vector<std::string> platforms =
      MentionsToken(tree, "PLATFORM") ? PlatformValues(host) : std::vector<std::string>{""};
  // Only the levels of x86-64 are simulated. A tree without glibc-hwcaps behaves the same on all of them.
  std::vector<elf::IsaLevel> levels;
  for (const elf::IsaLevel level :
       {elf::IsaLevel::kBaseline, elf::IsaLevel::kV2, elf::IsaLevel::kV3, elf::IsaLevel::kV4}) {
    if (level >= least) levels.push_back(level);
  }
  if (host.machine != elf::kMachineX8664 || !HasLevels(tree)) levels.resize(1);
  std::vector<LoaderMachine> machines;
  for (const std::string& lib : libs) {
    for (const std::string& platform : platforms) {
      for (const elf::IsaLevel level : levels) {
        machines.push_back({.lib = lib, .platform = platform, .isa = level});
      }
    }
  }
  return machines;
}

Result<ResolvedLibraries> ResolvedLibraries::SimulateLoads(Env& env, const ElfTree& tree,
                                                           elf::IsaLevel least) {
  LoaderSimulation player(env, tree, least);
  PTPKG_CHECK(player.SimulateAllProcesses());
  ResolvedLibraries loads;
  loads.first_twin_ = player.first_twin();
  loads.outcomes_ = std::move(player).Outcomes();
  return loads;
}

}  // namespace ptpkg::verify
