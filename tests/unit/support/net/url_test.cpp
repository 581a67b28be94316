#include "support/net/url.h"

#include <gtest/gtest.h>

namespace ptpkg {
namespace {

TEST(PercentEncodeTest, LeavesOnlyUnreservedCharacters) {
  EXPECT_EQ(PercentEncode("a-b_c.d~1+/ ü"), "a-b_c.d~1%2B%2F%20%C3%BC");
  EXPECT_EQ(PercentEncode("a-1!2.0+cu130~_.whl"), "a-1%212.0%2Bcu130~_.whl");
  EXPECT_EQ(PercentEncode("é /"), "%C3%A9%20%2F");
}

TEST(PercentEncodeTest, KeepsTheGivenCharacters) { EXPECT_EQ(PercentEncode("a/b:c d", "/:"), "a/b:c%20d"); }

TEST(PercentDecodeTest, UndoesPercentEncode) {
  EXPECT_EQ(PercentDecode(PercentEncode("a-1!2.0+cu130 é/%")), "a-1!2.0+cu130 é/%");
}

TEST(PercentDecodeTest, LeavesPercentSignsWithoutTwoDigits) {
  EXPECT_EQ(PercentDecode("100%"), "100%");
  EXPECT_EQ(PercentDecode("%4"), "%4");
  EXPECT_EQ(PercentDecode("%zz%41"), "%zzA");
}

}  // namespace
}  // namespace ptpkg
