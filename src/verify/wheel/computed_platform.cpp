// The tag follows from the file with the highest needs. A tag is for one machine and one C library, so files
// for several of them are an error. Symbols alone are not enough. If a library comes from neither wheel,
// policy, driver nor dependency, the tag is linux_<machine>. Such a wheel runs only where somebody has
// installed it. musl has no symbol versions, so the files cannot tell which musllinux tag they need.

#include "verify/wheel/computed_platform.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "support/text/globs.h"
#include "support/text/text.h"
#include "verify/elf/elf_tables.h"
#include "verify/wheel/declared_platform.h"
#include "verify/wheel/policy_libraries.h"

namespace ptpkg::verify {
namespace {

constexpr std::string_view kMuslPolicy = "musllinux_1_2";

/// Common values of the files.
struct Common {
  std::string machine;  // "" when none says one
  bool musl = false;
};

Result<Common> CommonOf(const std::vector<FileNeeds>& files) {
  Common common;
  const FileNeeds* musl = nullptr;
  const FileNeeds* glibc = nullptr;
  for (const FileNeeds& file : files) {
    if (file.machine.empty()) continue;  // device code
    if (!common.machine.empty() && common.machine != file.machine) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}' is for {}, other files for {}: no platform tag covers both", file.file,
                               file.machine, common.machine));
    }
    common.machine = file.machine;
    if (file.uses_musl) musl = &file;
    if (file.uses_glibc) glibc = &file;
  }
  if (musl != nullptr && glibc != nullptr) {
    return Error(
        ErrorCode::kInvalidInput,
        fmt::format("'{}' needs musl and '{}' glibc: no platform tag covers both", musl->file, glibc->file));
  }
  common.musl = musl != nullptr;
  return common;
}

/// Libraries that come from neither the tree, the policy, a driver, nor a dependency.
Result<std::vector<std::string>> External(const std::vector<FileNeeds>& files,
                                          const std::vector<std::string>& dependencies, bool musl) {
  PTPKG_TRY(const PolicyLibraries libraries, PolicyLibraries::BuiltIn());
  std::vector<std::string> reasons;
  for (const FileNeeds& file : files) {
    for (const auto& [name, found] : file.needed) {
      // The newest policy counts here. Libraries that only newer policies list have raised the tag already.
      const bool of_policy =
          musl ? libraries.IsOfMusllinux(name) : libraries.IsOfManylinux(name, std::nullopt);
      if (!found.empty() || of_policy || MatchesAnyGlob(DriverLibraries(), name)) continue;
      if (FindProvider(dependencies, name).known) continue;
      reasons.push_back(
          fmt::format("'{}' needs '{}', which no policy expects on the system", file.file, name));
    }
  }
  return reasons;
}

std::string UsesInternal(const FileNeeds& file) {
  return fmt::format("uses '{}', which no policy allows", Join(file.internal_symbols, "', '"));
}

/// Reason why `file` does not run on `platform`, one plain tag; "" if it does.
std::string PlatformConflict(const FileNeeds& file, const std::string& platform,
                             const PlatformPolicies& policies) {
  if (file.machine.empty()) return {};
  if (const std::string_view machine = MachineOfTag(platform); machine != file.machine)
    return fmt::format("is for {}", file.machine);
  if (platform.starts_with("musllinux_")) {
    if (file.uses_glibc) return "needs glibc";
    return file.internal_symbols.empty() ? "" : UsesInternal(file);
  }
  const auto promised = policies.PolicyOfTag(platform);
  if (!promised) return {};
  if (file.uses_musl) return "needs musl";
  if (!file.fits_policy) return fmt::format("requires {}, which no policy allows", file.LimitingNames());
  if (!file.policy || *file.policy <= *promised) return {};
  return fmt::format("needs '{}', because of {}", file.PolicyTag(), file.LimitingNames());
}

bool IsOfOtherSystem(const std::string& platform) {
  return platform != "any" && MachineOfTag(platform).empty();
}

}  // namespace

bool IsForOtherSystems(const std::string& platform) {
  const std::vector<std::string> plain = Split(platform, '.');
  return std::any_of(plain.begin(), plain.end(), IsOfOtherSystem);
}

bool CodeMayBeFor(const std::string& platform, const std::set<MachineCode>& code) {
  struct System {
    std::string_view prefix;
    MachineCode code;
  };
  constexpr std::array<System, 7> kSystems = {{{"win32", MachineCode::kPe},
                                               {"win_", MachineCode::kPe},
                                               {"macosx_", MachineCode::kMachO},
                                               {"ios_", MachineCode::kMachO},
                                               {"emscripten_", MachineCode::kWasm},
                                               {"pyemscripten_", MachineCode::kWasm},
                                               {"pyodide_", MachineCode::kWasm}}};
  for (const System& system : kSystems) {
    if (platform.starts_with(system.prefix))
      return code.contains(system.code) || code.contains(MachineCode::kObjects);
  }
  return !code.empty();
}

