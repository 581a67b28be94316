#include "verify/wheel_input.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "archive/extract.h"
#include "verify/target.h"
#include "verify/wheel_checks.h"
#include "verify/wheel_layout_checks.h"
#include "verify/wheel_tag_checks.h"
#include "verify/zip_container.h"

namespace ptpkg::verify {

Result<void> RequireInstallable(Env& env, const AbsPath& wheel, const StagedTree& unpacked) {
  constexpr std::array<Target, 1> kTargets = {Target::kChannel};
  const ContainerRule container = {.id = "wheel-zip", .fix = "", .targets = ConsumersOf(kTargets)};
  std::vector<Finding> findings;
  PTPKG_CHECK(CheckZipContainer(env, wheel, container, findings));
  PTPKG_CHECK(CheckWheelContent(env, wheel, unpacked, findings));
  PTPKG_TRY(const archive::ZipReader reader, archive::ZipReader::Open(env.fs, wheel));
  CheckWheelFolders(reader.members(), findings);
  if (const auto name = wheel::FileName::Parse(wheel.Name())) {
    const std::set<MachineCode> code;
    const std::map<std::string, elf::PythonSymbols> symbols;
    PTPKG_CHECK(CheckWheelTags(env, {*name, code, symbols}, unpacked, findings));
  }
  ApplyTargets(ConsumersOf(kTargets), findings);
  std::erase_if(findings, [](const Finding& finding) { return finding.severity != Severity::kError; });
  if (findings.empty()) return Ok();
  constexpr std::size_t kShown = 10;
  std::string lines;
  for (const Finding& finding : findings) {
    if (&finding - findings.data() == kShown) break;
    lines += fmt::format("\n    {} [{}] {}", finding.file, finding.id, finding.message);
  }
  return Error(ErrorCode::kCheckFailed,
               fmt::format("'{}' is not a wheel that installers take:{}", wheel.str(), lines))
      .WithHint("'ptpkg check' lists all that is wrong with the wheel");
}

}  // namespace ptpkg::verify
