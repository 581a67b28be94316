// Decides whether an error belongs to one package or to the run. Damage of a package skips it. A file that
// no longer exists was removed in the meantime, and is absent without a warning. Errors of the disk end the
// run, since an index without these packages would be wrong.

#include "index/conda_channel/skipped_packages.h"

#include <cerrno>
#include <fmt/core.h>

namespace ptpkg::index {
namespace {

/// The text of a link is to blame, and not the disk.
bool LeadsNowhere(const Error& error) {
  return error.sys_errno() == ELOOP || error.sys_errno() == ENAMETOOLONG;
}

}  // namespace

Result<bool> IsPackageError(Env& env, const AbsPath& package, const Error& error) {
  switch (error.code()) {
    case ErrorCode::kCorrupt:
    case ErrorCode::kInvalidInput:
    case ErrorCode::kUnsupported:
      return true;
    case ErrorCode::kNotFound:
      return Exists(env.fs, package);
    default:
      return false;
  }
}

Result<std::optional<FileStat>> FollowLink(Env& env, const AbsPath& path) {
  const Result<FileStat> stat = env.fs.Stat(path);
  if (stat) return std::optional(*stat);
  if (stat.error().code() == ErrorCode::kNotFound || LeadsNowhere(stat.error()))
    return std::optional<FileStat>();
  return stat.error();
}

Result<FileStat> StatPackage(Env& env, const AbsPath& package) {
  Result<FileStat> stat = env.fs.Stat(package);
  if (!stat && LeadsNowhere(stat.error())) return Error(ErrorCode::kInvalidInput, stat.error().message());
  if (!stat || stat->kind == FileKind::kRegular) return stat;
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a regular file", package.str()));
}

void SkipPackage(Env& env, const AbsPath& package, const Error& reason, IndexSummary& summary) {
  env.reporter.Warn(fmt::format("skipped '{}': {}", package.str(), reason.message()));
  summary.left_out.push_back({.package = package, .reason = reason});
}

}  // namespace ptpkg::index
