// Sources as they were prepared, and which files a stopped build was writing.
#include "builder/resume/partial_outputs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "builder/resume/cut_object.h"
#include "builder/resume/work_state.h"
#include "support/digest/hash.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class InFlightTest : public ::testing::Test {
 protected:
  InFlightTest() : env_({.fs = &fs_}) { fs_.AddDir("/s"); }

  /// A file that was last written so many seconds before the build was stopped.
  void Put(const std::string& path, double seconds_before, const std::string& text = "x") {
    fs_.AddFile("/s/" + path, text);
    const auto ago = static_cast<std::int64_t>(seconds_before * 1e9);
    ASSERT_OK(fs_.SetMtime(root_ / path, NowNs(env_) - ago));
  }
  void Prepare() {
    auto record = SourceRecord::Take(env_, root_);
    ASSERT_OK(record);
    record_ = *std::move(record);
  }
  std::vector<source::WalkEntry> Files() {
    auto files = source::Walk(env_, root_);
    EXPECT_THAT(files, test::IsOk());
    return files ? *std::move(files) : std::vector<source::WalkEntry>();
  }
  std::vector<std::string> Outputs(RunEndKind end = RunEndKind::kProcesses) {
    const auto found = FindPartialOutputs(env_, root_, Files(), record_, {end, failed_});
    EXPECT_THAT(found, test::IsOk());
    std::vector<std::string> names;
    if (!found) return names;
    EXPECT_THAT(found->sources, IsEmpty());
    for (const RelPath& path : found->outputs) names.push_back(path.str());
    return names;
  }

  test::MemFs fs_;
  test::TestEnv env_;
  AbsPath root_ = AbsPath::Literal("/s");
  SourceRecord record_;
  FailedCommands failed_;
};

TEST_F(InFlightTest, TheRecordTellsWhatChanged) {
  Put("same.c", 100);
  Put("edited.c", 100, "aa");
  Put("touched.c", 100);
  Put("gone.c", 100);
  Put("run.sh", 100);
  fs_.AddSymlink("same.c", "/s/link.c");
  Prepare();
  const AbsPath file = AbsPath::Literal("/record");
  ASSERT_OK(record_.Write(fs_, file));
  ASSERT_OK_AND_ASSIGN(const SourceRecord read, SourceRecord::Read(env_, file));
  EXPECT_THAT(read.Changes(env_, root_, Files()), IsOkAndHolds(IsEmpty()));
  Put("edited.c", 100, "bbb");
  Put("touched.c", 50);
  Put("new.c", 50);
  ASSERT_OK(fs_.SetMode(root_ / "run.sh", 0755));
  ASSERT_OK(fs_.Remove(root_ / "gone.c"));
  ASSERT_OK(fs_.Remove(root_ / "link.c"));
  fs_.AddSymlink("edited.c", "/s/link.c");
  EXPECT_THAT(read.Changes(env_, root_, Files()),
              IsOkAndHolds(ElementsAre(Pair(RelPath::Literal("edited.c"), HashText("bbb").Hex()),
                                       Pair(RelPath::Literal("gone.c"), ""),
                                       Pair(RelPath::Literal("link.c"), "link to edited.c"),
                                       Pair(RelPath::Literal("run.sh"), HashText("x").Hex() + ", executable"),
                                       Pair(RelPath::Literal("touched.c"), HashText("x").Hex()))));
}

TEST(SourceRecordTest, WhatIsNoFileIsTheSameAfterwards) {
  test::TestEnv env;
  env.dir().WriteFile("tree/run.sh", "true", 0755);
  ASSERT_EQ(::mkfifo((env.dir() / "tree/queue").c_str(), 0600), 0);
  ASSERT_OK_AND_ASSIGN(const SourceRecord taken, SourceRecord::Take(env, env.dir() / "tree"));
  ASSERT_OK(taken.Write(env->fs, env.dir() / "record"));
  ASSERT_OK_AND_ASSIGN(const SourceRecord read, SourceRecord::Read(env, env.dir() / "record"));
  EXPECT_TRUE(read == taken);
}

