// The planner walks a worklist: first the files of the wheel, then each library that it finds on this
// machine. Every NEEDED name that ld.so does not find in the wheel gets one decision. The first rule that
// applies counts: dropped (the interpreter has the library), found elsewhere in the wheel, left outside,
// copied. Invariants: a file of this machine is copied once, whatever names lead to it. The planner collects
// all missing names before it fails. Copies get their names last, when everything that asks for them is
// known.

#include "repair/graft_plan.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "elf/load/search_path.h"
#include "elf/read/string_scan.h"
#include "repair/graft_names.h"
#include "repair/search_paths.h"
#include "support/text/globs.h"
#include "support/text/text.h"
#include "verify/elf/elf_tables.h"

namespace ptpkg::repair {
namespace {

/// Values of $LIB in distributions' builds of glibc: Fedora, Debian, others.
constexpr std::array<std::string_view, 4> kLibFolders = {"lib64", "lib/x86_64-linux-gnu",
                                                         "lib/aarch64-linux-gnu", "lib"};

/// The absolute directories of a search path. `origin` is "" for a file of the wheel: its directory is
/// nowhere on this machine.
std::vector<std::string> AbsoluteFolders(const std::optional<elf::SearchPath>& path,
                                         const std::string& origin) {
  std::vector<std::string> folders;
  if (!path) return folders;
  for (const std::string& entry : elf::SplitSearchPath(path->text)) {
    if (origin.empty() && elf::UsesToken(entry, "ORIGIN")) continue;
    // The value of $LIB is compiled into the ld.so of this machine, so each known one is tried.
    for (const std::string_view lib : kLibFolders) {
      std::string folder =
          elf::ExpandTokens(entry, {.origin = origin, .lib = std::string(lib), .platform = "x86_64"});
      if (folder.starts_with('/')) folders.push_back(std::move(folder));
      if (!elf::UsesToken(entry, "LIB")) break;
    }
  }
  return folders;
}

void Append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// True if `names` has `name`.
bool HasGraftName(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Inputs of every phase; borrowed.
struct GraftInputs {
  const GraftContext& context;
  const GraftOptions& options;
};

/// Libraries that are not copied.
struct NotCopied {
  std::set<ExcludedLibrary> left_out = {};
  std::set<std::string> excludes_used = {};                   ///< GraftPlan::excludes_used
  std::map<std::string, std::set<std::string>> missing = {};  ///< Name → the files that need it.

  /// True if --exclude names a library by one of `texts`; records which globs do.
  bool Excludes(const GraftOptions& options, std::initializer_list<std::string_view> texts) {
    bool excluded = false;
    for (const std::string& glob : options.exclude) {
      for (const std::string_view text : texts) {
        if (!GlobMatch(glob, text)) continue;
        excludes_used.insert(glob);
        excluded = true;
      }
    }
    return excluded;
  }
};

/// Facts for finding the libraries that a copy needs, and changes to them.
struct HostFile {
  elf::LinkFacts facts;
  elf::Host host;
  std::vector<verify::ElfFilter> filters = {};
  std::string origin = {};                  ///< The directory through which it was found.
  std::vector<std::string> inherited = {};  ///< Directories of DT_RPATH of the file that asks for it.
  NeedChange change = {};
};

/// One NEEDED that becomes a graft.
struct GraftNeed {
  std::optional<std::size_t> graft;  ///< The copy that needs it; nullopt: a file of the wheel.
  std::string path;                  ///< Of that file.
  std::string name;
  std::size_t target = 0;
};

/// A library of this machine, read for copying.
struct HostCopy {
  FoundLibrary library;
  HostFile file;
};

/// The libraries to copy. `files` has the facts of `found`, at the same indices.
struct Copies {
  std::vector<FoundLibrary> found = {};
  std::vector<HostFile> files = {};
  std::map<AbsPath, std::size_t> by_source = {};  ///< Index in `found`.
  std::vector<GraftNeed> needs = {};

  /// REQUIRES: no other copy has this source.
  std::size_t Add(const AbsPath& source, HostCopy copy) {
    found.push_back(std::move(copy.library));
    files.push_back(std::move(copy.file));
    return by_source.emplace(source, found.size() - 1).first->second;
  }
  void AddNeed(GraftNeed need) {
    found[need.target].needed = true;
    needs.push_back(std::move(need));
  }
};

/// The file whose needs are searched for.
struct Requester {
  std::string path;  ///< For people.
  HostSearch search;
  std::vector<std::string> handed_on = {};  ///< Directories for the needs of the library that is found.
};

Requester RequesterInWheel(const verify::ElfTree& tree, const verify::ElfMember& member,
                           const std::string& name) {
  Requester asker{.path = member.path.str(), .search = {.name = name, .host = verify::HostOf(member)}};
  asker.handed_on = AbsoluteFolders(member.facts.runpath ? std::nullopt : member.facts.rpath, "");
  // Files that load this one pass their DT_RPATH on to it; which ones depends on the process.
  for (const verify::ElfMember& other : tree.members) {
    if (!other.facts.runpath) Append(asker.handed_on, AbsoluteFolders(other.facts.rpath, ""));
  }
  if (member.facts.runpath) {
    asker.search.runpath = AbsoluteFolders(member.facts.runpath, "");
  } else {
    asker.search.rpath = asker.handed_on;
  }
  return asker;
}

Requester RequesterOnHost(const AbsPath& source, const HostFile& file, const std::string& name) {
  Requester asker{
      .path = source.str(), .search = {.name = name, .host = file.host}, .handed_on = file.inherited};
  if (file.facts.runpath) {
    asker.search.runpath = AbsoluteFolders(file.facts.runpath, file.origin);
  } else {
    asker.search.rpath = AbsoluteFolders(file.facts.rpath, file.origin);
    Append(asker.search.rpath, file.inherited);
    asker.handed_on = asker.search.rpath;
  }
  return asker;
}

/// `musl`: of the wheel. `asker`: the file that needs the library, for people.
Result<HostCopy> ReadHostCopy(Env& env, const AbsPath& source, bool musl, const std::string& asker) {
  PTPKG_TRY(const auto file, env.fs.Open(source, OpenMode::kRead));
  PTPKG_TRY(const auto image, elf::ReadImage(*file));
  if (!image || !image->dynamic) {
    return Error(ErrorCode::kCorrupt, fmt::format("'{}' is not a shared library", source.str()))
        .WithHint("give the library's directory with --lib-dir DIR, or exclude it with --exclude");
  }
  HostFile read{.facts = {},
                .host = {.elf_class = image->codec.elf_class(),
                         .order = image->codec.order(),
                         .machine = image->header.machine}};
  PTPKG_TRY(read.facts, elf::ReadLinkFacts(*file, *image));
  PTPKG_TRY(read.filters, verify::ReadFilters(*file, *image));
  if (musl && HasGraftName(read.facts.needed, "libc.so.6")) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is for glibc, but the wheel is for musl", source.str()))
        .WithHint(
            "give a directory of musl libraries with --lib-dir DIR, such as usr/lib of an unpacked Alpine");
  }
  FoundLibrary found{.graft = {.source = source}, .soname = read.facts.soname, .asker = asker};
  PTPKG_TRY(found.mentions, elf::ScanLibraryNames(*file, *image));
  PTPKG_TRY(const Digests digests, HashFile(env.fs, source));
  found.graft.sha256 = digests.sha256;
  return HostCopy{.library = std::move(found), .file = std::move(read)};
}

/// The graft that the name leads to, added to `copies` if it is new; nullopt when it stays outside or is
/// missing, which `not_copied` records.
Result<std::optional<std::size_t>> FindLibrary(const GraftInputs& inputs, const Requester& asker,
                                               Copies& copies, NotCopied& not_copied) {
  Env& env = inputs.context.env;
  const std::string& name = asker.search.name;
  PTPKG_TRY(const auto place, inputs.context.host.Find(env, asker.search));
  if (!place && MatchesAnyGlob(inputs.options.left_by_wheel, FileNameOf(name))) {
    not_copied.left_out.insert({name, "the wheel expects it on the machine"});
    return std::optional<std::size_t>();
  }
  if (!place) {
    not_copied.missing[name].insert(asker.path);
    return std::optional<std::size_t>();
  }
  // libx.so, libx.so.1 and libx.so.1.2 are mostly links to one file, which must be copied once.
  PTPKG_TRY(const AbsPath source, env.fs.RealPath(place->str()));
  if (not_copied.Excludes(inputs.options, {source.str(), place->str()})) {
    not_copied.left_out.insert({name, std::string(kExcluded)});
    return std::optional<std::size_t>();
  }
  std::optional<std::size_t> target;
  if (const auto known = copies.by_source.find(source); known != copies.by_source.end()) {
    target = known->second;
  } else {
    PTPKG_TRY(HostCopy copy, ReadHostCopy(env, source, inputs.options.musl, asker.path),
              fmt::format("while reading '{}'", source.str()));
    copy.file.origin = place->Parent().str();
    copy.file.inherited = asker.handed_on;
    target = copies.Add(source, std::move(copy));
  }
  copies.found[*target].graft.asked.insert(name);
  return target;
}

/// Name of a library that stays outside; nullopt: it is copied. A path of this machine does not exist on
/// others, so a library that all of them have keeps its bare name.
std::optional<std::string> NameOutside(const GraftInputs& inputs, const std::string& needed,
                                       NotCopied& not_copied) {
  const GraftRules& rules = inputs.context.rules;
  const GraftOptions& options = inputs.options;
  const verify::PolicyLibraries& policies = inputs.context.policies;
  const std::string name = FileNameOf(needed);
  const bool excluded = not_copied.Excludes(options, {needed, name});
  if (options.musl ? policies.IsOfMusllinux(name) : policies.IsOfManylinux(name, options.policy)) return name;
  const auto leave = [&](std::string_view why, const std::string& as) {
    not_copied.left_out.insert({needed, std::string(why)});
    return std::optional(as);
  };
  if (excluded) return leave(kExcluded, needed);
  if (rules.IsNeverGrafted(name) || MatchesAnyGlob(options.never_graft, name))
    return leave("never bundled", name);
  if (const std::string why = rules.MachineLibraryReason(name);
      !why.empty() && !HasGraftName(options.opened, name))
    return leave(why, name);
  if (verify::FindProvider(options.dependencies, name).known) return leave("a dependency provides it", name);
  return std::nullopt;
}

/// Path of a library of that name in the wheel, for the same processor. One that an installer puts outside
/// of site-packages (*.data/data) does not count: no search path leads there. Among several, the library in
/// `folder`, the directory in which the asking file is installed, counts. Errors: kInvalidInput for different
/// ones elsewhere.
Result<std::optional<std::string>> PlaceInWheel(const GraftContext& context, const std::string& name,
                                                const elf::Host& host, const std::string& folder) {
  std::optional<std::string> first;
  std::optional<Sha256> digest;
  for (const verify::ElfMember& member : context.tree.members) {
    const std::string& path = member.path.str();
    if (member.path.Name() != name || verify::HostOf(member) != host || !verify::InstalledPath(path))
      continue;
    // ld.so gets to these through the directory above, on processors that can take them.
    if (verify::IsVariant(member)) continue;
    if (verify::OriginOf(member) == folder) return std::optional(path);
    PTPKG_TRY(const Digests digests, HashFile(context.env.fs, context.tree.root / member.path));
    if (!first) {
      first = path;
      digest = digests.sha256;
    } else if (*digest != digests.sha256) {
      return Error(ErrorCode::kInvalidInput, fmt::format("the wheel has two libraries '{}', '{}' and '{}', "
                                                         "and '{}' has no search path that selects one",
                                                         name, *first, path, folder))
          .WithHint("set a search path in the file that needs it, or remove one of the two from the wheel");
    }
  }
  return first;
}

/// The file that has a NEEDED.
struct NeedingFile {
  elf::Host host;
  std::string folder;       ///< Directory in which it is installed.
  bool is_program = false;  ///< A program has no interpreter that provides libraries.
};

/// What becomes of one NEEDED.
struct NeedDecision {
  enum class Kind : std::uint8_t { kDropped, kInWheel, kOutside, kCopied };
  Kind kind = Kind::kCopied;
  std::string text = {};  ///< kInWheel: the directory that has the library. kOutside: the name from now on.
};

Result<NeedDecision> Decide(const GraftInputs& inputs, const NeedingFile& file, const std::string& name,
                            NotCopied& not_copied) {
  if (!file.is_program && inputs.context.rules.IsProvidedByInterpreter(FileNameOf(name)))
    return NeedDecision{.kind = NeedDecision::Kind::kDropped};
  PTPKG_TRY(const auto place, PlaceInWheel(inputs.context, name, file.host, file.folder));
  if (place) {
    return NeedDecision{.kind = NeedDecision::Kind::kInWheel, .text = RelPath::Literal(*place).ParentText()};
  }
  if (auto outside = NameOutside(inputs, name, not_copied))
    return NeedDecision{.kind = NeedDecision::Kind::kOutside, .text = *std::move(outside)};
  return NeedDecision{};
}

/// REQUIRES: the library is not copied.
void ApplyDecision(const NeedDecision& decision, const std::string& name, NeedChange& change) {
  if (decision.kind == NeedDecision::Kind::kDropped) change.dropped.push_back(name);
  if (decision.kind == NeedDecision::Kind::kInWheel) change.folders.insert(decision.text);
  if (decision.kind == NeedDecision::Kind::kOutside && decision.text != name)
    change.renamed[name] = decision.text;
}

/// Follows the DT_AUXILIARY that `asker` looks for. Errors: kUnsupported if this machine has the library,
/// since no edit changes the entry. Without the library, ld.so would silently take the file's own symbols.
Result<void> FollowAuxiliary(const GraftInputs& inputs, const NeedingFile& file, const Requester& asker,
                             NotCopied& not_copied, NeedChange& change) {
  const std::string& name = asker.search.name;
  PTPKG_TRY(const NeedDecision decision, Decide(inputs, file, name, not_copied));
  if (decision.kind == NeedDecision::Kind::kInWheel) change.folders.insert(decision.text);
  if (decision.kind != NeedDecision::Kind::kCopied) return Ok();
  PTPKG_TRY(const auto place, inputs.context.host.Find(inputs.context.env, asker.search));
  if (!place) return Ok();
  return Error(ErrorCode::kUnsupported,
               fmt::format("cannot bundle '{}', which DT_AUXILIARY of '{}' names", place->str(), asker.path))
      .WithHint(fmt::format("put the library into the wheel, or let the file use its own symbols instead: "
                            "--exclude '{}'",
                            name));
}

/// Changes of the wheel's file `index`; adds the libraries that it needs to `copies`.
Result<NeedChange> FollowMember(const GraftInputs& inputs, std::size_t index, Copies& copies,
                                NotCopied& not_copied) {
  const verify::ElfTree& tree = inputs.context.tree;
  const verify::ElfMember& member = tree.members[index];
  const NeedingFile file{.host = verify::HostOf(member),
                         .folder = verify::OriginOf(member),
                         .is_program = member.facts.interpreter.has_value()};
  NeedChange change;
  for (const std::string& name : member.facts.needed) {
    const verify::NeedOutcome& outcome = inputs.context.loads.Of(index, name);
    // A copy does not help if some process finds the library in the wheel, or if ld.so refuses a file in the
    // way. The check of the result reports both.
    if (!outcome.missing || !outcome.found.empty() || outcome.refused) continue;
    PTPKG_TRY(const NeedDecision decision, Decide(inputs, file, name, not_copied));
    if (decision.kind != NeedDecision::Kind::kCopied) {
      ApplyDecision(decision, name, change);
      continue;
    }
    PTPKG_TRY(const auto target,
              FindLibrary(inputs, RequesterInWheel(tree, member, name), copies, not_copied));
    if (target) copies.AddNeed({.graft = {}, .path = member.path.str(), .name = name, .target = *target});
  }
  for (const verify::ElfFilter& filter : member.filters) {
    if (!filter.is_auxiliary || !inputs.context.loads.Of(index, filter.name).missing) continue;
    const Requester asker = RequesterInWheel(tree, member, filter.name);
    PTPKG_CHECK(FollowAuxiliary(inputs, file, asker, not_copied, change));
  }
  return change;
}

/// Adds a library that somebody opens by name.
Result<void> FollowOpened(const GraftInputs& inputs, const std::string& name, Copies& copies,
                          NotCopied& not_copied) {
  const verify::ElfTree& tree = inputs.context.tree;
  if (tree.members.empty()) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the wheel has no library that could open '{}'", name));
  }
  if (inputs.context.rules.IsNeverGrafted(name) || MatchesAnyGlob(inputs.options.never_graft, name)) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("--graft cannot bundle '{}': ptpkg never bundles it", name))
        .WithHint("remove --graft: the driver, PyTorch or a backend package provides the library");
  }
  Requester asker = RequesterInWheel(tree, tree.members.front(), name);
  asker.path = "--graft";
  PTPKG_TRY(const auto target, FindLibrary(inputs, asker, copies, not_copied));
  if (target) copies.found[*target].asked_for.insert(name);
  return Ok();
}

