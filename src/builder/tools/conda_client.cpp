// Foreign channels are not solved here (docs/decisions/0011-local-resolver.md): the client on PATH does that,
// with the user's own configuration. A key needs the packages before a prefix exists, so SolvedPackages asks
// for a dry run.
//
// micromamba, mamba and conda name the fields of their answers differently, and may print lines before the
// JSON. An answer that isn't understood is not an error: nullopt tells the caller that the versions are
// unknown.

#include "builder/tools/conda_client.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/process/shared_variables.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

Error ClientFailed(const AbsPath& client, std::string_view what, std::string_view output) {
  std::vector<std::string> lines = SplitLines(Trim(output));
  constexpr std::size_t kMostLines = 10;
  if (lines.size() > kMostLines) lines.erase(lines.begin(), lines.end() - kMostLines);
  return {ErrorCode::kCommandFailed,
          fmt::format("'{}' could not {}: {}", client.Name(), what, Join(lines, "\n  "))};
}

/// The first of the fields that is a text; clients differ in their names.
std::string TextOf(const Json& package, std::initializer_list<const char*> fields) {
  for (const char* field : fields) {
    const auto found = package.find(field);
    if (found != package.end() && found->is_string() && !found->get<std::string>().empty()) {
      return found->get<std::string>();
    }
  }
  return "";
}

/// The list of packages of a client's answer: {"actions": {"LINK": [{name, version, …}…]}}.
std::optional<std::vector<std::string>> LinkedPackages(const std::string& answer) {
  // A client may print lines of its own before the document.
  const std::size_t start = answer.find('{');
  const std::size_t end = answer.rfind('}');
  if (start == std::string::npos || end == std::string::npos || end < start) return std::nullopt;
  const auto json = ParseJson(std::string_view(answer).substr(start, end - start + 1), "the client's answer");
  const Json::json_pointer place("/actions/LINK");
  if (!json || !json->contains(place)) return std::nullopt;
  const Json& linked = json->at(place);
  if (!linked.is_array()) return std::nullopt;
  std::vector<std::string> packages;
  for (const Json& package : linked) {
    if (!package.is_object()) return std::nullopt;
    const std::string name = TextOf(package, {"name"});
    const std::string version = TextOf(package, {"version"});
    if (name.empty() || version.empty()) return std::nullopt;
    packages.push_back(fmt::format("{} {} {} {}", name, version, TextOf(package, {"build_string", "build"}),
                                   TextOf(package, {"sha256", "md5", "channel"})));
  }
  std::sort(packages.begin(), packages.end());
  return packages;
}

}  // namespace

Result<std::optional<std::vector<std::string>>> SolvedPackages(Env& env, const AbsPath& client,
                                                               const std::vector<recipe::MatchSpec>& specs) {
  using Packages = std::optional<std::vector<std::string>>;
  if (specs.empty()) return Packages(std::vector<std::string>());
  Command command;
  command.argv = {client.str(), "create", "--yes", "--prefix", (env.cache_dir / "no-prefix").str()};
  for (const recipe::MatchSpec& spec : specs) command.argv.push_back(spec.str());
  command.argv.insert(command.argv.end(), {"--dry-run", "--json"});
  if (env.offline) command.argv.emplace_back("--offline");
  command.env = SharedVariables(env);
  command.cancel = &env.cancel;
  std::string answer;
  // ExitStatus keeps the end of the output alone.
  command.on_line = [&](std::string_view line) { answer.append(line).push_back('\n'); };
  Task task(env.reporter, {.stage = "solve", .subject = std::string(client.Name())});
  PTPKG_TRY(const ExitStatus status, env.process.Run(command), "while asking the conda client");
  if (!status.ok()) return ClientFailed(client, "solve the requirements", status.output);
  task.Done();
  return LinkedPackages(answer);
}

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
  // Clients ask, or refuse, when the directory exists and is not a conda environment.
  PTPKG_CHECK(RemoveTree(env.fs, wanted.prefix));
  Command command;
  command.argv = {client.str(), "create", "--yes", "--prefix", wanted.prefix.str()};
  for (const recipe::MatchSpec& spec : wanted.specs) command.argv.push_back(spec.str());
  for (const std::string& channel : wanted.channels) {
    // As in an environment file of conda: no channels but those of the list.
    if (channel == "nodefaults") {
      command.argv.emplace_back("--override-channels");
    } else {
      command.argv.insert(command.argv.end(), {"--channel", channel});
    }
  }
  if (env.offline) command.argv.emplace_back("--offline");
  command.env = SharedVariables(env);
  command.log_file = log_file;
  command.cancel = &env.cancel;
  PTPKG_CHECK(env.fs.MakeDirs(log_file.Parent()));
  PTPKG_TRY(const ExitStatus status, env.process.Run(command), "while creating a conda prefix");
  if (!status.ok()) {
    return ClientFailed(client, "create the prefix", status.output)
        .WithHint(fmt::format("full output: '{}'", log_file.str()));
  }
  return Ok();
}

}  // namespace ptpkg::builder
