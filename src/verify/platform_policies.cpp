#include "verify/platform_policies.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>

#include "support/text.h"
#include "support/yaml.h"
#include "verify/manylinux_yaml.h"  // generated from data/manylinux.yaml

namespace ptpkg::verify {
namespace {

constexpr std::string_view kGlibcFamily = "GLIBC";
// DT_RELR was added to glibc in this version; linkers then require this name instead of a number.
constexpr std::string_view kRelativeRelocations = "GLIBC_ABI_DT_RELR";
constexpr GlibcVersion kRelativeRelocationsSince{2, 36};

struct NamedMachine {
  std::uint16_t machine;
  std::optional<elf::ByteOrder> order;
  std::string_view name;
};
// e_machine of <elf.h>; names as in platform tags (uname -m, i686 for every 32-bit x86).
constexpr std::array<NamedMachine, 9> kMachines = {{{62, std::nullopt, "x86_64"},
                                                    {3, std::nullopt, "i686"},
                                                    {183, elf::ByteOrder::kLittle, "aarch64"},
                                                    {40, elf::ByteOrder::kLittle, "armv7l"},
                                                    {21, elf::ByteOrder::kLittle, "ppc64le"},
                                                    {21, elf::ByteOrder::kBig, "ppc64"},
                                                    {243, elf::ByteOrder::kLittle, "riscv64"},
                                                    {22, elf::ByteOrder::kBig, "s390x"},
                                                    {258, elf::ByteOrder::kLittle, "loongarch64"}}};

std::optional<unsigned> ParseNumber(std::string_view text) {
  constexpr std::size_t kMaxDigits = 3;
  unsigned value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end || text.size() > kMaxDigits) return std::nullopt;
  return value;
}

Error BadPolicy(const YamlNode& node, std::string message) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(node.span);
}

Result<GlibcVersion> ParsePolicy(const YamlNode& where, std::string_view text) {
  const auto version = GlibcVersion::Parse(text);
  if (!version) return BadPolicy(where, fmt::format("'{}' is not a glibc version", text));
  return *version;
}

Result<const YamlNode*> Member(const YamlNode& table, std::string_view key, YamlNode::Kind kind) {
  const YamlNode* const node = table.kind == YamlNode::Kind::kMapping ? table.Find(key) : nullptr;
  if (node == nullptr || node->kind != kind) {
    return BadPolicy(table, fmt::format("the table of policies has no '{}' of the right kind", key));
  }
  return node;
}

}  // namespace

std::string GlibcVersion::str() const { return fmt::format("{}.{}", major, minor); }

std::optional<GlibcVersion> GlibcVersion::Parse(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto major = ParseNumber(text.substr(0, dot));
  const auto minor = ParseNumber(text.substr(dot + 1));
  if (!major || !minor) return std::nullopt;
  return GlibcVersion{*major, *minor};
}

std::string_view MachineName(std::uint16_t machine, elf::ByteOrder order) {
  for (const NamedMachine& named : kMachines) {
    if (named.machine == machine && (!named.order || *named.order == order)) return named.name;
  }
  return {};
}

std::string_view MachineOfTag(std::string_view platform) {
  if (platform.find("linux") == std::string_view::npos) return {};
  for (const NamedMachine& named : kMachines) {
    if (!platform.ends_with(named.name)) continue;
    const std::size_t at = platform.size() - named.name.size();
    if (at > 0 && platform[at - 1] == '_') return named.name;
  }
  return {};
}

bool PublicIndexTakes(std::string_view platform) {
  constexpr std::array<std::string_view, 3> kWhole = {"any", "linux_armv6l", "linux_armv7l"};
  constexpr std::array<std::string_view, 6> kSystems = {"win32", "win_",     "macosx_",
                                                        "ios_",  "android_", "pyemscripten_"};
  constexpr std::array<std::string_view, 7> kMachinesOfBoth = {"x86_64",  "i686",  "aarch64", "armv7l",
                                                               "ppc64le", "s390x", "riscv64"};
  if (std::find(kWhole.begin(), kWhole.end(), platform) != kWhole.end()) return true;
  if (std::any_of(kSystems.begin(), kSystems.end(),
                  [&](std::string_view system) { return platform.starts_with(system); })) {
    return true;
  }
  const bool many = platform.starts_with("manylinux");
  if (!many && !platform.starts_with("musllinux_")) return false;
  const std::string_view machine = MachineOfTag(platform);
  return (many && machine == "ppc64") ||
         std::find(kMachinesOfBoth.begin(), kMachinesOfBoth.end(), machine) != kMachinesOfBoth.end();
}

