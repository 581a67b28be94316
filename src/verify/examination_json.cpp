#include "verify/examination_json.h"

#include "support/text/json.h"
#include "verify/elf/device_code_checks.h"

namespace ptpkg::verify {
namespace {

Json NullIfEmpty(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json GlibcOrNull(const std::optional<GlibcVersion>& glibc) {
  return glibc ? Json(glibc->str()) : Json(nullptr);
}

Json AmountsByName(const elf::DeviceAmounts& amounts, std::string (elf::DeviceArchitecture::*name)() const) {
  Json object = Json::object();
  for (const auto& [architecture, amount] : amounts) {
    object[(architecture.*name)()] = {{"elements", amount.elements}, {"bytes", amount.size_bytes}};
  }
  return object;
}

Json DeviceCodeStatsToJson(const elf::DeviceCodeStats& share) {
  return {{"sass", AmountsByName(share.sass, &elf::DeviceArchitecture::SassName)},
          {"ptx", AmountsByName(share.ptx, &elf::DeviceArchitecture::PtxName)},
          {"other_bytes", share.other_bytes},
          {"containers", share.containers}};
}

}  // namespace

Json FileNeedsToJson(const FileNeeds& file) {
  Json set_by = Json::array();
  for (const elf::RequiredVersion& version : file.set_by) {
    set_by.push_back({{"library", version.library}, {"version", version.version}});
  }
  const bool stated = file.isa != elf::IsaLevel::kUnstated;
  return {{"file", file.file},
          {"machine", NullIfEmpty(file.machine)},
          {"glibc", GlibcOrNull(file.glibc)},
          {"policy", NullIfEmpty(file.PolicyTag())},
          {"set_by", set_by},
          {"symbols", file.symbols},
          {"set_by_names", file.set_by_names},
          {"needed", file.needed},
          {"isa", stated ? Json(elf::IsaLevelName(file.isa)) : Json(nullptr)}};
}

Json FileDeviceCodeToJson(const FileDeviceCode& file) {
  const versions::DeviceArchitectures names = ArchitecturesOf(file.code);
  return {{"file", file.file},
          {"sass", names.sass},
          {"ptx", names.ptx},
          {"embedded", DeviceCodeStatsToJson(file.code.embedded)},
          {"relocatable", DeviceCodeStatsToJson(file.code.relocatable)}};
}

}  // namespace ptpkg::verify
