// The .tar.bz2 codec must give the bytes of `bzip2 -9`, whatever the thread count. The reference is the bzip2
// program, so these tests are as good as libbz2 is.

#include <algorithm>
#include <bzlib.h>
#include <gtest/gtest.h>

#include "archive/codec/codec.h"
#include "archive/codec/ordered_workers.h"
#include "support/few_threads.h"
#include "support/files/atomic_file.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::TempDir;
using ::ptpkg::test::TestEnv;
using ::testing::HasSubstr;

/// Writes in pieces of odd sizes, as tar headers and files would come.
Result<std::string> CompressBzip2(const std::string& text, const Bzip2Options& options,
                                  std::size_t piece = 10007) {
  StringSink out;
  const std::unique_ptr<CodecSink> sink = MakeBzip2Sink(out, options);
  for (std::size_t at = 0; at < text.size(); at += piece) {
    PTPKG_CHECK(sink->Write(AsBytes(std::string_view(text).substr(at, piece))));
  }
  PTPKG_CHECK(sink->Finish());
  return out.str();
}

std::string Runs(std::size_t count) {
  // Runs of every length about the limits of the run-length code: 3, 4, 5, 255, 256, 259.
  std::string text;
  for (std::size_t i = 0; text.size() < count; ++i) {
    static constexpr std::size_t kLengths[] = {1, 2, 3, 4, 5, 6, 254, 255, 256, 258, 259, 260, 511};
    text.append(kLengths[(i * i + i / 3) % std::size(kLengths)], static_cast<char>('a' + i % 3));
  }
  text.resize(count);
  return text;
}

struct Bzip2Case {
  const char* name;
  std::string text;
  int level = 9;
};

std::string FileText(const char* path) {
  auto text = ReadFile(*MakeOsFs(), AbsPath::Literal(path));
  return text ? *std::move(text) : std::string();
}

