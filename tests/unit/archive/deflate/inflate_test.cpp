// Whole deflate streams, by zlib's rules. fuzz/fuzz_inflate.cpp asks zlib about arbitrary ones.

#include "archive/deflate/inflate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libdeflate.h>

#include "archive/deflate/deflate_chunk.h"
#include "support/fault_fs.h"
#include "support/files/read_only_file.h"
#include "support/matchers.h"
#include "unit/archive/fixtures/builders.h"
#include "unit/archive/fixtures/deflate_streams.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::FailsWith;
using ::testing::HasSubstr;

/// What `stream` stands for, if that has this size. What lies around it in the file must not be read.
Result<std::string> InflateText(const std::string& stream, std::size_t size_bytes) {
  const std::string around = "around " + stream + " the stream";
  MemoryFile file(AsBytes(around));
  StringSink content;
  const auto source =
      MakeInflateSource(file, {.offset = 7, .stored_bytes = stream.size(), .size_bytes = size_bytes});
  PTPKG_TRY([[maybe_unused]] const std::uint64_t bytes, Pump(*source, content));
  return content.str();
}

bool LibdeflateTakes(const std::string& stream, const std::string& content) {
  libdeflate_decompressor* decompressor = libdeflate_alloc_decompressor();
  std::string text(content.size(), '\0');
  const libdeflate_result result = libdeflate_deflate_decompress(decompressor, stream.data(), stream.size(),
                                                                 text.data(), text.size(), nullptr);
  libdeflate_free_decompressor(decompressor);
  return result == LIBDEFLATE_SUCCESS && text == content;
}

