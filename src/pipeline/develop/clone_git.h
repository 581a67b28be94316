#pragma once
// Runs git in the clones of people who work on sources. Layer: pipeline.

#include <optional>
#include <string>
#include <vector>

#include "recipe/git_url.h"
#include "recipe/recipe.h"
#include "source/git.h"

namespace ptpkg::pipeline {

/// The git source of a recipe, and the clone for it.
struct WantedSource {
  std::string name;  ///< The clone's directory: "torchvision".
  std::string version;
  AbsPath recipe;
  recipe::GitSource git;
  recipe::GitUrl url;
};

/// git gets the user's configuration. Errors of all: kIo, kCancelled.
class CloneGit {
 public:
  using Args = std::vector<std::string>;

  CloneGit(Env& env, source::Git git) : env_(&env), git_(std::move(git)) {}

  Result<ExitStatus> Run(const AbsPath& clone, Args args) const;
  /// The URL of the remote 'origin'; "" if there is none.
  Result<std::string> Origin(const AbsPath& clone) const;
  Result<bool> HasCommit(const AbsPath& clone, const std::string& commit) const;
  /// Output without white space around it. Errors: also kCommandFailed.
  Result<std::string> Read(const AbsPath& clone, const Args& args) const;
  /// Output of any length, with `index` as the index file. Errors: also kCommandFailed.
  Result<std::string> Lines(const AbsPath& clone, Args args, const std::optional<AbsPath>& index = {}) const;
  /// Runs a command that asks the server of `source`. Errors: also any from source::Git::RunWithRetry, with
  /// `doing` ("fetch from") in the message.
  Result<void> Fetch(const AbsPath& clone, const WantedSource& source, Args args,
                     const std::string& doing) const;
  [[nodiscard]] Env& env() const { return *env_; }

 private:
  [[nodiscard]] Error Failed(const AbsPath& clone, const std::string& command,
                             const ExitStatus& status) const;

  Env* env_;
  source::Git git_;
};

}  // namespace ptpkg::pipeline
