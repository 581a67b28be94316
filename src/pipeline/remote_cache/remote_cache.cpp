// One object for each result, under v1/STAGE/KEY.tar.zst. Nothing that is fetched is believed: UnpackObject
// compares stage, key and all digests. A damaged object is replaced by the result that this run then builds,
// under the condition that it is still the damaged one. Whatever fails is a warning, and the first failure of
// the server is its last request: a run does not wait for it again.

#include "pipeline/remote_cache/remote_cache.h"

#include <atomic>
#include <fmt/core.h>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>

#include "archive/extract.h"
#include "builder/resume/work_layout.h"
#include "pipeline/plan/input_output_overlap.h"
#include "pipeline/remote_cache/packed_object.h"
#include "pipeline/remote_cache/result_bucket.h"
#include "pipeline/stages/build_folder.h"
#include "publish/publish_target.h"
#include "publish/s3/aws_profile.h"
#include "support/files/scratch.h"
#include "support/process/core_dumps.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

using graph::Node;
using graph::NodeResult;

constexpr const char* kOption = "--remote-cache";

std::string PathOf(const Node& node, const std::string& key) {
  return fmt::format("v1/{}/{}.tar.zst", node.stage, key);
}

void WarnUnusable(Env& env, const std::string& title, const Error& error) {
  // A hint for a server that failed would say to publish again.
  const bool hints = error.code() != ErrorCode::kNetwork && !error.hint().empty();
  env.reporter.Warn(fmt::format("cannot use the remote cache {}: {}; continuing without it{}", title,
                                error.message(), hints ? fmt::format(" ({})", error.hint()) : ""));
}

/// work_layout.h pads roots to kRootLength. A longer path of the cache gives longer roots: other machines
/// could not go on with such results, nor this one with theirs.
Result<void> RequireShortCachePath(Env& env) {
  const AbsPath cache = ResolveExistingPart(env, env.cache_dir);
  constexpr std::size_t kMost = builder::kRootLength - kMostRootBytesBelowCache;
  if (cache.str().size() <= kMost) return Ok();
  return Error(ErrorCode::kUnsupported,
               fmt::format("the path of the cache directory '{}' has more than {} bytes", cache.str(), kMost))
      .WithHint("choose a shorter one with --cache-dir");
}

/// True if its prefix has the length that other machines have.
bool IsPortable(const NodeResult& result) {
  return result.value.value("prefix", "").size() == builder::kPrefixLength;
}

/// Members that a reader of the object counts: result.json, files, and the directories above them.
std::size_t MembersOf(const NodeResult& result) {
  std::set<std::string_view> folders;
  for (const TreeEntry& entry : result.files.entries) {
    std::string_view path = entry.path.str();
    for (std::size_t end = path.rfind('/'); end != std::string_view::npos; end = path.rfind('/')) {
      path = path.substr(0, end);
      if (!folders.insert(path).second) break;
    }
  }
  return result.files.entries.size() + folders.size() + 2;  // 'files' is a directory too
}

class RemoteCache final : public graph::RemoteStore {
 public:
  RemoteCache(Env& env, std::unique_ptr<ResultBucket> objects, bool read_only)
      : env_(env), objects_(std::move(objects)), uploads_(!read_only) {}

  /// Packing, checks and tests take seconds, and belong to one output directory.
  [[nodiscard]] bool Shares(const Node& node) const override { return node.stage == "build"; }

  bool Holds(const Node& node, const std::string& key) override {
    if (!works_) return false;
    const Result<bool> holds = objects_->Holds(PathOf(node, key));
    if (!holds) GiveUp(holds.error());
    return holds && *holds;
  }

  Result<std::optional<NodeResult>> Fetch(const Node& node, const std::string& key,
                                          const AbsPath& folder) override {
    const std::string path = PathOf(node, key);
    if (!works_ || BeforeUpload(path, false).damaged) return std::optional<NodeResult>();
    Result<std::optional<NodeResult>> fetched = DownloadAndUnpack(node, key, folder);
    PTPKG_CHECK(env_.cancel.Check());
    if (fetched) return fetched;
    GiveUp(fetched.error());
    return std::optional<NodeResult>();
  }

  bool Upload(const Node& node, const NodeResult& result, bool replace) override {
    if (!works_ || !uploads_ || !IsPortable(result)) return false;
    if (const std::size_t members = MembersOf(result); members > limits::kMembers) {
      env_.reporter.Warn(
          fmt::format("'{}' is not uploaded to the remote cache: it has {} files and "
                      "directories, and an object takes {}",
                      node.id, members, limits::kMembers));
      return false;
    }
    const Result<bool> sent = PackAndSend(node, result, BeforeUpload(PathOf(node, result.key), replace));
    if (sent || env_.cancel.cancelled()) return sent && *sent;
    const ErrorCode code = sent.error().code();
    if (code == ErrorCode::kNetwork || code == ErrorCode::kCancelled) {
      GiveUp(sent.error());
    } else if (uploads_.exchange(false)) {
      env_.reporter.Warn(fmt::format(
          "cannot upload '{}' to the remote cache {}: {}; this run uploads no results (to fetch alone: "
          "--remote-cache-read-only)",
          node.id, Title(), sent.error().message()));
    }
    return false;
  }

 private:
  [[nodiscard]] std::string Title() const { return objects_->bucket().Title(); }

  void GiveUp(const Error& error) {
    if (env_.cancel.cancelled() || !works_.exchange(false)) return;
    if (error.code() != ErrorCode::kCancelled) return WarnUnusable(env_, Title(), error);
    WarnUnusable(env_, Title(), {ErrorCode::kNetwork, objects_->WhyItStopped()});
  }

