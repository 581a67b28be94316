// Edited deflate streams: what they inflate to, and which blocks keep their bits.

#include "archive/deflate/deflate_splice.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libdeflate.h>
#include <new>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

#include "archive/deflate/deflate_chunk.h"
#include "archive/deflate/deflate_walk.h"
#include "support/files/read_only_file.h"
#include "support/matchers.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::FailsWith;
using ::testing::HasSubstr;

std::string InflateSpliced(const std::string& packed, std::size_t size_bytes) {
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

/// A raw deflate stream, in one piece.
std::string DeflatedAt(const std::string& text, int level) {
  DeflatePool pool(level);
  const auto packed = pool.Deflate(AsBytes(text), ChunkPlace::kLast);
  return packed ? *packed : std::string();
}

std::string Edited(std::string text, const ContentEdits& edits) {
  for (const ContentEdit& edit : edits.replaced) text.replace(edit.offset, edit.bytes.size(), edit.bytes);
  return text + edits.appended;
}

struct Spliced {
  SplicedStream facts;
  std::string stream;
};

/// The stream lies behind three other bytes.
Result<Spliced> Splice(const std::string& packed, std::uint64_t size_bytes, const ContentEdits& edits,
                       int level = 6) {
  const std::string whole = "abc" + packed + "xyz";
  MemoryFile file{AsBytes(whole)};
  StringSink out;
  PTPKG_TRY(SplicedStream facts,
            SpliceDeflate(file, {.offset = 3, .stored_bytes = packed.size(), .size_bytes = size_bytes}, edits,
                          level, out));
  return Spliced{.facts = facts, .stream = out.str()};
}

/// All that must hold of any splice.
void ExpectSplice(const std::string& packed, const std::string& text, const ContentEdits& edits) {
  ASSERT_OK_AND_ASSIGN(const Spliced spliced, Splice(packed, text.size(), edits));
  const std::string expected = Edited(text, edits);
  EXPECT_TRUE(InflateSpliced(spliced.stream, expected.size()) == expected)
      << InflateSpliced(spliced.stream, expected.size()).substr(0, 60);
  EXPECT_EQ(spliced.facts.stored_bytes, spliced.stream.size());
  EXPECT_EQ(spliced.facts.size_bytes, expected.size());
  EXPECT_EQ(spliced.facts.crc32, CrcOf(expected));
  EXPECT_EQ(spliced.facts.old_crc32, CrcOf(text));
  EXPECT_EQ(spliced.facts.sha256, HashText(expected));
}

/// Streams of all kinds of blocks.
std::vector<std::pair<std::string, std::string>> StreamSamples() {
  std::string mixed;
  for (std::uint64_t i = 0; i < 7; ++i) {
    mixed += WordyText(20'000 + i * 37, i) + RandomText(i % 3 == 0 ? 40'000 : 10, i);
    mixed += std::string(i * 1001, '\0');
  }
  std::vector<std::pair<std::string, std::string>> samples;
  for (const int level : {1, 3, 6, 9, 12}) samples.emplace_back(DeflatedAt(mixed, level), mixed);
  samples.emplace_back(DeflatedAt("", 6), "");
  samples.emplace_back(DeflatedAt("hello", 6), "hello");
  // Stored "abc", then stored "defg" as the last one.
  samples.emplace_back(std::string("\x00\x03\x00\xfc\xff"
                                   "abc\x01\x04\x00\xfb\xff"
                                   "defg",
                                   17),
                       "abcdefg");
  // Joined as ZipWriter joins them, with empty stored blocks between.
  DeflatePool pool(6);
  std::string joined;
  for (std::size_t at = 0; at < mixed.size(); at += 30'001) {
    const bool is_last = at + 30'001 >= mixed.size();
    joined += *pool.Deflate(AsBytes(std::string_view(mixed).substr(at, 30'001)),
                            is_last ? ChunkPlace::kLast : ChunkPlace::kBefore);
  }
  samples.emplace_back(joined, mixed);
  return samples;
}

TEST(DeflateSplice, WithoutEditsTheBitsStay) {
  for (const auto& [packed, text] : StreamSamples()) {
    ASSERT_OK_AND_ASSIGN(const Spliced spliced, Splice(packed, text.size(), {}));
    EXPECT_TRUE(spliced.stream == packed);
    EXPECT_EQ(spliced.facts.encoded_blocks, 0U);
    EXPECT_GT(spliced.facts.kept_blocks, 0U);
  }
}

TEST(DeflateSplice, OneEditAnywhere) {
  std::mt19937_64 random(7);
  for (const auto& [packed, text] : StreamSamples()) {
    ExpectSplice(packed, text, {.appended = "more"});
    ExpectSplice(packed, text, {.appended = RandomText(1'100)});
    if (text.empty()) continue;
    for (int round = 0; round < 8; ++round) {
      const std::uint64_t offset = random() % text.size();
      const std::size_t size = std::min<std::size_t>(text.size() - offset, 1 + random() % 200);
      ExpectSplice(packed, text, {.replaced = {{offset, RandomText(size, random())}}});
    }
    ExpectSplice(packed, text, {.replaced = {{0, "x"}}, .appended = std::string(1'200'000, 'a')});
    ExpectSplice(packed, text, {.replaced = {{text.size() - 1, "x"}}});
    ExpectSplice(packed, text, {.replaced = {{0, std::string(text.size(), 'y')}}});
  }
}

TEST(DeflateSplice, ManyEditsAtOnce) {
  std::mt19937_64 random(11);
  for (const auto& [packed, text] : StreamSamples()) {
    for (int round = 0; round < 4 && !text.empty(); ++round) {
      ContentEdits edits;
      for (std::uint64_t at = random() % 5000; at < text.size();) {
        const std::size_t size = std::min<std::size_t>(text.size() - at, random() % 90);
        edits.replaced.push_back({at, RandomText(size, random())});
        at += size + random() % (round < 2 ? 100'000 : 300);
      }
      edits.appended = RandomText(random() % 3 == 0 ? random() % 5000 : 0);
      ExpectSplice(packed, text, edits);
    }
  }
}

/// The borders of the blocks, in content.
std::vector<std::uint64_t> Borders(const std::string& packed) {
  struct Counter : deflate::DiscardSymbols {
    std::uint64_t count = 0;
    void Literal(std::uint16_t) { ++count; }
    bool Match(unsigned length, unsigned) {
      count += length;
      return true;
    }
    Result<void> Stored(std::string_view bytes) {
      count += bytes.size();
      return Ok();
    }
  };
  deflate::BitReader reader{std::string_view(packed)};
  Counter counter;
  deflate::Walker<Counter> walker(reader, counter);
  std::vector<std::uint64_t> borders = {0};
  while (true) {
    const auto block = walker.NextBlock();
    borders.push_back(counter.count);
    if (!block || block->is_last) return borders;
  }
}

TEST(DeflateSplice, EditsAtBlockBordersEncodeNoMoreThanNeeded) {
  // Words repeat everywhere: each block copies from the 32 KiB before it, so an edit at its end may taint the
  // next one.
  const std::string text = WordyText(1'200'000);
  const std::string packed = DeflatedAt(text, 6);
  const std::vector<std::uint64_t> borders = Borders(packed);
  ASSERT_GT(borders.size(), 4U);
  for (std::size_t i = 1; i + 1 < borders.size(); ++i) {
    for (const std::uint64_t at : {borders[i] - 1, borders[i]}) {
      const ContentEdits edits{.replaced = {{at, "\x01"}}};
      ExpectSplice(packed, text, edits);
      ASSERT_OK_AND_ASSIGN(const Spliced spliced, Splice(packed, text.size(), edits));
      EXPECT_GE(spliced.facts.encoded_blocks, 1U);
      EXPECT_LE(spliced.facts.encoded_blocks, 2U) << "32 KiB reach into one more block at most";
      EXPECT_EQ(spliced.facts.kept_blocks + spliced.facts.encoded_blocks, borders.size() - 1);
    }
  }
}

/// One fixed block of a zero and `matches` times 258 of them, which take 13 bits.
std::string ZerosInOneBlock(std::uint64_t matches) {
  std::string packed;
  std::uint64_t word = 1 | 1U << 1U;
  unsigned filled = 3;
  const auto put = [&](std::uint64_t value, unsigned count) {
    word |= value << filled;
    filled += count;
    for (; filled >= 8; filled -= 8, word >>= 8U) packed += static_cast<char>(word & 0xFFU);
  };
  put(0x0C, 8);  // literal 0: 00110000, its bits reversed
  for (std::uint64_t i = 0; i < matches; ++i) {
    put(0xA3, 8);  // length 258, code 285: 11000101, reversed
    put(0, 5);     // distance 1
  }
  put(0, 7);
  put(0, 7);
  return packed;
}

TEST(DeflateSplice, ABlockOf20Megabytes) {
  constexpr std::uint64_t kMatches = 80'000;
  const std::string packed = ZerosInOneBlock(kMatches);
  const std::string text(1 + kMatches * 258, '\0');
  ASSERT_TRUE(InflateSpliced(packed, text.size()) == text)
      << InflateSpliced(packed, text.size()).substr(0, 60);
  ExpectSplice(packed, text, {.replaced = {{19'000'000, "abc"}}});
}

/// Ends the process: 0 if `body` returns true with at most `bytes` more of address space, 1 if false, 2 if it
/// wants more.
template <class Body>
[[noreturn]] void ExitWithMemory(std::uint64_t bytes, Body body) {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit limit{most, most};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(98);
  try {
    ::_exit(body() ? 0 : 1);
  } catch (const std::bad_alloc&) {
    ::_exit(2);
  }
}

TEST(DeflateSplice, MemoryDoesNotFollowTheBlock) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "no limit on memory with a sanitizer";
#endif
  // A block of 83 MB; 8 MiB are what the header promises, and as much again for the allocator's own pages.
  constexpr std::uint64_t kMatches = 320'000;
  constexpr std::uint64_t kContent = 1 + kMatches * 258;
  constexpr std::uint64_t kMemory = 16U << 20U;
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, without the free memory of other tests
  const std::string packed = ZerosInOneBlock(kMatches);
  MemoryFile file{AsBytes(packed)};
  const auto splice = [&] {
    StringSink out;
    const auto spliced = SpliceDeflate(file, {.stored_bytes = packed.size(), .size_bytes = kContent},
                                       {.replaced = {{kContent / 2, "abc"}}}, 6, out);
    return spliced && spliced->encoded_blocks == 1 && spliced->size_bytes == kContent;
  };
  EXPECT_EXIT(ExitWithMemory(kMemory, splice), ::testing::ExitedWithCode(0), "");
  const auto hold = [&] { return std::string(kContent, 'x').size() == kContent; };
  EXPECT_EXIT(ExitWithMemory(kMemory, hold), ::testing::ExitedWithCode(2), "") << "the limit holds";
}

TEST(DeflateSplice, EqualInputGivesEqualBytes) {
  const std::string text = WordyText(500'000);
  const ContentEdits edits{.replaced = {{100, "abc"}}, .appended = "end"};
  ASSERT_OK_AND_ASSIGN(const Spliced one, Splice(DeflatedAt(text, 6), text.size(), edits));
  ASSERT_OK_AND_ASSIGN(const Spliced two, Splice(DeflatedAt(text, 6), text.size(), edits));
  EXPECT_TRUE(one.stream == two.stream);
}

TEST(DeflateSplice, RefusesWhatIsNoStream) {
  const std::string text = WordyText(100'000);
  const std::string packed = DeflatedAt(text, 6);
  EXPECT_THAT(Splice(packed, text.size() + 1, {}), FailsWith(ErrorCode::kCorrupt, HasSubstr("100001 bytes")));
  EXPECT_THAT(Splice(packed, text.size() - 1, {}), FailsWith(ErrorCode::kCorrupt, HasSubstr("99999 bytes")));
  EXPECT_THAT(Splice("", 0, {}), FailsWith(ErrorCode::kCorrupt, HasSubstr("damaged")));
  for (std::size_t size = 1; size < packed.size(); size += 97) {
    EXPECT_THAT(Splice(packed.substr(0, size), text.size(), {}),
                FailsWith(ErrorCode::kCorrupt, HasSubstr("deflate stream")));
  }
  // A match before the beginning: fixed block, length 3 at distance 1.
  EXPECT_THAT(Splice(std::string("\x03\x02\x00", 3), 3, {}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("damaged")));
  MemoryFile shorter{AsBytes(std::string_view(packed).substr(0, packed.size() - 10))};
  StringSink out;
  EXPECT_THAT(SpliceDeflate(shorter, {.stored_bytes = packed.size(), .size_bytes = text.size()}, {}, 6, out),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("the file ends inside of a deflate stream")));
}

TEST(DeflateSplice, RefusesEditsOutOfPlace) {
  const std::string packed = DeflatedAt("hello", 6);
  for (const ContentEdits& edits :
       {ContentEdits{.replaced = {{2, "ab"}, {3, "c"}}}, ContentEdits{.replaced = {{2, "a"}, {0, "c"}}},
        ContentEdits{.replaced = {{4, "ab"}}}, ContentEdits{.replaced = {{UINT64_MAX, "a"}}}}) {
    EXPECT_THAT(Splice(packed, 5, edits), FailsWith(ErrorCode::kInvalidInput, HasSubstr("an edit of")));
  }
  EXPECT_THAT(Splice(packed, 5, {}, 0), FailsWith(ErrorCode::kInvalidInput, HasSubstr("level 0")));
}

TEST(DeflateSplice, PassesTheSinksErrorOn) {
  const std::string text = WordyText(3'000'000);
  const std::string packed = DeflatedAt(text, 6);
  MemoryFile file{AsBytes(packed)};
  FailingSink sink;
  EXPECT_THAT(SpliceDeflate(file, {.stored_bytes = packed.size(), .size_bytes = text.size()}, {}, 6, sink),
              FailsWith(ErrorCode::kIo, HasSubstr("no space")));
}

TEST(SpliceStored, ChangesAndAppends) {
  const std::string text = RandomText(700'000);
  MemoryFile file{AsBytes(text)};
  const ContentEdits edits{.replaced = {{0, "ab"}, {262'143, "cross"}, {699'999, "z"}}, .appended = "end"};
  StringSink out;
  ASSERT_OK_AND_ASSIGN(
      const SplicedStream facts,
      SpliceStored(file, {.stored_bytes = text.size(), .size_bytes = text.size()}, edits, out));
  EXPECT_TRUE(out.str() == Edited(text, edits));
  EXPECT_EQ(facts.crc32, CrcOf(out.str()));
  EXPECT_EQ(facts.old_crc32, CrcOf(text));
  EXPECT_EQ(facts.sha256, HashText(out.str()));
  EXPECT_EQ(facts.stored_bytes, text.size() + 3);
  EXPECT_THAT(
      SpliceStored(file, {.offset = 1, .stored_bytes = text.size(), .size_bytes = text.size()}, edits, out),
      FailsWith(ErrorCode::kCorrupt, HasSubstr("ends inside")));
}

}  // namespace
}  // namespace ptpkg::archive::test
