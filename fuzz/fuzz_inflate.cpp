// Inflates arbitrary bytes as a deflate stream: what zlib makes of it, and nothing that zlib refuses.

#include "archive/deflate/deflate_chunk.h"
#include "archive/deflate/inflate.h"
#include "fuzz/fuzz.h"
#include "fuzz/require.h"
#include "fuzz/zlib_inflate.h"
#include "support/files/read_only_file.h"
#include "unit/archive/fixtures/builders.h"
#include "unit/archive/fixtures/deflate_streams.h"

namespace ptpkg::fuzz {
namespace {

constexpr std::size_t kMostContent = 1U << 20U;

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const int level : {1, 6, 12}) {
    archive::DeflatePool pool(level);
    for (const std::string& text : archive::test::TextsToDeflate()) {
      seeds.push_back(*pool.Deflate(AsBytes(text), archive::ChunkPlace::kLast));
    }
  }
  for (const auto& cases : {archive::test::StreamsOfLibdeflateOnly(), archive::test::BrokenStreams(),
                            archive::test::StreamsWithIncompleteCodes()}) {
    for (const archive::test::DeflateCase& one : cases) seeds.push_back(one.stream);
  }
  return seeds;
}

}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptpkg;  // NOLINT(google-build-using-namespace): one function is all there is
  const std::string packed(reinterpret_cast<const char*>(data), size);
  const auto [content, ended] = fuzz::InflateWithZlib(packed, fuzz::kMostContent);
  MemoryFile file(AsBytes(packed));
  StringSink own;
  const auto source = archive::MakeInflateSource(file, {.stored_bytes = size, .size_bytes = content.size()});
  const Result<std::uint64_t> inflated = Pump(*source, own);
  fuzz::Require(static_cast<bool>(inflated) == ended, "zlib and Inflate differ on whether a stream is sound");
  fuzz::Require(!ended || own.str() == content, "zlib and Inflate differ on the content");
  return 0;
}
