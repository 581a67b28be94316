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
  std::string machine = {};  ///< "x86_64"; "" when no file states its machine.
  bool musl = false;         ///< The files are for musl.
  /// "manylinux_2_17_x86_64": the lowest policy that admits every file, or "musllinux_1_2_x86_64".
  /// "linux_x86_64" when no policy does. "" when no file states its machine: the wheel is for any.
  std::string tag = {};
  /// Why the tag is not better: the symbols that set the policy, or the reason why no policy admits the
  /// files.
  std::vector<std::string> reasons = {};
  std::optional<FileNeeds> set_by = {};  ///< The file that needs the highest policy; nullopt: none needs one.
};

/// Uses only machine, C library and symbol versions: for files that bring all other libraries along. A musl
/// wheel gets musllinux_1_2, because musl has no symbol versions that identify 1_1, and no supported system
/// has less. Errors: kInvalidInput for files of several machines, or of both C libraries.
Result<ComputedPlatform> ComputePlatformFromSymbols(const std::vector<FileNeeds>& files);

/// The same, but libraries outside the tree count. Each must be a system library of the policies, a driver's,
/// or from a well-known package among `dependencies` (normalised names). auditwheel ignores dependencies and
/// calls such a wheel linux_x86_64. `files`: from ExamineTree. Errors: as ComputePlatformFromSymbols.
Result<ComputedPlatform> ComputePlatform(const std::vector<FileNeeds>& files,
                                         const std::vector<std::string>& dependencies);

/// Compares `platform`, a tag or a dot-joined set, with machine, C library and symbol versions of the files.
/// `code`: the kinds of machine code in the tree, for tags of other systems, whose files are not measured.
/// Errors: kCheckFailed naming each file that needs more, with its symbols. Also for a Linux tag when no file
/// states its machine, and for a tag of another system when no code is of its kind.
Result<void> CheckPlatformFits(const std::vector<FileNeeds>& files, const std::string& platform,
                               const std::set<MachineCode>& code);

/// True if some tag of `platform` depends on `code` alone: a tag of a system other than Linux.
bool IsForOtherSystems(const std::string& platform);

/// True if code of these kinds can be for the system of `platform`, one plain tag of a system other than
/// Linux. Systems that are not in the table can have any.
bool CodeMayBeFor(const std::string& platform, const std::set<MachineCode>& code);

/// `now`, the dot-joined platforms of a file name, if they are exactly `computed`, or some musllinux if
/// `computed` is one; else its tag.
std::string PlatformAfter(const PlatformPolicies& policies, const std::string& now,
                          const ComputedPlatform& computed);

}  // namespace ptpkg::verify
