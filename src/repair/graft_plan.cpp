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

/// Variants of libraries for better processors.
constexpr std::string_view kProcessorFolders = "glibc-hwcaps/";

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

class GraftPlanner {
 public:
  GraftPlanner(const GraftContext& context, const GraftOptions& options)
      : env_(context.env), context_(context), tree_(context.tree), options_(options) {}

  Result<GraftPlan> Plan() {
    for (std::size_t i = 0; i < tree_.members.size(); ++i) PTPKG_CHECK(FollowMember(i));
    for (const std::string& name : options_.opened) PTPKG_CHECK(FollowOpened(name));
    // The list grows while it is walked.
    for (std::size_t i = 0; i < found_.size(); ++i) {
      PTPKG_CHECK(env_.cancel.Check());
      PTPKG_CHECK(FollowGraft(i));
    }
    if (!missing_.empty()) return MissingError();
    PTPKG_TRY(const std::set<std::string> openers,
              found_.empty() ? std::set<std::string>() : NameGrafts(context_, options_, found_));
    return Finish(openers);
  }

 private:
  /// Facts for finding the libraries that a copy needs, and changes to them.
  struct HostFile {
    elf::LinkFacts facts;
    elf::Host host;
    std::string origin = {};                  // the directory through which it was found
    std::vector<std::string> inherited = {};  // directories of DT_RPATH of what asks for it
    NeedChange change = {};
  };
  /// One NEEDED that becomes a graft.
  struct Need {
    std::optional<std::size_t> graft;  // that needs it; nullopt: a file of the wheel
    std::string path;                  // of that file
    std::string name;
    std::size_t target = 0;
  };
  /// The file whose needs are searched for.
  struct Requester {
    std::string path;  // for people
    HostSearch search;
    std::vector<std::string> handed_on = {};  // to what is found
  };

  Result<void> FollowMember(std::size_t index) {
    const verify::ElfMember& member = tree_.members[index];
    for (const std::string& name : member.facts.needed) {
      const verify::NeedOutcome& outcome = context_.loads.Of(index, name);
      if (!outcome.missing || !outcome.found.empty() || outcome.refused) continue;
      const bool program = member.facts.interpreter.has_value();
      if (!program && context_.rules.IsProvidedByInterpreter(FileNameOf(name))) {
        changes_[member.path.str()].dropped.push_back(name);
        continue;
      }
      PTPKG_TRY(const auto place, PlaceInWheel(name, verify::HostOf(member), verify::OriginOf(member)));
      if (place) {
        changes_[member.path.str()].folders.insert(RelPath::Literal(*place).ParentText());
        continue;
      }
      if (const auto outside = NameOutside(name)) {
        if (*outside != name) changes_[member.path.str()].renamed[name] = *outside;
        continue;
      }
      PTPKG_TRY(const auto target, FindLibrary(RequesterOf(member, name)));
      if (target) Use({.graft = {}, .path = member.path.str(), .name = name, .target = *target});
    }
    return Ok();
  }

  Result<void> FollowGraft(std::size_t index) {
    const std::vector<std::string> needed = files_[index].facts.needed;  // the list below may move
    for (const std::string& name : needed) {
      HostFile& file = files_[index];
      if (context_.rules.IsProvidedByInterpreter(FileNameOf(name))) {
        file.change.dropped.push_back(name);
        continue;
      }
      PTPKG_TRY(const auto place, PlaceInWheel(name, file.host, options_.folder));
      if (place) {
        file.change.folders.insert(RelPath::Literal(*place).ParentText());
        continue;
      }
      if (const auto outside = NameOutside(name)) {
        if (*outside != name) file.change.renamed[name] = *outside;
        continue;
      }
      Requester asker{.path = found_[index].graft.source.str(),
                      .search = {.name = name, .host = file.host},
                      .handed_on = file.inherited};
      if (file.facts.runpath) {
        asker.search.runpath = AbsoluteFolders(file.facts.runpath, file.origin);
      } else {
        asker.search.rpath = AbsoluteFolders(file.facts.rpath, file.origin);
        Append(asker.search.rpath, file.inherited);
        asker.handed_on = asker.search.rpath;
      }
      PTPKG_TRY(const auto target, FindLibrary(asker));
      if (target) Use({.graft = index, .path = "", .name = name, .target = *target});
    }
    return Ok();
  }