/// Decides the needs of the copy `index`; adds the libraries that it needs behind it.
Result<void> FollowCopy(const GraftInputs& inputs, std::size_t index, Copies& copies, NotCopied& not_copied) {
  const std::vector<std::string> needed = copies.files[index].facts.needed;  // the list below may move
  const NeedingFile asking{.host = copies.files[index].host, .folder = inputs.options.folder};
  for (const std::string& name : needed) {
    PTPKG_TRY(const NeedDecision decision, Decide(inputs, asking, name, not_copied));
    if (decision.kind != NeedDecision::Kind::kCopied) {
      ApplyDecision(decision, name, copies.files[index].change);
      continue;
    }
    const Requester asker = RequesterOnHost(copies.found[index].graft.source, copies.files[index], name);
    PTPKG_TRY(const auto target, FindLibrary(inputs, asker, copies, not_copied));
    if (target) copies.AddNeed({.graft = index, .path = "", .name = name, .target = *target});
  }
  const HostFile& file = copies.files[index];
  for (const verify::ElfFilter& filter : file.filters) {
    if (!filter.is_auxiliary) continue;
    const Requester asker = RequesterOnHost(copies.found[index].graft.source, file, filter.name);
    PTPKG_CHECK(FollowAuxiliary(inputs, asking, asker, not_copied, copies.files[index].change));
  }
  return Ok();
}

