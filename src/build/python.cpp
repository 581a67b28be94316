#include "build/python.h"

#include <fmt/core.h>

#include "support/json.h"
#include "support/text.h"

namespace ptpkg::build {

namespace {

// Python 3.10 or later, because of get_preferred_scheme. One line of JSON, last on stdout.
constexpr std::string_view kProbe = R"(
import importlib.metadata, json, os, re, sys, sysconfig
scheme = sysconfig.get_preferred_scheme('prefix')
prefix = '/prefix'
site = sysconfig.get_path('purelib', scheme, vars={'base': prefix, 'platbase': prefix})
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print()
print(json.dumps({'executable': sys.executable, 'version': '%d.%d.%d' % sys.version_info[:3],
                  'site_packages': os.path.relpath(site, prefix), 'packages': found}))
)";

Result<Python> ParseAnswer(const std::string& output, const AbsPath& executable) {
  const std::string what = fmt::format("the answer of '{}'", executable.str());
  const std::string_view trimmed = Trim(output);
  const std::size_t line = trimmed.rfind('\n');
  PTPKG_TRY(const Json answer,
            ParseJson(line == std::string_view::npos ? trimmed : trimmed.substr(line + 1), what));
  Python python;
  PTPKG_TRY(const std::string path, JsonString(answer, "executable", what));
  PTPKG_TRY(python.executable, AbsPath::Parse(path));
  PTPKG_TRY(python.version, JsonString(answer, "version", what));
  PTPKG_TRY(python.site_packages, JsonString(answer, "site_packages", what));
  const auto packages = answer.find("packages");
  if (packages == answer.end() || !packages->is_object()) {
    return Error(ErrorCode::kCorrupt, fmt::format("{} lists no packages", what));
  }
  for (const auto& [name, version] : packages->items()) {
    if (version.is_string()) python.packages.emplace(name, version.get<std::string>());
  }
  return python;
}

std::string PathVariable(const Env& env) {
  const auto found = env.variables.find("PATH");
  return found == env.variables.end() ? "/usr/bin:/bin" : found->second;
}

}  // namespace

std::string Python::MinorVersion() const {
  const std::vector<std::string> parts = Split(version, '.');
  return parts.size() < 2 ? version : parts[0] + "." + parts[1];
}

Result<Python> ProbePython(Env& env, const AbsPath& executable, const std::vector<std::string>& packages) {
  Command command;
  command.argv = {executable.str(), "-I", "-c", std::string(kProbe)};
  command.argv.insert(command.argv.end(), packages.begin(), packages.end());
  // Version managers put scripts in the place of interpreters, which need the user's own environment.
  command.env = env.variables;
  command.env.try_emplace("PATH", "/usr/bin:/bin");
  command.cancel = &env.cancel;
  PTPKG_TRY(const ExitStatus status, env.process.Run(command));
  if (!status.ok()) {
    return Error(
        ErrorCode::kCommandFailed,
        fmt::format("'{}' does not work as a Python 3.10 or later: {}", executable.str(),
                    Trim(status.output.substr(status.output.rfind('\n', status.output.size() - 2) + 1))));
  }
  return ParseAnswer(status.output, executable);
}

std::vector<AbsPath> PythonCandidates(const Env& env, const std::string& wanted) {
  std::vector<AbsPath> found;
  const std::string search = PathVariable(env);
  const auto add = [&](const std::string& name) {
    if (name.empty()) return;
    if (name.front() == '/') {
      if (auto path = AbsPath::Parse(name)) found.push_back(*std::move(path));
      return;
    }
    if (auto path = FindProgram(name, search)) found.push_back(*std::move(path));
  };
  const auto named = env.variables.find("PTPKG_PYTHON");
  if (named != env.variables.end() && !named->second.empty()) {
    for (const std::string& name : Split(named->second, ':')) add(name);
    return found;
  }
  if (!wanted.empty()) add("python" + wanted);
  add("python3");
  add("python");
  return found;
}

bool IsPythonVersion(std::string_view version, std::string_view wanted) {
  if (wanted.empty() || version == wanted) return true;
  return version.starts_with(wanted) && version.size() > wanted.size() && version[wanted.size()] == '.';
}

}  // namespace ptpkg::build