std::optional<GlibcVersion> GlibcOf(std::string_view version) {
  if (version == kRelativeRelocations) return kRelativeRelocationsSince;
  if (!version.starts_with("GLIBC_")) return std::nullopt;
  const std::string_view number = version.substr(6);
  // Three numbers ("2.2.5") are versions of before 2.5: the third never matters to a policy.
  const std::size_t third = number.find('.', number.find('.') + 1);
  return GlibcVersion::Parse(number.substr(0, third));
}

Result<PlatformPolicies> PlatformPolicies::Parse(std::string_view text, const std::string& name) {
  PlatformPolicies policies;
  PTPKG_TRY(const YamlNode table, ParseYaml(text, name));
  PTPKG_TRY(const YamlNode* const baseline, Member(table, "conda_baseline", YamlNode::Kind::kScalar));
  PTPKG_TRY(policies.conda_baseline_, ParsePolicy(*baseline, baseline->scalar));
  PTPKG_TRY(const YamlNode* const aliases, Member(table, "aliases", YamlNode::Kind::kMapping));
  for (const YamlEntry& alias : aliases->entries) {
    PTPKG_TRY(policies.aliases_[alias.key], ParsePolicy(alias.value, alias.value.scalar));
  }
  PTPKG_TRY(const YamlNode* const machines, Member(table, "machines", YamlNode::Kind::kMapping));
  for (const YamlEntry& machine : machines->entries) {
    if (machine.value.entries.empty()) return BadPolicy(machine.value, "a machine without policies");
    Machine& rules = policies.machines_[machine.key];
    for (const YamlEntry& policy : machine.value.entries) {
      PTPKG_TRY(const GlibcVersion version, ParsePolicy(policy.value, policy.key));
      if (rules.families.empty()) rules.lowest = version;
      if (!rules.families.empty() && version <= rules.highest) {
        return BadPolicy(policy.value, fmt::format("policy '{}' is out of order", policy.key));
      }
      rules.highest = version;
      for (const YamlEntry& family : policy.value.entries) {
        rules.families[family.key] = true;
        for (const std::string& number : Split(family.value.scalar, ' ')) {
          rules.versions.emplace(fmt::format("{}_{}", family.key, number), version);
        }
      }
    }
  }
  return policies;
}

Result<PlatformPolicies> PlatformPolicies::BuiltIn() { return Parse(kManylinuxYaml, "manylinux.yaml"); }

PlatformPolicies::Verdict PlatformPolicies::Judge(std::string_view machine, std::string_view version) const {
  const auto rules = machines_.find(machine);
  if (rules == machines_.end()) return {};
  const std::string_view family = version.substr(0, version.find('_'));
  if (!rules->second.families.contains(family)) return {};
  const auto listed = rules->second.versions.find(version);
  if (listed != rules->second.versions.end()) return {.judged = true, .policy = listed->second};
  if (family == kGlibcFamily) {
    if (const auto glibc = GlibcOf(version); glibc && *glibc > rules->second.highest) {
      return {.judged = true, .policy = glibc};
    }
  }
  return {.judged = true, .policy = std::nullopt};
}

std::optional<GlibcVersion> PlatformPolicies::Lowest(std::string_view machine) const {
  const auto rules = machines_.find(machine);
  if (rules == machines_.end()) return std::nullopt;
  return rules->second.lowest;
}

std::optional<GlibcVersion> PlatformPolicies::PolicyOfTag(std::string_view platform) const {
  const std::string_view machine = MachineOfTag(platform);
  if (machine.empty()) return std::nullopt;
  const std::string_view policy = platform.substr(0, platform.size() - machine.size() - 1);
  if (const auto alias = aliases_.find(policy); alias != aliases_.end()) return alias->second;
  constexpr std::string_view kPrefix = "manylinux_";
  if (!policy.starts_with(kPrefix)) return std::nullopt;
  return GlibcVersion::Parse(ReplaceAll(policy.substr(kPrefix.size()), "_", "."));
}

}  // namespace ptpkg::verify
