#include "pipeline/check.h"

#include "channel/index.h"
#include "verify/check.h"

namespace ptpkg::pipeline {

Result<std::vector<Report>> Check(Env& env, const std::vector<AbsPath>& paths) {
  std::vector<Report> reports;
  for (const AbsPath& path : paths) {
    PTPKG_TRY(const FileStat stat, env.fs.Stat(path));
    Task task(env.reporter, {.stage = "check", .subject = std::string(path.Name())});
    const bool folder = stat.kind == FileKind::kDirectory;
    PTPKG_TRY(Report report, folder ? verify::CheckTree(env, path) : verify::CheckArtifact(env, path));
    report.subject = path.str();
    task.Done();
    reports.push_back(std::move(report));
  }
  return reports;
}

Result<IndexOutcome> Index(Env& env, const AbsPath& folder) {
  Task task(env.reporter, {.stage = "index", .subject = std::string(folder.Name())});
  PTPKG_TRY(channel::IndexSummary summary, channel::IndexFolder(env, folder));
  task.Done();
  return IndexOutcome{.packages = summary.packages, .written = std::move(summary.written)};
}

}  // namespace ptpkg::pipeline