TEST_F(InFlightTest, ADamagedRecordIsSeen) {
  const std::string odd = "a b\nc\xff.c";
  Put(odd, 5);
  Prepare();
  const AbsPath file = AbsPath::Literal("/record");
  ASSERT_OK(record_.Write(fs_, file));
  EXPECT_THAT(SourceRecord::Read(env_, file), test::IsOk());
  const std::string whole = fs_.Content("/record");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    fs_.AddFile("/record", whole.substr(0, length));
    EXPECT_THAT(SourceRecord::Read(env_, file), FailsWith(ErrorCode::kCorrupt, HasSubstr("'/record'")));
  }
}

TEST_F(InFlightTest, UnderMakeWhatWasWrittenLastIsInFlight) {
  Put("a.c", 3);
  Prepare();
  Put("Makefile", 300);
  Put("old.o", 30, "not an ELF file");
  Put("last.o", 2, "not an ELF file");
  Put("sub/near.txt", 11.9);
  Put("sub/far.txt", 12.1);
  EXPECT_THAT(Outputs(), ElementsAre("last.o", "sub/near.txt"));
  EXPECT_THAT(Outputs(RunEndKind::kMachine), ElementsAre("last.o", "old.o", "sub/far.txt", "sub/near.txt"));
}

TEST_F(InFlightTest, OtherJobsRunOnAfterAFailure) {
  // "table.txt" had failed half-written when another job went on for a minute.
  Put("named.c", 900);
  Put("changed.c", 900);
  Prepare();
  Put("Makefile", 900);
  Put("old.txt", 80);
  Put("side.txt", 69);
  Put("table.txt", 65);
  Put("sub/slow.txt", 300);
  Put("slow.txt.tmp", 1);
  failed_ = {.first_ns = NowNs(env_) - 60'000'000'000, .targets = {"slow.txt", "named.c"}};
  EXPECT_THAT(Outputs(), ElementsAre("side.txt", "slow.txt.tmp", "sub/slow.txt", "table.txt"));
  failed_.first_ns = NowNs(env_) + 60'000'000'000;  // a clock that was set back
  EXPECT_THAT(Outputs(), ElementsAre("slow.txt.tmp", "sub/slow.txt"));
  failed_ = {.first_ns = NowNs(env_) - 60'000'000'000, .targets = {"changed.c"}};
  Put("changed.c", 500, "other");
  Put("named.c", 65, "by the script");
  ASSERT_OK_AND_ASSIGN(const PartialOutputs found,
                       FindPartialOutputs(env_, root_, Files(), record_, {RunEndKind::kProcesses, failed_}));
  EXPECT_THAT(found.sources, ElementsAre(RelPath::Literal("changed.c")));
}

TEST_F(InFlightTest, NinjaKnowsItsOwnAfterAFailureToo) {
  Put("build/.ninja_log", 1);
  Put("build/a.o", 40, "not an ELF file");
  Put("build/b.o", 40, "not an ELF file");
  Put("c.txt", 40);
  failed_ = {.first_ns = NowNs(env_) - 35'000'000'000, .targets = {"b.o"}};
  EXPECT_THAT(Outputs(), ElementsAre("build/b.o", "c.txt"));
}

TEST_F(InFlightTest, ATimeInTheFutureIsNoLastWriteAndInFlight) {
  Put("clock.txt", -1000);
  Put("old.txt", 100);
  Put("last.txt", 50);
  EXPECT_THAT(Outputs(), ElementsAre("clock.txt", "last.txt"));
}

TEST_F(InFlightTest, NinjaKnowsItsOwn) {
  Put("build/.ninja_log", 1);
  Put("build/.ninja_deps", 1);
  Put("build/a.o", 1, "not an ELF file");
  Put("build/cut.o", 1, "");
  Put("build/external/Makefile", 200);
  Put("build/external/deep/b.txt", 1);
  Put("c.txt", 1);
  EXPECT_THAT(Outputs(), ElementsAre("build/cut.o", "build/external/deep/b.txt", "c.txt"));
  EXPECT_THAT(Outputs(RunEndKind::kMachine),
              ElementsAre("build/a.o", "build/cut.o", "build/external/deep/b.txt", "c.txt"));
}

TEST_F(InFlightTest, ASourceThatWasBeingChangedIsTold) {
  Put("early.c", 900);
  Put("late.c", 900);
  Prepare();
  Put("early.c", 100);
  Put("late.c", 1);
  ASSERT_OK_AND_ASSIGN(const PartialOutputs found,
                       FindPartialOutputs(env_, root_, Files(), record_, {RunEndKind::kProcesses}));
  EXPECT_THAT(found.sources, ElementsAre(RelPath::Literal("late.c")));
  EXPECT_THAT(found.outputs, IsEmpty());
}

/// An object with one section of 16 bytes behind its header and the section table behind that.
std::string Object() {
  std::string bytes(64 + 16 + 128, '\0');
  const auto put = [&](std::size_t at, std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
  };
  bytes.replace(0, 7,
                "\x7f"
                "ELF\x02\x01\x01");
  put(16, 1, 2);                  // ET_REL
  put(40, 64 + 16, 8);            // section table
  put(58, 64, 2);                 // size of its entries
  put(60, 2, 2);                  // their number
  put(64 + 16 + 64 + 4, 1, 4);    // PROGBITS
  put(64 + 16 + 64 + 24, 64, 8);  // where
  put(64 + 16 + 64 + 32, 16, 8);  // how long
  return bytes;
}

TEST_F(InFlightTest, EveryPrefixOfAnObjectIsCut) {
  const AbsPath file = AbsPath::Literal("/s/a.o");
  const std::string whole = Object();
  fs_.AddFile("/s/a.o", whole);
  EXPECT_THAT(IsTruncatedObject(fs_, file, false), IsOkAndHolds(false));
  for (std::size_t length = 4; length < whole.size(); ++length) {
    fs_.AddFile("/s/a.o", whole.substr(0, length));
    EXPECT_THAT(IsTruncatedObject(fs_, file, false), IsOkAndHolds(true)) << length;
  }
  for (const std::string& text : {std::string(), std::string(4096, '\0')}) {
    fs_.AddFile("/s/a.o", text);
    EXPECT_THAT(IsTruncatedObject(fs_, file, false), IsOkAndHolds(true));
  }
  // Its last section lies behind the table, as g++ writes it: only that section knows the end.
  std::string behind = whole + std::string(8, 'x');
  behind[64 + 16 + 64 + 24] = static_cast<char>(whole.size());
  behind[64 + 16 + 64 + 32] = 9;
  fs_.AddFile("/s/a.o", behind);
  EXPECT_THAT(IsTruncatedObject(fs_, file, false), IsOkAndHolds(true));
}

TEST_F(InFlightTest, EveryPrefixOfAnArchiveBetweenMembersIsWhole) {
  const AbsPath file = AbsPath::Literal("/s/lib.a");
  const std::string member = "a.o/            0           0     0     644     5         `\nhello\n";
  ASSERT_EQ(member.size(), 66U);
  const std::string whole = "!<arch>\n" + member + member;
  for (std::size_t length = 8; length <= whole.size(); ++length) {
    fs_.AddFile("/s/lib.a", whole.substr(0, length));
    // The byte that pads an odd member may be missing at the end.
    const std::size_t rest = (length - 8) % member.size();
    const bool cut = rest != 0 && rest != member.size() - 1;
    EXPECT_THAT(IsTruncatedObject(fs_, file, false), IsOkAndHolds(cut)) << length;
  }
  fs_.AddFile("/s/lib.a", "!<arch>\n" + member.substr(0, 48) + "5x        `\nhello\n");
  EXPECT_THAT(IsTruncatedObject(fs_, file, false), IsOkAndHolds(true));
}

TEST_F(InFlightTest, OtherFormatsAndNamesAreNotJudged) {
  fs_.AddFile("/s/libc.so", "/* GNU ld script */\n");
  fs_.AddFile("/s/stamp", "");
  fs_.AddFile("/s/program", Object().substr(0, 100), 0755);
  EXPECT_THAT(IsTruncatedObject(fs_, root_ / "libc.so", false), IsOkAndHolds(false));
  EXPECT_THAT(IsTruncatedObject(fs_, root_ / "stamp", true), IsOkAndHolds(false));
  EXPECT_THAT(IsTruncatedObject(fs_, root_ / "program", false), IsOkAndHolds(false));
  EXPECT_THAT(IsTruncatedObject(fs_, root_ / "program", true), IsOkAndHolds(true));
}

}  // namespace
}  // namespace ptpkg::builder
