// Real child processes. Times are generous upper bounds: a loaded machine must not fail a test.

#include "support/process/process.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <map>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "support/files/fs.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "unit/support/process/process_fixture.h"

namespace ptpkg::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

TEST_F(ProcessTest, GivesOutputOfBothStreamsInOrder) {
  ASSERT_OK_AND_ASSIGN(const ExitStatus status, Run(Sh("echo one; echo two >&2; printf three")));
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.output, "one\ntwo\nthree");
}

TEST_F(ProcessTest, NonZeroExitAndSignalAreValues) {
  ASSERT_OK_AND_ASSIGN(const ExitStatus exited, Run(Sh("echo bad; exit 3")));
  EXPECT_FALSE(exited.ok());
  EXPECT_EQ(exited.code, 3);
  EXPECT_EQ(exited.signal, 0);
  EXPECT_EQ(exited.output, "bad\n");
  ASSERT_OK_AND_ASSIGN(const ExitStatus killed, Run(Sh("kill -SEGV $$")));
  EXPECT_FALSE(killed.ok());
  EXPECT_EQ(killed.signal, SIGSEGV);
}

TEST_F(ProcessTest, EnvironmentIsExactlyTheGivenOne) {
  Command command;
  command.argv = {"/usr/bin/env"};
  command.env = {{"B", "2"}, {"A", "with space\nand line"}};
  ASSERT_OK_AND_ASSIGN(const ExitStatus status, Run(command));
  EXPECT_EQ(status.output, "A=with space\nand line\nB=2\n");
}

TEST_F(ProcessTest, RunsInTheGivenFolderWithEmptyInput) {
  ASSERT_OK_AND_ASSIGN(const ExitStatus status, Run(Sh("pwd; cat; echo end")));
  EXPECT_EQ(status.output, dir_.path().str() + "\nend\n");
}

TEST_F(ProcessTest, OnlyTheThreeStandardDescriptorsAreOpen) {
  const int leaked = ::dup(STDOUT_FILENO);  // without close-on-exec, as careless libraries leave them
  ASSERT_GE(leaked, 0);
  ASSERT_OK_AND_ASSIGN(const ExitStatus status, Run(Sh("ls /proc/self/fd | tr '\\n' ' '")));
  ::close(leaked);
  EXPECT_EQ(status.output, "0 1 2 3 ");  // 3 is ls reading the directory
}

