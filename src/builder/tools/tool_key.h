#pragma once
// Cache key of the tools that affect a build result. Layer: builder.

#include <map>
#include <string>

#include "builder/tools/tools.h"

namespace ptpkg::builder {

/// Content key of the tools. Paths, times, sizes and the client itself do not enter: machines with the same
/// packages have the same key. kSystem and kWheels hash:
/// - for each program its name, the output of `--version` and the digest of its file
/// - version, digest and requested packages of Python
/// - digests of the headers that identify libraries
/// - versions of the recipe's Debian packages and of the packages that own the headers
/// - for each wheel its use, name, version and digest
///
/// kConda hashes the packages that the client would install. The client lists them in a dry run, which takes
/// as long as its solver does. If the client does not list them, none enter, and a warning reports it. A
/// channel can change between this solution and the prefix that a node makes from the same requirements;
/// ptpkg does not notice. Errors: kIo, kCommandFailed (the client), kCancelled.
Result<std::string> ToolKey(Env& env, const HostPlan& plan);

/// Content key of one program: its name, the output of `--version` and the digest of its file. Errors: as
/// ToolKey.
Result<std::string> ProgramKey(Env& env, const AbsPath& program);

/// Origins of the tools, for people: "cmake 3.25.1 from system, cuda-nvcc 13.0.88 from wheels". "" for an
/// empty plan. Errors: as ToolKey.
Result<std::string> ToolOrigins(Env& env, const HostPlan& plan);

/// Name → version of the programs that a build gets from the machine, for its bill of materials: "g++" →
/// "12.2.0", "python" → "3.11.2". "" for a program that prints no version. Leaves out conda packages. Errors:
/// as ToolKey.
Result<std::map<std::string, std::string>> ToolVersions(Env& env, const HostPlan& plan);

}  // namespace ptpkg::builder