Result<ComputedPlatform> ComputePlatformFromSymbols(const std::vector<FileNeeds>& files) {
  PTPKG_TRY(const Common common, CommonOf(files));
  if (common.machine.empty()) return ComputedPlatform{};
  ComputedPlatform computed{
      .machine = common.machine, .musl = common.musl, .tag = "linux_" + common.machine, .reasons = {}};
  if (common.musl) {
    for (const FileNeeds& file : files) {
      if (file.internal_symbols.empty()) continue;
      computed.reasons.push_back(fmt::format("'{}' {}", file.file, UsesInternal(file)));
    }
    if (computed.reasons.empty()) computed.tag = fmt::format("{}_{}", kMuslPolicy, common.machine);
    return computed;
  }
  for (const FileNeeds& file : files) {
    if (file.machine.empty()) continue;
    if (!file.fits_policy) {
      computed.reasons.push_back(
          fmt::format("'{}' requires {}, which no policy allows", file.file, file.LimitingNames()));
    } else if (file.policy && (!computed.set_by || *computed.set_by->policy < *file.policy)) {
      computed.set_by = file;
    }
  }
  if (!computed.reasons.empty()) return computed;
  if (!computed.set_by) {  // no policy knows the machine
    computed.reasons.push_back(fmt::format("there is no manylinux policy for {}", common.machine));
    return computed;
  }
  computed.tag = computed.set_by->PolicyTag();
  if (!computed.set_by->set_by.empty() || !computed.set_by->set_by_names.empty())
    computed.reasons.push_back(
        fmt::format("'{}' needs {}", computed.set_by->file, computed.set_by->LimitingNames()));
  return computed;
}

Result<ComputedPlatform> ComputePlatform(const std::vector<FileNeeds>& files,
                                         const std::vector<std::string>& dependencies) {
  PTPKG_TRY(ComputedPlatform computed, ComputePlatformFromSymbols(files));
  PTPKG_TRY(std::vector<std::string> external, External(files, dependencies, computed.musl));
  if (computed.machine.empty() || external.empty()) return computed;
  computed.tag = "linux_" + computed.machine;
  computed.reasons = std::move(external);
  return computed;
}

Result<void> CheckPlatformFits(const std::vector<FileNeeds>& files, const std::string& platform,
                               const std::set<MachineCode>& code) {
  PTPKG_TRY(const PlatformPolicies policies, PlatformPolicies::BuiltIn());
  constexpr std::size_t kNamed = 10;
  std::size_t unfit = 0;
  std::string lines;
  const bool no_machine =
      std::all_of(files.begin(), files.end(), [](const FileNeeds& file) { return file.machine.empty(); });
  for (const std::string& plain : Split(platform, '.')) {
    if (no_machine && !MachineOfTag(plain).empty()) {
      return Error(ErrorCode::kCheckFailed,
                   fmt::format("cannot use the platform tag '{}': no file is for Linux", plain))
          .WithHint("remove --platform, or use --platform auto: the wheel is for any machine");
    }
    if (IsOfOtherSystem(plain) && !CodeMayBeFor(plain, code)) {
      return Error(ErrorCode::kCheckFailed,
                   fmt::format("cannot use the platform tag '{}': no file has code for that system", plain))
          .WithHint("use --platform auto, or set the tag unchecked: ptpkg retag --platform TAG --no-check");
    }
    for (const FileNeeds& file : files) {
      const std::string reason = PlatformConflict(file, plain, policies);
      // All files are judged, but only the first ten are named.
      if (reason.empty() || ++unfit > kNamed) continue;
      lines += fmt::format("\n    '{}' {}", file.file, reason);
    }
  }
  if (unfit == 0) return Ok();
  if (unfit > kNamed) lines += fmt::format("\n    and {} more", unfit - kNamed);
  return Error(ErrorCode::kCheckFailed,
               fmt::format("the files do not satisfy the platform tag '{}':{}", platform, lines))
      .WithHint("build on an older system, or use the tag that the files satisfy: --platform auto");
}

std::string PlatformAfter(const PlatformPolicies& policies, const std::string& now,
                          const ComputedPlatform& computed) {
  const std::vector<std::string> platforms = Split(now, '.');
  const auto promise = DeclaredByTags(policies, platforms);
  const auto due = policies.PolicyOfTag(computed.tag);
  const bool same_machine = std::all_of(platforms.begin(), platforms.end(), [&](const std::string& platform) {
    return MachineOfTag(platform) == computed.machine;
  });
  // Which musllinux it is no symbol tells: what the wheel says is as good.
  const bool same_system =
      computed.tag.starts_with("musllinux_") ? promise.musl : due && promise.glibc == due;
  return same_system && same_machine ? now : computed.tag;
}

}  // namespace ptpkg::verify
