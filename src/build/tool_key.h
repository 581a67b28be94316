#pragma once
// What of a machine's tools decides a build's result. Layer: build.

#include "build/tools.h"

namespace ptpkg::build {

/// Content key of the tools: of each program its name, what `--version` says and the digest of its file;
/// version, digest and asked-for packages of Python; versions of the recipe's Debian packages. Paths, times,
/// sizes and the conda client do not enter: machines with the same packages have the same key. Errors: kIo,
/// kCancelled.
Result<std::string> ToolKey(Env& env, const HostPlan& plan);

}  // namespace ptpkg::build
