#include "support/env.h"

namespace ptpkg {

namespace {

// Env holds references, which can't be assigned: a copy with another one is built member by member.
Env With(const Env& env, Fs& fs, Reporter& reporter, const CancelToken& cancel) {
  return {.fs = fs,
          .process = env.process,
          .http = env.http,
          .clock = env.clock,
          .reporter = reporter,
          .cancel = cancel,
          .jobs = env.jobs,
          .jobs_of_run = env.jobs_of_run,
          .jobs_given = env.jobs_given,
          .source_date_epoch = env.source_date_epoch,
          .cache_dir = env.cache_dir,
          .cwd = env.cwd,
          .variables = env.variables,
          .offline = env.offline};
}

}  // namespace

Env WithFs(const Env& env, Fs& fs) { return With(env, fs, env.reporter, env.cancel); }
Env WithReporter(const Env& env, Reporter& reporter) { return With(env, env.fs, reporter, env.cancel); }
Env WithCancel(const Env& env, const CancelToken& cancel) { return With(env, env.fs, env.reporter, cancel); }

}  // namespace ptpkg
