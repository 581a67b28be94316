#include "repair/graft_plan.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "elf/search_path.h"
#include "elf/string_scan.h"
#include "repair/search_paths.h"
#include "support/text.h"
#include "verify/elf_tables.h"

namespace ptpkg::repair {
namespace {

constexpr std::string_view kLibraryEnding = ".so";

/// Variants of libraries for better processors.
constexpr std::string_view kProcessorFolders = "glibc-hwcaps/";

/// What $LIB stands for in glibc as distributions build it: Fedora, Debian, others.
constexpr std::array<std::string_view, 4> kLibFolders = {"lib64", "lib/x86_64-linux-gnu",
                                                         "lib/aarch64-linux-gnu", "lib"};

/// The absolute folders of a search path.
std::vector<std::string> AbsoluteFolders(const std::optional<elf::SearchPath>& path,
                                         const std::string& origin) {
  std::vector<std::string> folders;
  if (!path) return folders;
  for (const std::string& entry : elf::SplitSearchPath(path->text)) {
    for (const std::string_view lib : kLibFolders) {
      std::string folder =
          elf::ExpandTokens(entry, {.origin = origin, .lib = std::string(lib), .platform = "x86_64"});
      if (folder.starts_with('/')) folders.push_back(std::move(folder));
      if (!elf::UsesToken(entry, "LIB")) break;
    }
  }
  return folders;
}

std::string BareName(const std::string& name) {
  const std::size_t at = name.find(kLibraryEnding);
  return at == std::string::npos ? name : name.substr(0, at + kLibraryEnding.size());
}

/// Headers of a library of this machine.
struct HostFile {
  elf::LinkFacts facts;
  elf::Host host;
  std::vector<std::string> mentions;
};

Result<HostFile> ReadHostFile(Env& env, const AbsPath& path) {
  const std::string frame = fmt::format("while reading '{}'", path.str());
  PTPKG_TRY(const auto file, env.fs.Open(path, OpenMode::kRead), frame);
  PTPKG_TRY(const auto image, elf::ReadImage(*file), frame);
  if (!image || !image->dynamic) {
    return Error(ErrorCode::kCorrupt, fmt::format("'{}' is no shared library", path.str()))
        .WithHint("name a folder that has the library with --search, or leave it out with --exclude");
  }
  HostFile read;
  PTPKG_TRY(read.facts, elf::ReadLinkFacts(*file, *image), frame);
  PTPKG_TRY(read.mentions, elf::ScanLibraryNames(*file, *image), frame);
  read.host = {
      .elf_class = image->codec.elf_class(), .order = image->codec.order(), .machine = image->header.machine};
  return read;
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
    if (!found_.empty()) PTPKG_CHECK(NameGrafts());
    return Finish();
  }

 private:
  struct Found {
    Graft graft;
    HostFile file;
    std::string origin;                  // the folder through which it was found
    std::vector<std::string> inherited;  // folders of DT_RPATH of what asks for it
    std::string asker;                   // the first file that asks for it
    bool opened = false;                 // asked for by its name at run time
    std::string asked_for = {};          // the name in GraftOptions::opened
  };
  /// One NEEDED that becomes a graft.
  struct Use {
    std::optional<std::size_t> graft;  // that needs it; nullopt: a file of the wheel
    std::string path;                  // of that file
    std::string name;
    std::size_t target = 0;
  };
  /// Who asks, for searching.
  struct Asker {
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
      if (!program && context_.rules.IsDropped(name)) {
        changes_[member.path.str()].dropped.push_back(name);
        continue;
      }
      PTPKG_TRY(const auto place, PlaceInWheel(name, verify::HostOf(member), member.path.ParentText()));
      if (place) {
        changes_[member.path.str()].folders.insert(RelPath::Literal(*place).ParentText());
        continue;
      }
      if (StaysOutside(name)) continue;
      PTPKG_TRY(const auto target, FindLibrary(AskerOf(member, name)));
      if (target) uses_.push_back({.graft = {}, .path = member.path.str(), .name = name, .target = *target});
    }
    return Ok();
  }

