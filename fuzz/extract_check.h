#pragma once
// What must hold after any extraction, whatever the archive. Shared by the archive fuzzers.

#include <cstdlib>

#include "support/mem_fs.h"
#include "support/test_env.h"

namespace ptpkg::fuzz {

/// Runs `extract(env)` on a file system that holds "/out" and, if not empty, "/x.zip"; then looks for writes
/// outside of
/// "/out", for links out of it, and for errors of a kind that hostile input may not cause.
template <class Extract>
void CheckExtraction(test::MemFs& fs, Extract extract) {
  static test::TestEnv base({.jobs = 1});
  static const CancelToken cancel;
  Env& real = base.env();
  Env env{.fs = fs,
          .process = real.process,
          .http = real.http,
          .clock = real.clock,
          .reporter = real.reporter,
          .cancel = cancel,
          .jobs = 1,
          .variables = {}};
  const Result<void> result = extract(env);
  if (!result && result.error().code() == ErrorCode::kInternal) std::abort();
  for (const std::string& path : fs.List("/")) {
    if (!path.starts_with("out/") && path != "x.zip") std::abort();
    const std::size_t arrow = path.find(" -> ");
    if (result && arrow != std::string::npos && path.find(" -> /", arrow) == arrow) std::abort();
  }
}

}  // namespace ptpkg::fuzz
