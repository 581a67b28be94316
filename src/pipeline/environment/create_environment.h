#pragma once
// Creates development environments. Layer: pipeline.

#include "builder/tools/tools.h"
#include "pipeline/environment/environment_spec.h"

namespace ptpkg::pipeline {

struct CreateRequest {
  EnvironmentRequest contents;
  bool requires_channels = false;  ///< Refuse providers that don't use contents.channels.
  AbsPath prefix;                  ///< A new or empty directory.
  builder::HostEnv provider = builder::HostEnv::kAuto;
  builder::ToolOptions tools = {};
};

struct CreatedEnvironment {
  AbsPath activate;  ///< The file that bash sources: `prefix`/activate.sh.
  builder::HostEnv provider = builder::HostEnv::kSystem;
};

/// Makes an environment with the tools and packages of `contents`, from one provider as in a build, and its
/// activation file last. Conda packages go to `prefix`. Otherwise `prefix` is a virtual environment, and
/// tools of the Python index are in its directory `build`. pip installs the pip requirements into it. After a
/// failure `prefix` is gone, or empty if it existed, and "PREFIX.env-create.log" holds the output. Errors:
/// any from ReadEnvironmentSpec, CheckTools and HostPrefix. kAlreadyExists (`prefix` has content, or another
/// process makes it). kCommandFailed (pip). kUsage: nothing to install, channels and a patch version of CUDA
/// without a conda client. kInvalidInput: a path that compilers split.
Result<CreatedEnvironment> CreateEnvironment(Env& env, const CreateRequest& request);

}  // namespace ptpkg::pipeline
