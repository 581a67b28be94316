#pragma once
// `ptpkg check --fix`: wheels without what can be mended mechanically. Layer: pipeline.

#include <optional>
#include <string>
#include <vector>

#include "pipeline/check.h"

namespace ptpkg::pipeline {

struct FixOutcome {
  CheckOutcome checked;                 ///< Of the wheel as it is afterwards.
  std::vector<Finding> fixed = {};      ///< Findings that it had before, and has no more.
  std::optional<AbsPath> written = {};  ///< nullopt: there was nothing to mend.
};

/// Checks each wheel of `request`, mends what repair::PlanFix can, writes the result to `output` (an existing
/// folder, or one to be made) or in place of the wheel, and checks that. In place: what vouched for the wheel
/// beside it goes. A wheel that cannot be understood is warned of, and stays. Errors: kUsage for a path that
/// is no wheel; kAlreadyExists for a file in `output`; kCheckFailed when the result would have an error that
/// the wheel had not; those of Check and archive::WriteEditedZip.
Result<std::vector<FixOutcome>> Fix(Env& env, const CheckRequest& request,
                                    const std::optional<AbsPath>& output);

}  // namespace ptpkg::pipeline
