#include "verify/zip_container.h"

#include "archive/extract.h"
#include "archive/zip_strict.h"
#include "verify/unreadable.h"

namespace ptpkg::verify {

Result<void> CheckZipContainer(Env& env, const AbsPath& zip, const ContainerRule& rule,
                               std::vector<Finding>& findings) {
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(zip, OpenMode::kRead));
  PTPKG_TRY(const std::vector<archive::ZipProblem> problems, archive::StrictZipProblems(*file));
  for (const archive::ZipProblem& problem : problems) {
    findings.push_back({std::string(rule.id),
                        problem.splits_readers ? Severity::kError : rule.where_readers_agree, "",
                        problem.text, std::string(rule.fix)});
  }
  return Ok();
}

Result<std::optional<StagedTree>> UnpackZip(Env& env, const AbsPath& zip, const AbsPath& folder,
                                            std::vector<Finding>& findings) {
  const auto unpack = [&]() -> Result<StagedTree> {
    PTPKG_CHECK(archive::ExtractZip(env, zip, folder, {}));
    return ScanTree(env, folder);
  };
  Result<StagedTree> tree = unpack();
  if (tree) return std::optional(*std::move(tree));
  PTPKG_CHECK(UnreadableFinding(std::move(tree).error(), findings));
  return std::optional<StagedTree>();
}

}  // namespace ptpkg::verify