Error MissingError(const std::map<std::string, std::set<std::string>>& missing) {
  std::string lines;
  for (const auto& [name, askers] : missing) {
    lines += fmt::format("\n    '{}', which '{}' needs", name, *askers.begin());
    if (askers.size() > 1) lines += fmt::format(" and {} more", askers.size() - 1);
  }
  return Error(ErrorCode::kNotFound, fmt::format("cannot find these libraries on this machine:{}", lines))
      .WithHint(
          "give their directory with --lib-dir DIR, or exclude libraries that users already have with "
          "--exclude");
}

/// Adds to `changes` the names and directories by which files reach the copies, which have names now.
/// `openers`: of NameGrafts.
void PointToCopies(const Copies& copies, const std::set<std::string>& openers, const std::string& folder,
                   std::map<std::string, NeedChange>& changes) {
  for (const GraftNeed& need : copies.needs) {
    const Graft& target = copies.found[need.target].graft;
    NeedChange& change = changes[need.graft ? copies.found[*need.graft].graft.path : need.path];
    if (need.name != target.name) change.renamed[need.name] = target.name;
    // Version requirements name a library by its SONAME, also where NEEDED is a path.
    const std::optional<std::string>& soname = copies.found[need.target].soname;
    if (need.name.find('/') != std::string::npos && soname && *soname != target.name)
      change.renamed.try_emplace(*soname, target.name);
    change.folders.insert(folder);
  }
  for (const std::string& opener : openers) {
    const auto copy =
        std::find_if(copies.found.begin(), copies.found.end(),
                     [&](const FoundLibrary& library) { return library.graft.source.str() == opener; });
    changes[copy == copies.found.end() ? opener : copy->graft.path].folders.insert(folder);
  }
}

}  // namespace

