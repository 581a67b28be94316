#pragma once
// Files too large for one request: sent in parts, and continued where an earlier run ended. Layer: publish.
// Source: Amazon S3 User Guide "Uploading and copying objects using multipart upload", "Amazon S3 multipart
// upload limits".

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "publish/s3/s3_bucket.h"
#include "publish/upload.h"

namespace ptpkg::publish {

/// A file up to this size is one request.
inline constexpr std::uint64_t kMostBytesAtOnce = 32U << 20U;

/// How a file is cut: part n, from 1, begins at (n - 1) * part_bytes.
struct PartLayout {
  std::uint64_t part_bytes = 0;
  int parts = 0;

  [[nodiscard]] std::uint64_t OffsetOf(int number) const;
  [[nodiscard]] std::uint64_t SizeOf(int number, std::uint64_t file_bytes) const;
};

/// Depends on the file alone, so that every run cuts it alike: at least 16 MiB, at most 10,000 parts. The
/// last 20 bits of a part's size are taken from the digest: an unfinished upload tells the sizes of its parts
/// and nothing else of its file. REQUIRES: size_bytes > 0.
PartLayout LayoutOf(const Digests& file);

/// The ETag that S3 gives a file in the parts of LayoutOf(): the MD5 of their MD5s. Errors: kIo, kRefused
/// (the file became shorter).
Result<std::string> PartsEtag(Env& env, const Upload& upload);

/// Sends files to one bucket. Calls may come from several threads, for different files.
class S3Multipart {
 public:
  explicit S3Multipart(S3Bucket& bucket) : bucket_(bucket) {}

  /// `path`: below the bucket's prefix. An upload that an earlier run left is continued if its parts have the
  /// sizes of LayoutOf(); those with the right MD5 are not sent again, and uploads of others are left alone.
  /// Each part is tried again by itself. Memory does not grow with the file. Errors: kNetwork: what was sent
  /// stays for the next try; kCancelled, the same; all others are final, and what this run began is aborted.
  /// kAlreadyExists: the condition did not hold; kRefused: the file changed meanwhile.
  Result<void> Send(const Upload& upload, const std::string& path, const S3Condition& condition,
                    const std::function<void(std::uint64_t)>& on_sent);

  /// What the server called the object when this run completed it; "": it has not.
  [[nodiscard]] std::string EtagOf(const std::string& path);

 private:
  struct Job;
  struct Part;
  /// Looks for one to continue. False: there is none.
  Result<bool> FindUnfinished(Job& job);
  /// What of an upload the server has; false if that are not parts of this file.
  Result<bool> ReadParts(Job& job, const std::string& id);
  Result<void> Begin(Job& job);
  Result<void> SendParts(Job& job);
  Result<Part> SendPart(Job& job, Part part);
  Result<void> Complete(const Job& job);
  void Abort(const Job& job);

  S3Bucket& bucket_;
  std::mutex mutex_;
  std::set<std::string> begun_;               // ids of uploads that this run has begun; under mutex_
  std::map<std::string, std::string> etags_;  // by path; under mutex_
};

}  // namespace ptpkg::publish