  Result<void> FollowGraft(std::size_t index) {
    const std::vector<std::string> needed = found_[index].file.facts.needed;  // the list below may move
    for (const std::string& name : needed) {
      if (context_.rules.IsDropped(name)) {
        dropped_of_graft_[index].push_back(name);
        continue;
      }
      PTPKG_TRY(const auto place, PlaceInWheel(name, found_[index].file.host, options_.folder));
      if (place) {
        folders_of_graft_[index].insert(RelPath::Literal(*place).ParentText());
        continue;
      }
      if (StaysOutside(name)) continue;
      const Found& one = found_[index];
      Asker asker{.path = one.graft.source.str(),
                  .search = {.name = name, .host = one.file.host},
                  .handed_on = one.inherited};
      if (one.file.facts.runpath) {
        asker.search.runpath = AbsoluteFolders(one.file.facts.runpath, one.origin);
      } else {
        asker.search.rpath = AbsoluteFolders(one.file.facts.rpath, one.origin);
        asker.search.rpath.insert(asker.search.rpath.end(), one.inherited.begin(), one.inherited.end());
        asker.handed_on = asker.search.rpath;
      }
      PTPKG_TRY(const auto target, FindLibrary(asker));
      if (target) uses_.push_back({.graft = index, .path = "", .name = name, .target = *target});
    }
    return Ok();
  }

