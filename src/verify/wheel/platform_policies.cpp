// Tables of platforms: which symbol versions a manylinux policy allows (data/manylinux.yaml), which platform
// tags exist, and which of them the package index accepts.
// Judge looks up one version and returns the oldest policy that lists it. glibc versions above the newest
// policy are policies of their own (PEP 600). Other families end with the table.
// Invariant: policies of a machine are in ascending order, since the first entry of a version counts as its
// oldest policy. Parse refuses another order.

#include "verify/wheel/platform_policies.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>

#include "support/text/text.h"
#include "support/text/yaml.h"
#include "verify/manylinux_yaml.h"  // generated from data/manylinux.yaml

namespace ptpkg::verify {
namespace {

constexpr std::string_view kGlibcFamily = "GLIBC";
/// Names that a linker requires instead of a number, and the first release of glibc with each. Source:
/// elf/Versions, sysdeps/x86/Versions, sysdeps/x86_64/Versions and sysdeps/i386/Versions of glibc.
struct AbiName {
  std::string_view name;
  GlibcVersion since;
};
// The last three are in the stable branches of 2.36 to 2.42 too, but in none of their releases.
constexpr std::array<AbiName, 4> kAbiNames = {{{"GLIBC_ABI_DT_RELR", {2, 36}},
                                               {"GLIBC_ABI_DT_X86_64_PLT", {2, 43}},
                                               {"GLIBC_ABI_GNU2_TLS", {2, 43}},
                                               {"GLIBC_ABI_GNU_TLS", {2, 43}}}};

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

// Accepted by the index on 2026-08-19 (pypi/warehouse, warehouse/forklift/legacy.py): whole tags, and of
// families of tags the machines.
constexpr std::array<std::string_view, 18> kWholeTags = {"any",
                                                         "win32",
                                                         "win_arm64",
                                                         "win_amd64",
                                                         "win_ia64",
                                                         "manylinux1_x86_64",
                                                         "manylinux1_i686",
                                                         "manylinux2010_x86_64",
                                                         "manylinux2010_i686",
                                                         "manylinux2014_x86_64",
                                                         "manylinux2014_i686",
                                                         "manylinux2014_aarch64",
                                                         "manylinux2014_armv7l",
                                                         "manylinux2014_ppc64",
                                                         "manylinux2014_ppc64le",
                                                         "manylinux2014_s390x",
                                                         "linux_armv6l",
                                                         "linux_armv7l"};
constexpr std::array<std::string_view, 7> kLinuxMachines = {"x86_64",  "i686",  "aarch64", "armv7l",
                                                            "ppc64le", "s390x", "riscv64"};
constexpr std::array<std::string_view, 11> kMacMachines = {
    "ppc", "ppc64", "i386", "x86_64", "arm64", "intel", "fat", "fat3", "fat64", "universal", "universal2"};
constexpr std::array<std::string_view, 6> kMacVersions = {"11", "12", "13", "14", "15", "26"};
constexpr std::array<std::string_view, 4> kPhoneMachines = {"arm64_iphoneos", "arm64_iphonesimulator",
                                                            "x86_64_iphoneos", "x86_64_iphonesimulator"};
constexpr std::array<std::string_view, 4> kAndroidMachines = {"armeabi_v7a", "arm64_v8a", "x86", "x86_64"};

template <std::size_t kCount>
bool IsOneOf(std::string_view text, const std::array<std::string_view, kCount>& list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// A tag of numbers: "macosx_11_0_arm64".
struct NumberedTag {
  std::vector<std::string_view> numbers;
  std::string_view machine;
};

/// nullopt unless `platform` is `system`, `count` numbers and a machine, joined by '_'.
std::optional<NumberedTag> ParseNumberedTag(std::string_view platform, std::string_view system,
                                            std::size_t count) {
  if (!platform.starts_with(system)) return std::nullopt;
  platform.remove_prefix(system.size());
  NumberedTag tag;
  while (tag.numbers.size() < count) {
    if (!platform.starts_with('_')) return std::nullopt;
    platform.remove_prefix(1);
    const std::string_view number = platform.substr(0, platform.find('_'));
    const bool digits =
        std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (number.empty() || !digits) return std::nullopt;
    tag.numbers.push_back(number);
    platform.remove_prefix(number.size());
  }
  if (!platform.starts_with('_')) return std::nullopt;
  tag.machine = platform.substr(1);
  return tag;
}

bool IsIndexLinux(std::string_view platform) {
  const auto glibc = ParseNumberedTag(platform, "manylinux", 2);
  if (glibc) return glibc->machine == "ppc64" || IsOneOf(glibc->machine, kLinuxMachines);
  const auto musl = ParseNumberedTag(platform, "musllinux", 2);
  return musl && IsOneOf(musl->machine, kLinuxMachines);
}

/// For macOS 10, only the second number grew, since 11 only the first.
bool IsIndexMac(std::string_view platform) {
  const auto tag = ParseNumberedTag(platform, "macosx", 2);
  if (!tag || !IsOneOf(tag->machine, kMacMachines)) return false;
  return tag->numbers[0] == "10" || (tag->numbers[1] == "0" && IsOneOf(tag->numbers[0], kMacVersions));
}

bool IsIndexPhone(std::string_view platform) {
  const auto phone = ParseNumberedTag(platform, "ios", 2);
  if (phone) return IsOneOf(phone->machine, kPhoneMachines);
  const auto android = ParseNumberedTag(platform, "android", 1);
  return android && IsOneOf(android->machine, kAndroidMachines);
}

bool IsIndexBrowser(std::string_view platform) {
  const auto tag = ParseNumberedTag(platform, "pyemscripten", 2);
  return tag && tag->machine.starts_with("wasm32");  // the index does not check the rest either
}

// Platforms that packaging 26.3 generates (packaging/tags.py, _manylinux.py, _musllinux.py), for any system.
constexpr std::array<std::string_view, 10> kManylinuxMachines = {
    "x86_64", "i686", "aarch64", "armv7l", "armv8l", "ppc64", "ppc64le", "s390x", "riscv64", "loongarch64"};
// The other names that `uname -m` has on Linux: UTS_MACHINE of the kernel's architectures, past and present.
constexpr std::array<std::string_view, 43> kOtherLinuxMachines = {
    "aarch64_be", "alpha",    "arc",         "armv4l",     "armv4tl", "armv5tejl", "armv5tel", "armv5tl",
    "armv6l",     "armv7b",   "armv7ml",     "armv8b",     "avr32",   "blackfin",  "c6x",      "cris",
    "csky",       "e2k",      "frv",         "hexagon",    "i386",    "i486",      "i586",     "ia64",
    "m32r",       "m68k",     "loongarch32", "microblaze", "mips",    "mips64",    "nios2",    "openrisc",
    "parisc",     "parisc64", "ppc",         "riscv32",    "s390",    "sh4",       "sh4a",     "sparc",
    "sparc64",    "tile",     "xtensa"};
// As sys.implementation._multiarch: x86_64 is the machine of the simulator only.
constexpr std::array<std::string_view, 3> kIosMachines = {"arm64_iphoneos", "arm64_iphonesimulator",
                                                          "x86_64_iphonesimulator"};
constexpr std::array<std::string_view, 5> kWindowsTags = {"win32", "win_amd64", "win_arm64", "win_arm32",
                                                          "win_ia64"};

bool IsLinuxMachine(std::string_view machine) {
  return IsOneOf(machine, kManylinuxMachines) || IsOneOf(machine, kOtherLinuxMachines);
}

/// The numbers of a tag; nullopt for one with leading zeros, because tags are compared as text.
std::optional<std::vector<unsigned>> PlainNumbers(const NumberedTag& tag) {
  std::vector<unsigned> numbers;
  for (const std::string_view text : tag.numbers) {
    const auto number = ParseNumber(text);
    if (!number || std::to_string(*number) != text) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

bool IsPossibleManylinux(std::string_view platform) {
  if (const auto tag = ParseNumberedTag(platform, "manylinux", 2)) {
    const auto numbers = PlainNumbers(*tag);
    const unsigned lowest = tag->machine == "x86_64" || tag->machine == "i686" ? 5 : 17;
    return numbers && IsOneOf(tag->machine, kManylinuxMachines) && (*numbers)[0] == 2 &&
           (*numbers)[1] >= lowest;
  }
  const std::string_view policy = platform.substr(0, platform.find('_'));
  const std::string_view machine = platform.substr(std::min(policy.size() + 1, platform.size()));
  if (policy == "manylinux2014") return IsOneOf(machine, kManylinuxMachines);
  return (policy == "manylinux1" || policy == "manylinux2010") && (machine == "x86_64" || machine == "i686");
}

bool IsPossibleLinux(std::string_view platform) {
  constexpr std::string_view kPlain = "linux_";
  if (platform.starts_with("manylinux")) return IsPossibleManylinux(platform);
  if (platform.starts_with(kPlain)) return IsLinuxMachine(platform.substr(kPlain.size()));
  const auto musl = ParseNumberedTag(platform, "musllinux", 2);
  const auto numbers = musl ? PlainNumbers(*musl) : std::nullopt;
  return numbers && (*numbers)[0] == 1 && IsLinuxMachine(musl->machine);
}

/// As _mac_binary_formats: processors that came and went with macOS 10.
bool IsPossibleMac(std::string_view platform) {
  constexpr unsigned kLastOf10 = 16;
  constexpr unsigned kFirstOfIntel = 4;
  constexpr unsigned kLastOfPowerPc64 = 5;
  constexpr unsigned kLastOfPowerPc = 6;
  constexpr std::array<std::string_view, 4> kIntelFormats = {"x86_64", "i386", "intel", "fat64"};
  constexpr std::array<std::string_view, 5> kOtherFormats = {"arm64", "fat", "fat3", "universal",
                                                             "universal2"};
  const auto tag = ParseNumberedTag(platform, "macosx", 2);
  const auto numbers = tag ? PlainNumbers(*tag) : std::nullopt;
  if (!numbers || (*numbers)[0] < 10) return false;
  const bool is_10 = (*numbers)[0] == 10;
  const unsigned minor = (*numbers)[1];
  // From 11 on, tags have the first number alone.
  if (is_10 ? minor > kLastOf10 : minor != 0) return false;
  if (tag->machine == "ppc64") return is_10 && minor >= kFirstOfIntel && minor <= kLastOfPowerPc64;
  if (tag->machine == "ppc") return is_10 && minor <= kLastOfPowerPc;
  if (IsOneOf(tag->machine, kIntelFormats)) return !is_10 || minor >= kFirstOfIntel;
  return IsOneOf(tag->machine, kOtherFormats);
}

bool IsPossiblePhone(std::string_view platform) {
  constexpr unsigned kOldestIos = 12;
  constexpr unsigned kLastMinorOfIos = 9;
  constexpr unsigned kOldestAndroid = 16;
  const bool is_ios = platform.starts_with("ios");
  const auto tag = ParseNumberedTag(platform, is_ios ? "ios" : "android", is_ios ? 2 : 1);
  const auto numbers = tag ? PlainNumbers(*tag) : std::nullopt;
  if (!numbers || (*numbers)[0] < (is_ios ? kOldestIos : kOldestAndroid)) return false;
  if (!is_ios) return IsOneOf(tag->machine, kAndroidMachines);
  return (*numbers)[1] <= kLastMinorOfIos && IsOneOf(tag->machine, kIosMachines);
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

bool IsDeviceMachine(std::uint16_t machine) {
  // TI C6000, Qualcomm Hexagon, NVIDIA CUDA, AMD GPU, Linux BPF (gABI, e_machine)
  constexpr std::array<std::uint16_t, 5> kDevices = {140, 164, 190, 224, 247};
  return std::find(kDevices.begin(), kDevices.end(), machine) != kDevices.end();
}

bool IsPossiblePlatform(std::string_view platform) {
  const std::string tag = ToLower(platform);
  const std::string_view system = std::string_view(tag).substr(0, tag.find('_'));
  if (system == "linux" || system.starts_with("manylinux") || system.starts_with("musllinux"))
    return IsPossibleLinux(tag);
  if (system == "macosx") return IsPossibleMac(tag);
  if (system.starts_with("win")) return IsOneOf(tag, kWindowsTags);
  return (system != "ios" && system != "android") || IsPossiblePhone(tag);
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

bool PyPiAcceptsPlatform(std::string_view platform) {
  return IsOneOf(platform, kWholeTags) || IsIndexLinux(platform) || IsIndexMac(platform) ||
         IsIndexPhone(platform) || IsIndexBrowser(platform);
}

std::optional<GlibcVersion> GlibcOf(std::string_view version) {
  for (const AbiName& abi : kAbiNames) {
    if (version == abi.name) return abi.since;
  }
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
  // Other families (GOMP, GFORTRAN) belong to libraries that a wheel brings itself.
  if (!rules->second.families.contains(family)) return {};
  const auto listed = rules->second.versions.find(version);
  if (listed != rules->second.versions.end()) return {.judged = true, .policy = listed->second};
  if (family == kGlibcFamily) {
    if (const auto glibc = GlibcOf(version); glibc && *glibc > rules->second.highest) {
      return {.judged = true, .policy = glibc};
    }
  }
  // In no list, like GLIBC_PRIVATE, so no policy admits it. auditwheel compares with the lists, too, and not
  // by order.
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
  // PEP 600 defines the three older names as aliases.
  if (const auto alias = aliases_.find(policy); alias != aliases_.end()) return alias->second;
  constexpr std::string_view kPrefix = "manylinux_";
  if (!policy.starts_with(kPrefix)) return std::nullopt;
  return GlibcVersion::Parse(ReplaceAll(policy.substr(kPrefix.size()), "_", "."));
}

}  // namespace ptpkg::verify
