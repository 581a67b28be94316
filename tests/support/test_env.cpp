#include "support/test_env.h"

#include <cstdlib>

namespace ptpkg::test {
namespace {

std::string PathVariable() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): tests do not change the environment.
  const char* path = std::getenv("PATH");
  return path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
}

}  // namespace

TestEnv::TestEnv(const TestEnvOptions& options)
    : fs_(MakeOsFs()),
      process_(MakeOsProcess()),
      env_{.fs = options.fs != nullptr ? *options.fs : *fs_,
           .process = options.process != nullptr ? *options.process : *process_,
           .http = http,
           .clock = clock,
           .reporter = reporter,
           .cancel = cancel,
           .jobs = options.jobs,
           .cache_dir = dir_ / "cache",
           .cwd = dir_.path(),
           .variables = {{"PATH", PathVariable()}, {"HOME", (dir_ / "home").str()}}} {}

}  // namespace ptpkg::test
