// Compares sets of architectures. Machine code (SASS) and PTX are apart, since machine code runs at once,
// while the driver compiles PTX for minutes at the first start. Both directions count. A missing architecture
// fails at the first kernel, and an extra one costs tens of megabytes. Files without GPU code are not
// compared, since nobody knows which files should have some. Only a request that matches no file with code is
// a finding.

#include "verify/elf/device_code_checks.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg::verify {
namespace {

/// Names of code that the driver compiles.
versions::ArchitectureNames WithPrefix(const versions::ArchitectureNames& names, std::string_view prefix) {
  versions::ArchitectureNames found;
  for (const std::string& name : names) {
    if (name.starts_with(prefix)) found.insert(name);
  }
  return found;
}

constexpr std::string_view kAbsentHint =
    "check in the build log whether the GPU part was configured, and pack its libraries";

void AddDifference(const versions::ArchitectureNames& some, const versions::ArchitectureNames& others,
                   std::string_view what, std::string_view verdict, std::vector<std::string>& differences) {
  std::vector<std::string> names;
  std::set_difference(some.begin(), some.end(), others.begin(), others.end(), std::back_inserter(names),
                      some.key_comp());
  if (!names.empty()) differences.push_back(fmt::format("{} for {} {}", what, Join(names, ", "), verdict));
}

/// "machine code for sm_90 is missing; PTX for compute_80 was not requested".
std::string Differences(const versions::DeviceArchitectures& has,
                        const versions::DeviceArchitectures& asked) {
  constexpr std::string_view kMissing = "is missing";
  constexpr std::string_view kExtra = "was not requested";
  std::vector<std::string> differences;
  AddDifference(asked.sass, has.sass, "machine code", kMissing, differences);
  // `more` allows further architectures, so only missing ones count.
  if (!asked.more) AddDifference(has.sass, asked.sass, "machine code", kExtra, differences);
  for (const auto& [what, prefix] : {std::pair("PTX", "compute_"), std::pair("SPIR-V", "amdgcn")}) {
    const versions::ArchitectureNames wanted = WithPrefix(asked.ptx, prefix);
    const versions::ArchitectureNames found = WithPrefix(has.ptx, prefix);
    AddDifference(wanted, found, what, kMissing, differences);
    if (!asked.more) AddDifference(found, wanted, what, kExtra, differences);
  }
  return Join(differences, "; ");
}

}  // namespace

versions::DeviceArchitectures ArchitecturesOf(const elf::DeviceCode& code) {
  versions::DeviceArchitectures names;
  const elf::DeviceCodeStats judged = code.EffectiveCode();
  for (const auto& [architecture, amount] : judged.sass) names.sass.insert(architecture.SassName());
  for (const auto& [architecture, amount] : judged.ptx) names.ptx.insert(architecture.PtxName());
  return names;
}

void CheckDeviceCode(const std::vector<FileDeviceCode>& files, const versions::DeviceCodeRequest& request,
                     std::vector<Finding>& findings) {
  bool any = false;
  std::vector<std::string> with_code;
  for (const FileDeviceCode& file : files) {
    with_code.push_back(file.file);
    const versions::DeviceArchitectures* asked = request.Of(file.file);
    any = any || asked != nullptr;
    if (!file.problem.empty()) {
      findings.push_back({"device-code-unreadable", asked == nullptr ? Severity::kWarning : Severity::kError,
                          file.file, fmt::format("cannot read its GPU code: {}", file.problem),
                          "rebuild the file"});
      continue;
    }
    if (asked == nullptr) continue;
    const std::string differences = Differences(ArchitecturesOf(file.code), *asked);
    if (differences.empty()) continue;
    findings.push_back({"device-code-mismatch", Severity::kError, file.file, differences,
                        "compile for the requested architectures, or request this file's architectures"});
  }
  const std::vector<std::string> without = request.UnmatchedGlobs(with_code);
  for (const std::string& glob : without) {
    findings.push_back({"device-code-absent", Severity::kError, "",
                        fmt::format("no file '{}' has GPU code, which is required", glob),
                        std::string(kAbsentHint)});
  }
  if (any || !request.RequestsCode() || !without.empty()) return;
  findings.push_back({"device-code-absent", Severity::kError, "",
                      "GPU code is required, but no library, program or static archive has any",
                      std::string(kAbsentHint)});
}

}  // namespace ptpkg::verify
