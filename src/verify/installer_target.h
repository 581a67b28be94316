#pragma once
// Installer and index rule sets for wheels. Layer: verify. A profile says where files go and judges what they
// do there; a target is a program that takes the wheel or refuses it. Sources: pypi/warehouse
// forklift/metadata.py, utils/wheel.py, utils/zipfiles.py; the answers of uv, pip and installer to the wheels
// of tests/peers/wheel/wheel_cases.py.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/consumers.h"
#include "model/finding.h"
#include "support/result.h"
#include "verify/profile.h"

namespace ptpkg::verify {

enum class Target : std::uint8_t {
  kPypi,     ///< Upload to the Python package index.
  kChannel,  ///< An index of one's own, for people with uv, pip and installer.
  kUv,
  kPip,
  kInstaller,
};

/// Target names in the order of the enumeration.
std::vector<std::string> TargetNames();
/// "uv, pip": in that order, each once; spaces around a word do not count. Errors: kUsage naming the nearest
/// target; also for an empty list, which is what an unset variable of a shell gives.
Result<std::vector<Target>> ParseTargets(std::string_view list);
/// All consumers whose rules count; none for no target.
Consumers ConsumersOf(std::span<const Target> targets);

/// The profile beside `targets`, for a file of that name: `asked`, else wheel for pypi and pytorch-index for
/// channel, else that of the name. No targets: `asked`, else that of the name. Errors: kUsage for a file that
/// is no wheel and for a profile that contradicts a target (pypi with another one than wheel, channel with
/// wheel, anything with conda, zip and tree).
Result<Profile> ProfileBeside(std::span<const Target> targets, std::optional<Profile> asked,
                              std::string_view file_name);

/// Installers and indexes that refuse a wheel for a finding.
struct RefusalRule {
  std::string_view id;
  std::string_view file_end;  ///< End of the finding's file; "": any other file.
  Consumers refused_by;
  /// Nobody refuses a wheel for findings below this severity.
  Severity least = Severity::kWarning;
};
/// Sorted by id; of one id those with a file's end first, and then the higher `least`. For tests, which
/// compare them with docs/findings.
std::span<const RefusalRule> RefusalRules();

/// Findings about the wheel itself ("wheel-…"): errors are those for which one of `targets` refuses it;
/// other errors become warnings. Those about its container (wheel-zip) and all other kinds stay as they are:
/// CheckZipContainer has judged the former, and the latter are about what the files do.
void ApplyTargets(Consumers targets, std::vector<Finding>& findings);

}  // namespace ptpkg::verify
