#include <gtest/gtest.h>
#include <zstd.h>

#include "archive/codec/codec.h"
#include "support/few_threads.h"
#include "support/matchers.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::FailsWith;
using ::testing::HasSubstr;

Result<std::string> CompressZstd(const std::string& text, const ZstdOptions& options,
                                 std::size_t piece = 1U << 20U) {
  StringSink out;
  PTPKG_TRY(const std::unique_ptr<CodecSink> sink, MakeZstdSink(out, options));
  for (std::size_t at = 0; at < text.size(); at += piece) {
    PTPKG_CHECK(sink->Write(AsBytes(std::string_view(text).substr(at, piece))));
  }
  PTPKG_CHECK(sink->Finish());
  return out.str();
}

std::string Decompress(const std::string& packed, std::size_t size_bytes) {
  std::string text(size_bytes + 1, '\0');
  const std::size_t got = ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) != 0) return ZSTD_getErrorName(got);
  text.resize(got);
  return text;
}

TEST(ZstdSink, BytesDoNotDependOnJobsOrPieces) {
  // Several jobs long, so that the threads do share it.
  const std::string text = WordyText(40'000'000) + RandomText(3'000'000);
  for (const int window_log : {0, 27}) {
    SCOPED_TRACE(window_log);
    const auto options = [&](int jobs) {
      return ZstdOptions{.level = 3, .window_log = window_log, .jobs = jobs, .content_size = text.size()};
    };
    ASSERT_OK_AND_ASSIGN(const std::string one, CompressZstd(text, options(1)));
    EXPECT_TRUE(Decompress(one, text.size()) == text);
    for (const int jobs : {2, 4}) {
      ASSERT_OK_AND_ASSIGN(const std::string many, CompressZstd(text, options(jobs), 999'983));
      EXPECT_TRUE(many == one) << jobs;
    }
  }
}

TEST(ZstdSink, WithFewThreadsTheBytesAreTheSame) {
  const std::string text = WordyText(3'000'000);
  const auto packed = [&](int jobs) {
    return CompressZstd(text, {.level = 1, .jobs = jobs, .content_size = text.size()});
  };
  ASSERT_OK_AND_ASSIGN(const std::string one, packed(1));
  ASSERT_OK_AND_ASSIGN(const std::string many, packed(1000));  // more than libzstd allows
  EXPECT_TRUE(many == one);
  ::ptpkg::test::ExpectWithThreads(5, [&] {
    const auto few = packed(200);
    return few && *few == one;
  });
  ::ptpkg::test::ExpectWithThreads(0, [&] {
    const auto none = packed(200);
    return !none && none.error().code() == ErrorCode::kIo &&
           none.error().message().find("memory") != std::string::npos &&
           none.error().message().find("thread") != std::string::npos;
  });
}

TEST(ZstdSink, SmallInputsDoNotDependOnJobsOrPieces) {
  for (const std::size_t size : {0U, 1U, 1000U, 600'000U}) {
    const std::string text = WordyText(size);
    for (const std::uint64_t declared : {std::uint64_t{0}, std::uint64_t{size}}) {
      ASSERT_OK_AND_ASSIGN(
          const std::string one,
          CompressZstd(text, {.level = 12, .window_log = 0, .jobs = 1, .content_size = declared}));
      ASSERT_OK_AND_ASSIGN(
          const std::string many,
          CompressZstd(text, {.level = 12, .window_log = 0, .jobs = 4, .content_size = declared}, 77));
      EXPECT_TRUE(one == many) << size << " " << declared;
      EXPECT_TRUE(Decompress(one, size) == text);
    }
  }
}

TEST(ZstdSink, FrameStatesSizeChecksumAndWindow) {
  const std::string text = WordyText(300'000);
  ASSERT_OK_AND_ASSIGN(
      const std::string packed,
      CompressZstd(text, {.level = 12, .window_log = 0, .jobs = 2, .content_size = text.size()}));
  EXPECT_EQ(ZSTD_getFrameContentSize(packed.data(), packed.size()), text.size());
  // RFC 8878, 3.1.1.1.1: bit 2 of the frame header descriptor is the checksum flag.
  EXPECT_NE(static_cast<unsigned char>(packed[4]) & 4U, 0U);
  EXPECT_EQ(ZSTD_findFrameCompressedSize(packed.data(), packed.size()), packed.size()) << "one frame only";
}

TEST(ZstdSink, RefusesAnotherSizeThanDeclared) {
  const std::string text = WordyText(2'000'000);
  for (const std::uint64_t declared : {text.size() - 1, text.size() + 1}) {
    EXPECT_THAT(CompressZstd(text, {.level = 3, .window_log = 0, .jobs = 2, .content_size = declared}),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("changed while being packed")));
  }
}

TEST(ZstdSink, RefusesOptionsOutOfRange) {
  EXPECT_THAT(CompressZstd("", {.level = 0}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("level 0")));
  EXPECT_THAT(CompressZstd("", {.level = 23}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("level 23")));
  EXPECT_THAT(CompressZstd("", {.level = 3, .window_log = 28}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("window log 28")));
  EXPECT_THAT(CompressZstd("", {.level = 3, .window_log = 9}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("window log 9")));
}

TEST(ZstdSink, PassesTheErrorOfTheSinkBelow) {
  FailingSink out;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CodecSink> sink, MakeZstdSink(out, {.level = 1, .jobs = 2}));
  Result<void> result = sink->Write(AsBytes(RandomText(1000)));
  if (result) result = sink->Finish();
  EXPECT_THAT(result, FailsWith(ErrorCode::kIo, HasSubstr("no space")));
}

}  // namespace
}  // namespace ptpkg::archive::test
