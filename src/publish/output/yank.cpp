#include "publish/output/yank.h"

#include <fmt/core.h>

namespace ptpkg::publish {

Result<void> CheckIndexChange(const Change& change, const std::string& title) {
  const std::string name = change.artifact.ChannelPath();
  if (change.action == Action::kRemove) return Ok();
  if (change.artifact.format == ArtifactFormat::kWheel) return Ok();
  return Error(ErrorCode::kRefused,
               fmt::format("{} cannot yank '{}': conda channels have no yanking", title, name))
      .WithHint("remove it from the channel: ptpkg remove");
}

}  // namespace ptpkg::publish
