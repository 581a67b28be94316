#include "wheel/tag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::wheel {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ParseTag, TakesSetsAndSortsThem) {
  EXPECT_THAT(ParseTag("py3.py2-none-b.a.a"), IsOkAndHolds(Tag{"py3.py2", "none", "b.a.a"}));
  EXPECT_EQ(SortTag({"py3.py2", "none", "b.a.a"}).str(), "py2.py3-none-a.b");
  EXPECT_THAT(ExpandTag({"py3.py2", "none", "b.a"}),
              ElementsAre(Tag{"py2", "none", "a"}, Tag{"py2", "none", "b"}, Tag{"py3", "none", "a"},
                          Tag{"py3", "none", "b"}));
}

TEST(ParseTag, RefusesOtherForms) {
  for (const char* const text :
       {"", "py3", "py3-none", "py3-none-any-x", "py3--any", "py3-no/ne-any", "py3.-none-any"}) {
    EXPECT_THAT(ParseTag(text), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a compatibility tag")))
        << text;
  }
}

TEST(ParseTag, LimitsWhatASetStandsFor) {
  std::string words = "a";
  for (int i = 1; i < 10; ++i) words += ".a";
  EXPECT_THAT(ParseTag(words + "-" + words + "-" + words), test::IsOk());  // 1000
  EXPECT_THAT(ParseTag(words + ".a-" + words + "-" + words),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("expands to more than 1000")));
  std::string many = "a";
  for (int i = 0; i < 1'000'000; ++i) many += ".a";
  EXPECT_THAT(ParseTag(many + "-" + many + "-" + many),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("expands to more than 1000")));
}

}  // namespace
}  // namespace ptpkg::wheel
