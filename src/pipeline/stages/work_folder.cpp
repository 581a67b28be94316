// A kept directory (--keep-work) belongs to the user, who may edit it. Packed trees are hard links to results
// in the store, so each file with a second name gets bytes of its own first: an edit must not damage the
// store. The name must be free, so an earlier directory of the same name goes, unless a shell holds it.

#include "pipeline/stages/work_folder.h"

#include <fmt/core.h>

#include "source/walk.h"
#include "support/files/lease.h"

namespace ptpkg::pipeline {

Result<WorkFolder> WorkFolder::Create(Env& env, const graph::NodeRun& run) {
  PTPKG_TRY(TempDir folder, TempDir::Create(env.fs, env.cache_dir / "work", "node"),
            "while preparing the cache");
  return WorkFolder(env, run, std::move(folder));
}

Result<AbsPath> WorkFolder::MakeFolder(std::string_view name) {
  const AbsPath made = path() / name;
  PTPKG_CHECK(env_->fs.MakeDir(made));
  return made;
}

namespace {

/// Gives every file that has a second name bytes of its own: trees that are packed are links to results of
/// the store, and a kept directory may be edited.
Result<void> SplitLinks(Env& env, const AbsPath& folder) {
  PTPKG_TRY(const std::vector<source::WalkEntry> entries, source::Walk(env, folder));
  for (const source::WalkEntry& entry : entries) {
    if (entry.stat.kind != FileKind::kRegular || entry.stat.link_count < 2) continue;
    const AbsPath path = folder / entry.path;
    const AbsPath own = folder / ".ptpkg-own-copy";
    PTPKG_CHECK(env.fs.CopyFile(path, own));
    PTPKG_CHECK(env.fs.Rename(own, path));
  }
  return Ok();
}

/// A name that nothing has: the directory of an earlier run goes, unless somebody is in it (`ptpkg shell`).
Result<AbsPath> FreePlace(Env& env, const std::string& name) {
  for (int turn = 1;; ++turn) {
    const AbsPath kept = env.cache_dir / "kept" / (turn == 1 ? name : fmt::format("{}-{}", name, turn));
    PTPKG_TRY(const bool there, Exists(env.fs, kept));
    if (!there) return kept;
    PTPKG_TRY(std::optional<Lease> lease, Lease::Try(env.fs, kept, LockKind::kExclusive));
    if (!lease) continue;
    PTPKG_CHECK(std::move(*lease).Remove());
    return kept;
  }
}

}  // namespace

Result<void> KeepFolder(Env& env, const AbsPath& folder, const std::string& subject, const std::string& key) {
  PTPKG_CHECK(env.fs.MakeDirs(env.cache_dir / "kept"));
  PTPKG_TRY(const AbsPath kept, FreePlace(env, fmt::format("{}-{}", subject, key.substr(0, 12))));
  PTPKG_CHECK(SplitLinks(env, folder), "while keeping the work directory");
  PTPKG_CHECK(env.fs.Rename(folder, kept), "while keeping the work directory");
  env.reporter.Note(fmt::format("kept work directory: '{}'", kept.str()));
  return Ok();
}

Result<void> WorkFolder::Finish() && {
  if (!run_->Has("keep-work")) return Ok();
  return KeepFolder(*env_, path(), run_->subject(), run_->key());
}

}  // namespace ptpkg::pipeline