  /// A library that somebody opens by name.
  Result<void> FollowOpened(const std::string& name) {
    if (tree_.members.empty()) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the wheel has no library that could open '{}'", name));
    }
    if (context_.rules.IsNeverGrafted(name) || MatchesAnyGlob(options_.never_graft, name)) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("--graft cannot bundle '{}': ptpkg never bundles it", name))
          .WithHint("remove --graft: the driver, PyTorch or a backend package provides the library");
    }
    Requester asker = RequesterOf(tree_.members.front(), name);
    asker.path = "--graft";
    PTPKG_TRY(const auto target, FindLibrary(asker));
    if (target) found_[*target].asked_for.insert(name);
    return Ok();
  }

  void Use(Need need) {
    found_[need.target].needed = true;
    needs_.push_back(std::move(need));
  }

  Requester RequesterOf(const verify::ElfMember& member, const std::string& name) const {
    Requester asker{.path = member.path.str(), .search = {.name = name, .host = verify::HostOf(member)}};
    asker.handed_on = AbsoluteFolders(member.facts.runpath ? std::nullopt : member.facts.rpath, "");
    // Files that load this one pass their DT_RPATH on to it; which ones depends on the process.
    for (const verify::ElfMember& other : tree_.members) {
      if (!other.facts.runpath) Append(asker.handed_on, AbsoluteFolders(other.facts.rpath, ""));
    }
    if (member.facts.runpath) {
      asker.search.runpath = AbsoluteFolders(member.facts.runpath, "");
    } else {
      asker.search.rpath = asker.handed_on;
    }
    return asker;
  }

  /// The graft that the name leads to, made known if it is new; nullopt when it stays outside or is missing.
  Result<std::optional<std::size_t>> FindLibrary(const Requester& asker) {
    const std::string& name = asker.search.name;
    PTPKG_TRY(const auto place, context_.host.Find(env_, asker.search));
    if (!place && MatchesAnyGlob(options_.left_by_wheel, FileNameOf(name))) {
      left_out_.insert({name, "the wheel expects it on the machine"});
      return std::optional<std::size_t>();
    }
    if (!place) {
      missing_[name].insert(asker.path);
      return std::optional<std::size_t>();
    }
    PTPKG_TRY(const AbsPath source, env_.fs.RealPath(place->str()));
    if (IsExcluded({source.str(), place->str()})) {
      left_out_.insert({name, std::string(kExcluded)});
      return std::optional<std::size_t>();
    }
    const auto [known, fresh] = by_source_.emplace(source, found_.size());
    if (fresh) {
      PTPKG_CHECK(Read(source, asker.path), fmt::format("while reading '{}'", source.str()));
      files_.back().origin = place->Parent().str();
      files_.back().inherited = asker.handed_on;
    }
    found_[known->second].graft.asked.insert(name);
    return std::optional(known->second);
  }

  /// Adds a library of this machine to `found_` and `files_`.
  Result<void> Read(const AbsPath& source, const std::string& asker) {
    PTPKG_TRY(const auto file, env_.fs.Open(source, OpenMode::kRead));
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
    const std::vector<std::string>& needed = read.facts.needed;
    if (options_.musl && std::find(needed.begin(), needed.end(), "libc.so.6") != needed.end()) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}' is for glibc, but the wheel is for musl", source.str()))
          .WithHint(
              "give a directory of musl libraries with --lib-dir DIR, such as usr/lib of an unpacked Alpine");
    }
    FoundLibrary found{.graft = {.source = source}, .soname = read.facts.soname, .asker = asker};
    PTPKG_TRY(found.mentions, elf::ScanLibraryNames(*file, *image));
    PTPKG_TRY(const Digests digests, HashFile(env_.fs, source));
    found.graft.sha256 = digests.sha256;
    found_.push_back(std::move(found));
    files_.push_back(std::move(read));
    return Ok();
  }

  /// Name of a library that stays outside; nullopt: it is copied. A path of this machine does not exist on
  /// others, so a library that all of them have keeps its bare name.
  std::optional<std::string> NameOutside(const std::string& needed) {
    const GraftRules& rules = context_.rules;
    const verify::PolicyLibraries& policies = context_.policies;
    const std::string name = FileNameOf(needed);
    const bool excluded = IsExcluded({needed, name});
    if (options_.musl ? policies.IsOfMusllinux(name) : policies.IsOfManylinux(name, options_.policy))
      return name;
    const auto leave = [&](std::string_view why, const std::string& as) {
      left_out_.insert({needed, std::string(why)});
      return std::optional(as);
    };
    if (excluded) return leave(kExcluded, needed);
    if (rules.IsNeverGrafted(name) || MatchesAnyGlob(options_.never_graft, name))
      return leave("never bundled", name);
    const bool is_asked_for =
        std::find(options_.opened.begin(), options_.opened.end(), name) != options_.opened.end();
    if (const std::string why = rules.MachineLibraryReason(name); !why.empty() && !is_asked_for)
      return leave(why, name);
    if (verify::FindProvider(options_.dependencies, name).known)
      return leave("a dependency provides it", name);
    return std::nullopt;
  }

  /// True if --exclude names it by one of `texts`; notes which globs do.
  bool IsExcluded(std::initializer_list<std::string_view> texts) {
    bool excluded = false;
    for (const std::string& glob : options_.exclude) {
      for (const std::string_view text : texts) {
        if (!GlobMatch(glob, text)) continue;
        excludes_used_.insert(glob);
        excluded = true;
      }
    }
    return excluded;
  }

  /// Path of a library of that name in the wheel, for the same processor. One that an installer puts outside
  /// of site-packages (*.data/data) is none: no search path leads there. Of several the one in `folder`, in
  /// which who asks is installed, counts. Errors: kInvalidInput for different ones elsewhere.
  Result<std::optional<std::string>> PlaceInWheel(const std::string& name, const elf::Host& host,
                                                  const std::string& folder) const {
    std::optional<std::string> first;
    std::optional<Sha256> digest;
    for (const verify::ElfMember& member : tree_.members) {
      const std::string& path = member.path.str();
      if (member.path.Name() != name || verify::HostOf(member) != host || !verify::InstalledPath(path))
        continue;
      // ld.so gets to these through the directory above, on processors that can take them.
      if (path.find(kProcessorFolders) != std::string::npos) continue;
      if (verify::OriginOf(member) == folder) return std::optional(path);
      PTPKG_TRY(const Digests digests, HashFile(env_.fs, tree_.root / member.path));
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

  Error MissingError() const {
    std::string lines;
    for (const auto& [name, askers] : missing_) {
      lines += fmt::format("\n    '{}', which '{}' needs", name, *askers.begin());
      if (askers.size() > 1) lines += fmt::format(" and {} more", askers.size() - 1);
    }
    return Error(ErrorCode::kNotFound, fmt::format("cannot find these libraries on this machine:{}", lines))
        .WithHint(
            "give their directory with --lib-dir DIR, or exclude libraries that users already have with "
            "--exclude");
  }

  /// `openers`: of NameGrafts.
  GraftPlan Finish(const std::set<std::string>& openers) {
    GraftPlan plan{.grafts = {},
                   .changes = std::move(changes_),
                   .left_out = std::move(left_out_),
                   .excludes_used = std::move(excludes_used_)};
    for (std::size_t i = 0; i < found_.size(); ++i)
      plan.changes[found_[i].graft.path] = std::move(files_[i].change);
    for (const Need& need : needs_) {
      const Graft& target = found_[need.target].graft;
      NeedChange& change = plan.changes[need.graft ? found_[*need.graft].graft.path : need.path];
      if (need.name != target.name) change.renamed[need.name] = target.name;
      // Version requirements name a library by its SONAME, also where NEEDED is a path.
      const std::optional<std::string>& soname = found_[need.target].soname;
      if (need.name.find('/') != std::string::npos && soname && *soname != target.name)
        change.renamed.try_emplace(*soname, target.name);
      change.folders.insert(options_.folder);
    }
    for (const std::string& opener : openers) {
      const auto copy = std::find_if(found_.begin(), found_.end(), [&](const FoundLibrary& library) {
        return library.graft.source.str() == opener;
      });
      plan.changes[copy == found_.end() ? opener : copy->graft.path].folders.insert(options_.folder);
    }
    for (FoundLibrary& library : found_) plan.grafts.push_back(std::move(library.graft));
    std::sort(plan.grafts.begin(), plan.grafts.end(),
              [](const Graft& a, const Graft& b) { return a.path < b.path; });
    return plan;
  }

  Env& env_;
  const GraftContext& context_;
  const verify::ElfTree& tree_;
  const GraftOptions& options_;
  std::vector<FoundLibrary> found_;
  std::vector<HostFile> files_;  // of found_
  std::map<AbsPath, std::size_t> by_source_;
  std::vector<Need> needs_;
  std::map<std::string, NeedChange> changes_;  // of files of the wheel
  std::map<std::string, std::set<std::string>> missing_;
  std::set<ExcludedLibrary> left_out_;
  std::set<std::string> excludes_used_;
};

}  // namespace

Result<GraftPlan> PlanGrafts(const GraftContext& context, const GraftOptions& options) {
  return GraftPlanner(context, options).Plan();
}

}  // namespace ptpkg::repair
