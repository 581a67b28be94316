// Conda packages get libstdc++ and libgcc_s from other packages, whose versions are releases of GCC. Symbol
// versions tell which release a file needs. A dependency is good only if it excludes all releases below that
// one, because the solver can choose any that is left. Wheels are not checked here: they take these libraries
// from the system, which the manylinux policy covers.

#include "verify/elf/runtime_checks.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "support/text/globs.h"
#include "support/text/text.h"
#include "support/text/yaml.h"
#include "verify/elf/elf_tables.h"
#include "verify/file_findings.h"
#include "verify/runtime_versions_yaml.h"  // generated from data/runtime_versions.yaml
#include "versions/version_spec.h"

namespace ptpkg::verify {
namespace {

/// One library, as the table has it.
struct Runtime {
  std::string library;
  std::vector<std::string> packages;
  std::vector<std::string> releases;              // oldest first; the baseline is the first
  std::map<std::string, std::size_t> introduced;  // symbol version → index of its release
};

Result<std::vector<Runtime>> ReadRuntimes() {
  PTPKG_TRY(const YamlNode root, ParseYaml(kRuntimeVersionsYaml, "runtime_versions.yaml"));
  const YamlNode* const baseline = root.Find("baseline");
  const YamlNode* const libraries = root.Find("libraries");
  if (baseline == nullptr || libraries == nullptr)
    return Error(ErrorCode::kInvalidInput, "the table has no 'baseline' or 'libraries'").At(root.span);
  std::vector<Runtime> table;
  for (const YamlEntry& entry : libraries->entries) {
    Runtime runtime{.library = entry.key, .packages = {}, .releases = {baseline->scalar}, .introduced = {}};
    const YamlNode* const packages = entry.value.Find("packages");
    const YamlNode* const versions = entry.value.Find("versions");
    if (packages == nullptr || versions == nullptr)
      return Error(ErrorCode::kInvalidInput, "a library has 'packages' and 'versions'").At(entry.value.span);
    runtime.packages = Split(packages->scalar, ' ');
    for (const YamlEntry& release : versions->entries) {
      for (std::string& version : Split(release.value.scalar, ' '))
        runtime.introduced[std::move(version)] = runtime.releases.size();
      runtime.releases.push_back(release.key);
    }
    table.push_back(std::move(runtime));
  }
  return table;
}

/// A release below `release` that every later patch of the one before it is below: "12.99" for "13",
/// "13.1.99" for "13.2".
std::string JustBelow(const std::string& release) {
  const std::size_t dot = release.rfind('.');
  const int last = std::atoi(release.substr(dot == std::string::npos ? 0 : dot + 1).c_str());
  return fmt::format("{}{}.99", dot == std::string::npos ? "" : release.substr(0, dot + 1), last - 1);
}

bool AdmitsAll(const std::vector<std::string>& specs, const std::string& version) {
  return std::all_of(specs.begin(), specs.end(), [&](const std::string& spec) {
    const auto admitted = versions::VersionMatches(version, spec);
    return !admitted || *admitted;  // the check of dependencies reports what is no spec
  });
}

/// True if `specs` exclude all releases below number `needed`.
bool ExcludesOlderReleases(const Runtime& runtime, const std::vector<std::string>& specs,
                           std::size_t needed) {
  // The table has only releases with new versions. This release stands for all patches between two of them.
  if (AdmitsAll(specs, JustBelow(runtime.releases[needed]))) return false;
  for (std::size_t i = 0; i < needed; ++i) {
    if (AdmitsAll(specs, runtime.releases[i])) return false;
  }
  return true;
}

void CheckMember(const Runtime& runtime, const DeclaredPlatform& promise, const ElfMember& member,
                 FileFindings findings) {
  std::size_t needed = 0;
  std::string version;
  for (const elf::RequiredVersion& required : member.required_versions) {
    const auto known = runtime.introduced.find(required.version);
    if (required.library != runtime.library || known == runtime.introduced.end() || known->second <= needed)
      continue;
    needed = known->second;
    version = required.version;
  }
  if (needed == 0) return;
  const std::string& release = runtime.releases[needed];
  std::string admitting;
  bool is_declared = false;
  for (const std::string& package : runtime.packages) {
    const auto specs = promise.specs.find(package);
    if (specs == promise.specs.end()) continue;
    // Several packages have the library (libstdcxx, libstdcxx-ng). One that excludes the older releases is
    // enough.
    if (ExcludesOlderReleases(runtime, specs->second, needed)) return;
    is_declared = true;
    admitting = package;
    if (const std::string limits = Join(specs->second, ","); !limits.empty()) admitting += " " + limits;
  }
  const std::string fix = fmt::format(
      "depend on '{} >={}', build with an older compiler, or expect '{}' on the machine with "
      "extra.ptpkg.allow_unresolved",
      runtime.packages.front(), release, runtime.library);
  if (is_declared) {
    findings.Add(
        "elf-runtime-floor", Severity::kError,
        fmt::format("needs {} of GCC {}, because of '{}', but the dependency '{}' allows an older one",
                    runtime.library, release, version, admitting),
        fix);
  } else {
    findings.Add("elf-runtime-undeclared", Severity::kWarning,
                 fmt::format("needs {} of GCC {}, because of '{}', but no dependency provides it",
                             runtime.library, release, version),
                 fix);
  }
}

}  // namespace

Result<void> CheckRuntimes(const ElfTree& tree, const DeclaredPlatform& promise, const CheckOptions& options,
                           std::vector<Finding>& findings) {
  if (promise.kind != DeclarationSource::kConda) return Ok();
  // Parsed once per process, since a check of a channel comes here for each package.
  static const Result<std::vector<Runtime>> kTable = ReadRuntimes();
  if (!kTable) return kTable.error();
  for (const Runtime& runtime : *kTable) {
    const bool is_allowed = MatchesAnyGlob(options.allow_unresolved, runtime.library) ||
                            MatchesAnyGlob(options.allowed_by_package, runtime.library);
    if (is_allowed || tree.by_name.contains(runtime.library)) continue;
    for (const ElfMember& member : tree.members)
      CheckMember(runtime, promise, member, FileFindings(findings, member));
  }
  return Ok();
}

}  // namespace ptpkg::verify
