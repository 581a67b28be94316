// Codes are grouped by what a script does next. It fixes the input (2, 3, 4), looks at the log (5), frees
// space or changes permissions (6), settles a conflict (7) or tries again later (8). 70 (EX_SOFTWARE of
// <sysexits.h>) is a bug to report. From 128 on they follow the shell: 128 and the number of the signal.

#include "cli/exit_code.h"

#include <array>

namespace ptpkg::cli {

ExitCode ExitCodeOf(ErrorCode code) {
  // Without a default, so that the compiler names an ErrorCode that has no exit code.
  switch (code) {
    case ErrorCode::kUsage:
      return kUsageError;
    case ErrorCode::kInvalidInput:
    case ErrorCode::kCorrupt:
    case ErrorCode::kUnsupported:
      return kBadInput;
    case ErrorCode::kNotFound:
    case ErrorCode::kHashMismatch:
      return kMissing;
    case ErrorCode::kCommandFailed:
      return kBuildFailed;
    case ErrorCode::kIo:
      return kIoFailed;
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kRefused:
      return kConflict;
    case ErrorCode::kNetwork:
      return kNetworkFailed;
    case ErrorCode::kCheckFailed:
      return kCheckFound;
    case ErrorCode::kCancelled:
      return kInterrupted;
    case ErrorCode::kInternal:
      return kInternalError;
  }
  return kInternalError;
}

std::span<const ExitCodeRow> ExitCodeTable() {
  // Every code that ptpkg chooses. 'ptpkg shell' passes on any other, from the command that ran in it.
  static constexpr std::array<ExitCodeRow, 14> kTable = {{
      {kDone, "done"},
      {kCheckFound, "a check found errors and nothing was published, or two artifacts differ"},
      {kUsageError, "the command line or a configuration file is wrong"},
      {kBadInput, "a recipe, wheel or package is invalid, damaged or not supported"},
      {kMissing, "a source, package or program is missing, or its digest differs"},
      {kBuildFailed, "a build script or another program that ptpkg ran failed"},
      {kIoFailed, "the operating system refused: permission, full disk, read error"},
      {kConflict, "the target has different content, an input changed, or a server refused"},
      {kNetworkFailed, "the network failed, after retries"},
      {kInternalError, "a bug in ptpkg: please report it"},
      {kHungUp, "the terminal was closed (SIGHUP)"},
      {kInterrupted, "interrupted (SIGINT)"},
      {kClosedPipe, "the reader of standard output closed it (SIGPIPE)"},
      {kTerminated, "terminated (SIGTERM)"},
  }};
  return kTable;
}

}  // namespace ptpkg::cli
