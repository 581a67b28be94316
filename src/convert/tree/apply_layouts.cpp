#include "convert/tree/apply_layouts.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

namespace ptpkg::convert {

namespace {

std::string PathOf(const elf::LinkFacts& facts) {
  const std::optional<elf::SearchPath>& path = facts.Effective();
  return path && !path->text.empty() ? fmt::format("'{}'", path->text) : "none";
}

/// One note for all files of which the same path becomes the same one.
void NotePathChanges(Env& env, const std::vector<elf::FileChange>& plan) {
  // PyTorch has dozens of libraries with the same path: a note for each would hide the rest of the output.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> files;
  for (const elf::FileChange& change : plan) {
    const std::pair paths{PathOf(change.before), PathOf(change.after)};
    if (change.tier != elf::WriteTier::kNothing && paths.first != paths.second)
      files[paths].push_back(change.file.str());
  }
  for (const auto& [paths, names] : files) {
    const std::string what = names.size() == 1
                                 ? fmt::format("'{}'", names.front())
                                 : fmt::format("{} files, the first is '{}',", names.size(), names.front());
    env.reporter.Note(
        fmt::format("changed the search path of {} from {} to {}", what, paths.first, paths.second));
  }
}

}  // namespace

Result<void> RelinkTree(Env& env, StagedTree& tree, const elf::RelinkOptions& options,
                        const RelinkLabels& labels) {
  Task task(env.reporter, {.stage = "relink", .subject = labels.subject, .total_bytes = 0});
  // Stripping comes before this stage, never after it (docs/formats/elf-search-path.md).
  elf::RelinkOptions allowed = options;
  allowed.allow_strip_hazard = true;
  PTPKG_TRY(const std::vector<elf::FileChange> plan, elf::PlanRelink(env, tree, allowed));
  PTPKG_CHECK(elf::ApplyRelink(env, tree, plan, {.verification = elf::Verification::kDeepIfGrown}));
  // Only rules that the user wrote. A built-in layout also has rules for files that some versions of a
  // project lack.
  if (!labels.layout.empty()) {
    for (const std::string& files : elf::UnusedRules(options.rules, plan)) {
      env.reporter.Warn(
          fmt::format("'{}' of {} matches no file of '{}'", files, labels.layout, labels.subject));
    }
  }
  const auto changed = std::count_if(plan.begin(), plan.end(), [](const elf::FileChange& change) {
    return change.tier != elf::WriteTier::kNothing;
  });
  if (plan.empty()) {
    task.Skipped("nothing to change");
    return Ok();
  }
  task.Done(fmt::format("{} of {} ELF files changed", changed, plan.size()));
  if (labels.tells_paths) NotePathChanges(env, plan);
  for (const elf::FileChange& change : plan) {
    if (!change.strip_hazard) continue;
    env.reporter.Warn(
        fmt::format("'{}' must not be stripped any more: its program headers were moved", change.file.str()));
  }
  return Ok();
}

}  // namespace ptpkg::convert
