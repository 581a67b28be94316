#pragma once
// Finds the tools that a recipe requires. Layer: builder.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "builder/env/python.h"
#include "builder/pip/wheel_resolve.h"
#include "builder/tools/cuda_toolkit.h"
#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::builder {

/// Source of the tools and libraries that a recipe requires.
enum class HostEnv : std::uint8_t {
  /// Takes each requirement from the machine if available, else from the Python index. If these two together
  /// lack one, takes all of them from a conda client.
  kAuto,
  kSystem,  ///< The machine's own programs, plus packages of our output channel.
  kConda,   ///< Prefixes made by micromamba, mamba or conda, plus packages of our output channel.
  /// Packages of data/wheels.yaml and Python packages from the Python index, the rest from the machine, plus
  /// packages of our output channel.
  kWheels,
};

/// User's choices that replace the tools on PATH.
struct ToolOptions {
  std::string python = {};  ///< Interpreters, colon-separated paths or names; "" = PTPKG_PYTHON, else PATH.
  std::string conda_exe = {};  ///< The conda client, a path or a name; "" = PTPKG_CONDA_EXE, else PATH.
  std::string cuda_home = {};  ///< CUDA toolkits, colon-separated paths; "" = PTPKG_CUDA_HOME (FindNvccs).
};

/// One program of the machine.
struct Tool {
  std::string requirement;
  AbsPath path = AbsPath::Literal("/nonexistent");
  std::string variable;                     ///< "CC", "CXX", …; "" = none.
  std::optional<CudaToolkit> toolkit = {};  ///< Toolkit of an nvcc of the machine.
};

/// A requirement that the machine does not meet.
struct MissingTool {
  std::string name;                ///< Name of the requirement; "" for a Debian package of the recipe.
  std::string requirement;         ///< "ninja", "setuptools >=77"
  std::string reason;              ///< "program 'ninja' is not on PATH"
  std::string debian_package;      ///< "" if none is known.
  std::string unfit_program = {};  ///< Name of a program that exists in an unsuitable version.
  std::string pip_requirement;     ///< "setuptools>=77"; "" unless pip can install it.
};

struct ToolSet {
  std::vector<Tool> tools;
  std::optional<Python> python;       ///< Set when the recipe requires Python or a Python package.
  std::vector<AbsPath> headers = {};  ///< Headers of required libraries, one or two for each.
  std::vector<MissingTool> missing;
  /// extra.ptpkg.system_packages, and the owners of `headers` → version.
  std::map<std::string, std::string> debian_packages;
};

/// Facts besides the recipe that determine the origin of its tools.
struct HostRequest {
  HostEnv host_env = HostEnv::kAuto;
  ToolOptions options = {};
  std::set<std::string> provided =
      {};  ///< Names of packages of the output channel: no other source is needed.
  /// Names of requirements that the Python index meets: FindTools does not look for them. A Python package
  /// among them still needs the interpreter.
  std::set<std::string> from_index = {};
  std::optional<LockedWheels> given = {};  ///< kWheels in a node: its plan's choice.
  bool output_channel = true;              ///< False: messages do not suggest packages of our own.
};

/// Sources of the tools of one recipe.
struct HostPlan {
  HostEnv host_env = HostEnv::kSystem;        ///< Never kAuto; kWheels if any of them is used.
  ToolSet tools = {};                         ///< kSystem, kWheels: the machine's; nothing is missing.
  std::optional<WheelPlan> wheels = {};       ///< kWheels.
  std::optional<AbsPath> client = {};         ///< kConda.
  std::vector<recipe::MatchSpec> build = {};  ///< kConda: the client's packages for the build prefix,
  std::vector<recipe::MatchSpec> host = {};   ///< and for the host prefix.
};

/// Finds everything that `recipe` requires for build and host, except the packages in `request.provided`:
/// - programs on PATH of env.variables, the CUDA toolkit (FindNvccs) that fits the recipe
/// - headers in the usual include directories and next to nvcc, distributions of the interpreter
/// - the Debian packages of extra.ptpkg.system_packages, on machines that have dpkg
///
/// Compares versions if a requirement names one. Writes nothing. A missing tool is not an error here. Errors:
/// kCancelled, kIo, as FindNvccs.
Result<ToolSet> FindTools(Env& env, const recipe::Recipe& recipe, const HostRequest& request);

/// Determines the origin of the tools, before any source is fetched. kWheels fetches wheels into the cache,
/// unless an answer is cached there (ResolveFromIndex). So does kAuto if the machine lacks something that the
/// index has. Errors:
/// - kNotFound with all missing tools and the commands that install them; as FindTools
/// - kWheels: as ResolveWheels; kAuto reports these errors as the reason why something is missing
Result<HostPlan> CheckTools(Env& env, const recipe::Recipe& recipe, const HostRequest& request);

/// All of `tools.missing` as one kNotFound error with the commands that install them. REQUIRES: not empty.
Error MissingToolsError(const recipe::Recipe& recipe, const ToolSet& tools, const HostRequest& request);

/// Several kNotFound errors as one, with all messages and hints. Returns a single one unchanged. REQUIRES:
/// not empty.
Error JoinNotFoundErrors(const std::vector<Error>& lacks);

/// The version in the output of "--version". Every tool of the table prints its own first, except nvcc:
/// "release 13.0, V13.0.88". "" if there is none.
std::string ToolVersion(std::string_view output);
/// Version that `path` --version prints. Errors: kNotFound, kIo, kCancelled.
Result<std::string> ProgramVersion(Env& env, const AbsPath& path);

/// "3.11" when the recipe is for that Python: from the variant, else from its host or build requirement. ""
/// when it does not specify a version.
std::string RequestedPython(const recipe::Recipe& recipe);

/// pip's form of a conda requirement: ("setuptools", ">=77,<80") → "setuptools>=77,<80". Leaves out a
/// constraint that pip cannot express.
std::string PipRequirement(std::string_view name, std::string_view constraint);

}  // namespace ptpkg::builder
