#pragma once
// Detects possible changes of the machine's tools without running them. Layer: builder.
//
// CheckTools and ToolKey start every tool and Python, and read 25 MB. They take half a second of CPU, a fifth
// of the time to build one edited C++ file. A fingerprint reads only sizes, times and inodes.

#include <string>
#include <vector>

#include "builder/tools/tools.h"

namespace ptpkg::builder {

/// Files and directories whose change can change the results of CheckTools and ToolKey: the files of `plan`,
/// the directories of PATH and of Python packages, dpkg's list. Empty for a plan that takes anything from
/// elsewhere than the machine: ptpkg always checks such tools.
std::vector<std::string> FingerprintedFiles(const Env& env, const HostPlan& plan);

/// Fingerprint of `files`, `recipe`'s requirements, `request`, and the caller's variables that select tools.
/// A missing file enters as missing. Errors: kIo.
Result<std::string> ToolFingerprint(Env& env, const recipe::Recipe& recipe, const HostRequest& request,
                                    const std::vector<std::string>& files);

}  // namespace ptpkg::builder
