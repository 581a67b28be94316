#pragma once
// The host prefix of a build or a test: tools, packages and Python in it. Layer: builder.

#include <functional>
#include <string>
#include <vector>

#include "builder/resume/work_layout.h"
#include "builder/tools/tools.h"
#include "support/digest/hash.h"

namespace ptpkg::builder {

/// A package of the output channel that a recipe names in build or host requirements.
struct LocalPackage {
  std::string name;
  AbsPath path = AbsPath::Literal("/nonexistent");  ///< .conda or .tar.bz2
  Sha256 sha256;
};

/// Destination for an unpacked package.
struct UnpackInto {
  AbsPath prefix;
  std::string python_version;  ///< "3.11": where noarch Python files go; "" = there is no Python.
};

/// Unpacks `package` into the existing directory `into.prefix` and replaces its placeholders by that path.
/// The pipeline provides it, because this layer knows no package format.
using UnpackFunction = std::function<Result<void>(Env& env, const AbsPath& package, const UnpackInto& into)>;

struct HostPrefixInput {
  const HostPlan& plan;
  const WorkLayout& layout;
  const UnpackFunction& unpack;
  const AbsPath& log_file;
};

// kWheels: InstallBuildWheels at Create, InstallHostWheels at FinishPython; the script's Python sees the
// packages of both.

/// Fills the empty directories `layout.prefix` and `layout.build_prefix`. The inputs are borrowed for its
/// life.
class HostPrefix {
 public:
  /// Makes the conda prefixes, or installs the wheels of the build, depending on the plan. Errors: as
  /// CreateCondaPrefix and InstallBuildWheels.
  static Result<HostPrefix> Create(Env& env, const HostPrefixInput& input);

  /// Unpacks a package of our channel. Errors: any error from the unpack function, naming the package.
  Result<void> Unpack(const LocalPackage& package);

  /// Call once, after the packages. The prefix then has its own Python (see MakePythonPrefix) if the plan or
  /// one of the packages brings one. kWheels: it then also has the host's wheels. Errors: as MakePythonPrefix
  /// and InstallHostWheels.
  Result<void> FinishPython();

  /// Tools for the script: `python` is the one below the prefix.
  [[nodiscard]] const ToolSet& tools() const { return tools_; }
  /// Files below the prefix that belong to no package.
  [[nodiscard]] const std::vector<RelPath>& helpers() const { return helpers_; }
  /// Shell commands to run before the script; "" = none.
  [[nodiscard]] const std::string& preamble() const { return preamble_; }

 private:
  HostPrefix(Env& env, const HostPrefixInput& input) : env_(&env), input_(&input), tools_(input.plan.tools) {}
  Result<void> CreateConda();
  Result<void> InstallWheels();
  Result<void> CreatePython();
  Result<bool> UsePrefixPython();

  Env* env_;
  const HostPrefixInput* input_;
  ToolSet tools_;
  std::vector<RelPath> helpers_;
  std::string preamble_;
};

}  // namespace ptpkg::builder
