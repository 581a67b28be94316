#pragma once
// Bundles the outside world: files, processes, clock, network, reporter. Layer: support. A stage is a
// function of values plus Env; no stage reads the process environment, the clock or the working directory by
// itself.

#include <cstdint>
#include <map>
#include <string>

#include "support/cancel.h"
#include "support/clock.h"
#include "support/files/fs.h"
#include "support/net/http.h"
#include "support/process/process.h"
#include "support/reporter.h"

namespace ptpkg {

struct Env {
  Fs& fs;
  Process& process;
  Http& http;
  Clock& clock;
  Reporter& reporter;
  const CancelToken& cancel;
  int jobs = 1;         ///< Threads for ptpkg's own work, and the limit that a build script gets; at least 1.
  int jobs_of_run = 0;  ///< Jobs of the whole run; `jobs` is this node's share. 0: the same.
  bool jobs_given = false;  ///< The user gave the number: builds use it whatever the memory.
  /// Unix time in seconds of every time stamp that enters an artifact. 1980-01-01 or later (zip).
  std::int64_t source_date_epoch = 315532800;
  AbsPath cache_dir = AbsPath::Literal("/nonexistent");  ///< Downloads and stage results across runs.
  AbsPath cwd = AbsPath::Literal("/");                   ///< Base of the user's relative paths.
  std::map<std::string, std::string> variables;          ///< The caller's environment, read once in cli/.
  bool offline = false;  ///< Contact no server: anything missing is an error that names it.

  /// Value of `name` in `variables`; "" also if it is not set.
  [[nodiscard]] std::string Variable(const std::string& name) const {
    const auto found = variables.find(name);
    return found == variables.end() ? "" : found->second;
  }
};

/// A copy with another file system, reporter or cancel token.
Env WithFs(const Env& env, Fs& fs);
Env WithReporter(const Env& env, Reporter& reporter);
Env WithCancel(const Env& env, const CancelToken& cancel);

}  // namespace ptpkg
