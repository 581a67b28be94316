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
  /// Glob over the tree path, or over the path below the last "site-packages/" in it. '*' stays within one
  /// directory, '**' does not.
  std::string files;
  /// Entries in order, written unchanged ("$ORIGIN/lib"). Empty: the file gets no search path.
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
  bool interrupted = false;   ///< An edit of it was killed: ApplyRelink first undoes that edit (RecoverEdit).
};

/// The first of `rules` that decides `file`; null if none does.
const PathRule* FindRule(const std::vector<PathRule>& rules, const RelPath& file);

struct RelinkOptions {
  /// The first rule that matches a file decides.
  std::vector<PathRule> rules = {};
  std::string build_prefix = {};  ///< Absolute entries below it are made relative; "" = the tree's root.
  /// Directories of the tree that every file without a rule gets in its search path, after its own entries.
  std::vector<std::string> added = {};
  std::vector<std::string> kept = {};  ///< Globs of entries that stay, wherever they lead.
  /// Globs of the files without a rule that can change; nullopt: all.
  std::optional<std::vector<std::string>> relocated = {};
  /// The same edits for every file, instead of rules and relative entries. REQUIRES: no `rules`.
  std::optional<EditRequest> edits = {};
  bool allow_strip_hazard = false;  ///< Edits::allow_strip_hazard, for all files.
  bool allow_payload = false;       ///< Edits::allow_payload, for all files.
  /// Skips loaders and static position-independent programs with a note. If false, PlanRelink refuses an edit
  /// of one (elf/load/self_loading.h).
  bool passes_over = true;
};

/// Plans ApplyRelink's changes, in parallel (env.jobs), sorted by path. One item per dynamic ELF file that a
/// rule matches, and per other dynamic ELF file whose search path cannot stay. In the latter, entries below
/// the build prefix become $ORIGIN-relative, and other absolute, relative and empty ones are dropped. With
/// `edits`: one item per dynamic ELF file. Skips symlinks, static programs, objects and files other than ELF.
/// Plans a file with an interrupted edit in its state before that edit, and always returns an item for it.
/// Writes nothing. Errors: kInvalidInput (rule with an empty entry or one that holds ':'), kCorrupt,
/// kUnsupported, kIo, kCancelled; with the file.
Result<std::vector<FileChange>> PlanRelink(Env& env, const StagedTree& tree, const RelinkOptions& options);

/// The globs of the `rules` that decide no file of `plan`, which PlanRelink made from them.
std::vector<std::string> UnusedRules(const std::vector<PathRule>& rules, const std::vector<FileChange>& plan);

/// Applies a plan to the files of `tree` in parallel. Updates the size of changed entries, and the digest if
/// they have one (ScanOptions::hash). Verifies each file after the write (re-read equals plan, segments
/// valid). Splits hard links first and keeps modes. Post: a file has its old or its new content. Errors, with
/// the file: kRefused when a file no longer matches the plan, kNotFound when it is not in `tree`, and as
/// ApplyEdit.
Result<void> ApplyRelink(Env& env, StagedTree& tree, const std::vector<FileChange>& plan,
                         const ApplyOptions& options = {});

}  // namespace ptpkg::elf
