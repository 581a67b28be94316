// Hashes a file in one pass although the writer goes back to complete headers.
//
// A zip writer appends header and content of a member, then rewrites the header with sizes and CRC. Bytes
// therefore become final only when the next append follows a rewrite. Until then they wait in the window,
// unhashed. A stretch above the window limit is dropped from memory and read back from the file once it is
// final.
//
// Invariants: [0, hashed_) is in the hash and never changes. A write is either an append at end_ or a
// rewrite that lies completely in [hashed_, end_). Anything else is a bug of the caller, and would give a
// digest of bytes that are not in the file.

#include "archive/codec/digesting_file.h"

#include <algorithm>
#include <fmt/core.h>

namespace ptpkg::archive {

DigestingFile::DigestingFile(File& file, HashChoice choice, std::size_t window_bytes)
    : file_(file), hasher_(nullptr, choice), window_limit_(window_bytes) {}

Result<std::size_t> DigestingFile::ReadAt(std::uint64_t offset, MutableBytes buffer) {
  return file_.ReadAt(offset, buffer);
}

Result<void> DigestingFile::WriteAt(std::uint64_t offset, Bytes bytes) {
  if (offset > end_ || offset < hashed_ || (offset < end_ && bytes.size() > end_ - offset)) {
    return Error(ErrorCode::kInternal,
                 fmt::format("write of {} bytes at {} into a file hashed up to {} and written up to {}",
                             bytes.size(), offset, hashed_, end_));
  }
  // The first append after a rewrite: the writer is done with everything before it.
  if (offset == end_ && completed_) PTPKG_CHECK(Settle());
  PTPKG_CHECK(file_.WriteAt(offset, bytes));
  if (offset < end_) {
    completed_ = true;
    if (!overflowed_) {
      std::copy(bytes.begin(), bytes.end(), window_.begin() + static_cast<std::ptrdiff_t>(offset - hashed_));
    }
    return Ok();
  }
  end_ += bytes.size();
  if (!overflowed_ && window_.size() + bytes.size() > window_limit_) {
    overflowed_ = true;
    window_.clear();
  }
  if (!overflowed_) window_.insert(window_.end(), bytes.begin(), bytes.end());
  return Ok();
}

Result<void> DigestingFile::Truncate(std::uint64_t size_bytes) {
  return Error(ErrorCode::kInternal,
               fmt::format("cut to {} bytes of a file that is being hashed", size_bytes));
}

Result<void> DigestingFile::Settle() {
  if (!overflowed_) {
    PTPKG_CHECK(hasher_.Write(window_));
    hashed_ = end_;
  } else {
    window_.resize(std::min<std::uint64_t>(window_limit_, 1U << 20U));
    while (hashed_ < end_) {
      const std::uint64_t want = std::min<std::uint64_t>(window_.size(), end_ - hashed_);
      const MutableBytes buffer = MutableBytes(window_).first(want);
      PTPKG_TRY(const std::size_t got, file_.ReadAt(hashed_, buffer));
      if (got != want) {
        return Error(ErrorCode::kIo,
                     fmt::format("output file ends at {} instead of {}", hashed_ + got, end_));
      }
      PTPKG_CHECK(hasher_.Write(buffer));
      hashed_ += want;
      bytes_read_back_ += want;
    }
  }
  window_.clear();
  overflowed_ = false;
  completed_ = false;
  return Ok();
}

Result<Digests> DigestingFile::Finish() {
  PTPKG_CHECK(Settle());
  return hasher_.Finish();
}

}  // namespace ptpkg::archive
