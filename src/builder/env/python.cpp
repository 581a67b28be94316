// Which Python is behind a path? The name doesn't tell: it may be a virtual environment, a version manager's
// shim, or an interpreter without pip. One probe answers all questions with a line of JSON.
//
// The probe must run on every interpreter that a recipe may meet, from Python 3.5 on. Its JSON is the last
// line, so that text printed before cannot break it. `-I` keeps the current directory and PYTHON* variables
// out of the answer.

#include "builder/env/python.h"

#include <fmt/core.h>

#include "support/process/shared_variables.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

// It has to parse with Python 3.5, so it has no f-strings, and it does not use importlib.metadata: that came
// with 3.8, and does not normalise names before 3.10. One line of JSON, last on stdout.
constexpr std::string_view kProbe = R"(
import json, os, re, site, sys, sysconfig
assert sys.version_info >= (3, 5), 'it is Python %d.%d' % sys.version_info[:2]


def normalised(name):
    return re.sub('[-_.]+', '-', name).lower()


def listed(folder):
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def metadata_of(path):
    for name in ('METADATA', 'PKG-INFO', 'EGG-INFO/PKG-INFO', ''):
        try:
            with open(os.path.join(path, name) if name else path, encoding='utf-8', errors='replace') as file:
                return dict(re.findall('^(Name|Version): *(.*?) *$', file.read().split('\n\n')[0], re.M))
        except OSError:
            pass
    return {}


asked = {normalised(name): name for name in sys.argv[1:]}
found = {}
for folder in sys.path:
    for entry in listed(folder) if asked else []:
        stem, kind = os.path.splitext(entry)
        if kind not in ('.dist-info', '.egg-info', '.egg') or normalised(stem.split('-')[0]) not in asked:
            continue
        metadata = metadata_of(os.path.join(folder, entry))
        name = asked.get(normalised(metadata.get('Name', '')))
        if name and metadata.get('Version'):
            found.setdefault(name, metadata['Version'])
base = getattr(sys, '_base_executable', None) or ''
if not os.path.isfile(base):
    base = os.path.realpath(sys.executable)
virtual = sys.prefix != getattr(sys, 'real_prefix', sys.base_prefix)
marker = os.path.join(sysconfig.get_path('stdlib'), 'EXTERNALLY-MANAGED')
try:
    folders = site.getsitepackages()
except AttributeError:  # the site module of old virtual environments
    folders = [sysconfig.get_path('purelib')]
print()
print(json.dumps({'executable': sys.executable, 'version': '%d.%d.%d' % sys.version_info[:3], 'prefix': sys.prefix,
                  'free_threaded': bool(sysconfig.get_config_var('Py_GIL_DISABLED')),
                  'virtual': virtual, 'base_executable': base, 'packages': found,
                  'externally_managed': not virtual and os.path.exists(marker),
                  'folders': [path for path in folders if os.path.isdir(path)]}))
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
  python.free_threaded = answer.value("free_threaded", Json()) == true;
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

/// Reason why an interpreter failed: the last line of a traceback. Version managers put
/// programs in the place of interpreters that are not installed, and print a page about themselves.
std::string WhyItFailed(const ExitStatus& status) {
  // A shell exits with these when the program behind a script is missing or cannot run.
  constexpr int kNotExecutable = 126;
  constexpr int kNotFound = 127;
  if (status.code == kNotExecutable || status.code == kNotFound) return "it points to no interpreter";
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

std::string Python::LibraryVersion() const { return MinorVersion() + (free_threaded ? "t" : ""); }

std::string Python::SitePackages() const {
  return fmt::format("lib/python{}/site-packages", LibraryVersion());
}

bool Python::Fits(std::string_view wanted) const {
  if (wanted.empty()) return true;
  const bool wants_free_threaded = wanted.ends_with('t');
  if (wants_free_threaded) wanted.remove_suffix(1);
  const bool is_version = version == wanted || version.starts_with(std::string(wanted) + ".");
  return is_version && wants_free_threaded == free_threaded;
}

Result<Python> ProbePython(Env& env, const AbsPath& executable, const std::vector<std::string>& packages) {
  Command command;
  command.argv = {executable.str(), "-I", "-c", std::string(kProbe)};
  command.argv.insert(command.argv.end(), packages.begin(), packages.end());
  // Version managers put scripts in the place of interpreters, which need the user's own environment.
  command.env = SharedVariables(env);
  // A shim without PATH would not find the interpreter behind it.
  command.env.try_emplace("PATH", "/usr/bin:/bin");
  command.cancel = &env.cancel;
  PTPKG_TRY(const ExitStatus status, env.process.Run(command));
  if (!status.ok()) {
    return Error(ErrorCode::kCommandFailed, fmt::format("'{}' is not a working Python 3.5 or later ({})",
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
  // The exact version first: python3 may be another one.
  if (!wanted.empty()) add("python" + wanted);
  add("python3");
  add("python");
  return found;
}

}  // namespace ptpkg::builder
