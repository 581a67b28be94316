#include "build/replace_path.h"

#include <algorithm>
#include <fmt/core.h>
#include <functional>

namespace ptpkg::build {

namespace {

constexpr std::size_t kWindow = std::size_t{1} << 20U;

}  // namespace

Result<std::size_t> ReplacePath(Fs& fs, const AbsPath& file, const PathReplacement& replacement) {
  PTPKG_ASSERT(!replacement.from.empty() && replacement.from.size() == replacement.to.size());
  const std::boyer_moore_horspool_searcher searcher(replacement.from.begin(), replacement.from.end());
  PTPKG_TRY(std::unique_ptr<File> reader, fs.Open(file, OpenMode::kRead));
  std::unique_ptr<File> writer;  // most files hold nothing and are only read
  // Each window begins with the last bytes of the one before: a match may lie across.
  std::vector<char> window(kWindow + replacement.from.size() - 1);
  std::size_t kept = 0;
  std::uint64_t offset = 0;  // of window[0] in the file
  std::size_t count = 0;
  while (true) {
    const MutableBytes rest = std::as_writable_bytes(std::span(window.data() + kept, kWindow));
    PTPKG_TRY(const std::size_t got, reader->ReadAt(offset + kept, rest));
    if (got == 0) break;
    const char* const end = window.data() + kept + got;
    const char* from = window.data();
    for (;;) {
      const char* const hit = std::search(from, end, searcher);
      if (hit == end) break;
      if (writer == nullptr) {
        PTPKG_TRY(writer, fs.Open(file, OpenMode::kReadWrite));
      }
      const auto place = static_cast<std::uint64_t>(hit - window.data());
      PTPKG_CHECK(writer->WriteAt(offset + place, AsBytes(replacement.to)));
      ++count;
      from = hit + replacement.from.size();
    }
    const std::size_t filled = kept + got;
    kept = std::min(filled, replacement.from.size() - 1);
    // What was matched already must not be looked at again.
    kept = std::min(kept, static_cast<std::size_t>(end - from));
    std::copy(end - kept, end, window.data());
    offset += filled - kept;
  }
  if (writer != nullptr) PTPKG_CHECK(writer->Close());
  return count;
}

}  // namespace ptpkg::build
