#pragma once
// File that is hashed while written, with headers filled in later. Layer: archive.

#include <vector>

#include "support/digest/hash.h"
#include "support/files/fs.h"

namespace ptpkg::archive {

/// Forwards everything to `file` and hashes its final content.
///
/// A zip writer appends the header and the content of a member, and then completes the header. So this class
/// holds back from the hash all bytes appended since the last completion, in memory up to `window_bytes`. It
/// reads a longer stretch back once that is final (from the page cache, because it was written a moment ago).
/// The first append after a completion makes everything before it final.
///
/// One thread at a time; appends without gaps. Rewriting bytes that are already hashed is kInternal.
class DigestingFile final : public File {
 public:
  static constexpr std::size_t kWindowBytes = 32U << 20U;

  /// Borrows `file`, which must be empty.
  explicit DigestingFile(File& file, HashChoice choice = {}, std::size_t window_bytes = kWindowBytes);

  Result<std::size_t> ReadAt(std::uint64_t offset, MutableBytes buffer) override;
  Result<void> WriteAt(std::uint64_t offset, Bytes bytes) override;
  Result<FileStat> Stat() override { return file_.Stat(); }
  /// kInternal if it would cut off hashed bytes.
  Result<void> Truncate(std::uint64_t size_bytes) override;
  Result<void> Sync() override { return file_.Sync(); }
  Result<void> Close() override { return file_.Close(); }

  /// The digests of the whole file. Call once, last.
  Result<Digests> Finish();

  /// Number of bytes read back; for tests only.
  [[nodiscard]] std::uint64_t bytes_read_back() const { return bytes_read_back_; }

 private:
  Result<void> Settle();

  File& file_;
  HashingSink hasher_;
  std::size_t window_limit_;
  std::uint64_t hashed_ = 0;  ///< Everything before is final and in the hash.
  std::uint64_t end_ = 0;
  std::vector<std::byte> window_;  ///< [hashed_, end_) unless overflowed_.
  bool overflowed_ = false;
  bool completed_ = false;  ///< A rewrite happened since the last append.
  std::uint64_t bytes_read_back_ = 0;
};

}  // namespace ptpkg::archive
