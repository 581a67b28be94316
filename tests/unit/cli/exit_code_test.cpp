#include "cli/exit_code.h"

#include <gmock/gmock.h>
#include <set>

namespace ptpkg::cli {
namespace {

TEST(ExitCode, EveryErrorCodeHasARowOfTheTable) {
  std::set<int> known;
  for (const ExitCodeRow& row : ExitCodeTable()) known.insert(row.code);
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    const ExitCode exit_code = ExitCodeOf(static_cast<ErrorCode>(code));
    EXPECT_TRUE(known.contains(exit_code)) << ErrorCodeName(static_cast<ErrorCode>(code));
    EXPECT_NE(exit_code, kDone) << "an error is never success";
  }
  EXPECT_EQ(known.size(), ExitCodeTable().size()) << "no code twice";
}

TEST(ExitCode, TellsTheClassesApart) {
  EXPECT_EQ(ExitCodeOf(ErrorCode::kUsage), 2);
  EXPECT_EQ(ExitCodeOf(ErrorCode::kCorrupt), 3);
  EXPECT_EQ(ExitCodeOf(ErrorCode::kHashMismatch), 4);
  EXPECT_EQ(ExitCodeOf(ErrorCode::kCommandFailed), 5);
  EXPECT_EQ(ExitCodeOf(ErrorCode::kIo), 6);
  EXPECT_EQ(ExitCodeOf(ErrorCode::kAlreadyExists), 7);
  EXPECT_EQ(ExitCodeOf(ErrorCode::kCheckFailed), 1);
  EXPECT_EQ(ExitCodeOf(ErrorCode::kCancelled), 130);
}

}  // namespace
}  // namespace ptpkg::cli
