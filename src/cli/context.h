#pragma once
// Context of every verb: the shared flags, and the Env made from them. Layer: cli.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/output/reporters.h"
#include "cli/output/ticker.h"
#include "cli/terminal_output.h"
#include "support/env.h"
#include "support/files/scratch.h"
#include "support/text/json_fwd.h"

namespace ptpkg::cli {

struct CommonFlags {
  bool version = false;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  std::uint64_t jobs = 0;  ///< 0: as many as the cores and control groups allow (CoresOf).
  std::string color = "auto";
  std::string log_format = "auto";
  std::string cache_dir;
  bool no_config = false;              ///< Read no configuration files.
  std::optional<std::string> help_of;  ///< The argument of `ptpkg help`.
  std::set<std::string> given;         ///< Long names of the options on the command line.
};

/// The variables of `environment`, as environ(7) has them.
std::map<std::string, std::string> ReadEnvironment(const char* const* environment);

/// Errors: kNotFound (it was removed), kIo.
Result<AbsPath> WorkingDirectory();

/// A URL in place of a path. Call it before the text is resolved: like a path, it would not be recognized as
/// a URL, and show its password. Errors: kUsage.
Result<void> RefuseUrl(const std::string& text);

/// The outside world of one run. Environment variables are read here and nowhere else.
class Context {
 public:
  /// Errors: kUsage (--jobs, SOURCE_DATE_EPOCH, ptpkg's own switches), kNotFound (no home for the
  /// cache).
  static Result<std::unique_ptr<Context>> Create(const CommonFlags& flags, const CancelToken& cancel,
                                                 const char* const* environment);

  [[nodiscard]] Env& env() { return *env_; }
  [[nodiscard]] const Env& env() const { return *env_; }
  [[nodiscard]] const CommonFlags& flags() const { return flags_; }
  [[nodiscard]] bool json() const { return flags_.json; }
  /// True if an environment variable is set to anything but "", "0" and "false".
  [[nodiscard]] bool IsSet(const std::string& name) const;
  /// A user's path, relative ones from the working directory. Errors: kUsage.
  [[nodiscard]] Result<AbsPath> Path(const std::string& text) const;

  /// From now on env() has an empty cache, which the destructor removes. Errors: kIo.
  Result<void> UseTemporaryCache();

  /// The path for messages: relative if it is below the working directory.
  [[nodiscard]] std::string Shown(std::string_view path) const;

  /// Removes the progress line; none is written until the next task starts.
  void SettleReporter();
  /// Prints one result line, or a JSON document, on stdout, clear of the progress line.
  void Print(std::string_view text);
  /// The document of --json.
  void PrintJson(const Json& document);
  /// With --json, the fields of an error document besides "error": the work that was done all the same.
  void SetErrorDetails(const Json& details);
  [[nodiscard]] const Json& error_details() const { return *error_details_; }
  /// Writes one line for people to stderr, broken between words on a narrow terminal. In the JSON log it is
  /// an event "note". Not with --quiet.
  void Log(std::string_view line);
  /// Prints the line with --quiet too.
  void LogAlways(std::string_view line);
  /// One event of the JSON log; nothing with another format.
  void LogEvent(const Json& event);
  [[nodiscard]] bool logs_json() const { return flags_.log_format == "json"; }
  [[nodiscard]] bool verbose() const { return flags_.verbose; }
  /// Maximum columns of a log line; nullopt: unlimited.
  [[nodiscard]] std::optional<std::size_t> LogWidth() const { return StderrSink().Width(); }
  /// Seconds since the start of the program.
  [[nodiscard]] double SecondsSoFar() const;

 private:
  explicit Context(const CommonFlags& flags) : flags_(flags) {}

  CommonFlags flags_;
  std::unique_ptr<Fs> fs_;
  std::unique_ptr<Process> process_;
  std::unique_ptr<Http> http_;
  std::unique_ptr<Clock> clock_;
  std::chrono::steady_clock::time_point start_;
  std::unique_ptr<ProgressReporter> reporter_;
  std::unique_ptr<Reporter> safe_reporter_;  // hands on to the one above
  std::optional<Ticker> ticker_;             // behind the reporter: it ends first
  std::optional<Env> env_;
  std::optional<TempDir> temporary_cache_;
  JsonBox error_details_;
};

}  // namespace ptpkg::cli
