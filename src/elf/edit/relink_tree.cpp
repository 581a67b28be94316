// Plans and applies search-path edits for all ELF files of a directory.
//
// Planning writes nothing, so that the plan can be printed. For each file a rule decides, or its present
// path is made relative to the build prefix. Applying recovers and plans every file again, and refuses a
// file whose state differs from the printed one. Files are independent and run in parallel. Loaders and
// static position-independent programs are skipped on request, because they abort with a search path.
//
// An interrupted edit counts as a change even if the plan has nothing to write: the file must get its old
// content back.

#include "elf/edit/relink_tree.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "elf/load/search_path.h"
#include "elf/load/self_loading.h"
#include "support/process/parallel.h"
#include "support/text/globs.h"
#include "support/text/text.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kSmallestElf = 52;  // a 32-bit file header
constexpr std::string_view kSitePackages = "site-packages/";

std::string_view BelowSitePackages(std::string_view path) {
  for (std::size_t at = path.rfind(kSitePackages); at != std::string_view::npos && at != 0;
       at = path.rfind(kSitePackages, at - 1)) {
    if (path[at - 1] == '/') return path.substr(at + kSitePackages.size());
  }
  return path.substr(0, kSitePackages.size()) == kSitePackages ? path.substr(kSitePackages.size()) : path;
}

Result<void> CheckRules(const std::vector<PathRule>& rules) {
  for (const PathRule& rule : rules) {
    for (const std::string& entry : rule.search_path) {
      if (!entry.empty() && entry.find(':') == std::string::npos) continue;
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the search path for '{}' has the entry '{}'", rule.files, entry))
          .WithHint("give each directory as a separate entry, none of them empty");
    }
  }
  return Ok();
}

Edits EditsFor(const std::vector<std::string>& path, PathTag tag) {
  Edits edits;
  if (path.empty()) {
    edits.remove_search_path = true;
  } else {
    edits.search_path = SearchPath{.tag = tag, .text = JoinSearchPath(path)};
  }
  return edits;
}

/// The opened file with its headers, if it is one whose search path means something.
struct DynamicFile {
  std::unique_ptr<File> file;
  Image image;
  bool interrupted = false;
};

Result<std::optional<DynamicFile>> OpenDynamic(Fs& fs, const AbsPath& path) {
  PTPKG_TRY(auto opened, OpenRecovered(fs, path));
  PTPKG_TRY(auto image, ReadImage(*opened.file));
  if (!image || !image->dynamic) return std::optional<DynamicFile>();
  if (image->header.type != kTypeDyn && image->header.type != kTypeExec) return std::optional<DynamicFile>();
  return std::optional<DynamicFile>(DynamicFile{
      .file = std::move(opened.file), .image = *std::move(image), .interrupted = opened.interrupted});
}

class TreePlanner {
 public:
  TreePlanner(Env& env, const StagedTree& tree, const RelinkOptions& options)
      : env_(env), tree_(tree), options_(options) {
    prefix_ = options.build_prefix.empty() ? tree.root.str() : options.build_prefix;
    while (prefix_.size() > 1 && prefix_.back() == '/') prefix_.pop_back();
  }

  Result<std::optional<FileChange>> PlanFile(const TreeEntry& entry) {
    PTPKG_CHECK(env_.cancel.Check());
    if (entry.kind != FileKind::kRegular || entry.size_bytes < kSmallestElf)
      return std::optional<FileChange>();
    const AbsPath path = tree_.root / entry.path;
    PTPKG_TRY(auto opened, OpenDynamic(env_.fs, path));
    if (!opened) return std::optional<FileChange>();
    PTPKG_TRY(const LinkFacts facts, ReadLinkFacts(*opened->file, opened->image));
    PTPKG_TRY(std::optional<Edits> edits, EditsOf(entry.path, opened->image, facts));
    if (!edits && !opened->interrupted) return std::optional<FileChange>();
    if (!edits) edits = Edits();
    edits->allow_strip_hazard = options_.allow_strip_hazard;
    edits->allow_payload = options_.allow_payload;
    if (options_.passes_over) {
      PTPKG_TRY(const std::string kind, SelfLoadingKind(*opened->file, opened->image));
      if (!kind.empty()) {
        env_.reporter.Note(fmt::format("skipped '{}': it is {}", entry.path.str(), kind));
        return std::optional<FileChange>();
      }
    }
    PTPKG_TRY(EditPlan plan, PlanEdit(*opened->file, opened->image, *edits));
    return std::optional<FileChange>({.file = entry.path,
                                      .edits = *std::move(edits),
                                      .before = std::move(plan.before),
                                      .after = std::move(plan.after),
                                      .tier = plan.tier,
                                      .bytes_to_write = plan.BytesToWrite(),
                                      .bytes_grown = plan.BytesGrown(),
                                      .strip_hazard = plan.strip_hazard,
                                      .interrupted = opened->interrupted});
  }

