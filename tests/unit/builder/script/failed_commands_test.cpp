#include "builder/script/failed_commands.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "builder/resume/work_state.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(FailedTargets, OfMakeAreInTheBrackets) {
  EXPECT_THAT(FailedTargets("make: *** [Makefile:3: table.txt] Error 1"), ElementsAre("table.txt"));
  EXPECT_THAT(FailedTargets("  gmake[2]: *** [CMakeFiles/x.dir/build.make:76: CMakeFiles/x.dir/a.o] Killed"),
              ElementsAre("CMakeFiles/x.dir/a.o"));
  EXPECT_THAT(FailedTargets("make: *** [a.o] Error 1"), ElementsAre("a.o"));  // before make 4.0
  EXPECT_THAT(FailedTargets("make: *** [Makefile:3: a b:c] Fehler 127"), ElementsAre("a b:c"));
  EXPECT_THAT(FailedTargets("make: *** [Makefile:3: a.o] Deleting file 'a.o'"), ElementsAre("a.o"));
}

TEST(FailedTargets, OfNinjaAreAllOutputs) {
  EXPECT_THAT(FailedTargets("FAILED: a.o "), ElementsAre("a.o"));
  EXPECT_THAT(FailedTargets("FAILED: [code=1] gen/x.h gen/x.cpp "), ElementsAre("gen/x.h", "gen/x.cpp"));
}

TEST(FailedTargets, OfOtherLinesAreNone) {
  for (const char* line :
       {"make: [Makefile:3: a.o] Error 1 (ignored)", "make: *** No rule to make target 'clean'.  Stop.",
        "make: *** Waiting for unfinished jobs....", "make: *** [", "make: *** []", "make: *** [] ",
        "FAILED: ", "FAILED (failures=1)", "a.cpp:1:1: error: x", "cat: *** [Makefile:3: a.o] Error 1", ""}) {
    EXPECT_THAT(FailedTargets(line), IsEmpty()) << line;
  }
}

class FailedCommandsTest : public ::testing::Test {
 protected:
  FailedCommandsTest() : env_({.fs = &fs_}) { fs_.AddDir("/w"); }
  FailedCommands Read() {
    auto failed = ReadFailedCommands(fs_, file_);
    EXPECT_THAT(failed, test::IsOk());
    return failed ? *std::move(failed) : FailedCommands();
  }

  test::MemFs fs_;
  test::TestEnv env_;
  AbsPath file_ = AbsPath::Literal("/w/failed_commands");
};

TEST_F(FailedCommandsTest, AreOnTheDiskAsSoonAsTheyAreTold) {
  EXPECT_FALSE(Read().first_ns.has_value());
  ASSERT_OK_AND_ASSIGN(FailedCommandsWriter writer, FailedCommandsWriter::Start(env_, file_));
  const std::size_t room = fs_.Content(file_.str()).size();
  writer.ReadOutputLine("cc -c a.c");
  EXPECT_FALSE(Read().first_ns.has_value());
  const std::int64_t first = NowNs(env_);
  writer.ReadOutputLine("make[1]: *** [Makefile:3: ./sub/../table.txt] Error 1");
  env_.clock.Advance(std::chrono::seconds(30));
  EXPECT_EQ(Read().first_ns, first);
  writer.ReadOutputLine("FAILED: a.o b.o ");
  writer.Add({"/p/lib/data.txt"});
  EXPECT_TRUE(writer.is_complete());
  EXPECT_EQ(Read().first_ns, first);
  EXPECT_THAT(Read().targets, ElementsAre("/p/lib/data.txt", "a.o", "b.o", "table.txt"));
  EXPECT_EQ(fs_.Content(file_.str()).size(), room);  // a full disk has room for it
  ASSERT_OK(FailedCommandsWriter::Start(env_, file_));
  EXPECT_FALSE(Read().first_ns.has_value());
}

TEST_F(FailedCommandsTest, MoreThanThereIsRoomForIsNotKept) {
  ASSERT_OK_AND_ASSIGN(FailedCommandsWriter writer, FailedCommandsWriter::Start(env_, file_));
  const std::size_t room = fs_.Content(file_.str()).size();
  for (int i = 0; i < 20'000; ++i) writer.Add({fmt::format("file{}.o", i)});
  writer.Add({std::string(100'000, 'x')});
  EXPECT_EQ(fs_.Content(file_.str()).size(), room);
  EXPECT_THAT(Read().targets, SizeIs(::testing::Gt(5000U)));
}

TEST_F(FailedCommandsTest, WhatAPowerCutLeavesOfThemIsRead) {
  for (const char* text : {"", "   ", "12x\na", "17"}) {
    fs_.AddFile(file_.str(), text);
    EXPECT_FALSE(Read().first_ns.has_value()) << text;
  }
  fs_.AddFile(file_.str(), std::string("17\na.o\0b", 8));
  EXPECT_EQ(Read().first_ns, 17);
  EXPECT_THAT(Read().targets, ElementsAre("a.o"));
}

TEST(FailedCommands, NameAFileByItsEnd) {
  const AbsPath root = AbsPath::Literal("/c/builds/1/d/tree");
  const auto names = [&](std::string target, const char* path) {
    return FailedCommands{.targets = {std::move(target)}}.Name(root, RelPath::Literal(path));
  };
  EXPECT_TRUE(names("a.o", "a.o"));
  EXPECT_TRUE(names("a.o", "deep/in/a.o"));
  EXPECT_TRUE(names("in/a.o", "deep/in/a.o"));
  EXPECT_FALSE(names("n/a.o", "deep/in/a.o"));
  EXPECT_FALSE(names("deep/in/a.o", "a.o"));
  EXPECT_TRUE(names("/c/builds/1/d/tree/deep/a.o", "deep/a.o"));
  EXPECT_TRUE(names("/real/1/d/tree/deep/a.o", "deep/a.o"));
  EXPECT_FALSE(names("/c/builds/1/d/tree/deep/a.o", "a.o"));
  EXPECT_FALSE(names("/c/builds/1/d/prefix/a.o", "a.o"));
}

}  // namespace
}  // namespace ptpkg::builder
