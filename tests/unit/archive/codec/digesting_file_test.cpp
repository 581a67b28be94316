#include "archive/codec/digesting_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

#include "support/matchers.h"
#include "support/mem_fs.h"

namespace ptpkg::archive {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::MemFs;
using testing::HasSubstr;

constexpr std::size_t kWindow = 64;

class DigestingFileTest : public testing::Test {
 protected:
  void SetUp() override {
    fs_.AddDir("/w");
    ASSERT_OK_AND_ASSIGN(below_, fs_.Open(path_, OpenMode::kCreateNew));
  }

  Digests DigestOnDisk() {
    const Result<Digests> digests = HashFile(fs_, path_, {.md5 = true});
    return digests ? *digests : Digests{};
  }

  MemFs fs_;
  AbsPath path_ = AbsPath::Literal("/w/f");
  std::unique_ptr<File> below_;
};

TEST_F(DigestingFileTest, HashesWhatIsAppended) {
  DigestingFile file(*below_, {.md5 = true}, kWindow);
  ASSERT_OK(file.WriteAt(0, AsBytes("abc")));
  ASSERT_OK(file.WriteAt(3, AsBytes("def")));
  ASSERT_OK_AND_ASSIGN(const Digests digests, file.Finish());
  EXPECT_EQ(digests.sha256, HashText("abcdef"));
  EXPECT_EQ(digests.size_bytes, 6U);
  EXPECT_EQ(digests, DigestOnDisk());
  EXPECT_EQ(file.bytes_read_back(), 0U);
}

TEST_F(DigestingFileTest, AnEmptyFileHasADigest) {
  DigestingFile file(*below_, {}, kWindow);
  ASSERT_OK_AND_ASSIGN(const Digests digests, file.Finish());
  EXPECT_EQ(digests.sha256, HashText(""));
}

TEST_F(DigestingFileTest, CompletesAHeaderInsideTheWindow) {
  DigestingFile file(*below_, {}, kWindow);
  ASSERT_OK(file.WriteAt(0, AsBytes("????content")));
  ASSERT_OK(file.WriteAt(0, AsBytes("HE")));
  ASSERT_OK(file.WriteAt(2, AsBytes("AD")));  // in two steps
  ASSERT_OK(file.WriteAt(11, AsBytes("next")));
  ASSERT_OK_AND_ASSIGN(const Digests digests, file.Finish());
  EXPECT_EQ(digests.sha256, HashText("HEADcontentnext"));
  EXPECT_EQ(file.bytes_read_back(), 0U);
}

TEST_F(DigestingFileTest, ReadsBackOnlyAStretchLongerThanTheWindow) {
  DigestingFile file(*below_, {}, kWindow);
  const std::string large(kWindow * 3, 'x');
  ASSERT_OK(file.WriteAt(0, AsBytes("small")));
  ASSERT_OK(file.WriteAt(0, AsBytes("S")));
  ASSERT_OK(file.WriteAt(5, AsBytes("????" + large)));
  ASSERT_OK(file.WriteAt(5, AsBytes("HEAD")));
  ASSERT_OK(file.WriteAt(9 + large.size(), AsBytes("end")));
  ASSERT_OK_AND_ASSIGN(const Digests digests, file.Finish());
  EXPECT_EQ(digests.sha256, HashText("SmallHEAD" + large + "end"));
  EXPECT_EQ(file.bytes_read_back(), 4 + large.size());
}

// The way a zip writer uses it, with members of random sizes around the window.
TEST_F(DigestingFileTest, AgreesWithTheFileForAnySequenceOfMembers) {
  constexpr std::uint32_t kSeed = 7;
  std::mt19937 random(kSeed);
  DigestingFile file(*below_, {.md5 = true}, kWindow);
  std::uint64_t end = 0;
  for (int member = 0; member < 200; ++member) {
    const std::uint64_t header = end;
    for (std::uint32_t piece = 0; piece <= random() % 4; ++piece) {
      const std::string content(1 + random() % (kWindow * 2), static_cast<char>('a' + random() % 26));
      ASSERT_OK(file.WriteAt(end, AsBytes(content)));
      end += content.size();
    }
    if (random() % 3 != 0) {
      ASSERT_OK(file.WriteAt(header, AsBytes("!")));
    }
  }
  ASSERT_OK_AND_ASSIGN(const Digests digests, file.Finish());
  EXPECT_EQ(digests, DigestOnDisk()) << "seed " << kSeed;
}

TEST_F(DigestingFileTest, RefusesWhatItCouldNotHashRight) {
  DigestingFile file(*below_, {}, kWindow);
  ASSERT_OK(file.WriteAt(0, AsBytes("aaaa")));
  EXPECT_THAT(file.WriteAt(5, AsBytes("gap")), FailsWith(ErrorCode::kInternal, HasSubstr("written up to 4")));
  EXPECT_THAT(file.WriteAt(2, AsBytes("across")),
              FailsWith(ErrorCode::kInternal, HasSubstr("written up to 4")));
  EXPECT_THAT(file.Truncate(0), FailsWith(ErrorCode::kInternal, HasSubstr("being hashed")));
  ASSERT_OK(file.WriteAt(0, AsBytes("b")));
  ASSERT_OK(file.WriteAt(4, AsBytes("c")));
  EXPECT_THAT(file.WriteAt(0, AsBytes("d")), FailsWith(ErrorCode::kInternal, HasSubstr("hashed up to 4")));
}

TEST_F(DigestingFileTest, NoticesThatTheFileShrankBelowIt) {
  DigestingFile file(*below_, {}, kWindow);
  ASSERT_OK(file.WriteAt(0, AsBytes(std::string(kWindow + 1, 'x'))));
  ASSERT_OK(below_->Truncate(10));
  EXPECT_THAT(file.Finish(), FailsWith(ErrorCode::kIo, HasSubstr("ends at")));
}

}  // namespace
}  // namespace ptpkg::archive
