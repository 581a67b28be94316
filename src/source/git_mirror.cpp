// One bare repository per URL holds the commits that were built, mostly without history. Invariant: a commit
// with a ref below refs/ptpkg/commits has all of its objects. Its ref appears only after the pack is
// complete. So a killed fetch leaves objects without a ref, and the next fetch begins anew. LFS files have
// refs of their own.
//
// - One fetch at a time per mirror, behind our own lock. kill -9 leaves git's lock files, and the holder of
//   our lock may remove them. Readers go on meanwhile, because nothing inside a mirror is removed.
// - First the commit by its id, with `depth`. Some servers give only the tips of branches and tags: then all
//   of them are fetched, with history.
// - A damaged mirror is never mended in place. Refetch makes a new repository next to it and exchanges the
//   two.
//
// Names ("tag v1") keep the last commit that was fetched for them, for runs with --offline.

#include "source/git_mirror.h"

#include <fmt/core.h>
#include <utility>

#include "source/download.h"
#include "source/walk.h"
#include "support/digest/hash.h"
#include "support/files/lock_file.h"
#include "support/text/text.h"

namespace ptpkg::source {

namespace {

using recipe::GitUrl;
using recipe::ShownGitUrl;

constexpr std::string_view kRefs = "refs/ptpkg/";

AbsPath FolderOf(const Env& env, const GitUrl& url) {
  return env.cache_dir / "git" / HashText(url.text).Hex();
}

std::string CommitRef(const GitRequest& wish) { return fmt::format("commits/{}", wish.commit); }
/// Not by the name itself: "a" may become "a/b" on the server, and refs are files.
std::string NameRef(const std::string& name) { return "names/" + HashText(name).Hex(); }
std::string LfsRef(const GitRequest& wish) { return fmt::format("lfs/{}", wish.commit); }
/// Hashes the files that the commit's pointers name.
std::vector<std::string> LfsFsck(const GitRequest& wish) {
  return {"lfs", "fsck", "--objects", "--dry-run", wish.commit};
}

Error CommitGone(const GitRequest& wish) {
  Error error(ErrorCode::kNotFound,
              fmt::format("commit {} is not in '{}'", wish.commit, ShownGitUrl(wish.url.text)));
  if (wish.name.empty())
    return std::move(error).WithHint("check the commit; a branch may have been rewritten");
  return std::move(error).WithHint(
      fmt::format("it was '{}' during planning: run the command again", wish.name));
}

Error NotMirrored(const GitRequest& wish) {
  return Error(ErrorCode::kNotFound,
               fmt::format("cannot fetch commit {} of '{}' offline: it is not in the cache", wish.commit,
                           ShownGitUrl(wish.url.text)))
      .WithHint("build once without --offline, or use a clone: --source NAME=PATH");
}

/// A server that gives nothing but the tips of its branches and tags.
bool ServesOnlyRefTips(const std::string& output) {
  return output.find("unadvertised object") != std::string::npos ||
         output.find("dumb http transport") != std::string::npos ||
         output.find("not support shallow") != std::string::npos ||
         output.find("not support --depth") != std::string::npos;
}

Result<bool> HasRef(const Git& git, const AbsPath& repository, const std::string& name) {
  PTPKG_TRY(
      const ExitStatus status,
      git.Run({.args = {"rev-parse", "--verify", "--quiet", fmt::format("{}{}^{{commit}}", kRefs, name)},
               .repository = repository}));
  return status.ok();
}

}  // namespace

Result<GitMirror> GitMirror::Open(Env& env, const Git& git, const GitUrl& url, const std::string& commit) {
  constexpr std::size_t kSha1Digits = 40;
  const AbsPath folder = FolderOf(env, url);
  const std::string format = commit.size() == kSha1Digits ? "sha1" : "sha256";
  PTPKG_TRY(Lease lease, LeaseCacheDir(env, folder));
  GitMirror mirror(env, git, folder, std::move(lease), format);
  PTPKG_CHECK(mirror.Prepare(url), "while preparing the cache");
  return mirror;
}

Result<void> GitMirror::Prepare(const GitUrl& url) {
  PTPKG_TRY(const bool there, Exists(env_->fs, repository_));
  if (there) return Ok();
  PTPKG_TRY(const std::unique_ptr<File> lock,
            WaitForLock(*env_, folder_ / kFetchLockName, ShownGitUrl(url.text)));
  // Another run may have made it while this one waited.
  PTPKG_TRY(const bool now, Exists(env_->fs, repository_));
  if (now) return Ok();
  PTPKG_CHECK(RemoveAbandoned(*env_, folder_));
  PTPKG_CHECK(WriteFile(env_->fs, folder_ / "url", ShownGitUrl(url.text) + "\n"));
  PTPKG_TRY(TempDir repository, NewRepository());
  return std::move(repository).MoveTo(repository_);
}

Result<TempDir> GitMirror::NewRepository() {
  PTPKG_TRY(TempDir scratch, TempDir::Create(env_->fs, folder_, "repo"));
  PTPKG_TRY(const std::string said,
            git_->Read({.args = {"init", "--quiet", "--bare", "--template=", "--object-format=" + format_,
                                 scratch.path().str()}}));
  static_cast<void>(said);
  return scratch;
}

Result<void> GitMirror::Refetch(const GitRequest& wish) {
  PTPKG_TRY(const std::unique_ptr<File> lock,
            WaitForLock(*env_, folder_ / kFetchLockName, ShownGitUrl(wish.url.text)));
  PTPKG_TRY(const bool damaged, IsDamaged(wish));
  if (!damaged) return Ok();  // another run has mended it; what it left out Fetch gets
  PTPKG_TRY(TempDir scratch, NewRepository());
  // The damaged mirror stays until the new one is complete.
  const AbsPath damaged_one = std::exchange(repository_, scratch.path());
  const Result<void> fetched = FetchLocked(wish);
  repository_ = damaged_one;
  PTPKG_CHECK(fetched);
  PTPKG_CHECK(RemoveTree(env_->fs, repository_));
  return std::move(scratch).MoveTo(repository_);
}

Result<bool> GitMirror::IsDamaged(const GitRequest& wish) const {
  PTPKG_TRY(const bool sound, Succeeds({"fsck", "--no-dangling", "--no-progress"}));
  if (!sound || !wish.lfs) return !sound;
  PTPKG_TRY(const bool has_lfs, HasRef(*git_, repository_, LfsRef(wish)));
  if (!has_lfs) return false;
  PTPKG_TRY(const bool sound_lfs, Succeeds(LfsFsck(wish)));
  return !sound_lfs;
}

Result<void> GitMirror::CheckLfs(const GitRequest& wish) const {
  PTPKG_TRY(const bool sound, Succeeds(LfsFsck(wish)));
  if (sound) return Ok();
  return Error(ErrorCode::kCorrupt, fmt::format("an LFS file of commit {} of '{}' is damaged in the cache",
                                                wish.commit, ShownGitUrl(wish.url.text)));
}

/// True if git succeeds.
Result<bool> GitMirror::Succeeds(const std::vector<std::string>& args) const {
  PTPKG_TRY(const ExitStatus status, git_->Run({.args = args, .repository = repository_}));
  if (status.signal == 0) return status.ok();
  return Error(ErrorCode::kIo, fmt::format("cannot check '{}': {}", repository_.str(), GitReason(status)));
}

Result<bool> GitMirror::Has(const GitRequest& wish) const {
  PTPKG_TRY(const bool has, HasRef(*git_, repository_, CommitRef(wish)));
  return has && wish.lfs ? HasRef(*git_, repository_, LfsRef(wish)) : Result<bool>(has);
}

Result<void> GitMirror::SetRef(const std::string& name, const std::string& commit) {
  PTPKG_TRY(const std::string said,
            git_->Read({.args = {"update-ref", fmt::format("{}{}", kRefs, name), commit},
                        .repository = repository_}));
  static_cast<void>(said);
  return Ok();
}

Result<void> GitMirror::Fetch(const GitRequest& wish) {
  PTPKG_TRY(const std::unique_ptr<File> lock,
            WaitForLock(*env_, folder_ / kFetchLockName, ShownGitUrl(wish.url.text)));
  PTPKG_TRY(const bool there, Has(wish));
  if (!there && env_->offline && !wish.url.is_local) return NotMirrored(wish);
  if (!there) {
    PTPKG_CHECK(RemoveStaleLocks());
    Task task(env_->reporter, TaskInfo{.stage = "source", .subject = ShownGitUrl(wish.url.text)});
    PTPKG_CHECK(FetchLocked(wish));
    task.Done(fmt::format("commit {}", wish.commit.substr(0, 12)));
  }
  // The name is noted even if the commit was there: offline runs look it up.
  if (wish.name.empty()) return Ok();
  PTPKG_CHECK(RemoveStaleLocks());
  return SetRef(NameRef(wish.name), wish.commit);
}

/// Removes locks of a git that was killed. Nobody else writes here: the caller holds the lock.
Result<void> GitMirror::RemoveStaleLocks() {
  PTPKG_TRY(const std::vector<WalkEntry> entries, Walk(*env_, repository_));
  for (const WalkEntry& entry : entries) {
    const std::string_view name = entry.path.Name();
    const bool stale = name.ends_with(".lock") || name.starts_with("tmp_pack_") ||
                       name.starts_with("tmp_idx_") || name.starts_with("tmp_obj_");
    if (stale) PTPKG_CHECK(env_->fs.Remove(repository_ / entry.path));
  }
  return Ok();
}

Result<void> GitMirror::FetchLocked(const GitRequest& wish) {
  PTPKG_TRY(bool there, HasRef(*git_, repository_, CommitRef(wish)));
  if (!there) {
    PTPKG_TRY(there, FetchCommit(wish));
    if (!there) PTPKG_CHECK(FetchAll(wish));
  }
  return wish.lfs ? FetchLfs(wish) : Ok();
}

/// False: the server gives no commit by its id.
Result<bool> GitMirror::FetchCommit(const GitRequest& wish) {
  std::string output;
  const GitCall call{
      .args = {"fetch", "--quiet", "--no-tags", "--force", fmt::format("--depth={}", wish.depth), "--",
               wish.url.text, fmt::format("{}:{}{}", wish.commit, kRefs, CommitRef(wish))},
      .repository = repository_,
      .with_user_config = true,
      .on_line = [&](std::string_view line) { output += std::string(line) + "\n"; }};
  const auto fetched = git_->RunWithRetry(
      call, wish.url, fmt::format("cannot fetch commit {} of '{}'", wish.commit, ShownGitUrl(wish.url.text)));
  if (fetched) return true;
  if (fetched.error().code() == ErrorCode::kCancelled) return fetched.error();
  if (ServesOnlyRefTips(output)) return false;
  // A damaged mirror has bad objects too.
  const bool gone =
      fetched.error().code() == ErrorCode::kNotFound &&
      (output.find("not our ref") != std::string::npos || output.find("bad object") != std::string::npos);
  return gone ? CommitGone(wish) : fetched.error();
}

Result<void> GitMirror::FetchAll(const GitRequest& wish) {
  PTPKG_TRY(const std::string said,
            git_->RunWithRetry({.args = {"fetch", "--quiet", "--no-tags", "--force", "--prune", "--",
                                         wish.url.text, fmt::format("+refs/heads/*:{}all/heads/*", kRefs),
                                         fmt::format("+refs/tags/*:{}all/tags/*", kRefs)},
                                .repository = repository_,
                                .with_user_config = true},
                               wish.url, fmt::format("cannot fetch '{}'", ShownGitUrl(wish.url.text))));
  static_cast<void>(said);
  PTPKG_TRY(const ExitStatus status,
            git_->Run({.args = {"cat-file", "-e", wish.commit + "^{commit}"}, .repository = repository_}));
  if (!status.ok()) return CommitGone(wish);
  return SetRef(CommitRef(wish), wish.commit);
}

Result<void> GitMirror::FetchLfs(const GitRequest& wish) {
  PTPKG_TRY(const std::string said,
            git_->RunWithRetry({.args = {"lfs", "fetch", "origin", wish.commit},
                                .repository = repository_,
                                .with_user_config = true,
                                .settings = {"remote.origin.url=" + wish.url.text}},
                               wish.url,
                               fmt::format("cannot fetch the LFS files of commit {} of '{}'", wish.commit,
                                           ShownGitUrl(wish.url.text))));
  static_cast<void>(said);
  return SetRef(LfsRef(wish), wish.commit);
}

Result<std::optional<std::string>> LastFetchedCommit(Env& env, const Git& git, const GitUrl& url,
                                                     const std::string& name) {
  const AbsPath repository = FolderOf(env, url) / "repo.git";
  PTPKG_TRY(const bool there, Exists(env.fs, repository));
  if (!there) return std::optional<std::string>();
  PTPKG_TRY(const ExitStatus status, git.Run({.args = {"rev-parse", "--verify", "--quiet",
                                                       fmt::format("{}{}^{{commit}}", kRefs, NameRef(name))},
                                              .repository = repository}));
  const std::string commit(Trim(status.output));
  return status.ok() && recipe::IsCommitId(commit) ? std::optional(commit) : std::nullopt;
}

}  // namespace ptpkg::source