std::vector<Bzip2Case> Bzip2Cases() {
  const std::string program = FileText("/proc/self/exe").substr(0, 2'000'000);
  return {{"empty", ""},
          {"one_byte", "x"},
          {"run_of_four", "aaaa"},
          {"zeros_one_block", std::string(3'000'000, '\0')},
          {"zeros_three_blocks", std::string(11'000'000, '\0'), 1},  // 51 bytes of input per byte of block
          {"runs", Runs(2'000'000)},
          {"random", RandomText(2'000'000)},
          {"words", WordyText(2'000'000)},
          {"program", program},
          {"level_one", WordyText(500'000, 3), 1},
          {"level_four", Runs(900'000), 4}};
}

TEST(Bzip2Sink, GivesTheBytesOfBzip2) {
  TestEnv env;
  const TempDir dir;
  for (const Bzip2Case& test : Bzip2Cases()) {
    SCOPED_TRACE(test.name);
    const AbsPath input = dir.WriteFile(test.name, test.text);
    const auto status =
        RunTool(env, {"bzip2", "-k", "-" + std::to_string(test.level), input.str()}, dir.path());
    if (!status.has_value()) GTEST_SKIP() << "bzip2 is not installed";
    ASSERT_TRUE(status->ok()) << status->output;
    const std::string expected = dir.ReadFile(std::string(test.name) + ".bz2");
    for (const int jobs : {1, 2, 7}) {
      ASSERT_OK_AND_ASSIGN(const std::string got,
                           CompressBzip2(test.text, {.level = test.level, .jobs = jobs}));
      EXPECT_TRUE(got == expected) << "jobs " << jobs << ": " << got.size() << " bytes, not "
                                   << expected.size();
    }
  }
}

// Level 1 closes a block at 99981 bytes of run-length code. With each length of the text before it, that is
// reached at another place of the run; and the input may end at each of those places.
TEST(Bzip2Sink, CutsWhereLibbz2Does) {
  TestEnv env;
  const TempDir dir;
  std::string noise = RandomText(99'990, 5);
  for (std::size_t i = 1; i < noise.size(); ++i) {
    if (noise[i] == noise[i - 1]) noise[i] = static_cast<char>(noise[i] + 1);  // no runs: one byte costs one
  }
  for (std::size_t before = 99'974; before < 99'984; ++before) {
    const std::string text = noise.substr(0, before) + std::string(300, 'r') + "tail";
    for (const std::size_t size :
         {text.size(), text.size() - 4, before + 255, before + 5, before + 1, before}) {
      const std::string part = text.substr(0, size);
      const std::string name = std::to_string(before) + "-" + std::to_string(size);
      const AbsPath input = dir.WriteFile(name, part);
      const auto status = RunTool(env, {"bzip2", "-1", "-k", input.str()}, dir.path());
      if (!status.has_value()) GTEST_SKIP() << "bzip2 is not installed";
      ASSERT_TRUE(status->ok()) << status->output;
      ASSERT_OK_AND_ASSIGN(const std::string got, CompressBzip2(part, {.level = 1, .jobs = 2}));
      EXPECT_TRUE(got == dir.ReadFile(name + ".bz2")) << name;
    }
  }
}

TEST(Bzip2Sink, IsOneStreamThatDecodes) {
  const std::string text = WordyText(1'200'000);
  ASSERT_OK_AND_ASSIGN(std::string packed, CompressBzip2(text, {.level = 9, .jobs = 2}, 1));
  std::string back(text.size() + 1, '\0');
  auto back_size = static_cast<unsigned>(back.size());
  // BuffToBuff reads one stream only, as rattler does.
  ASSERT_EQ(BZ2_bzBuffToBuffDecompress(back.data(), &back_size, packed.data(),
                                       static_cast<unsigned>(packed.size()), 0, 0),
            BZ_OK);
  back.resize(back_size);
  EXPECT_TRUE(back == text);
}

class SinkThatFills final : public ByteSink {
 public:
  explicit SinkThatFills(std::size_t good_bytes) : left_(good_bytes) {}
  Result<void> Write(Bytes bytes) override {
    if (bytes.size() > left_) return Error(ErrorCode::kIo, "no space left on device");
    left_ -= bytes.size();
    return Ok();
  }

 private:
  std::size_t left_;
};

TEST(Bzip2Sink, PassesTheErrorOfTheSinkBelow) {
  const std::string text = RandomText(2'500'000);
  for (const int jobs : {1, 3}) {
    SinkThatFills out(1'000'000);
    const std::unique_ptr<CodecSink> sink = MakeBzip2Sink(out, {.level = 9, .jobs = jobs});
    Result<void> result = sink->Write(AsBytes(text));
    if (result) result = sink->Finish();
    EXPECT_THAT(result, FailsWith(ErrorCode::kIo, HasSubstr("no space")));
  }
}

TEST(Bzip2Sink, CanBeAbandoned) {
  StringSink out;
  const std::unique_ptr<CodecSink> sink = MakeBzip2Sink(out, {.level = 9, .jobs = 4});
  EXPECT_OK(sink->Write(AsBytes(RandomText(2'500'000))));
}

TEST(OrderedWorkers, WithFewOrNoThreadsTheOrderStays) {
  for (const std::uint64_t threads : {0U, 3U}) {
    ::ptpkg::test::ExpectWithThreads(threads, [&] {
      std::vector<int> got;
      OrderedWorkers<int> workers(200, [&](int i) {
        got.push_back(i);
        return Ok();
      });
      if ((workers.threads() == 0) != (threads == 0)) return false;
      for (int i = 0; i < 1000; ++i) {
        if (!workers.Submit([i]() -> Result<int> { return i; })) return false;
      }
      return workers.Drain().has_value() && got.size() == 1000 && std::is_sorted(got.begin(), got.end());
    });
  }
}

}  // namespace
}  // namespace ptpkg::archive::test
