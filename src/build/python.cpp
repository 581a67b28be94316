#include "build/python.h"

#include <fmt/core.h>

#include "support/json.h"
#include "support/shared_variables.h"
#include "support/text.h"

namespace ptpkg::build {

namespace {

// Python 3.10 or later: older ones do not normalise the names of distributions. One line of JSON, last on
// stdout.
constexpr std::string_view kProbe = R"(
import importlib.metadata, json, os, site, sys, sysconfig
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
base = getattr(sys, '_base_executable', None) or ''
if not os.path.isfile(base):
    base = os.path.realpath(sys.executable)
virtual = sys.prefix != sys.base_prefix
marker = os.path.join(sysconfig.get_path('stdlib'), 'EXTERNALLY-MANAGED')
assert sys.version_info >= (3, 10), 'it is Python %d.%d' % sys.version_info[:2]
print()
print(json.dumps({'executable': sys.executable, 'version': '%d.%d.%d' % sys.version_info[:3], 'prefix': sys.prefix,
                  'virtual': virtual, 'base_executable': base, 'packages': found,
                  'externally_managed': not virtual and os.path.exists(marker),
                  'folders': [path for path in site.getsitepackages() if os.path.isdir(path)]}))
)";

Result<Python> ParseAnswer(const std::string& output, const AbsPath& executable) {
  const std::string what = fmt::format("the output of '{}'", executable.str());
  const std::string_view trimmed = Trim(output);
  const std::size_t line = trimmed.rfind('\n');
  PTPKG_TRY(const Json answer,
            ParseJson(line == std::string_view::npos ? trimmed : trimmed.substr(line + 1), what));
  Python python;
  PTPKG_TRY(const std::string path, JsonString(answer, "executable", what));
  PTPKG_TRY(python.executable, AbsPath::Parse(path));
  PTPKG_TRY(python.version, JsonString(answer, "version", what));
  PTPKG_TRY(const std::string prefix, JsonString(answer, "prefix", what));
  PTPKG_TRY(python.prefix, AbsPath::Parse(prefix));
  PTPKG_TRY(const std::string base, JsonString(answer, "base_executable", what));
  PTPKG_TRY(python.base_executable, AbsPath::Parse(base));
  PTPKG_TRY(python.package_folders, JsonStringsOr(answer, "folders", {}, what));
  python.program_folder = python.executable.Parent();
  python.is_virtual = answer.value("virtual", Json()) == true;
  python.externally_managed = answer.value("externally_managed", Json()) == true;
  const auto packages = answer.find("packages");
  if (packages == answer.end() || !packages->is_object()) {
    return Error(ErrorCode::kCorrupt, fmt::format("{} lists no packages", what));
  }
  for (const auto& [name, version] : packages->items()) {
    if (version.is_string()) python.packages.emplace(name, version.get<std::string>());
  }
  return python;
}

/// What is worth telling of an interpreter that failed: the last line of a traceback. Version managers put
/// programs in the place of interpreters that are not installed, and print a page about themselves.
std::string WhyItFailed(const ExitStatus& status) {
  constexpr int kNotExecutable = 126;
  constexpr int kNotFound = 127;
  if (status.code == kNotExecutable || status.code == kNotFound) return "there is no interpreter behind it";
  const std::string_view output = Trim(status.output);
  const std::string_view last = output.substr(output.rfind('\n') + 1);
  const std::string how = status.signal != 0 ? fmt::format("signal {}", status.signal)
                                             : fmt::format("exit status {}", status.code);
  return last.find("Error") == std::string_view::npos ? how : fmt::format("{}, {}", how, last);
}

}  // namespace

std::string Python::MinorVersion() const {
  const std::vector<std::string> parts = Split(version, '.');
  return parts.size() < 2 ? version : parts[0] + "." + parts[1];
}

std::string Python::SitePackages() const { return fmt::format("lib/python{}/site-packages", MinorVersion()); }

Result<Python> ProbePython(Env& env, const AbsPath& executable, const std::vector<std::string>& packages) {
  Command command;
  command.argv = {executable.str(), "-I", "-c", std::string(kProbe)};
  command.argv.insert(command.argv.end(), packages.begin(), packages.end());
  // Version managers put scripts in the place of interpreters, which need the user's own environment.
  command.env = SharedVariables(env);
  command.env.try_emplace("PATH", "/usr/bin:/bin");
  command.cancel = &env.cancel;
  PTPKG_TRY(const ExitStatus status, env.process.Run(command));
  if (!status.ok()) {
    return Error(ErrorCode::kCommandFailed, fmt::format("'{}' is not a working Python 3.10 or later ({})",
                                                        executable.str(), WhyItFailed(status)));
  }
  return ParseAnswer(status.output, executable);
}

std::vector<AbsPath> PythonCandidates(const Env& env, const std::string& named, const std::string& wanted) {
  std::vector<AbsPath> found;
  const std::string search = PathVariable(env.variables);
  const auto add = [&](const std::string& name) {
    if (name.empty()) return;
    if (name.front() == '/') {
      if (auto path = AbsPath::Parse(name)) found.push_back(*std::move(path));
      return;
    }
    if (auto path = FindProgram(name, search)) found.push_back(*std::move(path));
  };
  const auto variable = env.variables.find("PTPKG_PYTHON");
  const std::string& names = named.empty() && variable != env.variables.end() ? variable->second : named;
  if (!names.empty()) {
    for (const std::string& name : Split(names, ':')) add(name);
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
