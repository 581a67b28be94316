#include "builder/replace_path.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"

namespace ptpkg::builder {
namespace {

using test::IsOkAndHolds;

constexpr std::string_view kFrom = "/build/folder";
constexpr std::string_view kTo = "/PLACE/HOLDER";
constexpr std::size_t kWindow = std::size_t{1} << 20U;

class ReplacePathTest : public ::testing::Test {
 protected:
  Result<std::size_t> Replace(const std::string& content) {
    EXPECT_OK(WriteFile(fs_, file_, content));
    return ReplacePath(fs_, file_, {.from = kFrom, .to = kTo});
  }
  std::string Content() { return *ReadFile(fs_, file_); }

  test::MemFs fs_;
  AbsPath file_ = AbsPath::Literal("/file");
};

TEST_F(ReplacePathTest, ReplacesEveryPlaceAndNothingElse) {
  const std::string content =
      std::string("a\0", 2) + std::string(kFrom) + ":" + std::string(kFrom) + "/lib\0/build/fold";
  EXPECT_THAT(Replace(content), IsOkAndHolds(2U));
  EXPECT_EQ(Content(),
            std::string("a\0", 2) + std::string(kTo) + ":" + std::string(kTo) + "/lib\0/build/fold");
}

TEST_F(ReplacePathTest, FindsAMatchAcrossWindows) {
  for (std::size_t shift = 0; shift <= kFrom.size(); ++shift) {
    const std::string before(kWindow - shift, 'x');
    EXPECT_THAT(Replace(before + std::string(kFrom) + "tail"), IsOkAndHolds(1U)) << shift;
    EXPECT_EQ(Content(), before + std::string(kTo) + "tail") << shift;
  }
}

TEST_F(ReplacePathTest, CountsNeighboursAtAWindowsEndOnce) {
  // Back to back, so that the second begins where the first one's kept bytes would.
  const std::string before(kWindow - kFrom.size(), 'x');
  EXPECT_THAT(Replace(before + std::string(kFrom) + std::string(kFrom)), IsOkAndHolds(2U));
  EXPECT_EQ(Content(), before + std::string(kTo) + std::string(kTo));
}

TEST_F(ReplacePathTest, DoesNotOpenForWritingWithoutAMatch) {
  ASSERT_OK(WriteFile(fs_, file_, "nothing here"));
  ASSERT_OK(fs_.SetMode(file_, 0444));
  EXPECT_THAT(ReplacePath(fs_, file_, {.from = kFrom, .to = kTo}), IsOkAndHolds(0U));
  EXPECT_THAT(Replace(""), IsOkAndHolds(0U));
}

TEST_F(ReplacePathTest, ReportsAFileThatCannotBeWritten) {
  ASSERT_OK(WriteFile(fs_, file_, kFrom));
  ASSERT_OK(fs_.SetMode(file_, 0444));
  EXPECT_THAT(ReplacePath(fs_, file_, {.from = kFrom, .to = kTo}),
              test::FailsWith(ErrorCode::kIo, ::testing::HasSubstr("/file")));
}

}  // namespace
}  // namespace ptpkg::builder
