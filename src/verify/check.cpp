#include "verify/check.h"

#include <algorithm>
#include <fmt/core.h>
#include <tuple>

#include "archive/extract.h"
#include "archive/zip_strict.h"
#include "model/artifact.h"
#include "support/atomic_file.h"
#include "support/text.h"
#include "verify/build_path_checks.h"
#include "verify/conda_checks.h"
#include "verify/tree_checks.h"
#include "verify/unreadable.h"
#include "verify/wheel_checks.h"
#include "wheel/file_name.h"

namespace ptpkg::verify {
namespace {

/// The container as the strictest reader sees it.
Result<void> CheckZip(Env& env, const AbsPath& wheel, std::vector<Finding>& findings) {
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(wheel, OpenMode::kRead));
  PTPKG_TRY(const std::vector<archive::ZipProblem> problems, archive::StrictZipProblems(*file));
  for (const archive::ZipProblem& problem : problems) {
    findings.push_back({"wheel-zip", Severity::kError, "", problem.text,
                        "write the wheel again with a tool that keeps to the rules of package indexes"});
  }
  return Ok();
}

/// Unpacks a wheel and checks it; the tree is empty when it cannot be unpacked.
Result<StagedTree> CheckWheel(Env& env, const AbsPath& wheel, const AbsPath& folder,
                              std::vector<Finding>& findings) {
  StagedTree tree;
  tree.root = folder;
  PTPKG_CHECK(CheckZip(env, wheel, findings));
  const auto unpack = [&]() -> Result<void> {
    PTPKG_CHECK(archive::ExtractZip(env, wheel, folder, {}));
    PTPKG_TRY(tree, ScanTree(env, folder));
    return Ok();
  };
  if (Result<void> unpacked = unpack(); !unpacked) {
    PTPKG_CHECK(UnreadableFinding(std::move(unpacked).error(), findings));
    tree.entries.clear();
    return tree;
  }
  PTPKG_CHECK(CheckWheelContent(env, wheel, tree, findings));
  return tree;
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
  if (!is_wheel && !is_conda) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is neither a conda package nor a wheel", artifact.str()))
        .WithHint("name a file that ends in .conda, .tar.bz2 or .whl");
  }
  Examination examination;
  std::vector<Finding>& findings = examination.report.findings;
  PTPKG_CHECK(env.fs.MakeDirs(env.cache_dir));
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env.fs, env.cache_dir, "check"));
  CondaContent content;
  std::optional<PlatformPromise> promise;
  if (is_wheel) {
    PTPKG_TRY(content.tree, CheckWheel(env, artifact, scratch.path(), findings));
    PTPKG_TRY(promise, PromiseOfWheelName(name));
  } else {
    PTPKG_TRY(content, CheckCondaContent(env, artifact, scratch.path(), findings));
    promise = PromiseOfSpecs(content.specs, content.subdir);
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
    PTPKG_CHECK(CheckElfFiles(env, content.tree.root, elf_options, promise, examination));
  }
  Conclude(artifact, options.profile.value_or(DefaultProfile(name)), options, examination);
  return examination;
}

Result<Examination> ExamineTree(Env& env, const AbsPath& root, const CheckOptions& options) {
  Examination examination;
  PTPKG_CHECK(CheckElfFiles(env, root, options, std::nullopt, examination));
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
