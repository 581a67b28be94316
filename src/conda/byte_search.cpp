// Streaming text search. Layer: conda.
//
// The window holds the new chunk and the last tail_ bytes before it, one byte less than the longest needle
// has. So no occurrence is lost between two chunks, and memory does not grow with the stream. Each needle is
// searched with Boyer-Moore-Horspool, which skips up to the needle's length at a mismatch. A placeholder of a
// conda package has 255 bytes, so most bytes of a file are never compared. Invariant: window_[0] is at
// offset_ in the stream.

#include "conda/byte_search.h"

#include <algorithm>
#include <functional>

#include "support/digest/scratch_buffer.h"

namespace ptpkg::conda {
namespace {

constexpr std::size_t kChunkBytes = 1U << 20U;

}  // namespace

ByteSearch::ByteSearch(std::vector<std::string> needles) : needles_(std::move(needles)) {
  for (const std::string& needle : needles_) {
    if (!needle.empty()) tail_ = std::max(tail_, needle.size() - 1);
  }
}

bool ByteSearch::Feed(Bytes chunk, const OnHit& on_hit) {
  const std::size_t old = window_.size();
  window_.append(AsText(chunk));
  for (std::size_t i = 0; i < needles_.size(); ++i) {
    const std::string& needle = needles_[i];
    if (needle.empty()) continue;
    const std::boyer_moore_horspool_searcher searcher(needle.begin(), needle.end());
    // An occurrence that lies wholly in the old part has been reported already.
    const std::size_t first = old - std::min(old, needle.size() - 1);
    auto begin = window_.begin() + static_cast<std::ptrdiff_t>(first);
    while (true) {
      const auto hit = std::search(begin, window_.end(), searcher);
      if (hit == window_.end()) break;
      if (!on_hit(SearchHit{i, offset_ + static_cast<std::uint64_t>(hit - window_.begin())})) return false;
      // Overlapping occurrences count, so the search continues one byte further.
      begin = hit + 1;
    }
  }
  if (window_.size() > tail_) {
    offset_ += window_.size() - tail_;
    window_.erase(0, window_.size() - tail_);
  }
  return true;
}

Result<void> SearchFile(Fs& fs, const AbsPath& path, const std::vector<std::string>& needles,
                        const OnHit& on_hit, const std::function<bool(Bytes)>& on_chunk) {
  PTPKG_TRY(const std::unique_ptr<File> file, fs.Open(path, OpenMode::kRead));
  return SearchFile(*file, needles, on_hit, on_chunk);
}

Result<void> SearchFile(File& file, const std::vector<std::string>& needles, const OnHit& on_hit,
                        const std::function<bool(Bytes)>& on_chunk) {
  FileSource source(file);
  ByteSearch search(needles);
  ScratchBuffer buffer(kChunkBytes);
  while (true) {
    PTPKG_TRY(const std::size_t count, source.Read(buffer.bytes()));
    if (count == 0) return Ok();
    const Bytes chunk = buffer.First(count);
    if (on_chunk && !on_chunk(chunk)) return Ok();
    if (!search.Feed(chunk, on_hit)) return Ok();
  }
}

}  // namespace ptpkg::conda
