#pragma once
// Looks for one requirement of a recipe on this machine. Layer: builder.

#include <optional>
#include <string>
#include <vector>

#include "builder/env/python.h"
#include "builder/tools/cuda_toolkit.h"
#include "builder/tools/tool_table.h"
#include "builder/tools/tools.h"
#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::builder {

/// A requirement, and its row of the table; no provider for a name that the table does not have.
struct ToolRequirement {
  recipe::MatchSpec spec;
  std::optional<Provider> provider;
  bool in_build = false;

  [[nodiscard]] bool Is(ProviderKind kind) const { return provider && provider->kind == kind; }
  [[nodiscard]] bool IsNvcc() const { return Is(ProviderKind::kProgram) && provider->probes == "nvcc"; }
  /// True for the parts named cuda-…, which have the version of their toolkit's nvcc. Libraries such as
  /// cuBLAS have their own, and no header holds the version that conda-forge gives them.
  [[nodiscard]] bool IsNumberedAsNvcc() const { return spec.name.starts_with("cuda-"); }
  [[nodiscard]] bool HasConstraint() const { return !spec.version.empty() && spec.version != "*"; }
  /// Names under which Python may have it.
  [[nodiscard]] std::vector<std::string> Distributions() const;
};

/// The CUDA compiler of a build.
struct ChosenNvcc {
  std::optional<AbsPath> path;
  std::optional<CudaToolkit> toolkit;  ///< Toolkit of `path`.
  std::string others;                  ///< The nvccs that do not fit, for a message.
};

/// The sources of tools that a machine has.
struct ToolSources {
  std::string search;            ///< Directories of programs: PATH, then the one with nvcc.
  std::optional<Python> python;  ///< Knows the distributions of all requirements.
  ChosenNvcc nvcc;
  HostEnv host_env = HostEnv::kAuto;  ///< For a hint.
  bool output_channel = true;         ///< For a message, as in HostRequest.
};

/// The parts of a machine that meet one requirement.
struct ToolAnswer {
  std::optional<Tool> tool = {};
  std::vector<AbsPath> headers = {};
  std::vector<std::string> header_packages = {};  ///< Debian packages that may own `headers`.
  bool from_python = false;                       ///< The interpreter's packages are to meet it.
  std::optional<MissingTool> missing = {};        ///< Set if the requirement is not met.
};

/// Looks for `requirement`. Finds nothing for kPython and kAlways. Errors: kCancelled, kIo;
/// as for ProgramVersion.
Result<ToolAnswer> FindRequirement(Env& env, const ToolSources& sources, const ToolRequirement& requirement);

/// True if the version `text` is within `constraint`; false for a text that is not a version. Errors:
/// as for VersionSpec::Parse.
Result<bool> VersionFits(const std::string& text, const std::string& constraint);

}  // namespace ptpkg::builder
