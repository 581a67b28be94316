#pragma once
// Moves objects of the remote cache from and to a bucket. Layer: pipeline.

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "graph/plan.h"
#include "pipeline/remote_cache/transfer_guard.h"
#include "publish/s3/s3_bucket.h"
#include "support/digest/hash.h"

namespace ptpkg::pipeline {

/// Largest object: one PUT takes no more (Amazon S3 User Guide).
inline constexpr std::uint64_t kMostObjectBytes = std::uint64_t{5} << 30U;

/// State of an object before an upload.
struct ObjectBefore {
  bool replace = false;  ///< Whatever is there is replaced.
  bool damaged =
      false;  ///< A damaged object is there, and is replaced if it is still the one with this ETag.
  std::string etag = {};  ///< The damaged object's; "" = the server gave none.
};

/// An object on this machine's disk.
struct LocalObject {
  AbsPath file = AbsPath::Literal("/nonexistent");
  Digests digests = {};  ///< With MD5.
};

/// Any thread. All calls end within the time that the guard leaves them, with kCancelled.
class ResultBucket {
 public:
  /// `env` must outlive it. Errors: any from S3Bucket::Make.
  static Result<std::unique_ptr<ResultBucket>> Open(Env& env, publish::S3Place place, AwsKeys keys);

  ResultBucket(const ResultBucket&) = delete;
  ResultBucket& operator=(const ResultBucket&) = delete;
  ~ResultBucket() = default;

  /// Why calls end with kCancelled, but for an interrupt.
  [[nodiscard]] std::string WhyItStopped() const { return guard_.Reason(); }
  [[nodiscard]] const publish::S3Bucket& bucket() const { return *bucket_; }

  /// True if the bucket lists an object under `path`. Errors: any from S3Bucket.
  Result<bool> Holds(const std::string& path);

  /// Writes the object into the new file `to`. nullopt: there is none. An answer that is cut is read again.
  /// Errors: any from S3Bucket, kIo.
  Result<std::optional<publish::HashedAnswer>> Download(const graph::Node& node, const std::string& path,
                                                        const AbsPath& to);

  /// Uploads and compares what the bucket then has. False: another run was faster. Errors: any from S3Bucket,
  /// kCorrupt when the bucket has other bytes than it took.
  Result<bool> Upload(const graph::Node& node, const std::string& path, const LocalObject& object,
                      const ObjectBefore& before);

 private:
  explicit ResultBucket(Env& env);

  Result<HttpAnswer> Head(const std::string& path);
  Result<HttpAnswer> SendUnderCondition(publish::Request request, const ObjectBefore& before);
  Result<void> CompareWritten(const std::string& path, const Digests& digests, const std::string& etag);

  Env& env_;
  TransferGuard guard_;
  Env network_;  // of requests
  std::unique_ptr<publish::S3Bucket> bucket_;
  std::atomic<bool> has_conditions_{true};
};

/// Header with the sha256 that the uploader gave.
inline constexpr const char* kDigestHeader = "x-amz-meta-sha256";

}  // namespace ptpkg::pipeline