TEST_F(ProcessTest, ALowLimitOfOpenFilesIsNamed) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  int refused = 0;
  int started = 0;
  for (rlim_t limit = 4; limit <= 24; ++limit) {
    const rlimit low{.rlim_cur = limit, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    const Result<ExitStatus> status = Run(Sh("echo here"));
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    SCOPED_TRACE(limit);
    if (status) {
      ++started;
      EXPECT_EQ(status->output, "here\n");
      continue;
    }
    ++refused;
    EXPECT_THAT(status, FailsWith(ErrorCode::kIo, HasSubstr("Too many open files")));
    EXPECT_THAT(status, HasHint(HasSubstr("ulimit -n")));
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(started, 0);
}

TEST_F(ProcessTest, SignalsIgnoredHereAreNotIgnoredThere) {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGPIPE, &ignore, &before), 0);
  const Result<ExitStatus> status = Run(Sh("grep -E 'Sig(Ign|Blk)' /proc/self/status"));
  ASSERT_EQ(::sigaction(SIGPIPE, &before, nullptr), 0);
  ASSERT_OK(status);
  EXPECT_EQ(status->output, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(ProcessTest, LinesComeAsTheyArePrinted) {
  std::vector<std::string> lines;
  Command command = Sh("printf 'a\\n\\nb\\r\\nlast'");
  command.on_line = [&](std::string_view line) { lines.emplace_back(line); };
  ASSERT_OK(Run(command));
  EXPECT_THAT(lines, ElementsAre("a", "", "b", "last"));
}

TEST_F(ProcessTest, ALineAppearsBeforeTheProcessEnds) {
  Command command = Sh("echo ready; while [ ! -e go ]; do sleep 0.01; done; echo done");
  command.timeout = seconds(20);
  command.on_line = [&](std::string_view line) {
    if (line == "ready") dir_.WriteFile("go", "");
  };
  ASSERT_OK_AND_ASSIGN(const ExitStatus status, Run(command));
  EXPECT_TRUE(status.ok());
}

TEST_F(ProcessTest, EndlessLineComesInPieces) {
  std::vector<std::size_t> sizes;
  Command command = Sh("head -c 150000 /dev/zero | tr '\\0' x");
  command.on_line = [&](std::string_view line) { sizes.push_back(line.size()); };
  ASSERT_OK(Run(command));
  EXPECT_THAT(sizes, ElementsAre(65536U, 65536U, 18928U));
}

TEST_F(ProcessTest, OutputKeepsTheLast64KiB) {
  ASSERT_OK_AND_ASSIGN(const ExitStatus status,
                       Run(Sh("i=0; head -c 3000000 /dev/zero | tr '\\0' y; echo end")));
  EXPECT_EQ(status.output.size(), 65536U);
  EXPECT_THAT(status.output, EndsWith("yyend\n"));
}

TEST_F(ProcessTest, LogFileHoldsAllAndIsAppended) {
  dir_.WriteFile("log", "before\n");
  Command command = Sh("head -c 200000 /dev/zero | tr '\\0' z; echo");
  command.log_file = dir_ / "log";
  ASSERT_OK(Run(command));
  ASSERT_OK(Run(command));
  const std::string log = dir_.ReadFile("log");
  EXPECT_EQ(log.size(), 7U + 2 * 200001U);
  EXPECT_EQ(log.substr(0, 8), "before\nz");
}

TEST_F(ProcessTest, LogFileHoldsNoPasswordOfAUrl) {
  Command command =
      Sh("secret=pa55word; echo clone https://me:$secret@host/x; printf https://me:$secret@host/end");
  command.log_file = dir_ / "log";
  ASSERT_OK(Run(command));
  EXPECT_EQ(dir_.ReadFile("log"), "clone https://****@host/x\nhttps://****@host/end");
}

TEST_F(ProcessTest, LogFileThatCannotBeWrittenIsAnIoError) {
  Command command = Sh("touch ran");
  command.log_file = dir_ / "missing/log";
  EXPECT_THAT(Run(command),
              FailsWith(ErrorCode::kIo, AllOf(HasSubstr("log file"), HasSubstr("missing/log"))));
  dir_.WriteFile("target", "kept");
  dir_.MakeSymlink("target", "link");
  command.log_file = dir_ / "link";
  EXPECT_THAT(Run(command), FailsWith(ErrorCode::kIo, HasSubstr("link")));
  EXPECT_EQ(dir_.ReadFile("target"), "kept");
  EXPECT_THAT(dir_.List(), ElementsAre("link -> target", "target"));  // nothing ran
}

TEST_F(ProcessTest, FullDiskUnderTheLogStopsTheGroup) {
  Command command = Sh("echo $$ > pid; yes");
  command.log_file = AbsPath::Literal("/dev/full");
  const Result<ExitStatus> status = Run(command);
  EXPECT_THAT(status, FailsWith(ErrorCode::kIo, HasSubstr("cannot write log file '/dev/full'")));
  EXPECT_THAT(status, HasHint(HasSubstr("space")));
  EXPECT_FALSE(IsAlive(AwaitFile("pid")));
}

TEST_F(ProcessTest, MissingProgramIsNotFoundWithAHint) {
  Command command = Sh("");
  command.argv = {"no-such-program-here"};
  const Result<ExitStatus> status = Run(command);
  EXPECT_THAT(status, FailsWith(ErrorCode::kNotFound, "program 'no-such-program-here' was not found"));
  EXPECT_THAT(status, HasHint(HasSubstr("PATH")));
  command.env.clear();
  EXPECT_THAT(Run(command), HasHint("the command's PATH is empty"));
  command.argv = {"/no/such/program"};
  EXPECT_THAT(Run(command), FailsWith(ErrorCode::kNotFound, HasSubstr("cannot run '/no/such/program'")));
}

TEST_F(ProcessTest, WhatCannotBeExecutedSaysWhy) {
  Command command = Sh("");
  command.argv = {dir_.WriteFile("plain", "echo x\n", 0644).str()};
  EXPECT_THAT(Run(command), FailsWith(ErrorCode::kIo, HasSubstr("Permission denied")));
  command.argv = {dir_.WriteFile("no-interpreter", "#!/no/such/sh\n", 0755).str()};
  const Result<ExitStatus> interpreter = Run(command);
  EXPECT_THAT(interpreter, FailsWith(ErrorCode::kNotFound, HasSubstr("no-interpreter")));
  EXPECT_THAT(interpreter, HasHint(HasSubstr("interpreter")));
  command.argv = {dir_.WriteFile("no-format", "echo x\n", 0755).str()};
  const Result<ExitStatus> format = Run(command);
  EXPECT_THAT(format, FailsWith(ErrorCode::kIo, HasSubstr("Exec format error")));
  EXPECT_THAT(format, HasHint(HasSubstr("#!/bin/sh")));
  command.argv = {"sh", "-c", std::string(4'000'000, 'x')};
  EXPECT_THAT(Run(command), FailsWith(ErrorCode::kIo, HasSubstr("Argument list too long")));
}

TEST_F(ProcessTest, MissingFolderIsNamed) {
  Command command = Sh("true");
  command.cwd = dir_ / "missing";
  EXPECT_THAT(Run(command), FailsWith(ErrorCode::kNotFound, HasSubstr("cannot enter directory")));
}

TEST_F(ProcessTest, InvalidCommandsAreRefused) {
  EXPECT_THAT(Run(Command{}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("needs a program")));
  Command command = Sh("true");
  command.argv = {"bin/relative"};
  EXPECT_THAT(Run(command), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'bin/relative'")));
  command.argv = {"sh", std::string("a\0b", 3)};
  EXPECT_THAT(Run(command), FailsWith(ErrorCode::kInvalidInput, HasSubstr("NUL")));
  for (const std::string& name : {std::string(), std::string("A=B"), std::string("A\0", 2)}) {
    command = Sh("true");
    command.env[name] = "x";
    EXPECT_THAT(Run(command), FailsWith(ErrorCode::kInvalidInput, HasSubstr("environment variable")));
  }
}

TEST_F(ProcessTest, TimeoutEndsTheWholeGroup) {
  // A grandchild whose parent has gone, and one in the pipeline.
  Command command = Sh("(sleep 100 & echo $! > orphan); echo $$ > child; sleep 100 | sleep 100");
  command.timeout = seconds(2);
  ASSERT_OK_AND_ASSIGN(const ExitStatus status, Run(command));
  EXPECT_TRUE(status.timed_out);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.signal, SIGTERM);
  EXPECT_GE(status.elapsed, seconds(2));
  EXPECT_FALSE(IsAlive(AwaitFile("child")));
  EXPECT_FALSE(IsAlive(AwaitFile("orphan")));
}

TEST_F(ProcessTest, WhoIgnoresSigtermIsKilledAfterTheGrace) {
  const auto took = RunAndCancelAt("grandchild",
                                   "trap '' TERM; echo $$ > child; sh -c 'echo $$ > grandchild; sleep 100' & "
                                   "wait; wait; sleep 100");
  EXPECT_GE(took, seconds(5));
  EXPECT_FALSE(IsAlive(AwaitFile("child")));
  EXPECT_FALSE(IsAlive(AwaitFile("grandchild")));
}

TEST_F(ProcessTest, GrandchildrenMayCleanUpAfterTheChildDied) {
  RunAndCancelAt("up",
                 "(trap 'sleep 0.3; echo cleaned > cleaned; exit' TERM; echo up > up; "
                 "while :; do sleep 0.05; done) & exec sleep 100");
  EXPECT_EQ(dir_.ReadFile("cleaned"), "cleaned\n");
}

TEST_F(ProcessTest, StoppedProcessesAreEndedToo) {
  const auto took = RunAndCancelAt("child", "echo $$ > child; kill -STOP $$; sleep 100");
  EXPECT_LT(took, seconds(5));  // SIGCONT let it take the SIGTERM: nobody waited for the SIGKILL
  EXPECT_FALSE(IsAlive(AwaitFile("child")));
}

TEST_F(ProcessTest, TimeoutHoldsAgainstEndlessOutput) {
  Command command = Sh("yes");
  command.timeout = milliseconds(300);
  ASSERT_OK_AND_ASSIGN(const ExitStatus status, Run(command));
  EXPECT_TRUE(status.timed_out);
  EXPECT_LT(status.elapsed, seconds(5));
}

TEST_F(ProcessTest, BackgroundProcessesDoNotOutliveTheChild) {
  ASSERT_OK_AND_ASSIGN(const ExitStatus status, Run(Sh("sleep 100 & echo $! > background; echo started")));
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.output, "started\n");
  EXPECT_LT(status.elapsed, seconds(5));
  EXPECT_FALSE(IsAlive(AwaitFile("background")));
}

