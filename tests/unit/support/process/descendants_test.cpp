// What a script leaves behind ends with it, wherever it went. Real processes.

#include "support/process/descendants.h"

#include <algorithm>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/recording_reporter.h"
#include "unit/support/process/process_fixture.h"

namespace ptpkg::test {
namespace {

using ::testing::IsEmpty;

class DescendantsTest : public ProcessTest {
 protected:
  /// Process numbers whose command line names the scratch directory of this test.
  [[nodiscard]] std::vector<std::string> Running() const {
    const auto fs = MakeOsFs();
    std::vector<std::string> found;
    const Result<std::vector<std::string>> names = fs->ListDir(AbsPath::Literal("/proc"));
    for (const std::string& name : *names) {
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const Result<std::string> line = ptpkg::ReadFile(*fs, AbsPath::Literal("/proc/" + name + "/cmdline"));
      if (line && line->find(dir_.path().str()) != std::string::npos) found.push_back(name);
    }
    return found;
  }
};

TEST_F(DescendantsTest, ASessionOfItsOwnWritesNoMore) {
  const std::string script =
      "setsid sh -c 'echo $$ > daemon; exec 9> open; while :; do echo x >&9; sleep 0.01; done' &\n"
      "while ! [ -s open ]; do sleep 0.01; done; echo started";
  ASSERT_OK_AND_ASSIGN(const ExitStatus status, Run(Sh(script)));
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.output, "started\n");
  EXPECT_LT(status.elapsed, std::chrono::seconds(8));
  EXPECT_FALSE(IsAlive(AwaitFile("daemon")));
  const std::string then = dir_.ReadFile("open");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(dir_.ReadFile("open"), then);
}

TEST_F(DescendantsTest, ADaemonThatForkedTwice) {
  // Nobody is left who knows it: its parent and its grandparent have ended before the script does.
  const std::string script =
      "setsid sh -c 'setsid sh -c \"echo \\$\\$ > daemon; exec sleep 100\" & exit' &\n"
      "wait; while ! [ -s daemon ]; do sleep 0.01; done";
  ASSERT_OK_AND_ASSIGN(const ExitStatus status, Run(Sh(script)));
  EXPECT_TRUE(status.ok());
  EXPECT_FALSE(IsAlive(AwaitFile("daemon")));
}

TEST_F(DescendantsTest, AStoppedOneAndOneThatIgnoresSignals) {
  const std::string script =
      "setsid sh -c 'echo $$ > stopped; kill -STOP $$' & setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > "
      "deaf; "
      "while :; do sleep 1; done' &\n"
      "while ! [ -s deaf ] || ! [ -s stopped ]; do sleep 0.01; done";
  ASSERT_OK(Run(Sh(script)));
  EXPECT_FALSE(IsAlive(AwaitFile("stopped")));
  EXPECT_FALSE(IsAlive(AwaitFile("deaf")));
}

TEST_F(DescendantsTest, AForkBombInFullGrowth) {
  // Each forks two, each in a session of its own, seven levels deep: 255 processes, and the script ends while
  // they still fork.
  const AbsPath bomb =
      dir_.WriteFile("bomb",
                     "if [ $1 -gt 0 ]; then setsid sh $0 $(($1 - 1)) & setsid sh $0 $(($1 - 1)) & fi\n"
                     "echo $1 >> forked; sleep 100; : $0\n");
  ASSERT_OK_AND_ASSIGN(const ExitStatus status,
                       Run(Sh("sh " + bomb.str() + " 7 & while ! grep -q 3 forked; do sleep 0.01; done")));
  EXPECT_TRUE(status.ok());
  EXPECT_THAT(Running(), IsEmpty());
}

TEST_F(DescendantsTest, AChainWhoseParentsEndAtOnce) {
  // At any moment only one lives, and it is about to be another.
  const AbsPath chain = dir_.WriteFile("chain", "echo >> links; setsid sh $0 & exit 0\n");
  ASSERT_OK_AND_ASSIGN(
      const ExitStatus status,
      Run(Sh("sh " + chain.str() + "; while [ $(wc -l < links) -lt 20 ]; do sleep 0.01; done")));
  EXPECT_TRUE(status.ok());
  const std::string then = dir_.ReadFile("links");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(dir_.ReadFile("links"), then);
}

TEST_F(DescendantsTest, TimeoutEndsThemToo) {
  Command command = Sh("setsid sh -c 'echo $$ > daemon; exec sleep 100' & exec sleep 100");
  command.timeout = std::chrono::seconds(2);
  ASSERT_OK_AND_ASSIGN(const ExitStatus status, Run(command));
  EXPECT_TRUE(status.timed_out);
  EXPECT_FALSE(IsAlive(AwaitFile("daemon")));
}

TEST_F(DescendantsTest, CancellationEndsThemToo) {
  RunAndCancelAt("daemon", "setsid sh -c 'echo $$ > daemon; exec sleep 100' & exec sleep 100");
  EXPECT_FALSE(IsAlive(AwaitFile("daemon")));
}

TEST_F(DescendantsTest, DeathOfPtpkgBySigkillEndsThemToo) {
  const pid_t ptpkg = ::fork();
  if (ptpkg == 0) {
    static_cast<void>(
        Run(Sh("setsid sh -c 'setsid sh -c \"echo \\$\\$ > daemon; exec sleep 100\" & exit' & sleep 100")));
    ::_exit(0);
  }
  const std::string daemon = AwaitFile("daemon");
  EXPECT_TRUE(IsAlive(daemon));
  ASSERT_EQ(::kill(ptpkg, SIGKILL), 0);
  ASSERT_EQ(::waitpid(ptpkg, nullptr, 0), ptpkg);
  EXPECT_TRUE(EndsSoon(daemon));
}

TEST_F(DescendantsTest, WhereProcIsAnotherNamespacesTheRunIsWarned) {
  // This process's /proc is not that of a new PID namespace. All in it ends with its first process.
  constexpr int kNoNamespace = 99;
  const pid_t outside = ::fork();
  if (outside == 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) ::_exit(kNoNamespace);
    const pid_t first = ::fork();
    if (first == 0) {
      RecordingReporter reporter;
      const auto process = MakeOsProcess(&reporter);
      const bool clean = process->Run(Sh("true")).has_value() && reporter.warnings().empty();
      // The shell goes on when its child has left the process group, which is killed by another way.
      const bool ran = process
                           ->Run(Sh("setsid sh -c 'echo $$ > daemon; exec sleep 100' & "
                                    "while ! [ -s daemon ]; do sleep 0.01; done"))
                           .has_value();
      const bool warned = reporter.warnings().size() == 1 &&
                          reporter.warnings()[0].find(
                              "started by 'sh' may still be running: /proc does not") != std::string::npos;
      ::_exit((clean ? 0 : 1) + (ran ? 0 : 2) + (warned ? 0 : 4));
    }
    int status = 0;
    ::waitpid(first, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(outside, &status, 0), outside);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoNamespace) GTEST_SKIP() << "no user namespaces here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(DescendantsTest, OfOthersNobodyIsHurt) {
  // A brother of ptpkg's, in its own session: no descendant of the command.
  const pid_t brother = ::fork();
  if (brother == 0) {
    ::setsid();
    ::pause();
    ::_exit(0);
  }
  ASSERT_OK(Run(Sh("setsid sleep 100 & true")));
  EXPECT_TRUE(IsAlive(std::to_string(brother)));
  ::kill(brother, SIGKILL);
  ASSERT_EQ(::waitpid(brother, nullptr, 0), brother);
}

}  // namespace
}  // namespace ptpkg::test
