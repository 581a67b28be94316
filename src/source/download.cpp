// A file is known by its digest, so the cache stores it under the digest and any mirror may deliver it. The
// name in the cache is only complete: bytes are collected in a partial file, compared, then renamed.
//
// - A partial download goes on by Range, if the server still has the version that the first part came from
//   (partial_file.h). If the whole then has another digest, the old part may be wrong, so it begins anew
//   once.
// - A partial file of the right digest means that a run was killed just before the rename.
// - Only a version makes a partial file useful. It is also dropped after a local error, so that a full disk
//   gets free.
//
// One process fetches a file at a time, and looks again after it got the lock. The error for several mirrors
// takes the code of the most useful cause: the network, which a second run may find repaired, then a wrong
// digest.

#include "source/download.h"

#include <algorithm>
#include <fmt/core.h>

#include "recipe/git_url.h"
#include "source/partial_file.h"
#include "support/digest/hash.h"
#include "support/files/lock_file.h"
#include "support/files/scratch.h"
#include "support/reporter.h"
#include "support/text/text.h"

namespace ptpkg::source {

namespace {

struct Wanted {
  const std::string& name;
  const DeclaredDigests& declared;
  const AbsPath& target;
};

/// The rest of `url`'s body, or all of it.
Result<void> FetchRest(Env& env, const std::string& url, PartialFile& partial, Task& task) {
  std::uint64_t reported = 0;
  const HttpRequest request{.url = url,
                            .resume_at = partial.size_bytes(),
                            .resume_version = partial.version(),
                            .on_begin = [&](const HttpBegin& begin) { return partial.Begin(begin); },
                            .on_progress =
                                [&](std::uint64_t done, std::uint64_t) {
                                  if (done <= reported) return;
                                  task.Advance(done - reported);
                                  reported = done;
                                },
                            .cancel = &env.cancel};
  PTPKG_TRY(const HttpResponse response, env.http.Get(request, partial),
            fmt::format("while fetching '{}'", recipe::ShownUrl(url)));
  task.Done(fmt::format("status {}", response.status));
  return Ok();
}

/// Takes one mirror's body into the cache directory. A part of it stays for the next run, unless that run
/// could not use it.
Result<void> FetchFrom(Env& env, const std::string& url, const Wanted& wanted) {
  PTPKG_TRY(PartialFile partial,
            PartialFile::Open(env, wanted.target.Parent(), url, wanted.declared.Choice()));
  while (true) {
    const bool resumed = partial.size_bytes() > 0;
    if (resumed) {  // killed between the last byte and the name?
      PTPKG_TRY(const Digests digests, partial.Digest());
      if (wanted.declared.Match(digests)) return std::move(partial).MoveTo(wanted.target);
    }
    Task task(env.reporter, TaskInfo{.stage = "source", .subject = wanted.name});
    Result<void> fetched = FetchRest(env, url, partial, task);
    if (!fetched) {
      // A full disk is not to stay full.
      const bool useless = partial.version().empty() || fetched.error().code() == ErrorCode::kIo;
      if (useless) PTPKG_CHECK(partial.Drop());
      return fetched;
    }
    PTPKG_TRY(const Digests digests, partial.Digest());
    if (wanted.declared.Match(digests)) return std::move(partial).MoveTo(wanted.target);
    PTPKG_CHECK(partial.Drop());
    if (resumed) continue;  // the old part may be what is wrong
    return Error(ErrorCode::kHashMismatch,
                 fmt::format("'{}' has {}", recipe::ShownUrl(url), wanted.declared.Difference(digests)))
        .WithHint(
            "if the publisher replaced the release, check the new file and update the digest in the recipe");
  }
}

/// True if the cache has the file, undamaged. A damaged one is removed.
Result<bool> IsCached(Env& env, const Wanted& wanted) {
  PTPKG_TRY(const bool cached, Exists(env.fs, wanted.target));
  if (!cached) return false;
  PTPKG_TRY(const Digests digests, HashFile(env.fs, wanted.target, wanted.declared.Choice()));
  if (wanted.declared.Match(digests)) return true;
  env.reporter.Warn(fmt::format("'{}' in the download cache is damaged; fetching it again", wanted.name));
  PTPKG_CHECK(env.fs.Remove(wanted.target));
  return false;
}

/// Gives the file its name if an earlier run has kept it under another one, as a mirror may call it.
Result<bool> ReuseUnderOtherName(Env& env, const Wanted& wanted) {
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(wanted.target.Parent()));
  for (const std::string& name : names) {
    const AbsPath other = wanted.target.Parent() / name;
    PTPKG_TRY(const FileStat stat, env.fs.Lstat(other));
    // Leases, locks and partial files.
    if (name.starts_with('.') || stat.kind != FileKind::kRegular) continue;
    PTPKG_TRY(const Digests digests, HashFile(env.fs, other, wanted.declared.Choice()));
    if (!wanted.declared.Match(digests)) continue;
    PTPKG_TRY(TempDir scratch, TempDir::Create(env.fs, wanted.target.Parent(), "name"));
    PTPKG_CHECK(env.fs.CopyFile(other, scratch.path() / wanted.name));
    PTPKG_CHECK(env.fs.Rename(scratch.path() / wanted.name, wanted.target));
    return true;
  }
  return false;
}

Error NotCached(const Wanted& wanted) {
  return Error(ErrorCode::kNotFound,
               fmt::format("cannot fetch the source '{}' ({}) offline: it is not in the cache", wanted.name,
                           wanted.declared.str()))
      .WithHint(fmt::format("build once without --offline, or put the file at '{}'", wanted.target.str()));
}

/// One error for all mirrors: a cause that may pass counts most, then a file that is not the declared one.
Error NoMirror(const Wanted& wanted, const std::vector<Error>& causes) {
  if (causes.size() == 1) return causes.front();
  ErrorCode code = causes.back().code();
  for (const ErrorCode heavy : {ErrorCode::kHashMismatch, ErrorCode::kNetwork}) {
    const bool has =
        std::any_of(causes.begin(), causes.end(), [&](const Error& cause) { return cause.code() == heavy; });
    if (has) code = heavy;
  }
  std::vector<std::string> texts;
  for (const Error& cause : causes) texts.push_back(cause.message());
  return Error(code, fmt::format("cannot fetch '{1}' from any of {0} mirrors: {2}", causes.size(),
                                 wanted.name, Join(texts, "; ")))
      .WithHint("correct 'url' or 'sha256' in the recipe, or run the same command again");
}

Result<void> FetchFromAny(Env& env, const std::vector<std::string>& urls, const Wanted& wanted) {
  std::vector<Error> causes;
  for (const std::string& url : urls) {
    PTPKG_CHECK(env.cancel.Check());
    Result<void> fetched = FetchFrom(env, url, wanted);
    // Parts from other mirrors are useless now.
    if (fetched) return RemovePartialFiles(env.fs, wanted.target.Parent());
    if (fetched.error().code() == ErrorCode::kCancelled) return fetched;
    causes.push_back(fetched.error());
    if (&url != &urls.back()) {
      env.reporter.Warn(fmt::format("{}; trying the next mirror", fetched.error().message()));
    }
  }
  return NoMirror(wanted, causes);
}

}  // namespace

