#include "verify/check.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

#include "archive/extract.h"
#include "archive/zip_strict.h"
#include "support/artifact.h"
#include "support/atomic_file.h"
#include "verify/build_path_checks.h"
#include "verify/conda_checks.h"
#include "verify/unreadable.h"
#include "verify/wheel_checks.h"

namespace ptpkg::verify {
namespace {

/// The container as the strictest reader sees it.
Result<void> CheckZip(Env& env, const AbsPath& wheel, std::vector<Finding>& findings) {
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(wheel, OpenMode::kRead));
  PTPKG_TRY(const std::vector<std::string> problems, archive::StrictZipProblems(*file));
  for (const std::string& problem : problems) {
    findings.push_back({"wheel-zip", Severity::kError, "", problem,
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

}  // namespace

Result<Report> CheckArtifact(Env& env, const AbsPath& artifact, const CheckOptions& options) {
  Report report;
  report.subject = artifact.str();
  const std::string_view name = artifact.Name();
  const bool is_wheel = name.ends_with(ArtifactExtension(ArtifactFormat::kWheel));
  const bool is_conda = name.ends_with(ArtifactExtension(ArtifactFormat::kConda)) ||
                        name.ends_with(ArtifactExtension(ArtifactFormat::kTarBz2));
  if (!is_wheel && !is_conda) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is neither a conda package nor a wheel", artifact.str()))
        .WithHint("name a file that ends in .conda, .tar.bz2 or .whl");
  }
  PTPKG_CHECK(env.fs.MakeDirs(env.cache_dir));
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env.fs, env.cache_dir, "check"));
  CondaContent content;
  if (is_wheel) {
    PTPKG_TRY(content.tree, CheckWheel(env, artifact, scratch.path(), report.findings));
  } else {
    PTPKG_TRY(content, CheckCondaContent(env, artifact, scratch.path(), report.findings));
  }
  if (!content.tree.entries.empty()) {
    PTPKG_CHECK(CheckBuildPaths(env, content.tree, options.forbidden_paths, report.findings));
    CheckOptions elf_options = options;
    elf_options.dependencies.insert(elf_options.dependencies.end(), content.dependencies.begin(),
                                    content.dependencies.end());
    PTPKG_TRY(const Report elf, CheckTree(env, content.tree.root, elf_options));
    report.findings.insert(report.findings.end(), elf.findings.begin(), elf.findings.end());
  }
  std::sort(report.findings.begin(), report.findings.end(), [](const Finding& left, const Finding& right) {
    return std::tie(left.file, left.id, left.message) < std::tie(right.file, right.id, right.message);
  });
  return report;
}

}  // namespace ptpkg::verify
