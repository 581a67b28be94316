#include "verify/check.h"

#include <algorithm>
#include <fmt/core.h>
#include <tuple>

#include "model/artifact.h"
#include "support/atomic_file.h"
#include "support/text.h"
#include "verify/build_path_checks.h"
#include "verify/conda_checks.h"
#include "verify/tree_checks.h"
#include "verify/wheel_checks.h"
#include "verify/zip_checks.h"
#include "verify/zip_container.h"
#include "wheel/file_name.h"

namespace ptpkg::verify {
namespace {

constexpr ContainerRule kWheelContainer = {
    .id = "wheel-zip", .fix = "write the wheel again with a tool that keeps to the rules of package indexes"};

/// Unpacks a wheel and checks it; the tree is empty when it cannot be unpacked.
Result<StagedTree> CheckWheel(Env& env, const AbsPath& wheel, const AbsPath& folder,
                              std::vector<Finding>& findings) {
  PTPKG_CHECK(CheckZipContainer(env, wheel, kWheelContainer, findings));
  PTPKG_TRY(std::optional<StagedTree> tree, UnpackZip(env, wheel, folder, findings));
  if (!tree) return StagedTree{.root = folder};
  PTPKG_CHECK(CheckWheelContent(env, wheel, *tree, findings));
  return *std::move(tree);
}

/// nullopt for a name that is none: a finding of its own, and WHEEL then has to say it.
Result<std::optional<PlatformPromise>> PromiseOfWheelName(std::string_view file_name) {
  const auto name = wheel::FileName::Parse(file_name);
  if (!name) return std::optional<PlatformPromise>();
  PTPKG_TRY(const PlatformPolicies policies, PlatformPolicies::BuiltIn());
  return std::optional(PromiseOfTags(policies, Split(name->tag.platform, '.')));
}

/// What every examination ends with.
void Conclude(const AbsPath& subject, Profile profile, const CheckOptions& options,
              Examination& examination) {
  examination.report.subject = subject.str();
  examination.profile = profile;
  std::vector<Finding>& findings = examination.report.findings;
  ApplyProfile(profile, options.never_errors, findings);
  std::sort(findings.begin(), findings.end(), [](const Finding& left, const Finding& right) {
    return std::tie(left.file, left.id, left.message) < std::tie(right.file, right.id, right.message);
  });
  LimitFindings(findings);
}

}  // namespace

Result<Examination> ExamineArtifact(Env& env, const AbsPath& artifact, const CheckOptions& options) {
  const std::string_view name = artifact.Name();
  const bool is_wheel = name.ends_with(ArtifactExtension(ArtifactFormat::kWheel));
  const bool is_conda = name.ends_with(ArtifactExtension(ArtifactFormat::kConda)) ||
                        name.ends_with(ArtifactExtension(ArtifactFormat::kTarBz2));
  const bool is_zip = name.ends_with(ArtifactExtension(ArtifactFormat::kZip));
  if (!is_wheel && !is_conda && !is_zip) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is neither a conda package nor a wheel nor a zip", artifact.str()))
        .WithHint("name a file that ends in .conda, .tar.bz2, .whl or .zip");
  }
  Examination examination;
  std::vector<Finding>& findings = examination.report.findings;
  PTPKG_CHECK(env.fs.MakeDirs(env.cache_dir));
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env.fs, env.cache_dir, "check"));
  CondaContent content;
  ElfSubject subject;
  if (is_wheel) {
    PTPKG_TRY(content.tree, CheckWheel(env, artifact, scratch.path(), findings));
    PTPKG_TRY(subject.promise, PromiseOfWheelName(name));
  } else if (is_zip) {
    PTPKG_TRY(PlainZip zip, CheckPlainZip(env, artifact, scratch.path(), findings));
    content.tree = std::move(zip.tree);
    subject.notes = {.in_dist_info = false, .file = std::move(zip.note)};
  } else {
    PTPKG_TRY(content, CheckCondaContent(env, artifact, scratch.path(), findings));
    subject.promise = PromiseOfSpecs(content.specs, content.subdir);
  }
  if (!content.tree.entries.empty()) {
    PTPKG_CHECK(CheckBuildPaths(env, content.tree, options.forbidden_paths, findings));
    CheckOptions elf_options = options;
    elf_options.dependencies.insert(elf_options.dependencies.end(), content.dependencies.begin(),
                                    content.dependencies.end());
    elf_options.allowed_by_package.insert(elf_options.allowed_by_package.end(),
                                          content.note.allow_unresolved.begin(),
                                          content.note.allow_unresolved.end());
    elf_options.device_code_of_package = content.note.device_code;
    subject.root = content.tree.root;
    PTPKG_CHECK(CheckElfFiles(env, subject, elf_options, examination));
  }
  Conclude(artifact, options.profile.value_or(DefaultProfile(name)), options, examination);
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
