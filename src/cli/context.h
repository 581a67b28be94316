#pragma once
// What every verb gets: the flags that all share, and the Env made from them. Layer: cli.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/reporters.h"
#include "support/env.h"
#include "support/json.h"

namespace ptpkg::cli {

struct CommonFlags {
  bool version = false;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  std::uint64_t jobs = 0;  ///< 0: all CPUs that this process may use.
  std::string color = "auto";
  std::string log_format = "auto";
  std::string cache_dir;
};

/// The outside world of one run. Environment variables are read here and nowhere else.
class Context {
 public:
  /// Errors: kUsage (--jobs, SOURCE_DATE_EPOCH), kNotFound (no home for the cache).
  static Result<std::unique_ptr<Context>> Create(const CommonFlags& flags, const CancelToken& cancel,
                                                 const char* const* environment);

  [[nodiscard]] Env& env() { return *env_; }
  [[nodiscard]] bool json() const { return flags_.json; }
  /// A user's path, relative ones from the working directory. Errors: kUsage.
  [[nodiscard]] Result<AbsPath> Path(const std::string& text) const;

 private:
  explicit Context(const CommonFlags& flags) : flags_(flags) {}

  CommonFlags flags_;
  std::unique_ptr<Fs> fs_;
  std::unique_ptr<Process> process_;
  std::unique_ptr<Http> http_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Reporter> reporter_;
  std::optional<Env> env_;
};

}  // namespace ptpkg::cli
