#pragma once
// Decides which package errors skip the package. Layer: index.

#include <optional>
#include <vector>

#include "index/index.h"

namespace ptpkg::index {

/// Result of reading one package: a record, a reason to leave it out, or neither when it was
/// deleted meanwhile.
template <class T>
struct Reading {
  std::optional<T> record = {};
  std::optional<Error> reason = {};
};

/// True for errors about the package itself: kCorrupt, kInvalidInput, kUnsupported, and kNotFound where the
/// file is still there.
Result<bool> IsPackageError(Env& env, const AbsPath& package, const Error& error);

/// Errors: those that say nothing about the package.
template <class T>
Result<Reading<T>> ClassifyReadError(Env& env, const AbsPath& package, Result<T> read) {
  if (read) return Reading<T>{.record = *std::move(read), .reason = {}};
  PTPKG_TRY(const bool leaves_out, IsPackageError(env, package, read.error()));
  if (leaves_out) return Reading<T>{.record = {}, .reason = std::move(read).error()};
  if (read.error().code() == ErrorCode::kNotFound) return Reading<T>{};
  return std::move(read).error();
}

/// Facts about the entry that `path` leads to; nullopt: it is absent, or a link that leads nowhere or in a
/// circle. Errors: kIo.
Result<std::optional<FileStat>> FollowLink(Env& env, const AbsPath& path);

/// Facts about the file that `package` leads to. Errors: kInvalidInput if it is not a regular file, or a link
/// in a circle; kNotFound (a dead link too), kIo.
Result<FileStat> StatPackage(Env& env, const AbsPath& package);

/// Adds to `summary`, and warns.
void SkipPackage(Env& env, const AbsPath& package, const Error& reason, IndexSummary& summary);

}  // namespace ptpkg::index
