// Wheels of the Python index become the build's tools, libraries and Python packages. NVIDIA splits its
// toolkit into many wheels, each with a part of one tree below `nvidia/`. This file merges the parts into one
// directory, the way NVIDIA's installer lays them out. It adds names that wheels lack: `libcudart.so` for
// linkers, and `lib64`.
//
// pip installs the Python packages, without index, dependencies or the user's configuration: the plan has
// chosen each wheel by its digest. Build packages get an environment of their own, and PREFIX gets only the
// host's packages.
//
// Invariant: each wheel is read under a lease, after its digest was compared. Another layout of equal wheels
// needs a new kWheelLayout, which is part of the tools' key.

#include "builder/pip/wheel_prefix.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <set>

#include "archive/extract.h"
#include "builder/env/python_prefix.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

/// Files by which a wheel makes its directories importable; each has them.
bool IsPythonMarker(std::string_view name) {
  return name == "__init__.py" || name == "py.typed" || name == "__pycache__" || name == ".metadata";
}

/// Moves all of the directory `from` into the directory `to`, which may have directories of the same names.
Result<void> MergeInto(Env& env, const AbsPath& from, const AbsPath& to) {
  PTPKG_CHECK(env.fs.MakeDirs(to));
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(from));
  for (const std::string& name : names) {
    if (IsPythonMarker(name)) continue;
    PTPKG_TRY(const bool there, Exists(env.fs, to / name));
    if (!there) {
      PTPKG_CHECK(env.fs.Rename(from / name, to / name));
      continue;
    }
    PTPKG_TRY(const FileStat source, env.fs.Lstat(from / name));
    PTPKG_TRY(const FileStat target, env.fs.Lstat(to / name));
    // Nothing is overwritten: a file in two parts is an error.
    if (source.kind != FileKind::kDirectory || target.kind != FileKind::kDirectory) {
      return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' already exists", (to / name).str()));
    }
    PTPKG_CHECK(MergeInto(env, from / name, to / name));
  }
  return Ok();
}

/// "libcudart.so" for "libcudart.so.13": linkers look for that name, and wheels carry only the other.
Result<void> LinkLibraries(Env& env, const AbsPath& folder) {
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(folder));
  std::map<std::string, std::string> links;
  for (const std::string& name : names) {
    const std::size_t at = name.find(".so.");
    if (!name.starts_with("lib") || at == std::string::npos) continue;
    // the shortest is the SONAME, which the loader looks for
    std::string& target = links[name.substr(0, at + 3)];
    if (target.empty() || name.size() < target.size()) target = name;
  }
  for (const auto& [link, target] : links) {
    PTPKG_TRY(const bool there, Exists(env.fs, folder / link));
    if (!there) PTPKG_CHECK(env.fs.CreateSymlink(target, folder / link));
  }
  return Ok();
}

class WheelLayer {
 public:
  WheelLayer(Env& env, const WheelPrefixInput& input)
      : env_(env), input_(input), tools_(input.layout.build_prefix) {}

  Result<void> Build() {
    PTPKG_CHECK(Toolkit());
    if (Has(WheelRole::kBuild)) {
      PTPKG_CHECK(Install(WheelRole::kBuild, tools_ / "wheels/bin/python", {}));
      PTPKG_CHECK(LinkPrograms());
    }
    for (const WheelProgram& program : input_.plan.programs) {
      if (program.in_host) continue;
      PTPKG_TRY(const bool there, Exists(env_.fs, tools_ / program.path));
      if (there) continue;
      return Error(ErrorCode::kCorrupt, fmt::format("the wheels for '{}' have no program '{}'",
                                                    program.requirement, program.path));
    }
    return Ok();
  }

  Result<void> Host(const std::optional<AbsPath>& python) {
    if (!Has(WheelRole::kHost)) return Ok();
    // Without a Python of its own, PREFIX gets the wheels from the build's pip.
    if (python) return Install(WheelRole::kHost, *python, {});
    return Install(WheelRole::kHost, tools_ / "wheels/bin/python", {"--prefix", input_.layout.prefix.str()});
  }

 private:
  [[nodiscard]] bool Has(WheelRole use) const {
    const std::vector<WheelPin>& pins = input_.plan.wheels.pins;
    return std::any_of(pins.begin(), pins.end(), [&](const WheelPin& pin) { return pin.use == use; });
  }

  Result<void> Toolkit() {
    if (!Has(WheelRole::kToolkit)) return Ok();
    const AbsPath cuda = tools_ / "cuda";
    // On the same file system as the toolkit, so that files are renamed and not copied.
    const AbsPath unpacked = tools_ / "unpacked-wheel";
    PTPKG_CHECK(env_.fs.MakeDirs(cuda));
    for (const WheelPin& pin : input_.plan.wheels.pins) {
      if (pin.use != WheelRole::kToolkit) continue;
      PTPKG_CHECK(UnpackPart(pin, unpacked, cuda), fmt::format("while installing '{}'", pin.file));
      PTPKG_CHECK(RemoveTree(env_.fs, unpacked));
    }
    PTPKG_TRY(const bool has_libraries, Exists(env_.fs, cuda / "lib"));
    if (!has_libraries) return Ok();
    PTPKG_CHECK(LinkLibraries(env_, cuda / "lib"));
    PTPKG_TRY(const bool has_lib64, Exists(env_.fs, cuda / "lib64"));
    return has_lib64 ? Ok() : env_.fs.CreateSymlink("lib", cuda / "lib64");
  }

