#pragma once
// Installer and index rule sets for wheels. Layer: verify. A profile sets where files go and checks their
// effect there. A target is a program that accepts or refuses the wheel. Sources: pypi/warehouse
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
  kChannel,  ///< A private index, for people with uv, pip and installer.
  kUv,
  kPip,
  kInstaller,
};

/// Target names in the order of the enumeration.
std::vector<std::string> TargetNames();
/// "uv, pip": in that order, each once, ignoring spaces around a word. Errors: kUsage naming the nearest
/// target. Also for an empty list, which results from an unset shell variable.
Result<std::vector<Target>> ParseTargets(std::string_view list);
/// All consumers whose rules count; none for no target.
Consumers ConsumersOf(std::span<const Target> targets);

/// The profile used with `targets`, for a file of that name. Returns `asked`, if given. Else pypi means
/// wheel, channel means pytorch-index, and other targets, or none, the file name's own profile. Errors:
/// kUsage if `targets` are given for a file that is not a wheel, and for a profile that contradicts a target.
/// Contradictions: pypi with a profile other than wheel, channel with wheel, any target with conda, zip and
/// tree.
Result<Profile> ProfileBeside(std::span<const Target> targets, std::optional<Profile> asked,
                              std::string_view file_name);

/// Installers and indexes that refuse a wheel for a finding.
struct RefusalRule {
  std::string_view id;
  std::string_view file_end;  ///< End of the finding's file; "": any other file.
  Consumers refused_by;
  /// Nobody refuses a wheel for findings below this severity.
  Severity least = Severity::kWarning;
  bool names_consumer = false;  ///< The finding's text names the consumer: it says nothing about others.
};
/// Sorted by id; for one id, rules with `file_end` first, and then the higher `least`. For tests, which
/// compare them with docs/findings.
std::span<const RefusalRule> RefusalRules();

/// Findings about the wheel itself ("wheel-…") are errors only if one of `targets` refuses the wheel for
/// them. Other errors become warnings, or are removed if they name a consumer that is not a target. Findings
/// about its container (wheel-zip) and all other kinds are unchanged. CheckZipContainer has already rated the
/// container, and the others are about what the files do.
void ApplyTargets(Consumers targets, std::vector<Finding>& findings);

}  // namespace ptpkg::verify
