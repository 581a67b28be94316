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
  std::optional<Error> failure = {};      ///< Error of the first wheel that failed; later ones are unchanged.
};

/// Checks each wheel of `request`, applies the fixes of repair::PlanFix, and checks the result again. The
/// result goes to `output` (an existing directory, or one to be made) or replaces the wheel. Afterwards the
/// wheels are compared with each other (AddCrossWheelFindings).
///
/// A replaced wheel loses its sidecar files. If the path is a link, it stays and the file behind it is fixed.
/// A wheel whose name is not in normal form gets the normal name, and the old file is removed. ptpkg warns of
/// a wheel that it cannot read, or that has a kind of file it does not edit, and leaves it unchanged.
///
/// Errors before the first wheel: kUsage for a path that is not a wheel, kIo. Failures: any from Check and
/// archive::WriteEditedZip, kCancelled, and these:
///
/// - kUsage: a link to be replaced leads to a file that is not named like a wheel
/// - kRefused: the link leads to a wheel that would get another name
/// - kAlreadyExists: a file is in the way
/// - kCheckFailed: the result would have an error that the wheel does not have
Result<FixSummary> Fix(Env& env, const CheckRequest& request, const std::optional<AbsPath>& output);

}  // namespace ptpkg::pipeline
