// Where the last block of a deflate stream lies, and what zlib refuses although libdeflate inflates it.

#include "archive/deflate/deflate_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "archive/deflate/deflate_chunk.h"
#include "archive/deflate/deflate_walk.h"
#include "support/matchers.h"
#include "unit/archive/fixtures/builders.h"
#include "unit/archive/fixtures/deflate_streams.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::IsOk;
using ::testing::HasSubstr;

TEST(ScanDeflate, FindsTheBlocksThatTheWalkerFinds) {
  for (const int level : {1, 2, 6, 9, 12}) {
    DeflatePool pool(level);
    for (std::uint64_t i = 0; i < 24; ++i) {
      const std::string text =
          WordyText(200 + i * 91, i) + RandomText(i % 4 == 0 ? 70'000 : i, i) + std::string(i * 101, '\0');
      ASSERT_OK_AND_ASSIGN(const std::string packed, pool.Deflate(AsBytes(text), ChunkPlace::kLast));
      ASSERT_OK_AND_ASSIGN(const DeflateLayout layout, ScanDeflate(packed));
      deflate::BitReader reader{std::string_view(packed)};
      deflate::DiscardSymbols none;
      deflate::Walker<deflate::DiscardSymbols> walker(reader, none);
      ASSERT_OK_AND_ASSIGN(deflate::Block block, walker.NextBlock());
      while (!block.is_last) {
        ASSERT_OK_AND_ASSIGN(block, walker.NextBlock());
      }
      EXPECT_EQ(layout.last_block_bit, block.begin_bit);
      EXPECT_EQ(layout.end_bit, block.end_bit);
      EXPECT_THAT(ScanDeflate(std::string_view(packed).substr(0, packed.size() - 1)),
                  FailsWith(ErrorCode::kCorrupt, HasSubstr("damaged")));
    }
  }
}

TEST(ScanDeflate, RefusesWhatZlibRefuses) {
  for (const auto& cases : {StreamsOfLibdeflateOnly(), BrokenStreams()}) {
    for (const DeflateCase& bad : cases) {
      EXPECT_THAT(ScanDeflate(bad.stream), FailsWith(ErrorCode::kCorrupt, HasSubstr("damaged"))) << bad.what;
    }
  }
}

TEST(ScanDeflate, TakesIncompleteCodesThatZlibTakes) {
  for (const DeflateCase& sound : StreamsWithIncompleteCodes()) {
    EXPECT_THAT(ScanDeflate(sound.stream), IsOk()) << sound.what;
  }
}

}  // namespace
}  // namespace ptpkg::archive::test
