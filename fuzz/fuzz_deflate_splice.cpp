// Splices arbitrary bytes as a deflate stream. What libdeflate and zlib both take must be taken, and what
// comes out must inflate to the edited content. libdeflate alone is no judge: it takes streams that no
// encoder writes, such as both codes of a distance alphabet of one, and zlib and we refuse the one that is
// not defined.

#include <libdeflate.h>

#include "archive/deflate/deflate_chunk.h"
#include "archive/deflate/deflate_splice.h"
#include "fuzz/fuzz.h"
#include "fuzz/zlib_inflate.h"
#include "support/files/read_only_file.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::fuzz {
namespace {

constexpr std::size_t kMostContent = 1U << 20U;

/// nullopt unless libdeflate takes `packed`; its content has at most kMostContent bytes.
std::optional<std::string> InflateAll(std::string_view packed) {
  static libdeflate_decompressor* const inflater = libdeflate_alloc_decompressor();
  std::string text(kMostContent, '\0');
  std::size_t size = 0;
  if (libdeflate_deflate_decompress(inflater, packed.data(), packed.size(), text.data(), text.size(),
                                    &size) != LIBDEFLATE_SUCCESS)
    return std::nullopt;
  text.resize(size);
  return text;
}

/// True if zlib inflates `packed` to `text`.
bool ZlibTakes(std::string_view packed, const std::string& text) {
  const auto [content, ended] = InflateWithZlib(std::string(packed), text.size() + 1);
  return ended && content == text;
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const int level : {1, 6, 12}) {
    archive::DeflatePool pool(level);
    for (const std::string& text : archive::test::TextsToDeflate()) {
      seeds.push_back(*pool.Deflate(AsBytes(text), archive::ChunkPlace::kLast));
      seeds.push_back(*pool.Deflate(AsBytes(text), archive::ChunkPlace::kBefore) +
                      std::string("\x03\x00", 2));
    }
  }
  return seeds;
}

}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptpkg;  // NOLINT(google-build-using-namespace): one function is all there is
  const std::string_view packed(reinterpret_cast<const char*>(data), size);
  const std::optional<std::string> text = fuzz::InflateAll(packed);
  const std::uint64_t content = text ? text->size() : size * 3;
  archive::ContentEdits edits{.appended = "end"};
  if (content > 2) edits.replaced.push_back({(size * 131) % (content - 2), "XY"});
  MemoryFile file(AsBytes(packed));
  StringSink out;
  const auto spliced =
      archive::SpliceDeflate(file, {.stored_bytes = size, .size_bytes = content}, edits, 1, out);
  if (!text) return 0;
  std::string expected = *text;
  for (const archive::ContentEdit& edit : edits.replaced) expected.replace(edit.offset, 2, edit.bytes);
  expected += edits.appended;
  if (!spliced) {
    if (spliced.error().code() != ErrorCode::kCorrupt || fuzz::ZlibTakes(packed, *text)) std::abort();
    return 0;
  }
  if (fuzz::InflateAll(out.str()) != expected || spliced->crc32 != archive::test::CrcOf(expected))
    std::abort();
  return 0;
}
