#include "elf/load/search_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptpkg::elf {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SearchPathText, SplitsAndJoins) {
  EXPECT_THAT(SplitSearchPath(""), IsEmpty());
  EXPECT_THAT(SplitSearchPath("a::b"), ElementsAre("a", "", "b"));
  EXPECT_THAT(SplitSearchPath(":"), ElementsAre("", ""));
  EXPECT_EQ(JoinSearchPath({"$ORIGIN", "/x"}), "$ORIGIN:/x");
}

TEST(AfterOrigin, KnowsBothForms) {
  EXPECT_EQ(AfterOrigin("$ORIGIN"), "");
  EXPECT_EQ(AfterOrigin("$ORIGIN/"), "");
  EXPECT_EQ(AfterOrigin("${ORIGIN}/../lib"), "../lib");
  EXPECT_EQ(AfterOrigin("$ORIGINAL/lib"), std::nullopt);
  EXPECT_EQ(AfterOrigin("/x/$ORIGIN"), std::nullopt);
  EXPECT_EQ(AfterOrigin("$LIB"), std::nullopt);
}

TEST(ExpandTokens, ReplacesWhatLdSoReplaces) {
  const TokenValues values{.origin = "/t/lib", .lib = "lib64", .platform = "haswell"};
  EXPECT_EQ(ExpandTokens("$ORIGIN/../$LIB/${PLATFORM}", values), "/t/lib/../lib64/haswell");
  EXPECT_EQ(ExpandTokens("/x$ORIGIN", values), "/x/t/lib");
  EXPECT_EQ(ExpandTokens("$LIB-own", values), "lib64-own");
  EXPECT_EQ(ExpandTokens("$LIB_own$LIB2", values), "$LIB_own$LIB2");
  EXPECT_EQ(ExpandTokens("${LIB", values), "${LIB");
  EXPECT_EQ(ExpandTokens("${LIB}x$", values), "lib64x$");
  EXPECT_EQ(ExpandTokens("$$LIB$HOME", values), "$lib64$HOME");
  EXPECT_TRUE(UsesToken("a:$ORIGIN/$LIB", "LIB"));
  EXPECT_TRUE(UsesToken("${LIB}", "LIB"));
  EXPECT_FALSE(UsesToken("$LIBS:LIB", "LIB"));
}

TEST(RelocatableEntries, KeepsRelatesAndDrops) {
  const RelPath file = RelPath::Literal("lib/python3.11/site-packages/torch/lib/libtorch.so");
  EXPECT_THAT(
      RelocatableEntries({"$ORIGIN", "/b/prefix/lib", "/b/prefix/lib/python3.11/site-packages/torch/lib",
                          "/b/prefix", "/b/prefixed/lib", "/usr/lib", "lib", "", "${ORIGIN}/x"},
                         file, "/b/prefix"),
      ElementsAre("$ORIGIN", "$ORIGIN/../../../..", "$ORIGIN/../../../../..", "${ORIGIN}/x"));
}

TEST(RelocatableEntries, NormalisesAndDropsRepeats) {
  const RelPath file = RelPath::Literal("bin/app");
  EXPECT_THAT(RelocatableEntries({"/p//lib/", "/p/bin/../lib", "$ORIGIN/../lib"}, file, "/p"),
              ElementsAre("$ORIGIN/../lib"));
  EXPECT_THAT(RelocatableEntries({"/usr/lib", "/"}, file, "/"),
              ElementsAre("$ORIGIN/../usr/lib", "$ORIGIN/.."));
}

}  // namespace
}  // namespace ptpkg::elf
