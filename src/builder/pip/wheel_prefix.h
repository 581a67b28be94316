#pragma once
// Wheels of the Python index as tools and libraries of one build. Layer: builder.
//
//   BUILD_PREFIX/cuda     the toolkit, in NVIDIA's own layout: bin, include, lib, lib64, nvvm
//   BUILD_PREFIX/wheels   a virtual environment with the build's packages; its programs are linked from
//                         BUILD_PREFIX/bin
//   PREFIX                the host's packages

#include <optional>
#include <string>

#include "builder/pip/wheel_resolve.h"
#include "builder/resume/work_layout.h"

namespace ptpkg::builder {

/// Incremented when the layout of equal wheels changes; part of the tools' key.
inline constexpr std::string_view kWheelLayout = "1";

struct WheelPrefixInput {
  const WheelPlan& plan;
  const WorkLayout& layout;
  const AbsPath& log_file;
};

/// Installs the toolkit and the build's packages into the existing directory `layout.build_prefix`. Adds the
/// names that the toolkit's wheels lack: "libcudart.so" next to "libcudart.so.13", and "lib64". Errors: as
/// LeaseWheel; kCorrupt (a wheel that is not an archive, a program that no wheel has), kAlreadyExists (two
/// wheels hold one file), kCommandFailed (pip), kIo, kCancelled.
Result<void> InstallBuildWheels(Env& env, const WheelPrefixInput& input);

/// Installs the host's packages into `layout.prefix`, with its own interpreter `python` if it has one.
/// Errors: as InstallBuildWheels.
Result<void> InstallHostWheels(Env& env, const WheelPrefixInput& input, const std::optional<AbsPath>& python);

/// Directory of the build's packages, for an interpreter that must import them; nullopt if there are none.
std::optional<AbsPath> BuildPackagesFolder(const WheelPrefixInput& input);

}  // namespace ptpkg::builder
