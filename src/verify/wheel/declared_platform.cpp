// Wheels declare a platform by their tags, and conda packages by their dependencies and the subdir. An
// unpacked tree has the metadata of one of the two. Dependencies are version specs with many operators.
// Instead of solving them, OldestAdmitted tries each glibc 2.x and each processor level in order. There are
// few, and every operator works without a special case.

#include "verify/wheel/declared_platform.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "support/text/json.h"
#include "support/text/text.h"
#include "verify/declaration.h"
#include "versions/match_spec.h"
#include "versions/version_spec.h"
#include "wheel/wheel_file.h"

namespace ptpkg::verify {
namespace {

constexpr unsigned kHighestMinor = 99;  // no release plan reaches it: an end for the search

/// The oldest 2.x that `spec` ("2.17", ">=2.28,<3.0.a0") admits; nullopt when it admits all or none.
std::optional<GlibcVersion> OldestAdmitted(std::string_view spec) {
  for (unsigned minor = 0; minor <= kHighestMinor; ++minor) {
    const GlibcVersion version{2, minor};
    const auto admitted = versions::VersionMatches(version.str(), spec);
    if (!admitted) return std::nullopt;  // the check of dependencies reports it
    if (!*admitted) continue;
    // A spec that admits 2.0 declares nothing: it excludes no system.
    if (minor == 0) return std::nullopt;
    return version;
  }
  return std::nullopt;
}

/// "1=x86_64_v3" (version, build) and "* x86_64_v3" name the level in the build, which is the processor's
/// name.
elf::IsaLevel ParseLevel(std::string_view text) {
  if (text.find("x86_64_v4") != std::string_view::npos) return elf::IsaLevel::kV4;
  if (text.find("x86_64_v3") != std::string_view::npos) return elf::IsaLevel::kV3;
  if (text.find("x86_64_v2") != std::string_view::npos) return elf::IsaLevel::kV2;
  return elf::IsaLevel::kBaseline;
}

/// '_x86_64-microarch-level' has the levels as versions.
elf::IsaLevel OldestLevelAdmitted(std::string_view spec) {
  constexpr std::array<elf::IsaLevel, 4> kLevels = {elf::IsaLevel::kBaseline, elf::IsaLevel::kV2,
                                                    elf::IsaLevel::kV3, elf::IsaLevel::kV4};
  for (const elf::IsaLevel level : kLevels) {
    const auto admitted = versions::VersionMatches(fmt::format("{}", static_cast<int>(level)), spec);
    if (admitted && *admitted) return level;
  }
  return elf::IsaLevel::kBaseline;
}

std::string_view MachineOfSubdir(std::string_view subdir) {
  struct Row {
    std::string_view subdir;
    std::string_view machine;
  };
  constexpr std::array<Row, 8> kRows = {{{"linux-64", "x86_64"},
                                         {"linux-32", "i686"},
                                         {"linux-aarch64", "aarch64"},
                                         {"linux-armv7l", "armv7l"},
                                         {"linux-ppc64le", "ppc64le"},
                                         {"linux-riscv64", "riscv64"},
                                         {"linux-s390x", "s390x"},
                                         {"linux-ppc64", "ppc64"}}};
  const auto* const row =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.subdir == subdir; });
  return row == kRows.end() ? std::string_view() : row->machine;
}

bool IsIn(const std::string& path, std::string_view folder_suffix, std::string_view name) {
  const std::size_t slash = path.find('/');
  return slash != std::string::npos && path.substr(0, slash).ends_with(folder_suffix) &&
         path.substr(slash + 1) == name;
}

Result<DeclaredPlatform> DeclaredByWheelFile(Env& env, const AbsPath& path,
                                             const PlatformPolicies& policies) {
  PTPKG_TRY(const auto text, ReadDeclaration(env, path));
  if (!text) return DeclaredPlatform{};
  const auto file = wheel::ParseWheelFile(*text, path.str());
  if (!file) return DeclaredPlatform{};
  std::vector<std::string> platforms;
  for (const wheel::Tag& tag : file->tags) {
    for (std::string& platform : Split(tag.platform, '.')) platforms.push_back(std::move(platform));
  }
  return DeclaredByTags(policies, platforms);
}