TEST_F(ProcessTest, WhatIsLeftIsToldWithTheFilesThatItWrites) {
  dir_.MakeDir("out");
  dir_.MakeDir("elsewhere");
  ASSERT_OK(MakeOsFs()->CreateSymlink("out", dir_ / "link"));
  Command command =
      Sh("cd out; echo x > read; (exec sleep 301 >> $D/out/file 4>> $D/elsewhere/b 5< read) &\n"
         "setsid sh -c 'exec sleep 302 > gone 4>> \"$D/elsewhere/c\" & "
         "while ! [ -e ../elsewhere/c ]; do sleep 0.01; done; rm gone' &\n"
         "while ! [ -e file ] || ! [ -e ../elsewhere/c ] || [ -e gone ]; do sleep 0.01; done; echo done");
  command.watched = {dir_ / "link"};
  ASSERT_OK_AND_ASSIGN(const ExitStatus status, Run(command));
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.output, "done\n");
  std::map<std::string, std::vector<AbsPath>> left;
  for (const OrphanProcess& each : status.left) left.emplace(each.command, each.writing);
  EXPECT_THAT(left,
              ElementsAre(Pair("sleep 301", ElementsAre(dir_ / "link/file")), Pair("sleep 302", IsEmpty())));
  EXPECT_LT(status.elapsed, std::chrono::seconds(10));
}

