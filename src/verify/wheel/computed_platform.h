#pragma once
// Computes the lowest compatible platform tag. Layer: verify. Sources: PEP 600, PEP 656; auditwheel's
// policies (data/manylinux.yaml).

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/result.h"
#include "verify/elf/file_needs.h"
#include "verify/file_kind.h"
#include "verify/wheel/platform_policies.h"

namespace ptpkg::verify {

struct ComputedPlatform {
  std::string machine = {};  ///< "x86_64"; "" when no file says what machine it is for.
  bool musl = false;         ///< The files are for musl.
  /// "manylinux_2_17_x86_64": of the lowest policy that admits every file; "musllinux_1_2_x86_64";
  /// "linux_x86_64" when there is none; "" when no file says what machine it is for: the wheel is for any.
  std::string tag = {};
  /// Why it is no better one: the symbols that set the policy, or what keeps the files out of all policies.
  std::vector<std::string> reasons = {};
  std::optional<FileNeeds> set_by = {};  ///< The file that needs the highest policy; nullopt: none needs one.
};

/// By machine, C library and symbol versions alone: of files that bring all other libraries along. A musl
/// wheel gets musllinux_1_2: musl has no symbol versions by which one could tell 1_1, and no system that is
/// still served has less. Errors: kInvalidInput for files of several machines, or of both C libraries.
Result<ComputedPlatform> ComputePlatformFromSymbols(const std::vector<FileNeeds>& files);

/// The same, and libraries outside of the tree count: they must be among those that the policies leave to the
/// system, a driver's, or of a well-known package among `dependencies` (normalised names); auditwheel does
/// not look at dependencies and calls such a wheel linux_x86_64. `files`: of ExamineTree. Errors: as
/// ComputePlatformFromSymbols.
Result<ComputedPlatform> ComputePlatform(const std::vector<FileNeeds>& files,
                                         const std::vector<std::string>& dependencies);

/// Holds `platform`, a tag or a dot-joined set, against machine, C library and symbol versions of the files.
/// `code`: the kinds of machine code that the tree holds, for tags of other systems, whose files are not
/// measured. Errors: kCheckFailed naming each file that needs more, with its symbols; the same for a tag of
/// Linux when no file says what machine it is for, and for one of another system when no code is of its kind.
Result<void> CheckPlatformFits(const std::vector<FileNeeds>& files, const std::string& platform,
                               const std::set<MachineCode>& code);

/// True if some tag of `platform` is judged by `code` alone: one of a system other than Linux.
bool IsForOtherSystems(const std::string& platform);

/// True if code of these kinds can be for the system of `platform`, one plain tag of a system other than
/// Linux. Systems that are not in the table may have any.
bool CodeMayBeFor(const std::string& platform, const std::set<MachineCode>& code);

/// `now`, the dot-joined platforms of a file name, if they promise exactly `computed`, or some musllinux
/// where that is one; else its tag.
std::string PlatformAfter(const PlatformPolicies& policies, const std::string& now,
                          const ComputedPlatform& computed);

}  // namespace ptpkg::verify
