#include "build/conda_client.h"

#include <fmt/core.h>

#include "support/text.h"

namespace ptpkg::build {

std::optional<AbsPath> FindCondaClient(const Env& env, const std::string& named) {
  const auto path = env.variables.find("PATH");
  const std::string search = path == env.variables.end() ? "" : path->second;
  const auto variable = env.variables.find("PTPKG_CONDA_EXE");
  const std::string& client = named.empty() && variable != env.variables.end() ? variable->second : named;
  if (!client.empty()) {
    if (client.front() != '/') return FindProgram(client, search);
    auto parsed = AbsPath::Parse(client);
    if (!parsed) return std::nullopt;
    return *parsed;
  }
  for (const char* name : {"micromamba", "mamba", "conda"}) {
    if (auto found = FindProgram(name, search)) return found;
  }
  return std::nullopt;
}

Result<void> CreateCondaPrefix(Env& env, const AbsPath& client, const CondaPrefix& wanted,
                               const AbsPath& log_file) {
  if (wanted.specs.empty()) return Ok();
  // Clients ask, or refuse, when the folder is there already and is no conda environment.
  PTPKG_CHECK(RemoveTree(env.fs, wanted.prefix));
  Command command;
  command.argv = {client.str(), "create", "--yes", "--prefix", wanted.prefix.str()};
  for (const recipe::MatchSpec& spec : wanted.specs) command.argv.push_back(spec.str());
  command.env = env.variables;
  command.log_file = log_file;
  command.cancel = &env.cancel;
  PTPKG_CHECK(env.fs.MakeDirs(log_file.Parent()));
  PTPKG_TRY(const ExitStatus status, env.process.Run(command), "while making a conda prefix");
  if (!status.ok()) {
    std::vector<std::string> lines = SplitLines(Trim(status.output));
    constexpr std::size_t kShown = 10;
    if (lines.size() > kShown) lines.erase(lines.begin(), lines.end() - kShown);
    return Error(ErrorCode::kCommandFailed,
                 fmt::format("'{}' could not make the prefix: {}", client.Name(), Join(lines, "\n  ")))
        .WithHint(fmt::format("the whole output is in '{}'", log_file.str()));
  }
  return Ok();
}

}  // namespace ptpkg::build
