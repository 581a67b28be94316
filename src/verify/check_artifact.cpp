// One examination goes from the outside to the inside: the container, the rules of the format, names, ELF
// files. The severities come last, because profile and targets change findings of all these checks.
// - A wheel or zip is not unpacked. Each member is inflated once in memory, and later checks open members
//   through the environment of ZipTree.
// - A conda package is unpacked, because its files must be seen the way they are installed, with the prefix
//   replaced.
//
// Conclude sorts before it limits, so the listed findings do not depend on the order of the checks.

#include "verify/check_artifact.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <set>
#include <tuple>

#include "archive/extract.h"
#include "model/artifact.h"
#include "support/files/scratch.h"
#include "support/text/case_collisions.h"
#include "support/text/globs.h"
#include "support/text/text.h"
#include "verify/conda/conda_checks.h"
#include "verify/elf/elf_tables.h"
#include "verify/rules/build_path_checks.h"
#include "verify/rules/tree_checks.h"
#include "verify/rules/zip_checks.h"
#include "verify/rules/zip_container.h"
#include "verify/wheel/computed_platform.h"
#include "verify/wheel/upload_checks.h"
#include "verify/wheel/wheel_checks.h"
#include "verify/wheel/wheel_layout_checks.h"
#include "verify/wheel/wheel_tag_checks.h"
#include "wheel/file_name.h"

