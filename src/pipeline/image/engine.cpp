// The three engines share a command line: build, tag, inspect, info. They differ in how time stamps are set:
// buildah and podman give all files of a layer the time of --timestamp, docker reads SOURCE_DATE_EPOCH.
// buildah keeps containers of failed steps without --force-rm, and builds every stage anew without --layers.

#include "pipeline/image/engine.h"

#include <algorithm>
#include <cerrno>
#include <fmt/core.h>

#include "support/files/scratch.h"
#include "support/process/shared_variables.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {
namespace {

/// The line that explains a failure best: one of the Containerfile's own, the first error of pip, apt or
/// useradd, else the last line.
std::string EngineReason(const std::vector<std::string>& lines) {
  for (const std::string_view mark : {"ptpkg: ", "ERROR: ", "E: ", "useradd: ", "groupadd: "}) {
    for (const std::string& line : lines) {
      if (line.starts_with(mark)) return line;
      const std::size_t at = line.find(" " + std::string(mark));  // docker: "#8 0.21 ptpkg: …"
      if (line.starts_with('#') && at != std::string::npos) return line.substr(at + 1);
    }
  }
  const auto last =
      std::find_if(lines.rbegin(), lines.rend(), [](const std::string& l) { return !Trim(l).empty(); });
  return last == lines.rend() ? "it printed nothing" : *last;
}

Error EngineFailure(const std::string& name, const std::string& subject, const std::string& output) {
  std::string reason = EngineReason(SplitLines(output));
  const std::string what = fmt::format("{} cannot make '{}'", name, subject);
  // The engine writes it in lower case, pip and apt begin it with a capital letter.
  if (ToLower(output).find("no space left on device") != std::string::npos) return ErrnoError(ENOSPC, what);
  if (reason.starts_with("ptpkg: ")) {
    return {ErrorCode::kInvalidInput, fmt::format("{}: {}", what, reason.substr(7))};
  }
  Error error(ErrorCode::kCommandFailed, fmt::format("{}: {}", what, reason));
  if (output.find("exec: no command") != std::string::npos) {
    return std::move(error).WithHint(
        "install an OCI runtime: apt-get install crun; or set BUILDAH_ISOLATION=chroot");
  }
  return std::move(error).WithHint("repeat the command with --verbose to see all output of the engine");
}

}  // namespace

Result<std::string> Engine::Run(const std::vector<std::string>& arguments, const std::string& subject) const {
  Task task(env_->reporter, {.stage = arguments.front(), .subject = subject});
  Command command{.argv = {program_.str()}, .env = SharedVariables(*env_)};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.env["SOURCE_DATE_EPOCH"] = fmt::format("{}", env_->source_date_epoch);
  command.cancel = &env_->cancel;
  command.on_line = [&task](std::string_view line) { task.ChildOutput(line); };
  PTPKG_TRY(ExitStatus status, env_->process.Run(command), fmt::format("while running {}", name_));
  if (!status.ok()) return EngineFailure(name_, subject, status.output);
  task.Done();
  return std::move(status.output);
}

Result<Engine> Engine::Find(Env& env, const std::string& name) {
  std::optional<Error> refused;
  for (const std::string candidate : {"buildah", "podman", "docker"}) {
    if (name != "auto" && name != candidate) continue;
    const std::optional<AbsPath> program = FindProgram(candidate, PathVariable(env.variables));
    if (!program) continue;
    PTPKG_TRY(const ExitStatus status,
              env.process.Run(
                  {.argv = {program->str(), "info"}, .env = SharedVariables(env), .cancel = &env.cancel}));
    if (status.ok()) return Engine(env, candidate, *program);
    // The first engine that is installed but doesn't work explains the failure best.
    if (refused) continue;
    refused = Error(ErrorCode::kIo, fmt::format("the container engine '{}' does not work here: {}", candidate,
                                                EngineReason(SplitLines(status.output))))
                  .WithHint(
                      "run it as root, set up rootless containers (/etc/subuid), or join the group 'docker'; "
                      "--context DIR needs no engine");
  }
  if (refused) return *refused;
  const std::string wanted = name == "auto" ? "buildah, podman or docker" : "'" + name + "'";
  return Error(ErrorCode::kNotFound, fmt::format("no container engine: {} is not on PATH", wanted))
      .WithHint("install one: apt-get install buildah; --context DIR needs no engine");
}

std::vector<std::string> Engine::BuildArguments(const AbsPath& context, const std::string& stage) const {
  std::vector<std::string> arguments = {"build", "--target", stage, "--file",
                                        (context / "Containerfile").str()};
  if (name_ != "docker") {
    arguments.insert(arguments.end(),
                     {"--layers", "--force-rm", "--timestamp", fmt::format("{}", env_->source_date_epoch)});
  }
  return arguments;
}

Result<std::string> Engine::Build(const AbsPath& context, const std::string& stage) const {
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env_->fs, context.Parent(), "id"));
  const AbsPath id = scratch.path() / "id";
  std::vector<std::string> arguments = BuildArguments(context, stage);
  arguments.insert(arguments.end(), {"--iidfile", id.str(), context.str()});
  if (auto built = Run(arguments, stage); !built) return built.error();
  PTPKG_TRY(const std::string text, ReadFile(env_->fs, id));
  return std::string(Trim(text.substr(text.find(':') + 1)));
}

Result<void> Engine::Extract(const AbsPath& context, const std::string& stage, const AbsPath& to) const {
  std::vector<std::string> arguments = BuildArguments(context, stage);
  arguments.insert(arguments.end(), {"--output", "type=local,dest=" + to.str(), context.str()});
  auto built = Run(arguments, stage);
  return built ? Ok() : Result<void>(built.error());
}

Result<void> Engine::Tag(const std::string& id, const std::string& name) const {
  auto tagged = Run({"tag", id, name}, name);
  return tagged ? Ok() : Result<void>(tagged.error());
}

Result<std::vector<std::string>> Engine::Layers(const std::string& id) const {
  const bool buildah = name_ == "buildah";
  const std::string list = buildah ? ".OCIv1.RootFS.DiffIDs" : ".RootFS.Layers";
  PTPKG_TRY(
      const std::string output,
      Run({"inspect", "--type", "image", "--format", "{{range " + list + "}}{{println .}}{{end}}", id}, id));
  std::vector<std::string> layers = SplitLines(output);
  std::erase_if(layers, [](const std::string& line) { return !line.starts_with("sha256:"); });
  return layers;
}

std::string Engine::RunLine(const std::string& image, const ProgramOptions& options) const {
  const bool docker = name_ == "docker";
  std::vector<std::string> words = {docker ? "docker" : "podman", "run", "--rm", "-it"};
  if (!options.shm_size.empty()) words.push_back("--shm-size=" + options.shm_size);
  if (options.gpus) words.emplace_back(docker ? "--gpus=all" : "--device=nvidia.com/gpu=all");
  words.push_back(docker ? image : "localhost/" + image);
  return ShellQuote(words);
}

}  // namespace ptpkg::pipeline
