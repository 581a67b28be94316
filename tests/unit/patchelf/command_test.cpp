// The patchelf command line as words: what they mean together, and what is refused.
#include "patchelf/command.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::patchelf {
namespace {

using elf::PathAction;
using test::FailsWith;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class PatchelfWords : public ::testing::Test {
 protected:
  Result<PatchelfCommand> Parse(std::vector<std::string> words) {
    return ParsePatchelf(env_->fs, env_->cwd, words);
  }

  test::TestEnv env_;
};

TEST_F(PatchelfWords, EveryEdit) {
  ASSERT_OK_AND_ASSIGN(const PatchelfCommand command, Parse({"--set-rpath",
                                                             "$ORIGIN",
                                                             "--force-rpath",
                                                             "--set-soname",
                                                             "s",
                                                             "--set-interpreter",
                                                             "i",
                                                             "--add-needed",
                                                             "a",
                                                             "--add-needed",
                                                             "b",
                                                             "--remove-needed",
                                                             "c",
                                                             "--replace-needed",
                                                             "d",
                                                             "e",
                                                             "--no-default-lib",
                                                             "--add-debug-tag",
                                                             "--clear-execstack",
                                                             "--output",
                                                             "/o",
                                                             "f"}));
  EXPECT_EQ(command.edits.path_action, PathAction::kSet);
  EXPECT_EQ(command.edits.path_text, "$ORIGIN");
  EXPECT_TRUE(command.edits.rpath_tag);
  EXPECT_EQ(command.edits.soname, "s");
  EXPECT_EQ(command.edits.interpreter, "i");
  EXPECT_THAT(command.edits.add_needed, ElementsAre("a", "b"));
  EXPECT_THAT(command.edits.remove_needed, ElementsAre("c"));
  EXPECT_THAT(command.edits.replace_needed, ElementsAre(Pair("d", "e")));
  EXPECT_TRUE(command.edits.no_default_libraries);
  EXPECT_TRUE(command.edits.add_debug_entry);
  EXPECT_EQ(command.edits.executable_stack, false);
  EXPECT_EQ(command.output->str(), "/o");
  EXPECT_THAT(command.files, ElementsAre("f"));
}

TEST_F(PatchelfWords, PrecedenceOfPathActions) {
  EXPECT_EQ(Parse({"--remove-rpath", "--set-rpath", "/x", "f"})->edits.path_action, PathAction::kRemove);
  EXPECT_EQ(Parse({"--shrink-rpath", "--set-rpath", "/x", "f"})->edits.path_action, PathAction::kShrink);
  const std::vector<std::string> set = {"--set-rpath", "/x"};
  const std::vector<std::string> add = {"--add-rpath", "/y"};
  for (const auto& [first, second] : {std::pair(set, add), std::pair(add, set)}) {
    for (const char* between : {"--debug", "--remove-rpath", "--shrink-rpath"}) {
      EXPECT_THAT(Parse({first[0], first[1], between, second[0], second[1], "f"}),
                  FailsWith(ErrorCode::kUsage, HasSubstr("not allowed with --add-rpath")));
      EXPECT_THAT(Parse({between, first[0], first[1], second[0], second[1], "f"}),
                  FailsWith(ErrorCode::kUsage, HasSubstr("not allowed with --add-rpath")));
    }
  }
}

TEST_F(PatchelfWords, ClearingTheStackFlagWins) {
  EXPECT_EQ(Parse({"--clear-execstack", "--set-execstack", "f"})->edits.executable_stack, false);
  EXPECT_EQ(Parse({"--set-execstack", "f"})->edits.executable_stack, true);
}

TEST_F(PatchelfWords, ValuesFromFiles) {
  const AbsPath file = env_.dir().WriteFile("path", "$ORIGIN/from");
  EXPECT_EQ(Parse({"--set-rpath", "@" + file.str(), "f"})->edits.path_text, "$ORIGIN/from");
  EXPECT_THAT(Parse({"--set-rpath", "@/nonexistent", "f"}),
              FailsWith(ErrorCode::kNotFound, HasSubstr("getting info about '/nonexistent'")));
}

TEST_F(PatchelfWords, Refusals) {
  EXPECT_THAT(Parse({"--set-rpath"}), FailsWith(ErrorCode::kUsage, HasSubstr("missing argument")));
  EXPECT_THAT(Parse({"--replace-needed", "a"}),
              FailsWith(ErrorCode::kUsage, HasSubstr("missing argument(s)")));
  EXPECT_THAT(Parse({"--set-rpath", "/x"}), FailsWith(ErrorCode::kUsage, HasSubstr("missing filename")));
  EXPECT_THAT(Parse({"--output", "/o", "f", "g"}),
              FailsWith(ErrorCode::kUsage, HasSubstr("single input file")));
  for (const char* size : {"", "0", "4k", "-1"}) {
    EXPECT_THAT(Parse({"--page-size", size, "f"}), FailsWith(ErrorCode::kUsage, HasSubstr("--page-size")))
        << size;
  }
}

TEST_F(PatchelfWords, WhatPatchelfDoesAndWeDoNotIsKeptForTheFile) {
  ASSERT_OK_AND_ASSIGN(const PatchelfCommand command, Parse({"--rename-dynamic-symbols", "map", "f"}));
  EXPECT_EQ(command.unsupported, "--rename-dynamic-symbols");
  EXPECT_THAT(command.files, ElementsAre("f"));
}

TEST_F(PatchelfWords, OptionsWithoutEffectAreTaken) {
  EXPECT_THAT(
      Parse({"--page-size", "65536", "--no-sort", "--no-clobber-old-sections", "--debug", "f"})->files,
      ElementsAre("f"));
  EXPECT_TRUE(Parse({"--version", "--set-rpath"})->version);
}

TEST_F(PatchelfWords, OnlyASearchPathCanBeEmpty) {
  EXPECT_OK(Parse({"--set-rpath", "", "f"}));
  env_.dir().WriteFile("empty", "");
  for (const char* option :
       {"--add-needed", "--remove-needed", "--set-soname", "--set-interpreter", "--output"}) {
    const auto empty = FailsWith(ErrorCode::kUsage, fmt::format("the value of {} is empty", option));
    EXPECT_THAT(Parse({option, "", "f"}), empty);
    EXPECT_THAT(Parse({option, "@" + (env_.dir() / "empty").str(), "f"}), empty);
  }
  for (const auto& [old_name, new_name] : {std::pair("a", ""), std::pair("", "b")}) {
    EXPECT_THAT(Parse({"--replace-needed", old_name, new_name, "f"}),
                FailsWith(ErrorCode::kUsage, "the value of --replace-needed is empty"));
  }
}

}  // namespace
}  // namespace ptpkg::patchelf