namespace ptpkg::verify {
namespace {

ContainerRule WheelContainer(const std::vector<Target>& targets) {
  ContainerRule rule = {.id = "wheel-zip",
                        .fix = "rebuild the wheel with a tool that follows the rules of package indexes"};
  if (!targets.empty()) rule.targets = ConsumersOf(targets);
  return rule;
}

/// Rules for wheels besides those for all artifacts.
struct WheelRules {
  ContainerRule container;
  bool uploaded = false;  ///< To the public index.
  std::uint64_t size_bytes = 0;
};

/// Reads a wheel and checks it; null when it cannot be read.
Result<std::unique_ptr<ZipTree>> CheckWheel(Env& env, const AbsPath& wheel, const ZipReading& reading,
                                            const WheelRules& rules, std::vector<Finding>& findings) {
  // First, because a zip that ptpkg cannot read also needs the finding that explains why.
  PTPKG_CHECK(CheckZipContainer(env, wheel, rules.container, findings));
  PTPKG_TRY(std::unique_ptr<ZipTree> zip, ZipTree::Read(env, wheel, reading, findings));
  if (!zip) return zip;
  PTPKG_TRY(const WheelContent content, CheckWheelContent(zip->env(), wheel, zip->tree(), findings));
  PTPKG_TRY(const archive::ZipReader reader, archive::ZipReader::Open(env.fs, wheel));
  CheckWheelFolders(reader.members(), content.scripts, findings);
  if (rules.uploaded) {
    const UploadedFile file{
        .name = wheel.Name(), .size_bytes = rules.size_bytes, .dist_info_dir = content.dist_info_dir};
    PTPKG_CHECK(CheckUpload(zip->env(), file, zip->tree(), findings));
  }
  return zip;
}

/// nullopt for a name that is none: a finding of its own, and WHEEL then has to say it.
Result<std::optional<DeclaredPlatform>> DeclaredByWheelName(std::string_view file_name) {
  const auto name = wheel::FileName::Parse(file_name);
  if (!name) return std::optional<DeclaredPlatform>();
  PTPKG_TRY(const PlatformPolicies policies, PlatformPolicies::BuiltIn());
  return std::optional(DeclaredByTags(policies, Split(name->tag.platform, '.')));
}

/// The tags of the file name against the files. `zip`: null when it cannot be read.
Result<void> CheckNamedTags(ZipTree* zip, std::string_view file_name, Examination& examination) {
  const auto name = wheel::FileName::Parse(file_name);
  if (zip == nullptr || !name) return Ok();
  // Only tags of other systems need this read of all files. ELF files have been read already.
  if (IsForOtherSystems(name->tag.platform)) {
    PTPKG_TRY(examination.code, MachineCodeIn(zip->env(), zip->tree()));
  }
  std::map<std::string, elf::PythonSymbols> symbols;
  std::set<std::string> with_foreign_needs;
  const ZipScan& seen = *zip->Seen();
  std::set<std::string> own;  // names of files
  for (const TreeEntry& entry : zip->tree().entries) own.emplace(entry.path.Name());
  for (const auto& [path, index] : seen.by_path) {
    const SharedElfFacts& facts = seen.facts[index].elf;
    if (facts == nullptr || !facts->member) continue;
    const elf::PythonSymbols& python = facts->member->python;
    if (python.imported.empty() && python.defined.empty()) continue;
    symbols.emplace(path, python);
    const std::vector<std::string>& needed = facts->member->facts.needed;
    const bool foreign = std::any_of(needed.begin(), needed.end(), [&](const std::string& library) {
      return !own.contains(library) && !MatchesAnyGlob(SystemLibraries(), library) &&
             !library.starts_with("libpython");
    });
    // A library of another package can define the missing symbol, so wheel-stable-abi must not be an error
    // then.
    if (foreign) with_foreign_needs.insert(path);
  }
  return CheckWheelTags(zip->env(), {*name, examination.code, symbols, std::move(with_foreign_needs)},
                        zip->tree(), examination.report.findings);
}

/// Names that some file systems take for one; `names` are installed paths. A build warns by the same rule.
void CheckNameCase(const std::vector<std::string>& names, std::vector<Finding>& findings) {
  LimitedFindings limited(findings);
  for (const auto& [first, second] : CaseCollisions(names)) {
    limited.Add({"artifact-name-case", Severity::kWarning, second,
                 fmt::format("'{}' and '{}' are one name on macOS and Windows, which keep one of them", first,
                             second),
                 "rename one of them"});
  }
}

/// Common end of every examination.
void Conclude(const AbsPath& subject, Profile profile, const CheckOptions& options,
              Examination& examination) {
  examination.report.subject = subject.str();
  examination.profile = profile;
  std::vector<Finding>& findings = examination.report.findings;
  ApplyProfile(profile, options.never_errors, findings);
  if (!options.targets.empty()) ApplyTargets(ConsumersOf(options.targets), findings);
  std::sort(findings.begin(), findings.end(), [](const Finding& left, const Finding& right) {
    return std::tie(left.file, left.id, left.message) < std::tie(right.file, right.id, right.message);
  });
  LimitFindings(findings);
}

/// A wheel or a plain zip: members pass in memory, none is unpacked.
Result<void> ExamineZip(Env& env, const AbsPath& artifact, const CheckOptions& options, Profile profile,
                        Examination& examination) {
  std::vector<Finding>& findings = examination.report.findings;
  // Removes files that killed checks have unpacked, of conda packages for instance.
  PTPKG_CHECK(RemoveAbandoned(env, env.cache_dir));
  PTPKG_TRY(const DlopenTable opened, DlopenTable::BuiltIn());
  const ZipReading reading{.opened = opened,
                           .paths = SearchableBuildPaths(options.forbidden_paths),
                           .on_file = options.on_file,
                           .known = &options.known};
  ElfSubject subject;
  PlainZip plain;
  if (artifact.Name().ends_with(ArtifactExtension(ArtifactFormat::kWheel))) {
    PTPKG_TRY(const FileStat stat, env.fs.Stat(artifact));
    const WheelRules rules = {.container = WheelContainer(options.targets),
                              .uploaded = profile == Profile::kWheel,
                              .size_bytes = stat.size_bytes};
    PTPKG_TRY(plain.zip, CheckWheel(env, artifact, reading, rules, findings));
    PTPKG_CHECK(CheckNamedTags(plain.zip.get(), artifact.Name(), examination));
    // The file name counts, not WHEEL: installers choose by it.
    PTPKG_TRY(subject.promise, DeclaredByWheelName(artifact.Name()));
  } else {
    PTPKG_TRY(plain, CheckPlainZip(env, artifact, reading, findings));
    subject.notes = {.in_dist_info = false, .file = std::move(plain.note)};
  }
  if (plain.zip && options.keep_seen) examination.seen = plain.zip->Seen();
  if (!plain.zip || plain.zip->tree().entries.empty()) return Ok();
  examination.entries = plain.zip->tree().entries;
  std::vector<std::string> installed;
  for (const TreeEntry& entry : examination.entries) {
    installed.push_back(InstalledPath(entry.path.str()).value_or(entry.path.str()));
  }
  CheckNameCase(installed, findings);
  PTPKG_TRY(const ElfTree tree, plain.zip->TakeElfTree(findings));
  subject.root = tree.root;
  subject.tree = &tree;
  return CheckElfFiles(plain.zip->env(), subject, options, examination);
}

/// Unpacked: the checks that follow see the files as they are installed, with the prefix put in.
Result<void> ExamineConda(Env& env, const AbsPath& artifact, const CheckOptions& options,
                          Examination& examination) {
  std::vector<Finding>& findings = examination.report.findings;
  PTPKG_CHECK(env.fs.MakeDirs(env.cache_dir));
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env.fs, env.cache_dir, "check"));
  PTPKG_TRY(const CondaContent content, CheckCondaContent(env, artifact, scratch.path(), findings));
  if (content.tree.entries.empty()) return Ok();
  // Prefixes are replaced by now. A build path that is left would reach users.
  PTPKG_CHECK(CheckBuildPaths(env, content.tree, options.forbidden_paths, findings));
  CheckOptions elf_options = options;
  elf_options.dependencies.insert(elf_options.dependencies.end(), content.dependencies.begin(),
                                  content.dependencies.end());
  elf_options.allowed_by_package.insert(elf_options.allowed_by_package.end(),
                                        content.note.allow_unresolved.begin(),
                                        content.note.allow_unresolved.end());
  elf_options.device_code_of_package = content.note.device_code;
  PTPKG_TRY(const DlopenTable opened, DlopenTable::BuiltIn());
  PTPKG_TRY(const ElfTree tree, ReadElfTree(env, content.tree.root, opened, findings, options.on_file));
  const ElfSubject subject{
      .root = content.tree.root, .tree = &tree, .promise = DeclaredBySpecs(content.specs, content.subdir)};
  SymbolsByPath symbols;
  for (const ElfMember& member : tree.members) symbols.emplace(member.path.str(), member.python);
  CheckCondaModules(content.pythons, content.tree, symbols, findings);
  examination.entries = content.tree.entries;
  std::vector<std::string> names;
  for (const TreeEntry& entry : examination.entries) names.push_back(entry.path.str());
  CheckNameCase(names, findings);
  return CheckElfFiles(env, subject, elf_options, examination);
}

}  // namespace

