#include "builder/env/environment_file.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(EnvironmentFile, ExportsWhatAShellCanNameAndSaysWhoseItIs) {
  test::MemFs fs;
  fs.AddDir("/w");
  recipe::Recipe recipe;
  recipe.recipe_dir = AbsPath::Literal("/recipes/toy");
  const BuildInput input{
      .recipe = recipe,
      .subject = "toy-1.0-0",
      .source_root = AbsPath::Literal("/w/work"),
      .packages = {},
      .unpack = {},
      .layout = {.root = AbsPath::Literal("/w")},
  };
  const ScriptContext place{.variables = {{"FLAGS", "-a 'b' $c"}, {"EMPTY", ""}, {"a-b", "x"}, {"1st", "x"}},
                            .preamble = "activate\n"};
  ASSERT_OK(WriteEnvironmentFile(fs, input, place));
  const std::string text = fs.Content("/w/build_env_setup.sh");
  EXPECT_THAT(text, HasSubstr("export FLAGS='-a '\\''b'\\'' $c'\n"));
  EXPECT_THAT(text, HasSubstr("export EMPTY=''\n"));
  EXPECT_THAT(text, Not(HasSubstr("a-b")));
  EXPECT_THAT(text, Not(HasSubstr("1st")));
  EXPECT_TRUE(text.ends_with("\nactivate\n"));
  const EnvironmentOrigin origin = ReadEnvironmentOrigin(text);
  EXPECT_EQ(origin.recipe, "/recipes/toy");
  EXPECT_EQ(origin.subject, "toy-1.0-0");
  EXPECT_EQ(origin.root, "/w");
}

TEST(EnvironmentFile, AnotherFileSaysNothing) {
  const EnvironmentOrigin origin = ReadEnvironmentOrigin("#!/bin/sh\nexport A=b\n# recipe: /x\n");
  EXPECT_EQ(origin.recipe + origin.subject + origin.root, "");
}

}  // namespace
}  // namespace ptpkg::builder
