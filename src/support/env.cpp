#include "support/env.h"

namespace ptpkg {

Env WithFs(const Env& env, Fs& fs) {
  return {.fs = fs,
          .process = env.process,
          .http = env.http,
          .clock = env.clock,
          .reporter = env.reporter,
          .cancel = env.cancel,
          .jobs = env.jobs,
          .jobs_of_run = env.jobs_of_run,
          .jobs_given = env.jobs_given,
          .source_date_epoch = env.source_date_epoch,
          .cache_dir = env.cache_dir,
          .cwd = env.cwd,
          .variables = env.variables,
          .offline = env.offline};
}

}  // namespace ptpkg
