#include "pipeline/plan/input_output_overlap.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::HasHint;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PlacesTest : public ::testing::Test {
 protected:
  PlacesTest() {
    recipe_.name = "toy";
    recipe_.recipe_dir = env_.dir().MakeDir("toy");
    recipe_.sources.emplace_back().path = "src";
    env_.dir().MakeDir("toy/src/deep");
    env_.dir().MakeDir("other");
    env_.dir().MakeSymlink("toy/src/deep", "door");
    env_.dir().MakeSymlink("toy", "way");
    env_->cache_dir = env_.dir() / "cache";
  }

  test::TestEnv env_;
  recipe::Recipe recipe_;
};

TEST_F(PlacesTest, AFolderThatIsNotThereYetLiesBehindTheLinksThatAre) {
  EXPECT_EQ(ResolveExistingPart(env_, env_.dir() / "door/a/b"),
            ResolveExistingPart(env_, env_.dir() / "toy/src/deep") / "a/b");
  EXPECT_EQ(ResolveExistingPart(env_, AbsPath::Literal("/no-such/folder")),
            AbsPath::Literal("/no-such/folder"));
  EXPECT_EQ(ResolveExistingPart(env_, AbsPath::Literal("/")), AbsPath::Literal("/"));
}

TEST_F(PlacesTest, NeitherOutputNorCacheIsASource) {
  for (const char* output : {"toy/dist", "toy/src/dist", "door/dist", "way/src/x"}) {
    EXPECT_OK(CheckOutputOutsideInputs(env_, env_.dir() / output, recipe_, std::nullopt)) << output;
  }
  for (const char* output : {"toy/src", "way/src"}) {
    const auto checked = CheckOutputOutsideInputs(env_, env_.dir() / output, recipe_, std::nullopt);
    EXPECT_THAT(checked, FailsWith(ErrorCode::kUsage, HasSubstr("the output directory"))) << output;
    EXPECT_THAT(checked, HasHint(HasSubstr("--output DIR")));
  }
  // An override replaces the first source, and may be named through a link itself.
  EXPECT_OK(CheckOutputOutsideInputs(env_, env_.dir() / "toy/src", recipe_, env_.dir() / "other"));
  EXPECT_THAT(CheckOutputOutsideInputs(env_, env_.dir() / "toy/src/deep", recipe_, env_.dir() / "door"),
              FailsWith(ErrorCode::kUsage, HasSubstr("the output directory")));
  env_->cache_dir = env_.dir() / "way/src";
  EXPECT_THAT(CheckOutputOutsideInputs(env_, env_.dir() / "dist", recipe_, std::nullopt),
              FailsWith(ErrorCode::kUsage, HasSubstr("the cache directory")));
}

TEST_F(PlacesTest, WhatLiesInAFolderIsNamedAsTheFolderIs) {
  env_->cache_dir = env_.dir() / "way/cache";
  EXPECT_THAT(OutputPlacesBelow(env_, env_.dir() / "toy", env_.dir() / "door/dist"),
              ElementsAre(env_.dir() / "toy/src/deep/dist", env_.dir() / "toy/cache"));
  EXPECT_THAT(OutputPlacesBelow(env_, env_.dir() / "way", env_.dir() / "toy"),
              ElementsAre(env_.dir() / "way", env_.dir() / "way/cache"));
}

}  // namespace
}  // namespace ptpkg::pipeline
