// The doubles that other tests trust must themselves be able to fail.

#include <cerrno>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "support/fake_http.h"
#include "support/fake_process.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FaultFs, FailsOnlyTheChosenOperationOfItsScope) {
  MemFs mem;
  mem.AddFile("/f", "x");
  FaultFs fs(mem, {.number = 2, .sys_errno = ENOSPC, .scope = FaultScope::kMutating});
  const AbsPath f = AbsPath::Literal("/f");
  EXPECT_OK(fs.Lstat(f));
  EXPECT_OK(fs.SetMode(f, 0600));
  EXPECT_OK(fs.Lstat(f));
  EXPECT_FALSE(fs.fired());
  EXPECT_THAT(fs.Remove(f), FailsWith(ErrorCode::kIo, HasSubstr("injected fault: cannot remove '/f'")));
  EXPECT_TRUE(fs.fired());
  EXPECT_OK(fs.Remove(f));
  EXPECT_EQ(fs.count(), 3U);
}

TEST(FaultFs, WriteIsTornAndTheDeadStayDead) {
  MemFs mem;
  FaultFs fs(mem, {.number = 2, .after = FaultAfter::kDead});
  ASSERT_OK_AND_ASSIGN(const auto file, fs.Open(AbsPath::Literal("/f"), OpenMode::kCreateNew));
  EXPECT_THAT(file->WriteAt(0, AsBytes("abcdef")), FailsWith(ErrorCode::kIo, HasSubstr("write")));
  EXPECT_THAT(file->WriteAt(0, AsBytes("ABCDEF")), FailsWith(ErrorCode::kIo, HasSubstr("write")));
  EXPECT_THAT(fs.Remove(AbsPath::Literal("/f")), FailsWith(ErrorCode::kIo, HasSubstr("remove")));
  EXPECT_EQ(mem.Content("/f"), "abc");
}

TEST(RunFaultLoop, NoticesSwallowedFaults) {
  EXPECT_NONFATAL_FAILURE(RunFaultLoop({.run =
                                            [](Fs& fs) {
                                              static_cast<void>(fs.MakeDirs(AbsPath::Literal("/d")));
                                              return Ok();
                                            }}),
                          "swallowed");
}

TEST(MemFs, CountsCallsAndOpenFiles) {
  MemFs fs;
  fs.AddFile("/d/f", "12345");
  EXPECT_TRUE(fs.calls().empty());
  {
    ASSERT_OK_AND_ASSIGN(const auto file, fs.Open(AbsPath::Literal("/d/f"), OpenMode::kRead));
    EXPECT_EQ(fs.open_files(), 1);
    std::array<std::byte, 3> buffer{};
    ASSERT_OK(file->ReadAt(0, buffer));
  }
  EXPECT_EQ(fs.open_files(), 0);
  EXPECT_EQ(fs.BytesRead("/d/f"), 3U);
  EXPECT_THAT(fs.calls(), ElementsAre(FsCall{"OpenRead", "/d/f"}));
  EXPECT_THAT(fs.List(), ElementsAre("d/", "d/f"));
  EXPECT_EQ(fs.calls().size(), 1U);  // looking is not counted
}

TEST(MemFs, LimitFreesWhatIsRemoved) {
  MemFs fs;
  fs.LimitBytes(10);
  fs.AddFile("/a", "12345678");
  EXPECT_THAT(fs.CopyFile(AbsPath::Literal("/a"), AbsPath::Literal("/b")),
              FailsWith(ErrorCode::kIo, HasSubstr("No space left")));
  EXPECT_THAT(fs.FreeBytes(AbsPath::Literal("/")), IsOkAndHolds(2U));
  ASSERT_OK(fs.Remove(AbsPath::Literal("/a")));
  EXPECT_THAT(fs.FreeBytes(AbsPath::Literal("/")), IsOkAndHolds(10U));
}

TEST(MemFs, ACopyHasTheSameFilesAndSharesNothing) {
  MemFs original;
  original.AddFile("/a/one", "text", 0600);
  original.AddSymlink("one", "/a/link");
  ASSERT_THAT(original.CreateHardLink(AbsPath::Literal("/a/one"), AbsPath::Literal("/a/two")), IsOk());
  MemFs copy;
  copy.CopyFrom(original);
  original.AddFile("/a/one", "other");
  EXPECT_EQ(copy.List(), (std::vector<std::string>{"a/", "a/link -> one", "a/one", "a/two"}));
  EXPECT_EQ(copy.Content("/a/link"), "text");
  const auto one = copy.Lstat(AbsPath::Literal("/a/one"));
  ASSERT_THAT(one, IsOk());
  EXPECT_EQ(one->mode, 0600U);
  EXPECT_EQ(one->link_count, 2U);
  EXPECT_THAT(copy.Lstat(AbsPath::Literal("/a/two")), IsOkAndHolds(*one));
}

