#pragma once
// Changes the CUDA toolkit of an environment file. Layer: pipeline.

#include "pipeline/environment/environment_spec.h"

namespace ptpkg::pipeline {

/// Errors: kUsage unless `cuda` is "", "12.4" or "12.4.1".
Result<void> CheckCudaVersion(const std::string& cuda);
/// "12.4" of "12.4.1" and "12.4".
std::string MajorMinor(const std::string& cuda);
/// True for "12.4.1".
bool HasCudaPatch(const std::string& cuda);

/// Errors: kUsage if the requirement of pip belongs to another toolkit: "torch==2.4.0+cu124", "cupy-cuda11x".
Result<void> CheckPip(const std::string& cuda, const std::string& requirement);

/// Puts the version into all names and versions of `spec` that depend on the toolkit. Errors: kUsage for
/// those that it cannot change, and if there is none; also if `cuda` has a patch version that nothing takes.
Result<void> SetToolkit(const std::string& cuda, const AbsPath& file, EnvironmentSpec& spec);

}  // namespace ptpkg::pipeline
