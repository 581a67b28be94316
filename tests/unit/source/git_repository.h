#pragma once
// A git repository that a test fills by git itself.

#include <gtest/gtest.h>

#include "support/test_env.h"
#include "support/text/text.h"

namespace ptpkg::source {

class GitRepository {
 public:
  /// `name`: its directory in the test's scratch directory.
  GitRepository(test::TestEnv& env, std::string name) : env_(env), name_(std::move(name)) {
    env_.dir().MakeDir(name_);
    Git({"init", "-q", "-b", "main"});
  }

  [[nodiscard]] AbsPath path() const { return env_.dir() / name_; }

  /// What git prints.
  std::string Git(std::vector<std::string> args) {
    Command command;
    command.argv = {"git", "-c", "protocol.file.allow=always"};
    command.argv.insert(command.argv.end(), args.begin(), args.end());
    command.env = {{"PATH", env_->variables["PATH"]},
                   {"HOME", "/nonexistent"},
                   {"GIT_CONFIG_NOSYSTEM", "1"},
                   {"GIT_AUTHOR_NAME", "a"},
                   {"GIT_AUTHOR_EMAIL", "a@b"},
                   {"GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"},
                   {"GIT_COMMITTER_NAME", "a"},
                   {"GIT_COMMITTER_EMAIL", "a@b"},
                   {"GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"}};
    command.cwd = path();
    const auto status = env_->process.Run(command);
    EXPECT_TRUE(status.has_value() && status->ok()) << args[0] << ": " << (status ? status->output : "");
    return status ? std::string(Trim(status->output)) : "";
  }

  /// Writes a file and commits all; the commit.
  std::string Commit(const std::string& file, const std::string& text, std::uint32_t mode = 0644) {
    env_.dir().WriteFile(name_ + "/" + file, text, mode);
    return CommitAll();
  }
  std::string CommitAll() {
    Git({"add", "-A"});
    Git({"commit", "-q", "-m", "x"});
    return Git({"rev-parse", "HEAD"});
  }

 private:
  test::TestEnv& env_;
  std::string name_;
};

}  // namespace ptpkg::source
