// Measures the oldest system that runs a file, and compares it with the declaration of the artifact.
// 1. Floor collects each requirement: symbol versions of glibc and its companions, features of the loader
// that
//    no version names, libraries of a policy, and symbols outside their interface. It keeps the highest
//    policy and everything that needs it, so that the message can name the cause.
// 2. A wheel is compared with the policy of its tag (PEP 600), a conda package with its '__glibc' dependency,
//    or with the baseline of conda if it has none.
// 3. C library, machine and instruction set are compared with the declared platform.
// Versions of libraries that the tree itself holds don't count, since no system has to provide them.
// Invariant: once one requirement fits no policy (fits_policy is false), only such requirements are kept as
// the cause.

#include "verify/rules/minimum_version_checks.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>
#include <tuple>

#include "support/text/text.h"
#include "verify/file_findings.h"

namespace ptpkg::verify {
namespace {

/// Collects the requirements of a file, and keeps the highest so far in set_by and set_by_names.
class Floor {
 public:
  Floor(FileNeeds& needs, const PlatformPolicies& policies) : needs_(needs), policies_(policies) {
    needs_.policy = policies.Lowest(needs.machine);
  }

  void Add(const elf::RequiredVersion& required) {
    if (const auto glibc = GlibcOf(required.version); glibc && (!needs_.glibc || *needs_.glibc < *glibc)) {
      needs_.glibc = glibc;
    }
    const auto verdict = policies_.Judge(needs_.machine, required.version);
    if (verdict.judged && Sets(verdict.policy)) needs_.set_by.push_back(required);
  }

  /// No symbol version states these.
  void AddLoader(const elf::LoaderNeed& need) {
    const GlibcVersion version{2, need.minor};
    const auto lowest = policies_.Lowest(needs_.machine);
    if (lowest && version <= *lowest) return;
    if (!needs_.glibc || *needs_.glibc < version) needs_.glibc = version;
    AddNamed(version, std::string(need.what));
  }

  /// `policy`: the lowest that admits `what`; nullopt: none does.
  void AddNamed(const std::optional<GlibcVersion>& policy, const std::string& what) {
    const auto lowest = policies_.Lowest(needs_.machine);
    if (!lowest || (policy && *policy <= *lowest)) return;
    if (Sets(policy)) needs_.set_by_names.push_back(what);
  }

 private:
  /// Raises the file's policy; whether what asks for `policy` is among what sets it.
  bool Sets(const std::optional<GlibcVersion>& policy) {
    const bool counts = !policy || (needs_.fits_policy && *policy >= *needs_.policy);
    if (!counts) return false;
    const bool higher = policy ? *policy > *needs_.policy : needs_.fits_policy;
    if (higher) {
      needs_.set_by.clear();
      needs_.set_by_names.clear();
    }
    needs_.fits_policy = policy.has_value();
    needs_.policy = policy;
    return true;
  }

