#include "archive/deflate/deflate_chunk.h"

#include <gtest/gtest.h>
#include <libdeflate.h>

#include "archive/codec/compression.h"
#include "archive/deflate/deflate_runs.h"
#include "archive/deflate/deflate_scan.h"
#include "support/matchers.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::FailsWith;
using ::testing::HasSubstr;

/// Strict: the stream must end exactly at the end of `packed`, with exactly `size_bytes` of content.
std::string Inflate(const std::string& packed, std::size_t size_bytes) {
  libdeflate_decompressor* decompressor = libdeflate_alloc_decompressor();
  std::string text(size_bytes, '\0');
  std::size_t used = 0;
  const libdeflate_result result = libdeflate_deflate_decompress_ex(
      decompressor, packed.data(), packed.size(), text.data(), text.size(), &used, nullptr);
  libdeflate_free_decompressor(decompressor);
  if (result != LIBDEFLATE_SUCCESS) return "result " + std::to_string(result);
  if (used != packed.size()) return "used " + std::to_string(used) + " of " + std::to_string(packed.size());
  return text;
}

Result<std::string> Joined(DeflatePool& pool, const std::string& text, std::size_t chunk) {
  std::string packed;
  for (std::size_t at = 0; at < text.size(); at += chunk) {
    const bool is_last = at + chunk >= text.size();
    PTPKG_TRY(const std::string piece, pool.Deflate(AsBytes(std::string_view(text).substr(at, chunk)),
                                                    is_last ? ChunkPlace::kLast : ChunkPlace::kBefore));
    packed += piece;
  }
  return packed;
}

