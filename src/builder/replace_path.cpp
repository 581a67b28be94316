// Searches files of any size for one path, in windows of 1 MiB. A match may lie across two windows, so each
// begins with the last bytes of the one before, one byte fewer than the text has. Bytes of a match are not
// kept: a text such as "aa" would otherwise be found again, one byte later.
//
// Most files don't contain the path, so a file is opened for writing only at the first match. The replacement
// has the same length, and nothing else of the file changes.

#include "builder/replace_path.h"

#include <algorithm>
#include <fmt/core.h>
#include <functional>

#include "support/digest/scratch_buffer.h"

namespace ptpkg::builder {

namespace {

constexpr std::size_t kWindow = std::size_t{1} << 20U;

/// Calls `on_hit(offset)` for every place of `text`; false ends the search.
template <typename OnHit>
Result<void> FindText(File& reader, std::string_view text, const OnHit& on_hit) {
  const std::boyer_moore_horspool_searcher searcher(text.begin(), text.end());
  // Each window begins with the last bytes of the one before: a match may lie across.
  ScratchBuffer memory(kWindow + text.size() - 1);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text, for the searcher
  const std::span<char> window(reinterpret_cast<char*>(memory.bytes().data()), memory.bytes().size());
  std::size_t kept = 0;
  std::uint64_t offset = 0;  // of window[0] in the file
  while (true) {
    const MutableBytes rest = memory.bytes().subspan(kept, kWindow);
    PTPKG_TRY(const std::size_t got, reader.ReadAt(offset + kept, rest));
    if (got == 0) return Ok();
    const char* const end = window.data() + kept + got;
    const char* from = window.data();
    for (;;) {
      const char* const hit = std::search(from, end, searcher);
      if (hit == end) break;
      PTPKG_TRY(const bool more, on_hit(offset + static_cast<std::uint64_t>(hit - window.data())));
      if (!more) return Ok();
      from = hit + text.size();
    }
    const std::size_t filled = kept + got;
    kept = std::min(filled, text.size() - 1);
    // Bytes that were matched already must not be searched again.
    kept = std::min(kept, static_cast<std::size_t>(end - from));
    std::copy(end - kept, end, window.data());
    offset += filled - kept;
  }
}

}  // namespace

Result<std::size_t> ReplacePath(Fs& fs, const AbsPath& file, const PathReplacement& replacement) {
  PTPKG_ASSERT(!replacement.from.empty() && replacement.from.size() == replacement.to.size());
  PTPKG_TRY(const std::unique_ptr<File> reader, fs.Open(file, OpenMode::kRead));
  std::unique_ptr<File> writer;  // most files hold nothing and are only read
  std::size_t count = 0;
  const auto overwrite = [&](std::uint64_t place) -> Result<bool> {
    if (writer == nullptr) {
      PTPKG_TRY(writer, fs.Open(file, OpenMode::kReadWrite));
    }
    PTPKG_CHECK(writer->WriteAt(place, AsBytes(replacement.to)));
    ++count;
    return true;
  };
  PTPKG_CHECK(FindText(*reader, replacement.from, overwrite));
  if (writer != nullptr) PTPKG_CHECK(writer->Close());
  return count;
}

Result<bool> ContainsPath(Fs& fs, const AbsPath& file, std::string_view path) {
  PTPKG_ASSERT(!path.empty());
  PTPKG_TRY(const std::unique_ptr<File> reader, fs.Open(file, OpenMode::kRead));
  bool found = false;
  PTPKG_CHECK(FindText(*reader, path, [&](std::uint64_t) -> Result<bool> {
    found = true;
    return false;
  }));
  return found;
}

}  // namespace ptpkg::builder
