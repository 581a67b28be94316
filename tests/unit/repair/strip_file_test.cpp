#include "repair/strip_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_process.h"
#include "support/matchers.h"
#include "support/must.h"
#include "support/test_env.h"
#include "unit/elf/fixtures/synthetic_elf.h"

namespace ptpkg::repair {
namespace {

using elf::test::SyntheticElf;
using ptpkg::test::FailsWith;
using testing::AllOf;
using testing::HasSubstr;

class StripFileTest : public testing::Test {
 protected:
  StripFileTest() {
    const AbsPath tools = env_.dir().MakeDir("tools");
    EXPECT_OK(WriteFile(env_->fs, tools / "strip", "#!/bin/sh\n"));
    EXPECT_OK(env_->fs.SetMode(tools / "strip", 0755));
    env_->variables["PATH"] = tools.str();
    EXPECT_OK(WriteFile(env_->fs, path_, SyntheticElf().Build()));
  }
  /// strip makes this of the file.
  void Becomes(const std::string& content) {
    process_.On("strip", [this, content](const Command&) -> Result<ExitStatus> {
      PTPKG_CHECK(WriteFile(env_->fs, path_, content));
      return ExitStatus();
    });
  }

  ptpkg::test::FakeProcess process_;
  ptpkg::test::TestEnv env_{{.process = &process_}};
  AbsPath path_ = env_.dir() / "libx.so";
};

TEST_F(StripFileTest, TellsWhetherTheFileIsAnother) {
  Becomes(SyntheticElf().Build());
  EXPECT_FALSE(ptpkg::test::Must(StripFile(env_, path_)));
  Becomes(SyntheticElf().Build() + "x");
  EXPECT_TRUE(ptpkg::test::Must(StripFile(env_, path_)));
}

TEST_F(StripFileTest, WhatStripDestroysIsNotShipped) {
  SyntheticElf other;
  other.needed = {"libelse.so"};
  Becomes(other.Build());
  EXPECT_THAT(StripFile(env_, path_),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("strip destroyed 'libx.so'")));
  EXPECT_OK(WriteFile(env_->fs, path_, SyntheticElf().Build()));
  SyntheticElf elf;
  std::string unusable = elf.Build();
  elf::test::PokeU32(unusable, elf.codec(), elf.places.program_headers + 56 + 4, 0);  // p_flags
  Becomes(unusable);
  EXPECT_THAT(
      StripFile(env_, path_),
      AllOf(FailsWith(ErrorCode::kUnsupported, HasSubstr("strip destroyed 'libx.so': loadable segment 1")),
            ptpkg::test::HasHint(HasSubstr("repair without --strip"))));
  EXPECT_OK(WriteFile(env_->fs, path_, SyntheticElf().Build()));
  Becomes("no ELF file");
  EXPECT_THAT(StripFile(env_, path_), FailsWith(ErrorCode::kUnsupported, HasSubstr("strip destroyed")));
}

TEST_F(StripFileTest, AFailureIsTold) {
  process_.Answer("strip", 1, "cannot do it\n");
  EXPECT_THAT(StripFile(env_, path_), FailsWith(ErrorCode::kCommandFailed, HasSubstr("cannot do it")));
  env_->variables["PATH"] = "/nonexistent";
  EXPECT_THAT(StripFile(env_, path_), FailsWith(ErrorCode::kNotFound, HasSubstr("'strip' is not on PATH")));
}

}  // namespace
}  // namespace ptpkg::repair
