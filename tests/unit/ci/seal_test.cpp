#include "ci/seal.h"

#include <gtest/gtest.h>

namespace ptpkg::ci {
namespace {

TEST(Seal, KnowsItsOwnAndWhatWasEdited) {
  const std::string text = Sealed("a: 1\n");
  EXPECT_EQ(OriginOf(text), Origin::kOurs);
  EXPECT_EQ(text, Sealed("a: 1\n"));
  EXPECT_EQ(OriginOf(text + " "), Origin::kEdited);
  EXPECT_EQ(OriginOf(text.substr(0, text.size() - 1)), Origin::kEdited);
  EXPECT_EQ(OriginOf(text.substr(0, text.find('\n'))), Origin::kEdited);
  EXPECT_EQ(OriginOf("a: 1\n"), Origin::kForeign);
  EXPECT_EQ(OriginOf(""), Origin::kForeign);
  EXPECT_EQ(OriginOf("\n" + text), Origin::kForeign);
}

}  // namespace
}  // namespace ptpkg::ci
