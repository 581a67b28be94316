#include "verify/profile.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "model/artifact.h"
#include "support/text/text.h"

namespace ptpkg::verify {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"conda", "wheel", "pytorch-index", "zip", "tree"};

// The severities of every profile, where they differ from what the check says. Sorted by id.
constexpr std::array<SeverityRule, 13> kRules = {{
    // All wheels of an index of one's own are built to share one OpenMP run-time library.
    {"elf-duplicate-openmp", Profile::kPytorchIndex, Severity::kError},
    // The C library of current distributions (glibc 2.41) refuses to open such a library.
    {"elf-executable-stack", Profile::kConda, Severity::kError},
    {"elf-executable-stack", Profile::kWheel, Severity::kError},
    {"elf-executable-stack", Profile::kPytorchIndex, Severity::kError},
    {"elf-executable-stack", Profile::kZip, Severity::kError},
    // A directory may be meant for one machine.
    {"elf-isa-level", Profile::kTree, Severity::kWarning},
    // Nothing else is unpacked into the directory.
    {"elf-search-path-dead", Profile::kZip, Severity::kError},
    // Own builds can be compiled anew; hardened systems refuse to load them as they are.
    {"elf-text-relocations", Profile::kPytorchIndex, Severity::kError},
    // A build gives a fresh wheel the interpreter's tag. `--target pypi` makes it an error.
    {"wheel-platform-tag", Profile::kPytorchIndex, Severity::kInfo},
    // Public indexes refuse these uploads; an index of one's own serves what it is given.
    {"wheel-requirement-url", Profile::kWheel, Severity::kError},
    {"wheel-requirement-url", Profile::kPytorchIndex, Severity::kInfo},
    {"wheel-summary", Profile::kWheel, Severity::kError},
    {"wheel-summary", Profile::kPytorchIndex, Severity::kInfo},
}};

}  // namespace

std::string_view ProfileName(Profile profile) { return kNames.at(static_cast<std::size_t>(profile)); }

std::vector<std::string> ProfileNames() { return {kNames.begin(), kNames.end()}; }

Result<Profile> ParseProfile(std::string_view name) {
  const auto* const it = std::find(kNames.begin(), kNames.end(), name);
  if (it != kNames.end()) return static_cast<Profile>(it - kNames.begin());
  const std::vector<std::string> names = ProfileNames();
  const auto nearest = NearestMatch(name, names);
  return Error(ErrorCode::kUsage, fmt::format("unknown profile '{}'", name))
      .WithHint(nearest ? fmt::format("did you mean '{}'?", *nearest)
                        : fmt::format("profiles: {}", Join(names, ", ")));
}

Profile DefaultProfile(std::string_view file_name) {
  const auto format = FormatOfFileName(file_name);
  if (!format) return Profile::kTree;
  if (*format == ArtifactFormat::kZip) return Profile::kZip;
  if (*format != ArtifactFormat::kWheel) return Profile::kConda;
  const std::vector<std::string> parts = Split(file_name, '-');
  const bool local = parts.size() > 1 && parts[1].find('+') != std::string::npos;
  return local ? Profile::kPytorchIndex : Profile::kWheel;
}

std::span<const SeverityRule> SeverityRules() { return kRules; }

void ApplyProfile(Profile profile, const std::vector<std::string>& never_errors,
                  std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    for (const SeverityRule& rule : kRules) {
      if (rule.profile == profile && rule.id == finding.id) finding.severity = rule.severity;
    }
    const bool tamed = std::find(never_errors.begin(), never_errors.end(), finding.id) != never_errors.end();
    if (tamed && finding.severity == Severity::kError) finding.severity = Severity::kWarning;
  }
}

}  // namespace ptpkg::verify
