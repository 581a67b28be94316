// An artifact that no installer would accept must not become a valid package of the other family. So
// conversions accept only inputs that pass the checks of verify/, here for uv, pip and installer together.
// Libraries are not checked: the result of the conversion gets the same checks again.

#include "verify/input_gate.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "archive/extract.h"
#include "verify/check_artifact.h"
#include "verify/conda/conda_checks.h"
#include "verify/installer_target.h"
#include "verify/rules/zip_container.h"
#include "verify/wheel/wheel_checks.h"
#include "verify/wheel/wheel_layout_checks.h"
#include "verify/wheel/wheel_tag_checks.h"

namespace ptpkg::verify {
namespace {

/// kInvalidInput if there is an error among `findings`. `what`: "a wheel that installers take".
Result<void> RefuseErrors(const AbsPath& artifact, std::string_view what, std::vector<Finding> findings) {
  std::erase_if(findings, [](const Finding& finding) { return finding.severity != Severity::kError; });
  if (findings.empty()) return Ok();
  constexpr std::size_t kShown = 10;
  std::string lines;
  for (std::size_t i = 0; i < std::min(kShown, findings.size()); ++i)
    lines += fmt::format("\n    {} [{}] {}", findings[i].file, findings[i].id, findings[i].message);
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not {}:{}", artifact.str(), what, lines))
      .WithHint("list all findings with 'ptpkg check'");
}

}  // namespace

Result<void> RequireInstallable(Env& env, const AbsPath& wheel, const StagedTree& unpacked) {
  constexpr std::array<Target, 1> kTargets = {Target::kChannel};
  const ContainerRule container = {.id = "wheel-zip", .fix = "", .targets = ConsumersOf(kTargets)};
  std::vector<Finding> findings;
  PTPKG_CHECK(CheckZipContainer(env, wheel, container, findings));
  PTPKG_TRY(const WheelContent content, CheckWheelContent(env, wheel, unpacked, findings));
  PTPKG_TRY(const archive::ZipReader reader, archive::ZipReader::Open(env.fs, wheel));
  CheckWheelFolders(reader.members(), content.scripts, findings);
  if (const auto name = wheel::FileName::Parse(wheel.Name())) {
    const std::set<MachineCode> code;
    // Both empty, so that only rules about names and tags apply.
    const std::map<std::string, elf::PythonSymbols> symbols;
    PTPKG_CHECK(CheckWheelTags(env, {*name, code, symbols}, unpacked, findings));
  }
  ApplyTargets(ConsumersOf(kTargets), findings);
  // Conversions leave these files out.
  std::erase_if(findings, [](const Finding& finding) { return finding.id == "wheel-install-leftover"; });
  return RefuseErrors(wheel, "a wheel that installers accept", std::move(findings));
}

Result<void> RequireSoundPackage(Env& env, const AbsPath& package, const AbsPath& folder) {
  std::vector<Finding> findings;
  PTPKG_TRY([[maybe_unused]] const CondaContent content, CheckCondaContent(env, package, folder, findings));
  return RefuseErrors(package, "a sound conda package", std::move(findings));
}

Result<void> RequireNoErrors(Env& env, const AbsPath& package) {
  PTPKG_TRY(Report report, CheckArtifact(env, package));
  return RefuseErrors(package, "a sound conda package", std::move(report.findings));
}

}  // namespace ptpkg::verify
