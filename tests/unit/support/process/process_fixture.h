#pragma once
// What the tests of real child processes share.

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "support/files/fs.h"
#include "support/matchers.h"
#include "support/process/process.h"
#include "support/temp_dir.h"

namespace ptpkg::test {

class ProcessTest : public ::testing::Test {
 protected:
  [[nodiscard]] Command Sh(std::string script) const {
    Command command;
    command.argv = {"sh", "-c", std::move(script)};
    command.env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"D", dir_.path().str()}};
    command.cwd = dir_.path();
    return command;
  }
  Result<ExitStatus> Run(const Command& command) { return process_->Run(command); }

  /// Waits for a file that a script writes, and returns its trimmed content.
  [[nodiscard]] std::string AwaitFile(const std::string& name) const {
    const auto fs = MakeOsFs();
    for (int i = 0; i < 30'000; ++i) {
      const Result<std::string> text = ReadFile(*fs, dir_ / name);
      if (text && text->ends_with('\n')) return text->substr(0, text->size() - 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << name << " did not appear";
    return "";
  }

  /// Runs `script`, cancels once it has written `file`, and returns how long its end took from there.
  std::chrono::steady_clock::duration RunAndCancelAt(const std::string& file, std::string script) {
    CancelToken cancel;
    Command command = Sh(std::move(script));
    command.cancel = &cancel;
    std::chrono::steady_clock::time_point start;
    std::thread canceller([&] {
      static_cast<void>(AwaitFile(file));
      start = std::chrono::steady_clock::now();
      cancel.Cancel();
    });
    const Result<ExitStatus> status = Run(command);
    const auto end = std::chrono::steady_clock::now();
    canceller.join();
    EXPECT_THAT(status, FailsWith(ErrorCode::kCancelled, "interrupted"));
    return end - start;
  }

  TempDir dir_;
  std::unique_ptr<Process> process_ = MakeOsProcess();
};

inline bool IsAlive(const std::string& pid) {
  const Result<std::string> stat = ReadFile(*MakeOsFs(), AbsPath::Literal("/proc/" + pid + "/stat"));
  // A zombie has ended; only its parent has not looked yet.
  return stat && stat->find(") Z ") == std::string::npos;
}

inline bool EndsSoon(const std::string& pid) {
  for (int i = 0; i < 30'000; ++i) {
    if (!IsAlive(pid)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace ptpkg::test