TEST_F(ProcessTest, WhatEndsByItselfAMomentAfterTheChildIsNotLeft) {
  Command command = Sh("(sleep 0.4; echo whole) > file & (sleep 0.05; echo said) & echo done");
  command.watched = {dir_.path()};
  ASSERT_OK_AND_ASSIGN(const ExitStatus status, Run(command));
  EXPECT_THAT(status.left, IsEmpty());
  EXPECT_EQ(status.output, "done\nsaid\n");
  EXPECT_EQ(dir_.ReadFile("file"), "whole\n");
  EXPECT_THAT(Run(Sh("sleep 300 > file2 &"))->left, IsEmpty());  // nothing is watched
}

TEST_F(ProcessTest, ACancellationDoesNotWaitForWhatIsLeft) {
  CancelToken cancel;
  Command command = Sh("sleep 300 > file & echo done");
  command.watched = {dir_.path()};
  command.cancel = &cancel;
  command.on_line = [&](std::string_view) { cancel.Cancel(); };
  const Result<ExitStatus> status = Run(command);
  // Either is true, as the child was seen to end before it was cancelled or not.
  if (status) {
    EXPECT_THAT(status->left, SizeIs(1));
  } else {
    EXPECT_THAT(status, FailsWith(ErrorCode::kCancelled, "interrupted"));
  }
}

TEST_F(ProcessTest, CancellationEndsTheGroup) {
  RunAndCancelAt("child", "sleep 100 & echo $! > grandchild; echo $$ > child; wait");
  EXPECT_FALSE(IsAlive(AwaitFile("child")));
  EXPECT_FALSE(IsAlive(AwaitFile("grandchild")));
}

TEST_F(ProcessTest, CancelledBeforeTheStartRunsNothing) {
  CancelToken cancel;
  cancel.Cancel();
  Command command = Sh("touch ran");
  command.cancel = &cancel;
  EXPECT_THAT(Run(command), FailsWith(ErrorCode::kCancelled, "interrupted"));
  EXPECT_THAT(dir_.List(), IsEmpty());
}

TEST_F(ProcessTest, ThrowingLineCallbackLeavesNoProcess) {
  Command command = Sh("echo $$ > child; echo line; sleep 100");
  command.on_line = [](std::string_view) { PTPKG_ASSERT(false); };
  EXPECT_THROW(static_cast<void>(Run(command)), std::logic_error);
  EXPECT_FALSE(IsAlive(AwaitFile("child")));
}

TEST_F(ProcessTest, DeathOfPtpkgBySigkillEndsTheWholeGroup) {
  const pid_t ptpkg = ::fork();
  if (ptpkg == 0) {
    static_cast<void>(
        Run(Sh("(sleep 100 & echo $! > orphan); sleep 100 & echo $! > grandchild; echo $$ > child; wait")));
    ::_exit(0);
  }
  const std::vector<std::string> pids = {AwaitFile("orphan"), AwaitFile("grandchild"), AwaitFile("child")};
  for (const std::string& pid : pids) EXPECT_TRUE(IsAlive(pid)) << pid;
  ASSERT_EQ(::kill(ptpkg, SIGKILL), 0);
  ASSERT_EQ(::waitpid(ptpkg, nullptr, 0), ptpkg);
  for (const std::string& pid : pids) EXPECT_TRUE(EndsSoon(pid)) << pid;
}

TEST_F(ProcessTest, DeathOfPtpkgEndsTheSupervisorThatWouldHaveBeenAsked) {
  const pid_t ptpkg = ::fork();
  if (ptpkg == 0) {
    Command command = Sh("echo $PPID > supervisor; sleep 100 & echo $! > grandchild; echo $$ > child; wait");
    command.watched = {dir_.path()};
    static_cast<void>(Run(command));
    ::_exit(0);
  }
  const std::vector<std::string> pids = {AwaitFile("supervisor"), AwaitFile("grandchild"),
                                         AwaitFile("child")};
  ASSERT_EQ(::kill(ptpkg, SIGKILL), 0);
  ASSERT_EQ(::waitpid(ptpkg, nullptr, 0), ptpkg);
  for (const std::string& pid : pids) EXPECT_TRUE(EndsSoon(pid)) << pid;
}

