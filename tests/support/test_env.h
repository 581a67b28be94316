#pragma once
// An Env for tests: real files and processes, no network, a clock that stands still, a reporter that
// remembers. Each member can be exchanged.

#include "support/env.h"
#include "support/fake_clock.h"
#include "support/fake_http.h"
#include "support/recording_reporter.h"
#include "support/temp_dir.h"

namespace ptpkg::test {

/// Null members get the default.
struct TestEnvOptions {
  Fs* fs = nullptr;            ///< Default: OsFs.
  Process* process = nullptr;  ///< Default: OsProcess.
  int jobs = 2;
};

class TestEnv {
 public:
  explicit TestEnv(const TestEnvOptions& options = {});

  /// cache_dir and cwd lie in a scratch directory of this object; `variables` hold PATH and HOME.
  [[nodiscard]] Env& env() { return env_; }
  operator Env&() { return env_; }  // NOLINT(google-explicit-constructor): stands in for an Env
  Env* operator->() { return &env_; }

  [[nodiscard]] const TempDir& dir() const { return dir_; }
  FakeClock clock;
  FakeHttp http;
  RecordingReporter reporter;
  CancelToken cancel;

 private:
  TempDir dir_;
  std::unique_ptr<Fs> fs_;
  std::unique_ptr<Process> process_;
  Env env_;
};

}  // namespace ptpkg::test
