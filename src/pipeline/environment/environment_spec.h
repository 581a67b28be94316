#pragma once
// The packages of a development environment, read from files and recipes. Layer: pipeline.
// Format: docs/environments.md.

#include <map>
#include <string>
#include <vector>

#include "pipeline/commands/render.h"

namespace ptpkg::pipeline {

/// A conda match spec, with the channel that the text names.
struct EnvironmentPackage {
  std::string channel = {};  ///< "nvidia" of "nvidia::cuda-nvcc"; "": any of the channels.
  versions::MatchSpec spec;

  [[nodiscard]] std::string str() const;
};

struct EnvironmentSpec {
  std::string name = {};                   ///< "" if no input has a name.
  std::vector<std::string> channels = {};  ///< Conda channels, the most important first.
  std::vector<EnvironmentPackage> packages = {};
  std::vector<std::string> pip = {};            ///< Requirements, each a single word for pip.
  std::vector<AbsPath> requirement_files = {};  ///< For pip -r.
  std::map<std::string, std::string> variables = {};
};

struct EnvironmentRequest {
  /// Recipes (a directory or a .yaml with `package`, `outputs` or `context`), conda environment files
  /// (other .yaml and .yml files) and requirement files for pip (.txt).
  std::vector<AbsPath> inputs;
  RenderRequest render = {};               ///< Variant files and selection for the recipes; no recipes.
  std::string cuda = {};                   ///< "12.4": instead of the inputs' CUDA toolkit; "": theirs.
  std::vector<std::string> channels = {};  ///< Before the channels of the files.
};

/// All inputs together. A recipe gives its build and host requirements; exactly one of its variants may be
/// left. Equal packages count once. `cuda` replaces the variant key cuda_compiler_version of recipes, and in
/// files what environment_cuda.h says. Errors: any from Render and SetToolkit, kNotFound, kIo. kInvalidInput
/// with a span: unknown keys of a file, options of pip among its requirements, variables of the shell.
/// kUsage: several variants, a toolkit version where no input has a toolkit, a patch version for a recipe.
Result<EnvironmentSpec> ReadEnvironmentSpec(Env& env, const EnvironmentRequest& request);

/// The text of a conda environment file. Errors: kUsage for `requirement_files`, which it cannot name.
Result<std::string> ToEnvironmentYaml(const EnvironmentSpec& spec);

/// The text of a requirement file for pip. Packages without a known name in the Python index are comments.
/// Errors: as ToEnvironmentYaml.
Result<std::string> ToRequirementsText(const EnvironmentSpec& spec);

}  // namespace ptpkg::pipeline
