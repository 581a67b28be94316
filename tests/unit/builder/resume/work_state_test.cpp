#include "builder/resume/work_state.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/text/text.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::HasSubstr;

class WorkStateTest : public ::testing::Test {
 protected:
  WorkStateTest() { fs_.AddDir("/w"); }
  void Replace(const std::string& from, const std::string& to) {
    const std::string text = fs_.Content("/w/state.json");
    ASSERT_THAT(text, HasSubstr(from));
    fs_.AddFile("/w/state.json", ReplaceAll(text, from, to));
  }
  test::MemFs fs_;
  AbsPath work_ = AbsPath::Literal("/w");
  WorkState state_{.phase = WorkPhase::kScript,
                   .key = "k",
                   .subject = "toy-1.0-0",
                   .recipe = "/r",
                   .place = "/w",
                   .boot_id = "b",
                   .inputs = "0123456789abcdef",
                   .prepared_ns = 17};
};

TEST_F(WorkStateTest, ComesBackInEveryPhase) {
  for (const WorkPhase phase :
       {WorkPhase::kStarted, WorkPhase::kPrepared, WorkPhase::kScript, WorkPhase::kInstalled}) {
    state_.phase = phase;
    ASSERT_OK(WriteWorkState(fs_, work_, state_));
    EXPECT_THAT(ReadWorkState(fs_, work_), IsOkAndHolds(state_));
  }
}

TEST_F(WorkStateTest, WhatIsMissingDamagedOrOfAnotherVersionIsTold) {
  EXPECT_THAT(ReadWorkState(fs_, work_), FailsWith(ErrorCode::kNotFound, HasSubstr("state.json")));
  for (const char* text : {"", "{", "[]", "{}", "{\"format\": 2}"}) {
    fs_.AddFile("/w/state.json", text);
    EXPECT_THAT(ReadWorkState(fs_, work_), FailsWith(ErrorCode::kCorrupt, HasSubstr("is damaged"))) << text;
  }
  ASSERT_OK(WriteWorkState(fs_, work_, state_));
  Replace("\"script\"", "\"lunch\"");
  EXPECT_THAT(ReadWorkState(fs_, work_), FailsWith(ErrorCode::kCorrupt, HasSubstr("'lunch'")));
  ASSERT_OK(WriteWorkState(fs_, work_, state_));
  Replace("\"key\"", "\"kee\"");
  EXPECT_THAT(ReadWorkState(fs_, work_), FailsWith(ErrorCode::kCorrupt, HasSubstr("'key'")));
  ASSERT_OK(WriteWorkState(fs_, work_, state_));
  Replace("\"ptpkg\": \"", "\"ptpkg\": \"9");
  EXPECT_THAT(ReadWorkState(fs_, work_), FailsWith(ErrorCode::kUnsupported, HasSubstr("by ptpkg 9")));
  ASSERT_OK(WriteWorkState(fs_, work_, state_));
  Replace("\"format\": 2", "\"format\": 3");
  EXPECT_THAT(ReadWorkState(fs_, work_), FailsWith(ErrorCode::kUnsupported, HasSubstr("state.json")));
}

TEST_F(WorkStateTest, TheBootIdIsReadOrUnknown) {
  EXPECT_EQ(BootId(fs_), "");
  fs_.AddFile("/proc/sys/kernel/random/boot_id", "abc\n");
  EXPECT_EQ(BootId(fs_), "abc");
}

}  // namespace
}  // namespace ptpkg::builder