TEST(FakeProcess, AnswersAndRecords) {
  FakeProcess process;
  process.Answer("git", 1, "one\ntwo");
  std::vector<std::string> lines;
  Command command{.argv = {"/usr/bin/git", "log"}};
  command.on_line = [&](std::string_view line) { lines.emplace_back(line); };
  ASSERT_OK_AND_ASSIGN(const ExitStatus status, process.Run(command));
  EXPECT_EQ(status.code, 1);
  EXPECT_THAT(lines, ElementsAre("one", "two"));
  EXPECT_THAT(process.Run({.argv = {"hg"}}), FailsWith(ErrorCode::kNotFound, HasSubstr("'hg'")));
  EXPECT_EQ(process.commands().size(), 2U);
}

TEST(FakeHttp, ServesFailsAndRecords) {
  FakeHttp http;
  http.Serve("https://host/f", std::string(2500, 'x'));
  http.FailNext("https://host/f", Error(ErrorCode::kNetwork, "down"));
  StringSink sink;
  EXPECT_THAT(http.Get({.url = "https://host/f"}, sink), FailsWith(ErrorCode::kNetwork, "down"));
  EXPECT_OK(http.Get({.url = "https://host/f"}, sink));
  EXPECT_EQ(sink.str().size(), 2500U);
  EXPECT_THAT(http.Get({.url = "https://host/g"}, sink), FailsWith(ErrorCode::kNotFound, HasSubstr("404")));
  EXPECT_THAT(http.requested(), ElementsAre("https://host/f", "https://host/f", "https://host/g"));
}

TEST(FakeHttp, AnswersCallsInTurnAndRecordsThem) {
  FakeHttp http;
  http.AnswerNext("PUT https://host/f", Error(ErrorCode::kNetwork, "down"));
  http.AnswerNext("PUT https://host/f", HttpAnswer{.status = 201, .body = "made"});
  HttpCall call{.method = "PUT", .url = "https://host/f", .headers = {{"X-A", "1"}}, .body_bytes = 4};
  call.open_body = []() -> Result<std::unique_ptr<ByteSource>> {
    return std::unique_ptr<ByteSource>(std::make_unique<StringSource>("body"));
  };
  EXPECT_THAT(http.Call(call), FailsWith(ErrorCode::kNetwork, "down"));
  ASSERT_OK_AND_ASSIGN(const HttpAnswer made, http.Call(call));
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.body, "made");
  ASSERT_OK_AND_ASSIGN(const HttpAnswer unknown, http.Call(call));
  EXPECT_EQ(unknown.status, 404);
  ASSERT_EQ(http.calls().size(), 3U);
  EXPECT_EQ(http.calls()[1].request, "PUT https://host/f");
  EXPECT_EQ(http.calls()[1].headers.at("X-A"), "1");
  EXPECT_EQ(http.calls()[1].body, "body");
  call.body_bytes = 5;
  EXPECT_THAT(http.Call(call), FailsWith(ErrorCode::kIo, HasSubstr("has 4 bytes, not 5")));
}

TEST(FakeClock, SleepsByAdvancing) {
  FakeClock clock;
  const auto start = clock.Now();
  const auto wall = clock.WallNow();
  clock.SleepFor(std::chrono::milliseconds(1500));
  clock.Advance(std::chrono::milliseconds(500));
  EXPECT_EQ(clock.Now() - start, std::chrono::seconds(2));
  EXPECT_EQ(clock.WallNow() - wall, std::chrono::seconds(2));
  EXPECT_THAT(clock.sleeps(), ElementsAre(std::chrono::milliseconds(1500)));
}

TEST(OsClock, SleepsAndMovesForward) {
  const auto clock = MakeOsClock();
  const auto start = clock->Now();
  clock->SleepFor(std::chrono::milliseconds(20));
  EXPECT_GE(clock->Now() - start, std::chrono::milliseconds(20));
  EXPECT_GT(clock->WallNow(), std::chrono::system_clock::from_time_t(1'600'000'000));
}

TEST(TestEnv, IsUsableAsAnEnv) {
  TestEnv env;
  ASSERT_OK(WriteFile(env->fs, env.dir() / "f", "x"));
  Env& plain = env;
  EXPECT_OK(plain.fs.Lstat(plain.cwd / "f"));
  env.cancel.Cancel();
  EXPECT_TRUE(plain.cancel.cancelled());
}

}  // namespace
}  // namespace ptpkg::test
