#pragma once
// Severity profiles of findings. Layer: verify.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/finding.h"
#include "support/result.h"

namespace ptpkg::verify {

enum class Profile : std::uint8_t {
  kConda,         ///< A conda channel.
  kWheel,         ///< A public index: anybody's machine, next to anybody's packages.
  kPytorchIndex,  ///< A private index, with a directory per backend, as PyTorch publishes.
  kZip,   ///< A plain zip, unpacked anywhere: all that its files need is in it or part of every system.
  kTree,  ///< A directory: nothing is known about where it goes.
};

std::string_view ProfileName(Profile profile);
/// Profile names in the order of the enumeration.
std::vector<std::string> ProfileNames();
/// Errors: kUsage naming the nearest profile.
Result<Profile> ParseProfile(std::string_view name);

/// The default profile of a file of this name. Packages (.conda, .tar.bz2) go to a channel. A wheel whose
/// version has a local label ("2.9.0+cu128") goes to a private index, because public indexes refuse it. Other
/// wheels go to a public index. A .zip is a zip, and anything else is a tree.
Profile DefaultProfile(std::string_view file_name);

/// Severity of a finding in a profile, if it differs from the check's own.
struct SeverityRule {
  std::string_view id;
  Profile profile;
  Severity severity;
};
/// Sorted by id, then profile. For tests, which compare them with docs/findings.
std::span<const SeverityRule> SeverityRules();

/// Sets the severities that `profile` has rules for; all others stay as the check found them. Errors whose id
/// is in `never_errors` become warnings.
void ApplyProfile(Profile profile, const std::vector<std::string>& never_errors,
                  std::vector<Finding>& findings);

}  // namespace ptpkg::verify