Result<Examination> ExamineArtifact(Env& env, const AbsPath& artifact, const CheckOptions& options) {
  PTPKG_TRY(const ArtifactFormat format, RequireFormat(artifact));
  const bool is_conda = IsCondaPackage(format);
  PTPKG_TRY(const Profile profile, ProfileBeside(options.targets, options.profile, artifact.Name()));
  Examination examination;
  PTPKG_CHECK(is_conda ? ExamineConda(env, artifact, options, examination)
                       : ExamineZip(env, artifact, options, profile, examination));
  Conclude(artifact, profile, options, examination);
  return examination;
}

Result<Examination> ExamineTree(Env& env, const AbsPath& root, const CheckOptions& options) {
  Examination examination;
  const NotePlaces notes = {.file = fmt::format("info/{}", kPackageNoteName)};
  PTPKG_CHECK(CheckElfFiles(env, {.root = root, .promise = {}, .notes = notes}, options, examination));
  if (!options.forbidden_paths.empty()) {
    PTPKG_TRY(const StagedTree tree, ScanTree(env, root));
    PTPKG_CHECK(CheckBuildPaths(env, tree, options.forbidden_paths, examination.report.findings));
  }
  Conclude(root, options.profile.value_or(Profile::kTree), options, examination);
  return examination;
}

Result<Report> CheckArtifact(Env& env, const AbsPath& artifact, const CheckOptions& options) {
  PTPKG_TRY(Examination examination, ExamineArtifact(env, artifact, options));
  return std::move(examination.report);
}

}  // namespace ptpkg::verify
