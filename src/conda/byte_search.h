#pragma once
// Finds fixed texts in a stream of any length. Layer: conda.

#include <functional>
#include <string>
#include <vector>

#include "support/files/fs.h"

namespace ptpkg::conda {

/// One occurrence: which needle, and the offset of its first byte in the stream.
struct SearchHit {
  std::size_t needle = 0;
  std::uint64_t offset = 0;

  auto operator<=>(const SearchHit&) const = default;
};

/// Called for every occurrence (overlapping ones too), for each needle in order of offsets. false ends the
/// search.
using OnHit = std::function<bool(const SearchHit&)>;

/// Searches for several needles at once; an occurrence can span two chunks.
class ByteSearch {
 public:
  /// Empty needles are never found.
  explicit ByteSearch(std::vector<std::string> needles);

  /// Returns false when `on_hit` did; the search is over then.
  bool Feed(Bytes chunk, const OnHit& on_hit);

 private:
  std::vector<std::string> needles_;
  std::string window_;        // the tail of earlier chunks, then the new chunk
  std::size_t tail_ = 0;      // longest needle - 1
  std::uint64_t offset_ = 0;  // of window_[0] in the stream
};

/// Feeds a file in chunks of 1 MiB. `on_chunk` (can be empty) sees every chunk before the search; false ends
/// it. Memory: 2 MiB. Errors: any read error.
Result<void> SearchFile(File& file, const std::vector<std::string>& needles, const OnHit& on_hit,
                        const std::function<bool(Bytes)>& on_chunk = {});
Result<void> SearchFile(Fs& fs, const AbsPath& path, const std::vector<std::string>& needles,
                        const OnHit& on_hit, const std::function<bool(Bytes)>& on_chunk = {});

}  // namespace ptpkg::conda