  ObjectBefore BeforeUpload(const std::string& path, bool replace) {
    const std::lock_guard lock(mutex_);
    const auto damaged = damaged_.find(path);
    if (damaged == damaged_.end()) return {.replace = replace};
    return {.replace = replace, .damaged = true, .etag = damaged->second};
  }

  void NoteDamaged(const std::string& path, const HttpAnswer& answer, const Error& error) {
    env_.reporter.Warn(fmt::format("'{}' of the remote cache {} is damaged: {}; building it again",
                                   objects_->bucket().KeyOf(path), Title(), error.message()));
    std::string etag = publish::HeaderOfAnswer(answer, "etag");
    if (etag.starts_with("W/")) etag.erase(0, 2);  // a weak one fulfils no condition
    const std::lock_guard lock(mutex_);
    damaged_[path] = std::move(etag);
  }

  Result<std::optional<NodeResult>> DownloadAndUnpack(const Node& node, const std::string& key,
                                                      const AbsPath& folder) {
    const std::string path = PathOf(node, key);
    PTPKG_TRY(const TempDir scratch, TempDir::Create(env_.fs, env_.cache_dir / "work", "fetch"));
    const AbsPath object = scratch.path() / "object";
    PTPKG_TRY(const auto got, objects_->Download(node, path, object));
    if (!got) return std::optional<NodeResult>();
    const std::string told = publish::HeaderOfAnswer(got->answer, kDigestHeader);
    Result<NodeResult> result = Error(ErrorCode::kCorrupt, "its digest is not the one that it was sent with");
    if (told.empty() || told == got->sha256.Hex()) result = UnpackObject(env_, node, key, object, folder);
    if (result) return std::optional(*std::move(result));
    const ErrorCode code = result.error().code();
    if (code == ErrorCode::kIo || code == ErrorCode::kCancelled) return std::move(result).error();
    NoteDamaged(path, got->answer, result.error());
    return std::optional<NodeResult>();
  }

  /// False: another run has stored the result, or the object would be too large.
  Result<bool> PackAndSend(const Node& node, const NodeResult& result, const ObjectBefore& before) {
    const std::string path = PathOf(node, result.key);
    if (!before.replace && !before.damaged) {
      PTPKG_TRY(const bool is_there, objects_->Holds(path));
      if (is_there) return false;
    }
    PTPKG_TRY(const TempDir scratch, TempDir::Create(env_.fs, env_.cache_dir / "work", "upload"));
    LocalObject object{.file = scratch.path() / "object"};
    PTPKG_TRY(object.digests, PackObject(env_, node, result, object.file));
    const std::uint64_t bytes = object.digests.size_bytes;
    const std::uint64_t unpacked = result.files.TotalBytes();
    const archive::ExtractLimits limits;
    if (bytes <= kMostObjectBytes && unpacked <= limits.max_bytes && !limits.IsBomb(unpacked, bytes))
      return objects_->Upload(node, path, object, before);
    env_.reporter.Warn(fmt::format(
        "'{}' is not uploaded to the remote cache: it has {}, {} unpacked; an object takes {} and unpacks to "
        "{} times its size, at most {}",
        node.id, HumanBytes(bytes), HumanBytes(unpacked), HumanBytes(kMostObjectBytes), limits.max_ratio,
        HumanBytes(limits.max_bytes)));
    return false;
  }

  Env& env_;
  std::unique_ptr<ResultBucket> objects_;
  std::atomic<bool> works_{true};
  std::atomic<bool> uploads_;
  std::mutex mutex_;                            // of damaged_
  std::map<std::string, std::string> damaged_;  // path → ETag
};

}  // namespace

Result<void> CheckRemoteCache(Env& env, const RemoteCacheOptions& options) {
  if (!options.url.empty()) {
    PTPKG_TRY(publish::S3Place place, publish::ParseBucket(env, options.url, kOption));
    PTPKG_TRY([[maybe_unused]] const auto bucket, publish::S3Bucket::Make(env, std::move(place)));
    return Ok();
  }
  if (!options.read_only) return Ok();
  return Error(ErrorCode::kUsage, "--remote-cache-read-only needs --remote-cache")
      .WithHint("name the bucket: --remote-cache s3://BUCKET/PREFIX");
}

Result<std::unique_ptr<graph::RemoteStore>> OpenRemoteCache(Env& env, const RemoteCacheOptions& options) {
  std::unique_ptr<graph::RemoteStore> none;
  if (options.url.empty() || env.offline) return none;
  PTPKG_TRY(publish::S3Place place, publish::ParseBucket(env, options.url, kOption));
  Result<AwsKeys> keys = publish::FindAwsKeys(env);
  if (!keys) {
    WarnUnusable(env, options.url, keys.error());
    return none;
  }
  if (const auto is_short = RequireShortCachePath(env); !is_short) {
    WarnUnusable(env, options.url, is_short.error());
    return none;
  }
  ForbidCoreDumps();
  try {
    PTPKG_TRY(auto objects, ResultBucket::Open(env, std::move(place), *std::move(keys)));
    return std::unique_ptr<graph::RemoteStore>(
        std::make_unique<RemoteCache>(env, std::move(objects), options.read_only));
  } catch (const std::system_error& error) {  // the thread limit of this user is reached
    WarnUnusable(env, options.url, {ErrorCode::kIo, error.what()});
    return none;
  }
}

}  // namespace ptpkg::pipeline
