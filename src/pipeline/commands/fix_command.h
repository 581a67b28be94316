#pragma once
// Runs `ptpkg check --fix`. Layer: pipeline.

#include <optional>
#include <string>
#include <vector>

#include "pipeline/commands/check_command.h"

namespace ptpkg::pipeline {

struct FixOutcome {
  CheckOutcome checked;                 ///< Check of the fixed wheel.
  std::vector<Finding> fixed = {};      ///< Findings that it had before, and has no more.
  std::optional<AbsPath> written = {};  ///< nullopt: nothing needed a fix.
};

struct FixSummary {
  std::vector<FixOutcome> outcomes = {};  ///< In order, up to the wheel that failed.
  std::optional<Error> failure = {};  ///< Of the first wheel that failed; those after it stay as they are.
};

/// Checks each wheel of `request`, mends what repair::PlanFix can, writes the result to `output` (an existing
/// directory, or one to be made) or in place of the wheel, and checks that. In place: what vouched for the
/// wheel beside it goes; a link stays, and the file that it leads to is mended; a wheel whose name was not in
/// normal form gets that name, and the one of the old name goes. A wheel that cannot be understood, or has a
/// file of a kind that ptpkg does not edit, is warned of, and stays. Errors before the first wheel: kUsage
/// for a path that is no wheel, kIo. Failures: kUsage for a link, to be replaced, to a file that is not
/// called a wheel; kAlreadyExists for a file in the way; kRefused for a link to a wheel that would get
/// another name; kCheckFailed when the result would have an error that the wheel had not; kCancelled; those
/// of Check and archive::WriteEditedZip. At the end the wheels, as they are then, are held against each other
/// (AddCrossWheelFindings).
Result<FixSummary> Fix(Env& env, const CheckRequest& request, const std::optional<AbsPath>& output);

}  // namespace ptpkg::pipeline