 private:
  /// nullopt: the plan does not concern this file.
  Result<std::optional<Edits>> EditsOf(const RelPath& file, const Image& image, const LinkFacts& facts) {
    if (options_.edits) {
      PTPKG_TRY(Edits edits, ResolveEdits(env_.fs, *options_.edits, image, facts));
      return std::optional<Edits>(std::move(edits));
    }
    if (const PathRule* rule = FindRule(options_.rules, file); rule != nullptr) {
      return std::optional<Edits>(EditsFor(rule->search_path, rule->tag));
    }
    if (options_.relocated && !MatchesAnyGlob(*options_.relocated, file.str())) return std::optional<Edits>();
    const auto& current = facts.Effective();
    if (!current && options_.added.empty()) return std::optional<Edits>();
    const std::vector<std::string> entries =
        current ? SplitSearchPath(current->text) : std::vector<std::string>();
    std::vector<std::string> wanted = entries;
    for (const std::string& folder : options_.added) wanted.push_back(prefix_ + "/" + folder);
    const std::vector<std::string> fit = RelocatableEntries(wanted, file, prefix_, options_.kept);
    // The entry that ld.so ignores beside DT_RUNPATH may hold a build path too.
    const bool has_both = facts.rpath && facts.runpath;
    if (fit == entries && !has_both) return std::optional<Edits>();
    return std::optional<Edits>(EditsFor(fit, current ? current->tag : PathTag::kRunpath));
  }

  Env& env_;
  const StagedTree& tree_;
  const RelinkOptions& options_;
  std::string prefix_;
};

Result<void> ApplyOne(Env& env, const AbsPath& path, const FileChange& change, const ApplyOptions& options) {
  PTPKG_CHECK(env.cancel.Check());
  PTPKG_CHECK(RecoverEdit(env.fs, path));
  PTPKG_TRY(auto opened, OpenDynamic(env.fs, path));
  if (!opened) {
    return Error(ErrorCode::kRefused, fmt::format("'{}' is no longer a dynamic ELF file", change.file.str()));
  }
  PTPKG_TRY(const EditPlan plan, PlanEdit(*opened->file, opened->image, change.edits));
  opened.reset();
  if (plan.before != change.before) {
    return Error(ErrorCode::kRefused, fmt::format("'{}' changed after planning", change.file.str()))
        .WithHint("run the command again");
  }
  return ApplyEdit(env.fs, path, plan, options);
}

/// Indices of the changes that write something.
std::vector<std::size_t> Writing(const std::vector<FileChange>& plan) {
  std::vector<std::size_t> writing;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].tier != WriteTier::kNothing || plan[i].interrupted) writing.push_back(i);
  }
  return writing;
}

std::string Frame(const RelPath& file) { return fmt::format("while relinking '{}'", file.str()); }

}  // namespace

const PathRule* FindRule(const std::vector<PathRule>& rules, const RelPath& file) {
  const std::string_view below = BelowSitePackages(file.str());
  const auto it = std::find_if(rules.begin(), rules.end(), [&](const PathRule& rule) {
    return GlobMatch(rule.files, file.str()) || GlobMatch(rule.files, below);
  });
  return it == rules.end() ? nullptr : &*it;
}

Result<std::vector<FileChange>> PlanRelink(Env& env, const StagedTree& tree, const RelinkOptions& options) {
  PTPKG_CHECK(CheckRules(options.rules));
  TreePlanner planner(env, tree, options);
  std::vector<std::optional<FileChange>> changes(tree.entries.size());
  PTPKG_CHECK(ParallelFor(env.jobs, tree.entries.size(), [&](std::size_t i) -> Result<void> {
    PTPKG_TRY(changes[i], planner.PlanFile(tree.entries[i]), Frame(tree.entries[i].path));
    return Ok();
  }));
  std::vector<FileChange> plan;
  for (std::optional<FileChange>& change : changes) {
    if (change) plan.push_back(*std::move(change));
  }
  return plan;
}

std::vector<std::string> UnusedRules(const std::vector<PathRule>& rules,
                                     const std::vector<FileChange>& plan) {
  std::set<const PathRule*> used;
  for (const FileChange& change : plan) used.insert(FindRule(rules, change.file));
  std::vector<std::string> unused;
  for (const PathRule& rule : rules) {
    if (!used.contains(&rule)) unused.push_back(rule.files);
  }
  return unused;
}

Result<void> ApplyRelink(Env& env, StagedTree& tree, const std::vector<FileChange>& plan,
                         const ApplyOptions& options) {
  const std::vector<std::size_t> writing = Writing(plan);
  return ParallelFor(env.jobs, writing.size(), [&](std::size_t i) -> Result<void> {
    const FileChange& change = plan[writing[i]];
    const auto entry =
        std::lower_bound(tree.entries.begin(), tree.entries.end(), change.file,
                         [](const TreeEntry& e, const RelPath& path) { return e.path < path; });
    if (entry == tree.entries.end() || entry->path != change.file) {
      return Error(ErrorCode::kNotFound, fmt::format("'{}' is not in the tree", change.file.str()));
    }
    const AbsPath path = tree.root / change.file;
    PTPKG_CHECK(ApplyOne(env, path, change, options), Frame(change.file));
    // A tree that was listed without digests gets none.
    if (entry->sha256 == Sha256{}) {
      PTPKG_TRY(const FileStat stat, env.fs.Lstat(path), Frame(change.file));
      entry->size_bytes = stat.size_bytes;
      return Ok();
    }
    PTPKG_TRY(const Digests digests, HashFile(env.fs, path), Frame(change.file));
    entry->sha256 = digests.sha256;
    entry->size_bytes = digests.size_bytes;
    return Ok();
  });
}

}  // namespace ptpkg::elf
