#include "source/patch_list.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "support/limits.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::source {
namespace {

using test::FailsWith;
using test::TestEnv;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PatchListTest : public ::testing::Test {
 protected:
  PatchListTest() {
    recipe_.recipe_dir = env_.dir().MakeDir("recipe");
    for (const char* name : {"a.patch", "debian/patches/one", "debian/patches/sub/two"})
      env_.dir().WriteFile(std::string("recipe/") + name, "x");
  }
  void Series(const std::string& text) { env_.dir().WriteFile("recipe/debian/patches/series", text); }
  Result<std::vector<PatchFile>> List(std::vector<std::string> patches) {
    recipe::Source source;
    source.patches = std::move(patches);
    source.span = {.file = "recipe.yaml", .line = 3, .column = 1, .length = 1, .excerpt = ""};
    return ListPatches(env_, recipe_, source);
  }
  /// "name", "name -p0", "name -R".
  std::vector<std::string> Names(std::vector<std::string> patches) {
    const auto list = List(std::move(patches));
    if (!list) return {list.error().message()};
    std::vector<std::string> names;
    for (const PatchFile& patch : *list) {
      names.push_back(patch.shown + (patch.strip ? fmt::format(" -p{}", *patch.strip) : "") +
                      (patch.reverse ? " -R" : ""));
      EXPECT_EQ(patch.file, recipe_.recipe_dir / patch.shown);
    }
    return names;
  }

  TestEnv env_;
  recipe::Recipe recipe_;
};

TEST_F(PatchListTest, ASeriesStandsForItsMembers) {
  Series("# Debian's\n\none -p0   # why\nsub/two\t-R -p2\n");
  const auto expected = ElementsAre("a.patch", "debian/patches/one -p0", "debian/patches/sub/two -p2 -R");
  EXPECT_THAT(Names({"a.patch", "debian/patches/series"}), expected);
  EXPECT_THAT(Names({"a.patch", "debian/patches"}), expected);
}

TEST_F(PatchListTest, AMissingMemberIsNamedWithItsLine) {
  Series("one\nthree\n");
  const auto list = List({"debian/patches"});
  EXPECT_THAT(
      list, FailsWith(ErrorCode::kNotFound, "the series file lists the patch 'three', which does not exist"));
  EXPECT_EQ(list.error().span()->line, 2);
  EXPECT_EQ(list.error().span()->file, "debian/patches/series");
}

TEST_F(PatchListTest, WhatASeriesMayNotSay) {
  for (const char* line : {"one -p", "one -px", "one -p99", "one --fuzz=3", "one two"}) {
    Series(line);
    EXPECT_THAT(List({"debian/patches"}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not an option")))
        << line;
  }
  for (const char* line : {"../../a.patch", "/etc/passwd"}) {
    Series(line);
    EXPECT_THAT(List({"debian/patches"}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("not below")))
        << line;
  }
  Series(std::string(limits::kPatchSeries + 1, '\n'));
  EXPECT_THAT(List({"debian/patches"}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("more than 10000 lines")));
}

TEST_F(PatchListTest, AFolderWithoutSeriesIsNoPatch) {
  const auto list = List({"debian"});
  EXPECT_THAT(list, FailsWith(ErrorCode::kInvalidInput, "the patch directory 'debian' has no file 'series'"));
  EXPECT_EQ(list.error().span()->line, 3);
}

TEST_F(PatchListTest, NamesAMissingPatch) {
  EXPECT_THAT(List({"none.patch"}), FailsWith(ErrorCode::kNotFound, HasSubstr("none.patch")));
}

}  // namespace
}  // namespace ptpkg::source
