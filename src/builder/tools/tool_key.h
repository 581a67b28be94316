#pragma once
// Cache key of the tools that affect a build result. Layer: builder.

#include <map>
#include <string>

#include "builder/tools/tools.h"

namespace ptpkg::builder {

/// Content key of the tools. kSystem and kWheels: of each program its name, what `--version` says and the
/// digest of its file; version, digest and asked-for packages of Python; digests of the headers that stand
/// for libraries; versions of the recipe's Debian packages and of those that own the headers; of each wheel
/// its use, name, version and digest. kConda: the packages that the client would install, as a dry run of it
/// says, which takes as long as its solver does; of a client that does not say, nothing, and a warning says
/// that. Between this solution and the prefix that a node makes of the same requirements, a channel may
/// change: that is not noticed. Paths, times, sizes and the client itself do not enter: machines with the
/// same packages have the same key. Errors: kIo, kCommandFailed (the client), kCancelled.
Result<std::string> ToolKey(Env& env, const HostPlan& plan);

/// Content key of one program: its name, what `--version` says and the digest of its file. Errors: as
/// ToolKey.
Result<std::string> ProgramKey(Env& env, const AbsPath& program);

/// Origins of the tools, for people: "cmake 3.25.1 from system, cuda-nvcc 13.0.88 from wheels"; "" where
/// nothing was chosen. Errors: those of ToolKey.
Result<std::string> ToolOrigins(Env& env, const HostPlan& plan);

/// Name → version of the programs that a build gets from the machine, for its bill of materials: "g++" →
/// "12.2.0", "python" → "3.11.2"; "" where a program does not say. What conda brings is not named. Errors:
/// ToolKey's.
Result<std::map<std::string, std::string>> ToolVersions(Env& env, const HostPlan& plan);

}  // namespace ptpkg::builder
