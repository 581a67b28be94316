#pragma once
// Detects possible changes of the machine's tools without running them. Layer: builder.
//
// CheckTools and ToolKey start every tool and Python, and read 25 MB: half a second of CPU, a fifth of what
// one edited file of C++ takes to build. A stamp looks at sizes, times and inodes alone.

#include <string>
#include <vector>

#include "builder/tools/tools.h"

namespace ptpkg::builder {

/// Whatever, if it changes, may change what CheckTools and ToolKey say: the files of `plan`, the directories
/// of PATH and of Python packages, dpkg's list. Empty for a plan that takes anything from elsewhere than the
/// machine: that is never taken on trust.
std::vector<std::string> FingerprintedFiles(const Env& env, const HostPlan& plan);

/// Fingerprint of `files`, `recipe`'s requirements, `request`, and the caller's variables that tools are
/// found by. A file that is not there counts as such. Errors: kIo.
Result<std::string> ToolFingerprint(Env& env, const recipe::Recipe& recipe, const HostRequest& request,
                                    const std::vector<std::string>& files);

}  // namespace ptpkg::builder