Result<GraftPlan> PlanGrafts(const GraftContext& context, const GraftOptions& options) {
  const GraftInputs inputs{.context = context, .options = options};
  GraftPlan plan;
  Copies copies;
  NotCopied not_copied;
  for (std::size_t i = 0; i < context.tree.members.size(); ++i) {
    PTPKG_TRY(plan.changes[context.tree.members[i].path.str()], FollowMember(inputs, i, copies, not_copied));
  }
  for (const std::string& name : options.opened) PTPKG_CHECK(FollowOpened(inputs, name, copies, not_copied));
  // The list grows while it is walked.
  for (std::size_t i = 0; i < copies.found.size(); ++i) {
    PTPKG_CHECK(context.env.cancel.Check());
    PTPKG_CHECK(FollowCopy(inputs, i, copies, not_copied));
  }
  // Only now, so that one run names all libraries to install.
  if (!not_copied.missing.empty()) return MissingError(not_copied.missing);
  PTPKG_TRY(const std::set<std::string> openers,
            copies.found.empty() ? std::set<std::string>() : NameGrafts(context, options, copies.found));

  for (std::size_t i = 0; i < copies.found.size(); ++i)
    plan.changes[copies.found[i].graft.path] = std::move(copies.files[i].change);
  PointToCopies(copies, openers, options.folder, plan.changes);
  for (FoundLibrary& library : copies.found) plan.grafts.push_back(std::move(library.graft));
  std::sort(plan.grafts.begin(), plan.grafts.end(),
            [](const Graft& a, const Graft& b) { return a.path < b.path; });
  plan.left_out = std::move(not_copied.left_out);
  plan.excludes_used = std::move(not_copied.excludes_used);
  return plan;
}

}  // namespace ptpkg::repair
