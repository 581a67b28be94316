#pragma once
// The program's exit codes, in one table. Layer: cli. docs/exit-codes.md shows the same table; a test
// compares them.

#include <span>
#include <string_view>

#include "support/error.h"

namespace ptpkg::cli {

enum ExitCode : int {
  kDone = 0,
  kCheckFound = 1,
  kUsageError = 2,
  kBadInput = 3,
  kMissing = 4,
  kBuildFailed = 5,
  kIoFailed = 6,
  kConflict = 7,
  kNetworkFailed = 8,
  kInternalError = 70,
  kHungUp = 129,
  kInterrupted = 130,
  kClosedPipe = 141,
  kTerminated = 143,
};

/// kCancelled gives kInterrupted; main knows which signal it was.
ExitCode ExitCodeOf(ErrorCode code);

/// Exit code for an index without its `left_out` damaged packages: the rest is done, yet something is wrong.
constexpr ExitCode CodeOfIndex(std::size_t left_out) { return left_out == 0 ? kDone : kBadInput; }

struct ExitCodeRow {
  ExitCode code;
  std::string_view meaning;
};
std::span<const ExitCodeRow> ExitCodeTable();

}  // namespace ptpkg::cli
