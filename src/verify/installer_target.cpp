// kRefusals says which consumer refuses a wheel for which finding. The rows come from asking them:
// tests/peers/wheel/wheel_targets.py compares the table with uv, pip and installer. Rows of the index follow
// warehouse's sources. For one id, the special row comes first, and the first row that fits decides. A
// finding without a row is an error for nobody, so ApplyTargets lowers it to a warning.

#include "verify/installer_target.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "model/artifact.h"
#include "support/text/text.h"

namespace ptpkg::verify {
namespace {

constexpr std::array<std::string_view, 5> kTargetNames = {"pypi", "channel", "uv", "pip", "installer"};

constexpr Consumers kByPypi = {.pypi = true};
constexpr Consumers kByUv = {.uv = true};
constexpr Consumers kByPip = {.pip = true};
constexpr Consumers kByInstaller = {.installer = true};
constexpr Consumers kByPypiAndUv = {.pypi = true, .uv = true};
constexpr Consumers kByPypiAndPip = {.pypi = true, .pip = true};
constexpr Consumers kByPipAndInstaller = {.pip = true, .installer = true};
constexpr Consumers kByUvAndPip = {.uv = true, .pip = true};
constexpr Consumers kByUvAndInstaller = {.uv = true, .installer = true};
constexpr Consumers kByInstallers = {.uv = true, .pip = true, .installer = true};
constexpr Consumers kByReadersOfNames = {.pypi = true, .uv = true, .pip = true};  // as packaging reads them
constexpr Consumers kByReadersOfMetadata = {.pypi = true, .uv = true, .pip = true};  // installer reads none

// Ids without a rule: nobody refuses a wheel for them.
constexpr std::array<RefusalRule, 52> kRefusals = {{
    {"wheel-author-email", "", kByPypi},
    {"wheel-classifier", "", kByPypi},
    {"wheel-data-layout", "/", kByUv, Severity::kWarning, true},  // a member that is a directory
    {"wheel-data-layout", "", kByInstallers},
    {"wheel-data-scripts", "", kByUv},
    {"wheel-dist-info", "", kAllConsumers},
    {"wheel-dist-info-name", "", kByPypi},
    {"wheel-document-size", "", kAllConsumers},
    {"wheel-egg-info", "", kByPip, Severity::kWarning, true},
    {"wheel-encoding", "/METADATA", kByPypiAndPip},
    {"wheel-encoding", "/WHEEL", kByInstallers},
    {"wheel-encoding", "", kAllConsumers},
    {"wheel-entry-points-invalid", "", kAllConsumers},
    {"wheel-file-name", "", kAllConsumers},
    {"wheel-file-name-form", "", kByUv, Severity::kError, true},
    {"wheel-file-name-spelling", "", kByPypiAndPip, Severity::kError},
    {"wheel-file-name-spelling", "", kByPypi},
    {"wheel-install-collision", "", kByInstaller},
    {"wheel-install-leftover", "/INSTALLER", kByInstaller},
    {"wheel-license-conflict", "", kByPypi},
    {"wheel-license-missing", "", kByPypi},
    {"wheel-local-version", "", kByPypi},
    {"wheel-metadata-field", "", kByPypi},
    {"wheel-metadata-invalid", "", kByReadersOfMetadata},
    {"wheel-metadata-version", "", kByPypi},
    {"wheel-missing-file", "/METADATA", kByReadersOfMetadata},
    {"wheel-missing-file", "", kAllConsumers},
    {"wheel-name-mismatch", "", kByReadersOfMetadata},
    {"wheel-platform-tag", "", kByPypi},
    {"wheel-project-url", "", kByPypi},
    {"wheel-python-nobody", "", kByUvAndPip},
    {"wheel-record-digest", "", kByInstaller},
    {"wheel-record-invalid", "", kByUvAndInstaller},
    {"wheel-record-line", "", kByPipAndInstaller},
    {"wheel-record-undigested", "", kByInstaller},
    {"wheel-record-unlisted", "", kByInstaller},
    {"wheel-requirement-form", "", kByPypiAndPip},
    {"wheel-requirement-invalid", "", kByReadersOfMetadata},
    {"wheel-requirement-url", "", kByPypi},
    {"wheel-requires-python-form", "", kByPypi},
    {"wheel-requires-python-invalid", "", kByPypiAndUv},
    {"wheel-script-interpreter", "", kByUv},
    {"wheel-script-name", "", kByPypi},
    {"wheel-script-path", "", kAllConsumers},
    {"wheel-script-target", "", kByInstallers, Severity::kError},
    {"wheel-summary", "", kByPypi},
    {"wheel-tag-nobody", "", kByUvAndPip, Severity::kError},
    {"wheel-upload-size", "", kByPypi},
    {"wheel-uv-metadata", "", kByUv, Severity::kWarning, true},
    {"wheel-variant-name", "", kByReadersOfNames, Severity::kInfo},
    {"wheel-version-mismatch", "", kByReadersOfMetadata},
    {"wheel-wheel-invalid", "", kByInstallers},
}};

std::string_view NameOfTarget(Target target) { return kTargetNames.at(static_cast<std::size_t>(target)); }

Consumers ConsumersOfOne(Target target) {
  switch (target) {
    case Target::kPypi:
      return kByPypi;
    case Target::kChannel:
      return kByInstallers;
    case Target::kUv:
      return kByUv;
    case Target::kPip:
      return kByPip;
    case Target::kInstaller:
      return kByInstaller;
  }
  return {};
}

}  // namespace

std::vector<std::string> TargetNames() { return {kTargetNames.begin(), kTargetNames.end()}; }

Result<std::vector<Target>> ParseTargets(std::string_view list) {
  std::vector<Target> targets;
  for (const std::string& part : Split(list, ',')) {
    const std::string_view word = Trim(part);
    const auto* const it = std::find(kTargetNames.begin(), kTargetNames.end(), word);
    if (it == kTargetNames.end()) {
      const std::vector<std::string> names = TargetNames();
      const auto nearest = NearestMatch(word, names);
      if (word.empty()) {
        return Error(ErrorCode::kUsage, fmt::format("'{}' lists an empty target", list))
            .WithHint("give a target, or remove --target; check for an unset shell variable");
      }
      return Error(ErrorCode::kUsage, fmt::format("unknown target '{}'", word))
          .WithHint(nearest ? fmt::format("did you mean '{}'?", *nearest)
                            : fmt::format("targets: {}", Join(names, ", ")));
    }
    const auto target = static_cast<Target>(it - kTargetNames.begin());
    if (std::find(targets.begin(), targets.end(), target) == targets.end()) targets.push_back(target);
  }
  return targets;
}

Consumers ConsumersOf(std::span<const Target> targets) {
  Consumers all;
  for (const Target target : targets) all = all | ConsumersOfOne(target);
  return all;
}

Result<Profile> ProfileBeside(std::span<const Target> targets, std::optional<Profile> asked,
                              std::string_view file_name) {
  if (targets.empty()) return asked.value_or(DefaultProfile(file_name));
  if (!file_name.ends_with(ArtifactExtension(ArtifactFormat::kWheel))) {
    return Error(ErrorCode::kUsage,
                 fmt::format("--target works on wheels, and '{}' is not a wheel", file_name))
        .WithHint("give only the wheels");
  }
  Profile profile = DefaultProfile(file_name);
  // The last word is with the strictest: what is uploaded to both has to be fit for the public index.
  for (const auto& [target, needed] :
       {std::pair(Target::kChannel, Profile::kPytorchIndex), std::pair(Target::kPypi, Profile::kWheel)}) {
    if (std::find(targets.begin(), targets.end(), target) != targets.end()) profile = needed;
  }
  if (!asked || *asked == profile) return profile;
  const bool of_wheels = *asked == Profile::kWheel || *asked == Profile::kPytorchIndex;
  const auto decides = std::find_if(targets.begin(), targets.end(), [](Target target) {
    return target == Target::kPypi || target == Target::kChannel;
  });
  if (of_wheels && decides == targets.end()) return *asked;  // installers take wheels from anywhere
  const std::string_view name = NameOfTarget(decides == targets.end() ? targets.front() : *decides);
  return Error(ErrorCode::kUsage,
               fmt::format("--target {} and --profile {} contradict each other", name, ProfileName(*asked)))
      .WithHint(fmt::format("remove --profile: it is {} here", ProfileName(profile)));
}

std::span<const RefusalRule> RefusalRules() { return kRefusals; }

void ApplyTargets(Consumers targets, std::vector<Finding>& findings) {
  std::erase_if(findings, [&](Finding& finding) {
    // CheckZipContainer has rated wheel-zip by the same targets. Other findings are about effects, not about
    // refusals.
    if (!finding.id.starts_with("wheel-") || finding.id == "wheel-zip") return false;
    const auto* const rule =
        std::find_if(kRefusals.begin(), kRefusals.end(), [&](const RefusalRule& candidate) {
          return candidate.id == finding.id && finding.file.ends_with(candidate.file_end) &&
                 finding.severity >= candidate.least;
        });
    if (rule != kRefusals.end() && rule->refused_by.Intersects(targets)) {
      finding.severity = Severity::kError;
      return false;
    }
    if (finding.severity == Severity::kError) finding.severity = Severity::kWarning;
    return rule != kRefusals.end() && rule->names_consumer;
  });
}

}  // namespace ptpkg::verify