bool DeclaredDigests::Match(const Digests& digests) const {
  return (!sha256 || digests.sha256 == *sha256) && (!md5 || digests.md5 == *md5);
}

std::string DeclaredDigests::Difference(const Digests& digests) const {
  const auto differ = [](std::string_view kind, const std::string& found, const std::string& declared) {
    return fmt::format("{} {}, but the recipe declares {}", kind, found, declared);
  };
  if (sha256 && digests.sha256 != *sha256) return differ("sha256", digests.sha256.Hex(), sha256->Hex());
  return differ("md5", digests.md5.Hex(), md5 ? md5->Hex() : "none");
}

std::string DeclaredDigests::str() const {
  return sha256 ? "sha256 " + sha256->Hex() : "md5 " + (md5 ? md5->Hex() : "");
}

Result<std::string> DownloadName(const recipe::Source& source) {
  std::string name = source.file_name;
  if (name.empty() && !source.urls.empty()) {
    const std::string& url = source.urls.front();
    name = url.substr(0, url.find_first_of("?#"));
    name = name.substr(name.rfind('/') + 1);
  }
  const auto parsed = RelPath::Parse(name);
  if (!parsed || name.find('/') != std::string::npos) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a usable file name for a download", name))
        .WithHint("set 'file_name' beside 'url'")
        .At(source.span);
  }
  return name;
}

Result<Downloaded> Download(Env& env, const recipe::Source& source) {
  PTPKG_TRY(const std::string name, DownloadName(source));
  const DeclaredDigests declared = DeclaredDigests::Of(source);
  if (!source.sha256 && !source.md5) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the source '{}' has no sha256", recipe::ShownUrl(source.urls.front())))
        .WithHint("add 'sha256:': without a digest, a download can change between builds")
        .At(source.span);
  }
  const AbsPath folder =
      env.cache_dir / "downloads" / (source.sha256 ? source.sha256->Hex() : "md5-" + source.md5->Hex());
  const AbsPath target = folder / name;
  const Wanted wanted{.name = name, .declared = declared, .target = target};
  PTPKG_TRY(Lease lease, LeaseCacheDir(env, folder));
  PTPKG_TRY(bool cached, IsCached(env, wanted));
  if (!cached) {
    PTPKG_TRY(const std::unique_ptr<File> lock, WaitForLock(env, folder / kFetchLockName, name));
    PTPKG_TRY(cached, IsCached(env, wanted));  // another run may just have fetched it
    PTPKG_CHECK(RemoveAbandoned(env, folder));
    if (!cached) {
      PTPKG_TRY(cached, ReuseUnderOtherName(env, wanted));
    }
    std::vector<std::string> urls = source.urls;
    // A file: URL needs no network.
    if (env.offline) std::erase_if(urls, [](const std::string& url) { return !url.starts_with("file://"); });
    if (!cached && urls.empty()) return NotCached(wanted).At(source.span);
    if (!cached) PTPKG_CHECK(FetchFromAny(env, urls, wanted));
  }
  return Downloaded{.file = target, .lease = std::move(lease)};
}

}  // namespace ptpkg::source
