#include "convert/relink_tree.h"

#include <algorithm>
#include <fmt/core.h>

namespace ptpkg::convert {

Result<void> RelinkTree(Env& env, StagedTree& tree, const elf::RelinkOptions& options,
                        const std::string& subject) {
  Task task(env.reporter, {.stage = "relink", .subject = subject, .total_bytes = 0});
  PTPKG_TRY(const std::vector<elf::FileChange> plan, elf::PlanRelink(env, tree, options));
  PTPKG_CHECK(elf::ApplyRelink(env, tree, plan, {.verification = elf::Verification::kDeepIfGrown}));
  const auto changed = std::count_if(plan.begin(), plan.end(), [](const elf::FileChange& change) {
    return change.tier != elf::WriteTier::kNothing;
  });
  task.Done(fmt::format("{} of {} ELF files changed", changed, plan.size()));
  return Ok();
}

}  // namespace ptpkg::convert