  FileNeeds& needs_;
  const PlatformPolicies& policies_;
};

bool Needs(const ElfMember& member, std::string_view glob) {
  return std::any_of(member.facts.needed.begin(), member.facts.needed.end(),
                     [&](const std::string& name) { return GlobMatch(glob, name); });
}

/// Libraries of the system, and what is used of them beyond their interface.
void AddLibraries(const ElfTree& tree, const ElfMember& member, const PolicyLibraries& libraries,
                  FileNeeds& needs, Floor& floor) {
  for (const std::string& name : member.facts.needed) {
    if (tree.by_name.contains(name)) continue;
    if (const auto policy = libraries.OldestManylinux(name)) floor.AddNamed(policy, name);
  }
  for (const auto& [library, symbols] : member.internal_symbols) {
    if (tree.by_name.contains(library)) continue;
    for (const std::string& symbol : symbols) {
      const auto verdict = libraries.FindForbiddenSymbol(library, symbol, needs.uses_musl);
      if (!verdict.forbidden) continue;
      const std::string what = fmt::format("{} of {}", symbol, library);
      floor.AddNamed(verdict.until, what);
      if (!verdict.until) needs.internal_symbols.push_back(what);
    }
  }
}

FileNeeds Measure(const ElfTree& tree, const ElfMember& member, const PlatformPolicies& policies,
                  const PolicyLibraries& libraries) {
  FileNeeds needs{.file = member.path.str(),
                  .machine = std::string(MachineName(member.machine, member.order)),
                  .glibc = {},
                  .policy = {},
                  .isa = member.isa,
                  .set_by = {},
                  .symbols = {}};
  const std::string interpreter = member.facts.interpreter.value_or("");
  // musl's libc is libc.so upstream, and libc.musl-x86_64.so.1 in Alpine. glibc's libc.so is a linker script,
  // which no file needs at run time.
  needs.uses_musl = Needs(member, "libc.musl-*.so.1") || Needs(member, "libc.so") ||
                    interpreter.find("/ld-musl-") != std::string::npos;
  needs.uses_glibc = Needs(member, "libc.so.6") || Needs(member, "libm.so.6");
  Floor floor(needs, policies);
  for (const elf::RequiredVersion& required : member.required_versions) {
    // A library that the tree brings itself has its own version, whatever the system has.
    if (tree.by_name.contains(required.library)) continue;
    floor.Add(required);
    needs.uses_glibc = needs.uses_glibc || required.version.starts_with("GLIBC_");
  }
  AddLibraries(tree, member, libraries, needs, floor);
  // These needs are versions of glibc's loader. musl's loader has none.
  if (!needs.uses_musl) {
    for (const elf::LoaderNeed& need : member.loader_needs) floor.AddLoader(need);
  }
  return needs;
}

/// "GLIBC_2.34" → those versions of set_by that matter when only the C library counts.
std::vector<elf::RequiredVersion> SetByGlibc(const ElfMember& member, const GlibcVersion& glibc) {
  std::vector<elf::RequiredVersion> versions;
  for (const elf::RequiredVersion& required : member.required_versions) {
    if (GlibcOf(required.version) == glibc) versions.push_back(required);
  }
  return versions;
}

/// The symbols that are bound to `versions`, "name@version".
std::vector<std::string> NameSymbols(const ElfMember& member,
                                     const std::vector<elf::RequiredVersion>& versions) {
  std::vector<std::string> names;
  for (const elf::BoundSymbol& symbol : member.bound_symbols) {
    const auto version = std::find_if(versions.begin(), versions.end(),
                                      [&](const auto& required) { return required.index == symbol.index; });
    if (version != versions.end()) names.push_back(fmt::format("{}@{}", symbol.name, version->version));
  }
  return names;
}

/// "'a@GLIBC_2.34', 'b@GLIBC_2.34'", or the versions alone where no symbol is bound to them.
std::string LimitingNames(const std::vector<std::string>& symbols,
                          const std::vector<elf::RequiredVersion>& versions) {
  if (!symbols.empty()) return fmt::format("'{}'", Join(symbols, "', '"));
  std::vector<std::string> names;
  for (const elf::RequiredVersion& version : versions) names.push_back(version.version);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return fmt::format("'{}'", Join(names, "', '"));
}

std::string BecauseOfLoader(const ElfMember& member, const GlibcVersion& glibc) {
  std::vector<std::string> names;
  for (const elf::LoaderNeed& need : member.loader_needs) {
    if (need.minor == glibc.minor) names.emplace_back(need.what);
  }
  return fmt::format("'{}'", Join(names, "', '"));
}

void CheckWheelFloor(const MinimumVersionContext& context, const ElfMember& member, FileNeeds& needs,
                     FileFindings findings) {
  const auto& promised = context.promise.glibc;
  if (context.promise.musl && !needs.internal_symbols.empty()) {
    findings.Add(
        "elf-glibc-floor", Severity::kError,
        fmt::format("uses '{}', which no musllinux policy allows", Join(needs.internal_symbols, "', '")),
        "bundle the library in the wheel under another name: ptpkg repair");
    return;
  }
  // PEP 600: the tag names the oldest glibc on which the files run.
  if (!promised || (needs.fits_policy && (!needs.policy || *needs.policy <= *promised))) return;
  needs.symbols = NameSymbols(member, needs.set_by);
  const std::string because = needs.LimitingNames();
  findings.Add("elf-glibc-floor", Severity::kError,
               needs.fits_policy ? fmt::format("needs '{}', because of {}, but {} declares less",
                                               needs.PolicyTag(), because, context.promise.words)
                                 : fmt::format("requires {}, which no manylinux policy allows", because),
               "build on an older system that matches the tag, or raise the tag");
}

void CheckCondaFloor(const MinimumVersionContext& context, const ElfMember& member, FileNeeds& needs,
                     FileFindings findings) {
  const auto& promised = context.promise.glibc;
  // Without a '__glibc' dependency the solver installs the package on any system.
  const GlibcVersion granted = promised.value_or(context.policies.conda_baseline());
  if (!needs.glibc || *needs.glibc <= granted) return;
  const std::vector<elf::RequiredVersion> versions = SetByGlibc(member, *needs.glibc);
  needs.symbols = NameSymbols(member, versions);
  const std::string because =
      versions.empty() ? BecauseOfLoader(member, *needs.glibc) : LimitingNames(needs.symbols, versions);
  const std::string fix =
      fmt::format("depend on '__glibc >={},<3.0.a0', or build with an older sysroot", needs.glibc->str());
  if (promised) {
    findings.Add("elf-glibc-floor", Severity::kError,
                 fmt::format("needs glibc {}, because of {}, but {} declares less", needs.glibc->str(),
                             because, context.promise.words),
                 fix);
  } else {
    findings.Add(
        "elf-glibc-undeclared", Severity::kWarning,
        fmt::format("needs glibc {}, because of {}, but no '__glibc' dependency excludes older systems",
                    needs.glibc->str(), because),
        fix);
  }
}

void CheckLibc(const DeclaredPlatform& promise, const FileNeeds& needs, FileFindings findings) {
  if (promise.kind != DeclarationSource::kWheel) return;
  constexpr std::string_view kFix = "use a tag for the C library of its files";
  if (promise.musl && needs.uses_glibc) {
    findings.Add("elf-libc-mismatch", Severity::kError,
                 fmt::format("is linked with glibc, but {} is for systems with musl", promise.words),
                 std::string(kFix));
  } else if (promise.glibc && needs.uses_musl && !needs.uses_glibc) {
    findings.Add("elf-libc-mismatch", Severity::kError,
                 fmt::format("is linked with musl, but {} is for systems with glibc", promise.words),
                 std::string(kFix));
  }
}

void CheckMachine(const DeclaredPlatform& promise, const FileNeeds& needs, const ElfMember& member,
                  FileFindings findings) {
  if (promise.machines.empty() || IsDeviceMachine(member.machine) || promise.machines.contains(needs.machine))
    return;
  const std::vector<std::string> machines(promise.machines.begin(), promise.machines.end());
  const std::string machine =
      needs.machine.empty() ? fmt::format("machine number {}", member.machine) : needs.machine;
  findings.Add("elf-machine-mismatch", Severity::kError,
               fmt::format("is built for {}, but the artifact is for {}", machine, Join(machines, ", ")),
               "build the file for the machine that the artifact is for");
}

/// The loader looks into glibc-hwcaps/x86-64-vN only on a processor of that level.
elf::IsaLevel LevelOfFolder(std::string_view path) {
  for (const elf::IsaLevel level : {elf::IsaLevel::kV4, elf::IsaLevel::kV3, elf::IsaLevel::kV2}) {
    const std::string folder = fmt::format("glibc-hwcaps/{}/", elf::IsaLevelName(level));
    if (path.find(folder) != std::string_view::npos) return level;
  }
  return elf::IsaLevel::kBaseline;
}

void CheckIsa(const DeclaredPlatform& promise, const FileNeeds& needs, FileFindings findings) {
  const elf::IsaLevel allowed = std::max(promise.isa, LevelOfFolder(needs.file));
  if (needs.isa <= allowed) return;
  findings.Add("elf-isa-level", Severity::kError,
               fmt::format("requires {}, but only {} is guaranteed", elf::IsaLevelName(needs.isa),
                           elf::IsaLevelName(allowed)),
               promise.kind == DeclarationSource::kConda
                   ? fmt::format("depend on '_x86_64-microarch-level >={}', or compile for x86-64",
                                 static_cast<int>(needs.isa))
                   : "compile for x86-64 and select faster code at run time: wheel installers don't check "
                     "the processor");
}

}  // namespace

std::string FileNeeds::PolicyTag() const {
  if (!policy || machine.empty()) return {};
  return fmt::format("manylinux_{}_{}_{}", policy->major, policy->minor, machine);
}

std::string FileNeeds::LimitingNames() const {
  std::vector<std::string> names = symbols;
  if (names.empty()) {
    std::set<std::string> versions;
    for (const elf::RequiredVersion& required : set_by) versions.insert(required.version);
    names.assign(versions.begin(), versions.end());
  }
  names.insert(names.end(), set_by_names.begin(), set_by_names.end());
  return fmt::format("'{}'", Join(names, "', '"));
}

std::vector<FileNeeds> MeasureNeeds(const ElfTree& tree, const PlatformPolicies& policies,
                                    const PolicyLibraries& libraries) {
  std::vector<FileNeeds> needs;
  for (const ElfMember& member : tree.members) needs.push_back(Measure(tree, member, policies, libraries));
  return needs;
}

std::optional<std::size_t> HighestNeeds(const std::vector<FileNeeds>& needs) {
  std::optional<std::size_t> highest;
  const auto rank = [](const FileNeeds& file) {
    return std::tuple(!file.fits_policy, file.policy, file.glibc);
  };
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (!needs[i].glibc && needs[i].set_by.empty() && needs[i].set_by_names.empty()) continue;
    if (!highest || rank(needs[*highest]) < rank(needs[i])) highest = i;
  }
  return highest;
}

Result<void> CheckMinimumVersions(const MinimumVersionContext& context, std::vector<FileNeeds>& needs,
                                  std::vector<Finding>& findings) {
  const DeclaredPlatform& promise = context.promise;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    PTPKG_CHECK(context.env.cancel.Check());
    const ElfMember& member = context.tree.members[i];
    const FileFindings here(findings, member);
    if (promise.kind == DeclarationSource::kWheel) CheckWheelFloor(context, member, needs[i], here);
    if (promise.kind == DeclarationSource::kConda) CheckCondaFloor(context, member, needs[i], here);
    CheckLibc(promise, needs[i], here);
    CheckMachine(promise, needs[i], member, here);
    CheckIsa(promise, needs[i], here);
  }
  const auto highest = HighestNeeds(needs);
  if (!highest || !needs[*highest].symbols.empty()) return Ok();
  const ElfMember& member = context.tree.members[*highest];
  FileNeeds& file = needs[*highest];
  const bool only_glibc = promise.kind == DeclarationSource::kConda && file.glibc;
  file.symbols = NameSymbols(member, only_glibc ? SetByGlibc(member, *file.glibc) : file.set_by);
  return Ok();
}

}  // namespace ptpkg::verify
