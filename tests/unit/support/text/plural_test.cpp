#include "support/text/plural.h"

#include <gtest/gtest.h>

namespace ptpkg {
namespace {

TEST(Plural, FollowsTheCount) {
  EXPECT_EQ(Plural(1, "file"), "1 file");
  EXPECT_EQ(Plural(0, "file"), "0 files");
  EXPECT_EQ(Plural(1, "entry"), "1 entry");
  EXPECT_EQ(Plural(12, "entry"), "12 entries");
}

}  // namespace
}  // namespace ptpkg