  /// A part's files lie in nvidia/cu13. Libraries with their own releases use a directory such as
  /// nvidia/cudnn.
  Result<void> UnpackPart(const WheelPin& pin, const AbsPath& unpacked, const AbsPath& cuda) {
    PTPKG_TRY(const LeasedWheel wheel, LeaseWheel(env_, input_.plan.access, pin));
    PTPKG_CHECK(env_.fs.MakeDirs(unpacked));
    PTPKG_CHECK(archive::ExtractZip(env_, wheel.file, unpacked, {}));
    PTPKG_TRY(const bool has_files, Exists(env_.fs, unpacked / "nvidia"));
    if (!has_files) return Ok();  // the list of a release
    PTPKG_TRY(const std::vector<std::string> folders, env_.fs.ListDir(unpacked / "nvidia"));
    for (const std::string& folder : folders) {
      if (!IsPythonMarker(folder)) PTPKG_CHECK(MergeInto(env_, unpacked / "nvidia" / folder, cuda));
    }
    return Ok();
  }

  Result<void> Install(WheelRole use, const AbsPath& python, const std::vector<std::string>& options) {
    PTPKG_CHECK(MakeEnvironment());
    std::vector<LeasedWheel> taken;
    Command command;
    // The machine's Python packages are visible too, and do not count here.
    command.argv = {python.str(),
                    "-m",
                    "pip",
                    "install",
                    "--no-index",
                    "--no-deps",
                    "--ignore-installed",
                    "--no-compile",
                    "--no-warn-script-location",
                    "--disable-pip-version-check"};
    command.argv.insert(command.argv.end(), options.begin(), options.end());
    for (const WheelPin& pin : input_.plan.wheels.pins) {
      if (pin.use != use) continue;
      PTPKG_TRY(LeasedWheel wheel, LeaseWheel(env_, input_.plan.access, pin));
      command.argv.push_back(wheel.file.str());
      taken.push_back(std::move(wheel));
    }
    command.env = {{"PATH", "/usr/bin:/bin"},
                   {"HOME", input_.layout.home.str()},
                   {"LC_ALL", "C.UTF-8"},
                   {"PIP_CONFIG_FILE", "/dev/null"},
                   {"PIP_ROOT_USER_ACTION", "ignore"}};
    command.log_file = input_.log_file;
    command.cancel = &env_.cancel;
    PTPKG_CHECK(env_.fs.MakeDirs(input_.log_file.Parent()));
    PTPKG_TRY(const ExitStatus status, env_.process.Run(command), "while installing wheels");
    if (status.ok()) return Ok();
    return Error(ErrorCode::kCommandFailed,
                 fmt::format("pip could not install the wheels: {}", Trim(status.output)))
        .WithHint(fmt::format("full output: '{}'", input_.log_file.str()));
  }

  Result<void> MakeEnvironment() {
    if (made_) return Ok();
    PTPKG_TRY(const bool there, Exists(env_.fs, tools_ / "wheels"));
    made_ = true;
    if (there) return Ok();
    PTPKG_CHECK(env_.fs.MakeDirs(tools_ / "wheels"));
    PTPKG_TRY([[maybe_unused]] const PythonPrefix made,
              MakePythonPrefix(env_, input_.plan.access.pip, tools_ / "wheels"));
    return Ok();
  }

  /// All but the environment's own python and pip, which would hide PREFIX's programs.
  Result<void> LinkPrograms() {
    PTPKG_CHECK(env_.fs.MakeDirs(tools_ / "bin"));
    PTPKG_TRY(const std::vector<std::string> names, env_.fs.ListDir(tools_ / "wheels/bin"));
    for (const std::string& name : names) {
      if (name.starts_with("python") || name.starts_with("pip")) continue;
      PTPKG_CHECK(env_.fs.CreateSymlink("../wheels/bin/" + name, tools_ / "bin" / name));
    }
    return Ok();
  }

  Env& env_;
  const WheelPrefixInput& input_;
  const AbsPath& tools_;
  bool made_ = false;
};

}  // namespace

Result<void> InstallBuildWheels(Env& env, const WheelPrefixInput& input) {
  return WheelLayer(env, input).Build();
}

Result<void> InstallHostWheels(Env& env, const WheelPrefixInput& input,
                               const std::optional<AbsPath>& python) {
  return WheelLayer(env, input).Host(python);
}

std::optional<AbsPath> BuildPackagesFolder(const WheelPrefixInput& input) {
  const std::vector<WheelPin>& pins = input.plan.wheels.pins;
  const bool any =
      std::any_of(pins.begin(), pins.end(), [](const WheelPin& pin) { return pin.use == WheelRole::kBuild; });
  if (!any) return std::nullopt;
  return input.layout.build_prefix / "wheels" / input.plan.access.pip.SitePackages();
}

}  // namespace ptpkg::builder