Result<DeclaredPlatform> DeclaredByIndexJson(Env& env, const AbsPath& path) {
  PTPKG_TRY(const auto text, ReadDeclaration(env, path));
  if (!text) return DeclaredPlatform{};
  const auto index = ParseJson(*text, path.str());
  if (!index || !index->is_object()) return DeclaredPlatform{};
  std::vector<std::string> specs;
  for (const char* const key : {"depends", "constrains"}) {
    const auto texts = JsonStringsOr(*index, key, {}, path.str());
    if (texts) specs.insert(specs.end(), texts->begin(), texts->end());
  }
  const auto subdir = JsonStringOr(*index, "subdir", "", path.str());
  return DeclaredBySpecs(specs, subdir ? *subdir : std::string());
}

}  // namespace

DeclaredPlatform DeclaredByTags(const PlatformPolicies& policies, const std::vector<std::string>& platforms) {
  DeclaredPlatform promise{.kind = DeclarationSource::kWheel, .words = {}, .glibc = {}, .machines = {}};
  bool only_musl = !platforms.empty();
  for (const std::string& platform : platforms) {
    only_musl = only_musl && platform.starts_with("musllinux_");
    if (const std::string_view machine = MachineOfTag(platform); !machine.empty()) {
      promise.machines.emplace(machine);
    }
    const auto glibc = policies.PolicyOfTag(platform);
    // An installer accepts the wheel by any of its tags, so the lowest of them is the declaration.
    if (!glibc || (promise.glibc && *promise.glibc <= *glibc)) continue;
    promise.glibc = glibc;
    promise.words = fmt::format("the tag '{}'", platform);
  }
  promise.musl = only_musl;
  if (promise.words.empty()) promise.words = fmt::format("the tag '{}'", Join(platforms, "."));
  return promise;
}

DeclaredPlatform DeclaredBySpecs(const std::vector<std::string>& specs, const std::string& subdir) {
  DeclaredPlatform promise{.kind = DeclarationSource::kConda, .words = {}, .glibc = {}, .machines = {}};
  for (const std::string& text : specs) {
    const auto spec = versions::NormalizeMatchSpec(text);
    if (!spec) continue;  // the check of dependencies reports it
    const std::string name(versions::MatchSpecName(*spec));
    const std::vector<std::string> fields = Split(*spec, ' ');
    const std::string version = fields.size() > 1 ? fields[1] : "";
    promise.specs[name].push_back(version);
    if (name == "__glibc") {
      const auto oldest = OldestAdmitted(version);
      // A package needs all of its dependencies, so the highest bound counts here.
      if (!oldest || (promise.glibc && *oldest <= *promise.glibc)) continue;
      promise.glibc = oldest;
      promise.words = fmt::format("the dependency '{}'", *spec);
    } else if (name == "__archspec") {
      promise.isa = std::max(promise.isa, ParseLevel(*spec));
    } else if (name == "_x86_64-microarch-level") {
      promise.isa = std::max(promise.isa, OldestLevelAdmitted(version));
    }
  }
  if (const std::string_view machine = MachineOfSubdir(subdir); !machine.empty()) {
    promise.machines.emplace(machine);
  }
  if (promise.words.empty()) promise.words = fmt::format("the subdir '{}'", subdir);
  return promise;
}

Result<DeclaredPlatform> DeclaredByTree(Env& env, const ElfTree& tree, const PlatformPolicies& policies) {
  for (const RelPath& path : tree.files) {
    if (IsIn(path.str(), ".dist-info", "WHEEL")) return DeclaredByWheelFile(env, tree.root / path, policies);
    if (path.str() == "info/index.json") return DeclaredByIndexJson(env, tree.root / path);
  }
  return DeclaredPlatform{};
}

}  // namespace ptpkg::verify
