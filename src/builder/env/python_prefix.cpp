// The script's Python must install into PREFIX and still see the machine's packages. The modules venv and
// ensurepip could make such an environment, but Debian packages them apart, and a build must not need them.
// So ptpkg writes the parts itself (PEP 405): a link to the interpreter, pyvenv.cfg, and a .pth file that
// adds the machine's package directories.
//
// Then it probes the result: an interpreter that cannot serve another prefix must show before the script
// runs. The written files are `helpers`, which enter a package only if the script replaces them.

#include "builder/env/python_prefix.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/text/json.h"

namespace ptpkg::builder {

namespace {

class Maker {
 public:
  Maker(Env& env, const Python& base, const AbsPath& prefix) : env_(env), base_(base), prefix_(prefix) {}

  Result<PythonPrefix> Run() {
    PTPKG_CHECK(Link("bin/python", base_.base_executable.str()));
    PTPKG_CHECK(Link("bin/python3", "python"));
    PTPKG_CHECK(Link("bin/python" + base_.LibraryVersion(), "python"));
    PTPKG_CHECK(
        Write("pyvenv.cfg", fmt::format("home = {}\ninclude-system-site-packages = false\nversion = {}\n",
                                        base_.base_executable.Parent().str(), base_.version)));
    PTPKG_CHECK(Write(base_.SitePackages() + "/_ptpkg_build_tools.pth", SeePackages()));
    if (base_.packages.contains("pip")) {
      for (const std::string& name :
           {std::string("pip"), std::string("pip3"), "pip" + base_.MinorVersion()}) {
        PTPKG_CHECK(Program("bin/" + name));
      }
    }
    return Probe();
  }

 private:
  Result<AbsPath> Place(const std::string& name) {
    PTPKG_TRY(RelPath path, RelPath::Parse(name));
    const AbsPath place = prefix_ / path;
    PTPKG_CHECK(env_.fs.MakeDirs(place.Parent()));
    helpers_.push_back(std::move(path));
    return place;
  }

  Result<void> Link(const std::string& name, const std::string& target) {
    PTPKG_TRY(const AbsPath place, Place(name));
    return env_.fs.CreateSymlink(target, place);
  }

  Result<void> Write(const std::string& name, const std::string& text) {
    PTPKG_TRY(const AbsPath place, Place(name));
    return WriteFile(env_.fs, place, text);
  }

  /// The pip of `base`, run by the interpreter of the prefix.
  Result<void> Program(const std::string& name) {
    const std::string python = (prefix_ / "bin/python").str();
    PTPKG_CHECK(Write(name, fmt::format("#!/bin/sh\nexec {} -m pip \"$@\"\n", ShellQuote({python}))));
    return env_.fs.SetMode(prefix_ / name, 0755);
  }

  /// Lines of a .pth file that begin with "import" are run. addsitedir() also reads the .pth files of the
  /// directory, which a plain line with its path would not.
  [[nodiscard]] std::string SeePackages() const {
    std::string text;
    for (const std::string& folder : base_.package_folders) {
      text += fmt::format("import site; site.addsitedir({})\n", Json(folder).dump());
    }
    return text;
  }

  Result<PythonPrefix> Probe() {
    std::vector<std::string> names;
    for (const auto& [name, version] : base_.packages) names.push_back(name);
    PTPKG_TRY(Python python, ProbePython(env_, prefix_ / "bin/python", names));
    // Versions may differ: the prefix may hold a newer package of the output channel.
    const bool sees_all = std::all_of(
        names.begin(), names.end(), [&](const std::string& name) { return python.packages.contains(name); });
    if (python.prefix != prefix_ || !python.is_virtual || !sees_all) {
      return Error(ErrorCode::kCommandFailed,
                   fmt::format("'{}' cannot be used from another prefix: it reports the prefix '{}'",
                               base_.executable.str(), python.prefix.str()))
          .WithHint("set PTPKG_PYTHON to another interpreter, or use --env conda");
    }
    python.program_folder = base_.executable.Parent();
    std::sort(helpers_.begin(), helpers_.end());
    return PythonPrefix{.python = std::move(python), .helpers = std::move(helpers_)};
  }

  Env& env_;
  const Python& base_;
  const AbsPath& prefix_;
  std::vector<RelPath> helpers_;
};

}  // namespace

Result<PythonPrefix> MakePythonPrefix(Env& env, const Python& base, const AbsPath& prefix) {
  auto made = Maker(env, base, prefix).Run();
  if (!made) return std::move(made).error().WithContext("while creating the Python of the build");
  return made;
}

}  // namespace ptpkg::builder