TEST_F(ProcessTest, DeathOfPtpkgsGroupEndsTheWholeGroup) {
  const pid_t ptpkg = ::fork();
  if (ptpkg == 0) {
    ::setpgid(0, 0);
    static_cast<void>(Run(Sh("sleep 100 & echo $! > grandchild; echo $$ > child; wait")));
    ::_exit(0);
  }
  const std::vector<std::string> pids = {AwaitFile("grandchild"), AwaitFile("child")};
  ASSERT_EQ(::kill(-ptpkg, SIGKILL), 0);  // as `timeout -s KILL` and job runners do
  ASSERT_EQ(::waitpid(ptpkg, nullptr, 0), ptpkg);
  for (const std::string& pid : pids) EXPECT_TRUE(EndsSoon(pid)) << pid;
}

TEST_F(ProcessTest, ManyAtOnceFromManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const std::string text = fmt::format("{} {}", t, i);
        const Result<ExitStatus> status = Run(Sh("echo '" + text + "'; exit " + std::to_string(i)));
        if (status && status->code == i && status->output == text + "\n") ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 80);
}

TEST_F(ProcessTest, LeavesNoZombieAndNoDescriptorBehind) {
  const auto fs = MakeOsFs();
  const AbsPath fds = AbsPath::Literal("/proc/self/fd");
  ASSERT_OK(Run(Sh("true")));
  ASSERT_OK_AND_ASSIGN(const auto before, fs->ListDir(fds));
  ASSERT_OK(Run(Sh("sleep 0.01 & true")));
  Command missing = Sh("true");
  missing.cwd = dir_ / "missing";
  EXPECT_THAT(Run(missing), FailsWith(ErrorCode::kNotFound, HasSubstr("missing")));
  EXPECT_THAT(fs->ListDir(fds), IsOkAndHolds(::testing::SizeIs(before.size())));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(FindProgram, SearchesAbsoluteEntriesInOrder) {
  const TempDir dir;
  dir.WriteFile("a/tool", "", 0755);
  dir.WriteFile("b/tool", "", 0755);
  dir.WriteFile("c/tool", "", 0644);
  dir.MakeDir("d/tool");
  dir.MakeSymlink("../b/tool", "e/tool");
  const auto at = [&](std::string_view name) { return (dir / name).str(); };
  EXPECT_EQ(FindProgram("tool", at("c") + ":" + at("d") + "::" + at("b") + ":" + at("a")), dir / "b/tool");
  EXPECT_EQ(FindProgram("tool", at("e")), dir / "e/tool");
  EXPECT_EQ(FindProgram("tool", at("c") + ":" + at("d") + ":" + at("missing")), std::nullopt);
  EXPECT_EQ(FindProgram("tool", ""), std::nullopt);
  EXPECT_EQ(FindProgram("tool", ".:a"), std::nullopt);
  EXPECT_EQ(FindProgram("", at("a")), std::nullopt);
  EXPECT_EQ(FindProgram("a/tool", dir.path().str()), std::nullopt);
}

TEST(ShellQuote, QuotesOnlyWhereNeeded) {
  EXPECT_EQ(ShellQuote({"cmake", "-DX=1", "a/b.c", "--flag"}), "cmake -DX=1 a/b.c --flag");
  EXPECT_EQ(ShellQuote({"echo", "", "a b", "$x", "it's", "~"}), "echo '' 'a b' '$x' 'it'\\''s' '~'");
  EXPECT_EQ(ShellQuote({"A=1", "B=2"}), "'A=1' B=2");
  EXPECT_EQ(ShellQuote({}), "");
}

TEST_F(ProcessTest, ShellReadsBackWhatShellQuoteWrote) {
  const std::vector<std::string> words = {"printf", "%s|", "a b", "'", "''", "\"", "$HOME", "`x`",
                                          "\\",     "*",   "#",   "!", "\n", "é",  "",      "-n"};
  ASSERT_OK_AND_ASSIGN(const ExitStatus status, Run(Sh(ShellQuote(words))));
  std::string expected;
  for (std::size_t i = 2; i < words.size(); ++i) expected += words[i] + "|";
  EXPECT_EQ(status.output, expected);
}

}  // namespace
}  // namespace ptpkg::test
