#include "pipeline/develop/clone_git.h"

#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg::pipeline {

Result<ExitStatus> CloneGit::Run(const AbsPath& clone, Args args) const {
  args.insert(args.begin(), {"-C", clone.str()});
  return git_.Run({.args = std::move(args), .with_user_config = true});
}

Result<std::string> CloneGit::Origin(const AbsPath& clone) const {
  PTPKG_TRY(const ExitStatus status, Run(clone, {"config", "--get", "remote.origin.url"}));
  return status.ok() ? std::string(Trim(status.output)) : "";
}

Result<bool> CloneGit::HasCommit(const AbsPath& clone, const std::string& commit) const {
  PTPKG_TRY(const ExitStatus status, Run(clone, {"cat-file", "-e", commit + "^{commit}"}));
  return status.ok();
}

Result<std::string> CloneGit::Read(const AbsPath& clone, const Args& args) const {
  PTPKG_TRY(const ExitStatus status, Run(clone, args));
  if (status.ok()) return std::string(Trim(status.output));
  return Failed(clone, args.front(), status);
}

Result<std::string> CloneGit::Lines(const AbsPath& clone, Args args,
                                    const std::optional<AbsPath>& index) const {
  const std::string command = args.front();
  args.insert(args.begin(), {"-C", clone.str()});
  std::string text;  // an ExitStatus keeps only the end
  PTPKG_TRY(const ExitStatus status,
            git_.Run({.args = std::move(args),
                      .index = index,
                      .with_user_config = true,
                      .settings = {"core.quotePath=false"},
                      .on_line = [&](std::string_view line) { text.append(line).push_back('\n'); }}));
  if (status.ok()) return text;
  return Failed(clone, command, status);
}

Result<void> CloneGit::Fetch(const AbsPath& clone, const WantedSource& source, Args args,
                             const std::string& doing) const {
  Task task(env_->reporter, {.stage = "source", .subject = source.name});
  args.insert(args.begin(), {"-C", clone.str()});
  PTPKG_TRY([[maybe_unused]] const std::string said,
            git_.RunWithRetry({.args = std::move(args),
                               .with_user_config = true,
                               .on_line = [&](std::string_view line) { task.ChildOutput(line); }},
                              source.url,
                              fmt::format("cannot {} '{}'", doing, recipe::ShownGitUrl(source.url.text))));
  task.Done();
  return Ok();
}

Error CloneGit::Failed(const AbsPath& clone, const std::string& command, const ExitStatus& status) const {
  return Error(ErrorCode::kCommandFailed,
               fmt::format("'{}': git {} failed: {}", clone.str(), command, source::GitReason(status)))
      .WithHint(source::GitLockHint(status.output));
}

}  // namespace ptpkg::pipeline
