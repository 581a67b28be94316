#pragma once
// Runs the system's git program. Layer: source.
//
// Calls that talk to a server get the caller's environment and configuration: proxies, credentials,
// insteadOf. Calls that only read a repository of the cache get neither. Never: hooks, prompts, background
// maintenance, or any repository but the named one.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recipe/git_url.h"
#include "support/env.h"

namespace ptpkg::source {

struct GitCall {
  std::vector<std::string> args = {};      ///< After "git" and ptpkg's own options.
  std::optional<AbsPath> repository = {};  ///< A bare repository.
  std::optional<AbsPath> work_tree = {};   ///< Also the working directory.
  std::optional<AbsPath> index = {};       ///< The index file; need not exist.
  bool with_user_config = false;           ///< For calls that talk to a server.
  std::vector<std::string> settings = {};  ///< "key=value", as -c takes them.
  std::function<void(std::string_view)> on_line = {};
};

class Git {
 public:
  /// Errors: kNotFound if git is not on PATH.
  static Result<Git> Find(Env& env);

  /// A status other than 0 is a value. Errors: kCancelled, kIo.
  Result<ExitStatus> Run(const GitCall& call) const;
  /// Output without trailing white space. Errors: kCommandFailed with git's own message.
  Result<std::string> Read(const GitCall& call) const;
  /// Like Run, but makes at most three attempts on transient failures: a cut connection, an unreachable
  /// server. Errors: any from Run. Also, with `doing` ("cannot …") and git's own message: kNetwork, kNotFound
  /// (unknown repository), kRefused (credentials), kCorrupt (`call.repository`).
  Result<std::string> RunWithRetry(const GitCall& call, const recipe::GitUrl& url,
                                   const std::string& doing) const;
  /// True if git has this command: "lfs".
  [[nodiscard]] Result<bool> Has(const std::string& command) const;

 private:
  Git(Env& env, AbsPath program) : env_(&env), program_(std::move(program)) {}
  [[nodiscard]] std::map<std::string, std::string> Variables(const GitCall& call) const;

  Env* env_;
  AbsPath program_;
};

/// The reason in git's output: its first fatal line, else its first error line.
std::string GitReason(const std::string& output);
/// Reason why a run failed; for one that was killed, the signal.
std::string GitReason(const ExitStatus& status);
/// The remedy if an interrupted git left the lock of an index; "" for other failures.
std::string GitLockHint(const std::string& output);

}  // namespace ptpkg::source