/// Texts with each distance below 40, long matches, long codes, stored blocks.
std::vector<std::string> Texts() {
  std::vector<std::string> texts = {"", "a", std::string(70'000, 'x'), RandomText(70'000)};
  std::string repeats;
  for (std::size_t distance = 1; distance < 40; ++distance) {
    const std::string piece = RandomText(distance, distance);
    for (std::size_t i = 0; i < 400; ++i) repeats += piece[i % distance];
  }
  texts.push_back(repeats);
  std::string skewed;  // each letter half as often as the one before
  for (int bit = 0; bit < 18; ++bit) skewed += std::string(1U << bit, static_cast<char>('a' + bit));
  for (std::size_t i = 0; i < skewed.size(); ++i) std::swap(skewed[i], skewed[i * 7919 % skewed.size()]);
  texts.push_back(skewed);
  texts.push_back(WordyText(600'000) + RandomText(100'000) + WordyText(50'000, 3) + std::string(1000, '\0'));
  return texts;
}

TEST(Inflate, GivesTheContentOfSoundStreams) {
  for (const int level : {1, 6, 12}) {
    DeflatePool pool(level);
    for (const std::string& text : Texts()) {
      ASSERT_OK_AND_ASSIGN(const std::string packed, pool.Deflate(AsBytes(text), ChunkPlace::kLast));
      ASSERT_OK_AND_ASSIGN(const std::string content, InflateText(packed, text.size()));
      EXPECT_TRUE(content == text) << text.size() << " bytes at level " << level;
    }
  }
}

TEST(Inflate, RefusesAnotherSizeAndAnEarlyEnd) {
  DeflatePool pool(6);
  for (const std::string& text : Texts()) {
    ASSERT_OK_AND_ASSIGN(const std::string packed, pool.Deflate(AsBytes(text), ChunkPlace::kLast));
    EXPECT_THAT(InflateText(packed, text.size() + 1),
                FailsWith(ErrorCode::kCorrupt, HasSubstr("ends early")));
    EXPECT_THAT(InflateText(packed.substr(0, packed.size() - 1), text.size()),
                FailsWith(ErrorCode::kCorrupt, HasSubstr("damaged")));
    if (text.empty()) continue;
    EXPECT_THAT(InflateText(packed, text.size() - 1), FailsWith(ErrorCode::kCorrupt, HasSubstr("damaged")));
  }
}

TEST(Inflate, RefusesWhatZlibRefuses) {
  for (const DeflateCase& bad : StreamsOfLibdeflateOnly()) {
    EXPECT_TRUE(LibdeflateTakes(bad.stream, bad.content)) << bad.what;
    // Alone, and with more behind it: near the end of what was read symbols are taken one by one.
    for (const std::string& stream : {bad.stream, bad.stream + std::string(64, '\x55')}) {
      EXPECT_THAT(InflateText(stream, bad.content.size()),
                  FailsWith(ErrorCode::kCorrupt, HasSubstr("damaged")))
          << bad.what << ", " << stream.size() << " bytes";
    }
  }
  for (const DeflateCase& bad : BrokenStreams()) {
    EXPECT_THAT(InflateText(bad.stream, 4), FailsWith(ErrorCode::kCorrupt, HasSubstr("deflate stream")))
        << bad.what;
  }
}

TEST(Inflate, TakesIncompleteCodesThatZlibTakes) {
  for (const DeflateCase& sound : StreamsWithIncompleteCodes()) {
    EXPECT_TRUE(LibdeflateTakes(sound.stream, sound.content)) << sound.what;
    ASSERT_OK_AND_ASSIGN(const std::string content, InflateText(sound.stream, sound.content.size()));
    EXPECT_EQ(content, sound.content) << sound.what;
  }
}

TEST(Inflate, RefusesADistanceBeyondTheBeginning) {
  // 'a' with the fixed codes, then three bytes from two before.
  const std::string stream("\x4B\x04\x42\x00", 4);
  for (const std::string& text : {stream, stream + std::string(64, '\0')}) {
    EXPECT_THAT(InflateText(text, 4), FailsWith(ErrorCode::kCorrupt, HasSubstr("damaged")));
  }
}

TEST(Inflate, TakesTheLongestCodes) {
  const DeflateCase sound = StreamWithLongestCodes();
  EXPECT_TRUE(LibdeflateTakes(sound.stream, sound.content));
  EXPECT_THAT(InflateText(sound.stream, sound.content.size()), ::ptpkg::test::IsOkAndHolds(sound.content));
}

/// `text` in stored blocks, the first one of `first_bytes`.
std::string StoredStream(std::size_t first_bytes, const std::string& text) {
  std::string stream;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::min(at == 0 ? first_bytes : std::size_t{65'535}, text.size() - at);
    stream += at + length == text.size() ? '\x01' : '\x00';
    for (const std::size_t half : {length, ~length}) {
      stream += static_cast<char>(half & 0xFFU);
      stream += static_cast<char>((half >> 8U) & 0xFFU);
    }
    stream += text.substr(at, length);
    at += length;
  }
  return stream;
}

TEST(Inflate, TakesStoredBlocksAcrossTheBordersOfWhatIsRead) {
  const std::string text = RandomText(400'000);
  for (std::size_t first = 65'510; first < 65'536; ++first) {
    ASSERT_OK_AND_ASSIGN(const std::string content, InflateText(StoredStream(first, text), text.size()));
    EXPECT_TRUE(content == text) << "first block of " << first << " bytes";
  }
}

TEST(Inflate, RefusesAFileThatEndsInAHeader) {
  // What is missing is read as zeros: then 65535 is followed by its complement, wherever the file ends.
  const std::string text = RandomText(400'000);
  for (std::size_t first = 65'510; first < 65'536; ++first) {
    const std::string stream = StoredStream(first, text);
    const std::string cut = stream.substr(0, 256U << 10U);
    MemoryFile file(AsBytes(cut));
    StringSink content;
    const auto source = MakeInflateSource(file, {.stored_bytes = stream.size(), .size_bytes = text.size()});
    EXPECT_THAT(Pump(*source, content), FailsWith(ErrorCode::kCorrupt, HasSubstr("deflate stream")));
  }
}

TEST(Inflate, TellsEachFailureOfTheFile) {
  const std::string text = RandomText(400'000);
  for (std::size_t first = 65'510; first < 65'536; ++first) {
    const std::string stream = StoredStream(first, text);
    const int faults = ::ptpkg::test::RunFaultLoop(
        {.setup = [&](::ptpkg::test::MemFs& fs) { fs.AddFile("/stream", stream); },
         .run = [&](Fs& fs) -> Result<void> {
           PTPKG_TRY(const std::unique_ptr<File> file, fs.Open(AbsPath::Literal("/stream"), OpenMode::kRead));
           StringSink content;
           const auto source =
               MakeInflateSource(*file, {.stored_bytes = stream.size(), .size_bytes = text.size()});
           PTPKG_TRY([[maybe_unused]] const std::uint64_t bytes, Pump(*source, content));
           EXPECT_TRUE(content.str() == text);
           return Ok();
         },
         .check = {}});
    EXPECT_GE(faults, 3) << "to open it, and two pieces";
  }
}

TEST(Inflate, TellsWhatTheFileSays) {
  class BadDisk final : public ReadOnlyFile {
   public:
    BadDisk() : ReadOnlyFile({.size_bytes = 100}) {}
    Result<std::size_t> ReadAt(std::uint64_t, MutableBytes) override {
      return Error(ErrorCode::kIo, "bad disk");
    }
  };
  BadDisk file;
  StringSink content;
  EXPECT_THAT(Pump(*MakeInflateSource(file, {.stored_bytes = 100, .size_bytes = 10}), content),
              FailsWith(ErrorCode::kIo, HasSubstr("bad disk")));
}

TEST(Inflate, GivesPiecesOfAnySize) {
  DeflatePool pool(6);
  const std::string text = WordyText(700'000) + RandomText(300'000);
  ASSERT_OK_AND_ASSIGN(const std::string packed, pool.Deflate(AsBytes(text), ChunkPlace::kLast));
  MemoryFile file(AsBytes(packed));
  const auto source = MakeInflateSource(file, {.stored_bytes = packed.size(), .size_bytes = text.size()});
  std::string content;
  for (std::size_t size = 1;; size = size * 3 % 100'003) {
    std::string piece(size, ' ');
    ASSERT_OK_AND_ASSIGN(const std::size_t got, source->Read(std::as_writable_bytes(std::span(piece))));
    if (got == 0) break;
    content += piece.substr(0, got);
  }
  EXPECT_TRUE(content == text);
}

}  // namespace
}  // namespace ptpkg::archive::test