  /// A library that somebody opens by name.
  Result<void> FollowOpened(const std::string& name) {
    if (tree_.members.empty()) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the wheel has no library that could open '{}'", name));
    }
    if (context_.rules.IsNeverGrafted(name) || verify::MatchesAny(options_.never_graft, name)) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}' is never copied, so --graft cannot ask for it", name))
          .WithHint("leave --graft out: the driver, PyTorch or a package of the backend brings the library");
    }
    Asker asker = AskerOf(tree_.members.front(), name);
    asker.path = "--graft";
    PTPKG_TRY(const auto target, FindLibrary(asker));
    if (!target) return Ok();
    found_[*target].opened = true;
    found_[*target].asked_for = name;
    return Ok();
  }

  /// A copy that was asked for, and that no file needs or opens, would lie in the wheel for nobody.
  Result<void> CheckAskedFor(std::size_t index) {
    Found& found = found_[index];
    if (found.asked_for.empty() || !found.graft.opened_by.empty()) return Ok();
    const bool needed =
        std::any_of(uses_.begin(), uses_.end(), [&](const Use& use) { return use.target == index; });
    const auto text = options_.opened_by_text.find(found.asked_for);
    if (text != options_.opened_by_text.end()) found.graft.opened_by = text->second;
    if (needed || text != options_.opened_by_text.end()) return Ok();
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("--graft '{}': no file of the wheel has that name in it, so none opens the copy",
                             found.asked_for))
        .WithHint("give the name by which it is opened, or leave --graft out");
  }

  Asker AskerOf(const verify::ElfMember& member, const std::string& name) const {
    Asker asker{.path = member.path.str(), .search = {.name = name, .host = verify::HostOf(member)}};
    if (member.facts.runpath) {
      asker.search.runpath = AbsoluteFolders(member.facts.runpath, "");
      return asker;
    }
    asker.search.rpath = AbsoluteFolders(member.facts.rpath, "");
    // What loads the file hands its DT_RPATH on; which that is depends on the process.
    for (const verify::ElfMember& other : tree_.members) {
      if (other.facts.runpath) continue;
      for (std::string& folder : AbsoluteFolders(other.facts.rpath, ""))
        asker.search.rpath.push_back(std::move(folder));
    }
    asker.handed_on = asker.search.rpath;
    return asker;
  }

  /// The graft that the name leads to, made known if it is new; nullopt when it stays outside or is missing.
  Result<std::optional<std::size_t>> FindLibrary(const Asker& asker) {
    const std::string& name = asker.search.name;
    PTPKG_TRY(const auto place, context_.host.Find(env_, asker.search));
    if (!place) {
      missing_[name].insert(asker.path);
      return std::optional<std::size_t>();
    }
    PTPKG_TRY(const AbsPath source, env_.fs.RealPath(place->str()));
    if (verify::MatchesAny(options_.exclude, source.str()) ||
        verify::MatchesAny(options_.exclude, place->str())) {
      left_out_.insert({name, "--exclude"});
      return std::optional<std::size_t>();
    }
    const auto [known, fresh] = by_source_.emplace(source, found_.size());
    if (fresh) {
      Found found{.graft = {.source = source},
                  .file = {},
                  .origin = place->Parent().str(),
                  .inherited = asker.handed_on,
                  .asker = asker.path};
      PTPKG_TRY(found.file, ReadHostFile(env_, source));
      PTPKG_TRY(const Digests digests, HashFile(env_.fs, source));
      found.graft.sha256 = digests.sha256;
      found_.push_back(std::move(found));
    }
    found_[known->second].graft.asked.insert(name);
    return std::optional(known->second);
  }

  bool StaysOutside(const std::string& name) {
    const GraftRules& rules = context_.rules;
    const verify::PolicyLibraries& policies = context_.policies;
    if (options_.musl ? policies.IsOfMusllinux(name) : policies.IsOfManylinux(name, options_.policy))
      return true;
    const auto leave = [&](std::string why) {
      left_out_.insert({name, std::move(why)});
      return true;
    };
    if (verify::MatchesAny(options_.exclude, name)) return leave("--exclude");
    if (verify::MatchesAny(options_.left_by_wheel, name)) return leave("the wheel leaves it to the machine");
    if (rules.IsNeverGrafted(name) || verify::MatchesAny(options_.never_graft, name))
      return leave("never copied");
    if (verify::FindProvider(options_.dependencies, name).known) return leave("a dependency brings it");
    return false;
  }

  /// Where the wheel has a library of that name, for the same processor. One that an installer puts outside
  /// of site-packages (*.data/data) is none: no search path leads there. Of several the one in `folder`, that
  /// of who asks, counts. Errors: kInvalidInput for different ones elsewhere.
  Result<std::optional<std::string>> PlaceInWheel(const std::string& name, const elf::Host& host,
                                                  const std::string& folder) const {
    std::optional<std::string> first;
    std::optional<Sha256> digest;
    for (const verify::ElfMember& member : tree_.members) {
      const std::string& path = member.path.str();
      if (member.path.Name() != name || verify::HostOf(member) != host || !InstalledPath(path)) continue;
      // ld.so gets to these through the folder above, on processors that can take them.
      if (path.find(kProcessorFolders) != std::string::npos) continue;
      if (member.path.ParentText() == folder) return std::optional(path);
      PTPKG_TRY(const Digests digests, HashFile(env_.fs, tree_.root / member.path));
      if (!first) {
        first = path;
        digest = digests.sha256;
      } else if (*digest != digests.sha256) {
        return Error(ErrorCode::kInvalidInput,
                     fmt::format("the wheel has two libraries '{}', '{}' and '{}', and no search path says "
                                 "which one is meant in '{}'",
                                 name, *first, path, folder))
            .WithHint("give the file that needs it a search path, or leave one of the two out of the wheel");
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
    return Error(ErrorCode::kNotFound, fmt::format("these libraries are not on this machine:{}", lines))
        .WithHint(
            "name their folder with --search, or leave them out with --exclude if users have them anyway");
  }

  Result<void> NameGrafts() {
    PTPKG_TRY(const auto mentions, Mentions());
    std::map<std::string, std::size_t> by_name;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      Graft& graft = found_[i].graft;
      NoteOpeners(i, mentions);
      PTPKG_CHECK(CheckAskedFor(i));
      graft.name = NameOf(found_[i]);
      graft.path = options_.folder + "/" + graft.name;
      const auto [other, fresh] = by_name.emplace(graft.name, i);
      if (!fresh) {
        const Found& first = found_[other->second];
        return Error(ErrorCode::kInvalidInput,
                     fmt::format("'{}' (for '{}') and '{}' (for '{}') would both be '{}'",
                                 first.graft.source.str(), first.asker, graft.source.str(), found_[i].asker,
                                 graft.path))
            .WithHint("--rename hash tells them apart; --exclude leaves one of them out");
      }
      if (tree_.map.nodes().contains(graft.path)) {
        return Error(ErrorCode::kInvalidInput,
                     fmt::format("the wheel has a file '{}' already, and '{}' would be put there", graft.path,
                                 graft.source.str()))
            .WithHint("choose another folder with --lib-folder");
      }
    }
    return Ok();
  }

  /// Names among the constants, by file: of the wheel, and of the libraries to be copied.
  Result<std::map<std::string, std::set<std::string>>> Mentions() const {
    std::map<std::string, std::set<std::string>> mentions;  // name → files
    for (const verify::ElfMember& member : tree_.members) {
      PTPKG_TRY(const auto file, env_.fs.Open(tree_.root / member.path, OpenMode::kRead));
      PTPKG_TRY(const auto image, elf::ReadImage(*file));
      if (!image) continue;
      PTPKG_TRY(const auto names, elf::ScanLibraryNames(*file, *image),
                fmt::format("while reading '{}'", member.path.str()));
      for (const std::string& name : names) mentions[name].insert(member.path.str());
    }
    for (const Found& found : found_) {
      for (const std::string& name : found.file.mentions) mentions[name].insert(found.graft.source.str());
    }
    return mentions;
  }

  /// Who opens the graft by name has to find it under that.
  void NoteOpeners(std::size_t index, const std::map<std::string, std::set<std::string>>& mentions) {
    Found& found = found_[index];
    std::set<std::string> names = found.graft.asked;
    if (found.file.facts.soname) names.insert(*found.file.facts.soname);
    for (const std::string& name : names) {
      const auto files = mentions.find(name);
      if (files == mentions.end()) continue;
      for (const std::string& file : files->second) {
        if (file == found.graft.source.str()) continue;
        found.opened = true;
        found.graft.opened_by = file;
        found.graft.asked.insert(name);
        opened_name_.emplace(index, name);
        if (tree_.FindMember(file)) changes_[file].folders.insert(options_.folder);
      }
    }
  }

  std::string NameOf(const Found& found) {
    const Graft& graft = found.graft;
    const std::string asked = *graft.asked.begin();
    const std::string own = found.file.facts.soname.value_or(asked);
    const std::string plain = graft.asked.contains(own) ? own : asked;
    const bool kept =
        found.opened || std::any_of(graft.asked.begin(), graft.asked.end(), [&](const std::string& name) {
          return context_.rules.IsNeverRenamed(name) || verify::MatchesAny(options_.never_rename, name);
        });
    const std::size_t index = by_source_.at(graft.source);
    if (const auto opened = opened_name_.find(index); opened != opened_name_.end()) return opened->second;
    if (kept || options_.rename == Rename::kNone) return std::string(AbsName(plain));
    if (options_.rename == Rename::kBare) return BareName(std::string(AbsName(plain)));
    return HashedName(std::string(graft.source.Name()), graft.sha256);
  }

  /// The last component of a name that may be a path.
  static std::string_view AbsName(std::string_view name) { return name.substr(name.rfind('/') + 1); }

  GraftPlan Finish() {
    GraftPlan plan{.grafts = {}, .changes = std::move(changes_), .left_out = std::move(left_out_)};
    for (std::size_t i = 0; i < found_.size(); ++i) {
      NeedChange& change = plan.changes[found_[i].graft.path];
      change.dropped = dropped_of_graft_[i];
      change.folders = folders_of_graft_[i];
    }
    for (const Use& use : uses_) {
      const Graft& target = found_[use.target].graft;
      NeedChange& change = plan.changes[use.graft ? found_[*use.graft].graft.path : use.path];
      if (use.name != target.name) change.renamed[use.name] = target.name;
      change.folders.insert(options_.folder);
    }
    for (Found& found : found_) plan.grafts.push_back(std::move(found.graft));
    std::sort(plan.grafts.begin(), plan.grafts.end(),
              [](const Graft& a, const Graft& b) { return a.path < b.path; });
    return plan;
  }

  Env& env_;
  const GraftContext& context_;
  const verify::ElfTree& tree_;
  const GraftOptions& options_;
  std::vector<Found> found_;
  std::map<AbsPath, std::size_t> by_source_;
  std::vector<Use> uses_;
  std::map<std::string, NeedChange> changes_;  // of files of the wheel
  std::map<std::size_t, std::vector<std::string>> dropped_of_graft_;
  std::map<std::size_t, std::set<std::string>> folders_of_graft_;
  std::map<std::size_t, std::string> opened_name_;  // the name by which a graft is opened
  std::map<std::string, std::set<std::string>> missing_;
  std::set<LeftOut> left_out_;
};

}  // namespace

std::string HashedName(const std::string& file_name, const Sha256& digest) {
  const std::string mark = "-" + digest.Hex().substr(0, 8);
  const std::size_t dot = file_name.find('.');
  const std::string base = file_name.substr(0, dot);
  if (base.ends_with(mark)) return file_name;
  return base + mark + (dot == std::string::npos ? "" : file_name.substr(dot));
}

Result<GraftPlan> PlanGrafts(const GraftContext& context, const GraftOptions& options) {
  return GraftPlanner(context, options).Plan();
}

}  // namespace ptpkg::repair
