#pragma once
// Applies search-path edits to all files of a tree. Layer: elf. elf/edit/edit.h writes each file.

#include <optional>
#include <string>
#include <vector>

#include "elf/edit/edit_request.h"
#include "model/staged_tree.h"
#include "support/env.h"

namespace ptpkg::elf {

struct PathRule {
  /// Glob over the tree path, or over the path below the last "site-packages/" in it. '*' stays within
  /// one directory, '**' does not.
  std::string files;
  /// Entries in order, written as they stand ("$ORIGIN/lib"). None: the file shall have no search path.
  std::vector<std::string> search_path = {};
  PathTag tag = PathTag::kRunpath;

  bool operator==(const PathRule&) const = default;
};

/// Planned edit of one file of the tree.
struct FileChange {
  RelPath file;
  Edits edits;
  LinkFacts before;
  LinkFacts after;
  WriteTier tier = WriteTier::kNothing;
  std::uint64_t bytes_to_write = 0;
  std::uint64_t bytes_grown = 0;
  bool strip_hazard = false;  ///< EditPlan::strip_hazard.
  bool interrupted = false;   ///< An edit of it was killed: ApplyRelink undoes that first (RecoverEdit).
};

/// The first of `rules` that decides `file`; null if none does.
const PathRule* FindRule(const std::vector<PathRule>& rules, const RelPath& file);

struct RelinkOptions {
  /// The first rule that matches a file decides.
  std::vector<PathRule> rules = {};
  std::string build_prefix = {};  ///< Absolute entries below it are made relative; "" = the tree's root.
  /// Directories of the tree that the search path of each file without a rule leads to, after its own
  /// entries.
  std::vector<std::string> added = {};
  std::vector<std::string> kept = {};  ///< Globs of entries that stay, wherever they lead.
  /// Globs of the files without a rule that may change; nullopt: all.
  std::optional<std::vector<std::string>> relocated = {};
  /// The same for every file, instead of rules and relative entries. REQUIRES: no `rules`.
  std::optional<EditRequest> edits = {};
  bool allow_strip_hazard = false;  ///< Edits::allow_strip_hazard, for all files.
  bool allow_payload = false;       ///< Edits::allow_payload, for all files.
  /// Passes over loaders and static position-independent programs with a note; else an edit of
  /// one is refused (elf/load/self_loading.h).
  bool passes_over = true;
};

/// Plans ApplyRelink's changes, in parallel (env.jobs), sorted by path: one item per dynamic ELF file that a
/// rule matches, and per other dynamic ELF file whose search path cannot stay: entries below the build prefix
/// become $ORIGIN-relative, other absolute, relative and empty ones are dropped. With `edits`: one item per
/// dynamic ELF file. Symlinks, static
/// programs, objects and files other than ELF are passed over. A file whose edit was interrupted by a kill is
/// planned as it was before, and is always an item. Writes nothing.
/// Errors: kInvalidInput (rule with an empty entry or one that holds ':'), kCorrupt, kUnsupported,
/// kIo, kCancelled; with the file.
Result<std::vector<FileChange>> PlanRelink(Env& env, const StagedTree& tree, const RelinkOptions& options);

/// The globs of those `rules` that decide no file of `plan`, which PlanRelink made of them.
std::vector<std::string> UnusedRules(const std::vector<PathRule>& rules, const std::vector<FileChange>& plan);

/// Applies a plan to the files of `tree` in parallel and updates the size of the entries that changed,
/// and the digest of those that have one (ScanOptions::hash). Each file is verified after the write (re-read
/// equals plan, segments sound). Post: a file is its old or its new content; hard links are split first;
/// modes kept. Errors: kRefused when a file no longer says what the plan found, kNotFound when
/// it is not in `tree`, and those of ApplyEdit; with the file.
Result<void> ApplyRelink(Env& env, StagedTree& tree, const std::vector<FileChange>& plan,
                         const ApplyOptions& options = {});

}  // namespace ptpkg::elf
