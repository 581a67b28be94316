#include "source/download.h"

#include <fmt/core.h>

#include "support/atomic_file.h"
#include "support/hash.h"
#include "support/reporter.h"

namespace ptpkg::source {

namespace {

/// Takes one mirror's body into the cache folder.
Result<void> FetchFrom(Env& env, const std::string& url, const Sha256& expected, const AbsPath& target) {
  Task task(env.reporter, TaskInfo{.stage = "source", .subject = std::string(target.Name())});
  PTPKG_TRY(AtomicFile file, AtomicFile::Create(env.fs, target));
  FileSink file_sink(file.file());
  HashingSink sink(&file_sink);
  std::uint64_t reported = 0;
  const HttpRequest request{.url = url,
                            .headers = {},
                            .on_progress =
                                [&](std::uint64_t done, std::uint64_t) {
                                  if (done <= reported) return;
                                  task.Advance(done - reported);
                                  reported = done;
                                },
                            .cancel = &env.cancel};
  PTPKG_TRY(const HttpResponse response, env.http.Get(request, sink),
            fmt::format("while fetching '{}'", url));
  const Digests digests = sink.Finish();
  if (digests.sha256 != expected) {
    return Error(ErrorCode::kHashMismatch, fmt::format("'{}' has sha256 {}, but the recipe declares {}", url,
                                                       digests.sha256.Hex(), expected.Hex()))
        .WithHint(
            "if the release was replaced on purpose, check the new file and change the digest in the recipe");
  }
  PTPKG_CHECK(std::move(file).Commit(OnExisting::kReplace));
  task.Done(fmt::format("status {}", response.status));
  return Ok();
}

/// Makes `folder` and takes its lease; again, when somebody is just cleaning it away.
Result<Lease> LeaseFolder(Env& env, const AbsPath& folder) {
  constexpr int kAttempts = 10;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    PTPKG_CHECK(env.fs.MakeDirs(folder));
    PTPKG_TRY(std::optional<Lease> lease, TakeShared(env, folder));
    if (lease) return *std::move(lease);
  }
  return Error(ErrorCode::kIo, fmt::format("'{}' is being removed by another process", folder.str()))
      .WithHint("try again");
}

}  // namespace

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
        .WithHint("set file_name beside the url")
        .At(source.span);
  }
  return name;
}

Result<Downloaded> Download(Env& env, const recipe::Source& source) {
  PTPKG_TRY(const std::string name, DownloadName(source));
  if (!source.sha256) {
    return Error(ErrorCode::kInvalidInput, fmt::format("the source '{}' has no sha256", source.urls.front()))
        .WithHint("a download without a digest could change from one build to the next: add 'sha256:'")
        .At(source.span);
  }
  const AbsPath folder = env.cache_dir / "downloads" / source.sha256->Hex();
  const AbsPath target = folder / name;
  PTPKG_TRY(Lease lease, LeaseFolder(env, folder));
  PTPKG_TRY(const bool cached, Exists(env.fs, target));
  if (cached) {
    PTPKG_TRY(const Digests digests, HashFile(env.fs, target));
    if (digests.sha256 == *source.sha256) return Downloaded{.file = target, .lease = std::move(lease)};
    env.reporter.Warn(fmt::format("'{}' in the download cache is damaged and is fetched again", name));
    PTPKG_CHECK(env.fs.Remove(target));
  }
  PTPKG_CHECK(RemoveAbandoned(env, folder));
  Result<void> fetched = Error(ErrorCode::kInternal, "a source without mirrors");
  for (const std::string& url : source.urls) {
    PTPKG_CHECK(env.cancel.Check());
    fetched = FetchFrom(env, url, *source.sha256, target);
    if (fetched) return Downloaded{.file = target, .lease = std::move(lease)};
    if (fetched.error().code() == ErrorCode::kCancelled) break;
    if (&url != &source.urls.back()) {
      env.reporter.Warn(fmt::format("{}; trying the next mirror", fetched.error().message()));
    }
  }
  return std::move(fetched).error();
}

}  // namespace ptpkg::source