TEST(DeflatePool, ChunksJoinIntoOneStream) {
  // Stored, fixed and dynamic blocks, and chunks that end at every bit of a byte.
  std::string mixed;
  for (std::uint64_t i = 0; i < 60; ++i) {
    mixed +=
        WordyText(500 + i * 37, i) + RandomText(i % 3 == 0 ? 90'000 : 10, i) + std::string(i * 101, '\0');
  }
  for (const int level : {1, 6, 9, 12}) {
    DeflatePool pool(level);
    for (const std::size_t chunk : {std::size_t{1}, std::size_t{7}, std::size_t{1000}, std::size_t{70'001}}) {
      const std::string text = chunk < 1000 ? mixed.substr(0, 3000) : mixed;
      ASSERT_OK_AND_ASSIGN(const std::string packed, Joined(pool, text, chunk));
      EXPECT_TRUE(Inflate(packed, text.size()) == text) << "level " << level << " chunk " << chunk;
    }
  }
}

TEST(DeflatePool, ChunkEndsInAnEmptyStoredBlock) {
  DeflatePool pool(6);
  ASSERT_OK_AND_ASSIGN(const std::string packed, pool.Deflate(AsBytes(WordyText(5000)), ChunkPlace::kBefore));
  EXPECT_TRUE(packed.ends_with(std::string("\0\0\xff\xff", 4)));
  EXPECT_THAT(ScanDeflate(packed), FailsWith(ErrorCode::kCorrupt, HasSubstr("damaged")))
      << "no block may be last";
}

TEST(RunDeflater, StoresWhatDoesNotShrinkAndJoins) {
  const std::string hard = RandomText(600'000);
  const std::string soft = WordyText(500'000);
  for (const int level : {1, 6, 12}) {
    RunDeflater runs(level);
    DeflatePool pool(level);
    for (const std::string& text : {soft + hard + soft, hard + soft, soft + hard, RandomText(512U << 10U),
                                    hard, soft, std::string("x"), std::string()}) {
      for (const ChunkPlace place : {ChunkPlace::kLast, ChunkPlace::kBefore}) {
        ASSERT_OK_AND_ASSIGN(std::string packed, runs.Deflate(AsBytes(text), place));
        ASSERT_OK_AND_ASSIGN(const std::string whole, pool.Deflate(AsBytes(text), place));
        EXPECT_LT(packed.size(), whole.size() + whole.size() / 300 + 10);
        if (place == ChunkPlace::kBefore) {
          ASSERT_OK_AND_ASSIGN(const std::string end, pool.Deflate(AsBytes(soft), ChunkPlace::kLast));
          EXPECT_TRUE(Inflate(packed + end, text.size() + soft.size()) == text + soft)
              << level << " " << text.size();
        } else {
          EXPECT_TRUE(Inflate(packed, text.size()) == text) << level << " " << text.size();
        }
      }
    }
  }
}

TEST(RunDeflater, StoredPiecesAreStoredAsTheyAre) {
  const std::string hard = RandomText(256U << 10U);
  RunDeflater runs(6);
  ASSERT_OK_AND_ASSIGN(const std::string packed, runs.Deflate(AsBytes(hard), ChunkPlace::kLast));
  EXPECT_EQ(packed.size(), hard.size() + 5 * 5);  // 4 blocks of 65535 bytes, one of 4
  EXPECT_EQ(packed.substr(5, 65535), hard.substr(0, 65535));
  EXPECT_EQ(packed[packed.size() - 9], '\x01');
}

TEST(Compression, NamesItsLevels) {
  for (const std::string& name : CompressionNames()) {
    ASSERT_OK_AND_ASSIGN(const Compression compression, ParseCompression(name));
    EXPECT_EQ(CompressionName(compression), name);
  }
  EXPECT_EQ(DeflateLevel(Compression::kStore), 0);
  EXPECT_EQ(DeflateLevel(Compression::kMax), 12);
  EXPECT_THAT(ParseCompression("best"), FailsWith(ErrorCode::kUsage, HasSubstr("'best'")));
  EXPECT_TRUE(Deflater().starts_with("libdeflate 1."));
}

TEST(ScanDeflate, FindsTheLastBlock) {
  // A fixed block with nothing in it: BFINAL, 01, seven zero bits (RFC 1951, 3.2.6).
  ASSERT_OK_AND_ASSIGN(const DeflateLayout fixed, ScanDeflate(std::string("\x03\x00", 2)));
  EXPECT_EQ(fixed.last_block_bit, 0U);
  EXPECT_EQ(fixed.end_bit, 10U);
  // A stored block "abc" that is not last, then the same fixed block.
  ASSERT_OK_AND_ASSIGN(const DeflateLayout stored, ScanDeflate(std::string("\x00\x03\x00\xfc\xff"
                                                                           "abc\x03\x00",
                                                                           10)));
  EXPECT_EQ(stored.last_block_bit, 64U);
  EXPECT_EQ(stored.end_bit, 74U);
}

TEST(ScanDeflate, AgreesWithLibdeflateOnTheEnd) {
  DeflatePool pool(6);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::string text = WordyText(seed * seed * 97, seed) + RandomText(seed * 3, seed);
    ASSERT_OK_AND_ASSIGN(const std::string packed, pool.Deflate(AsBytes(text), ChunkPlace::kLast));
    ASSERT_OK_AND_ASSIGN(const DeflateLayout layout, ScanDeflate(packed + "trailing"));
    EXPECT_EQ((layout.end_bit + 7) / 8, packed.size()) << seed;
    EXPECT_LT(layout.last_block_bit, layout.end_bit);
  }
}

TEST(ScanDeflate, RefusesWhatIsNoStream) {
  for (const std::string& bad :
       {std::string(), std::string("\x07", 1),  // block type 3
        std::string("\x01\x03\x00\xfd\xff"
                    "abc",
                    8),  // complement wrong
        std::string("\x01\x03\x00\xfc\xff"
                    "ab",
                    7),  // content cut off
        std::string("\x03", 1), std::string("\x05\xff\xff\xff\xff\xff\xff\xff", 8)}) {
    EXPECT_THAT(ScanDeflate(bad), FailsWith(ErrorCode::kCorrupt, HasSubstr("damaged")));
  }
}

TEST(ScanDeflate, EveryTruncationAndBitFlipEnds) {
  DeflatePool pool(6);
  ASSERT_OK_AND_ASSIGN(const std::string packed, pool.Deflate(AsBytes(WordyText(3000)), ChunkPlace::kLast));
  for (std::size_t size = 0; size < packed.size(); ++size) {
    EXPECT_FALSE(ScanDeflate(packed.substr(0, size)).has_value()) << size;
  }
  int rejected = 0;
  for (std::size_t bit = 0; bit < packed.size() * 8; ++bit) {
    std::string flipped = packed;
    flipped[bit / 8] = static_cast<char>(static_cast<unsigned char>(flipped[bit / 8]) ^ (1U << (bit % 8)));
    if (!ScanDeflate(flipped).has_value()) ++rejected;
  }
  EXPECT_GT(rejected, 0);
}

}  // namespace
}  // namespace ptpkg::archive::test
