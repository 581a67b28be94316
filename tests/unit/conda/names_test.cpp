#include "conda/names.h"

#include <string>

#include "support/matchers.h"

namespace ptpkg::conda {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::HasSubstr;

TEST(CheckPackageName, AcceptsWhatCep26Names) {
  for (const char* name : {"torch", "_libgcc_mutex", "magma-cuda110", "a.b_c-d", "7zip", "x"}) {
    EXPECT_THAT(CheckPackageName(name), IsOk()) << name;
  }
}

TEST(CheckPackageName, SaysWhichRuleIsBroken) {
  EXPECT_THAT(CheckPackageName(""), FailsWith(ErrorCode::kInvalidInput, "package name is empty"));
  EXPECT_THAT(CheckPackageName("Torch"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("may hold only a-z")));
  EXPECT_THAT(CheckPackageName("a--b"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("two separators in a row")));
  EXPECT_THAT(CheckPackageName("__cuda"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("two separators")));
  EXPECT_THAT(CheckPackageName("-a"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("must begin with")));
  EXPECT_THAT(CheckPackageName(std::string(65, 'a')),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("longer than 64 characters")));
  EXPECT_THAT(CheckPackageName(std::string(64, 'a')), IsOk());
}

TEST(CheckVersion, AcceptsEpochLocalAndTrailingUnderscore) {
  for (const char* version :
       {"2.6.0", "1!2.0", "2.1+sirius6.0.3", "1.0.1_", "0.0.0.post105+699b871", "2026a"}) {
    EXPECT_THAT(CheckVersion(version), IsOk()) << version;
  }
}

TEST(CheckVersion, RefusesWhatReadersCannotOrder) {
  EXPECT_THAT(CheckVersion("2.6-rc1"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("may hold only")));
  EXPECT_THAT(CheckVersion("2.6RC1"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("may hold only")));
  EXPECT_THAT(CheckVersion("a!1"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("epoch that is no number")));
  EXPECT_THAT(CheckVersion("1!2!3"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("more than once")));
  EXPECT_THAT(CheckVersion("1+2+3"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("more than once")));
  EXPECT_THAT(CheckVersion("1..2"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("empty segment")));
  EXPECT_THAT(CheckVersion("1."), FailsWith(ErrorCode::kInvalidInput, HasSubstr("empty segment")));
  EXPECT_THAT(CheckVersion("1+"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("empty segment")));
  EXPECT_THAT(CheckVersion("1.2147483648"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("above 2147483647")));
  EXPECT_THAT(CheckVersion("1.2147483647"), IsOk());
}

TEST(CheckBuildString, AcceptsThePytorchChannelsForm) {
  EXPECT_THAT(CheckBuildString("py3.8_cuda11.0.221_cudnn8.0.5_0"), IsOk());
  EXPECT_THAT(CheckBuildString("a-b"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("letters, digits")));
}

TEST(CheckSubdir, TakesNoarchOrTwoParts) {
  EXPECT_THAT(CheckSubdir("noarch"), IsOk());
  EXPECT_THAT(CheckSubdir("linux-aarch64"), IsOk());
  EXPECT_THAT(CheckSubdir("linux"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("neither 'noarch'")));
  EXPECT_THAT(CheckSubdir("linux-64-x"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("neither 'noarch'")));
  EXPECT_FALSE(IsSubdir("Linux-64"));
}

TEST(DistName, SplitsAtTheLastTwoHyphens) {
  ASSERT_OK_AND_ASSIGN(const DistName dist, DistName::Parse("magma-cuda110-2.5.2-1.tar.bz2"));
  EXPECT_EQ(dist.name, "magma-cuda110");
  EXPECT_EQ(dist.version, "2.5.2");
  EXPECT_EQ(dist.build, "1");
  EXPECT_EQ(dist.format, ArtifactFormat::kTarBz2);
  EXPECT_EQ(dist.FileName(), "magma-cuda110-2.5.2-1.tar.bz2");
}

TEST(DistName, RefusesOtherFiles) {
  for (const char* name :
       {"repodata.json", "a-1-0.zip", "a-1.conda", "-1-0.conda", "a--0.conda", "a-1-.conda", ".conda"}) {
    EXPECT_THAT(DistName::Parse(name), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not of the form")))
        << name;
  }
}

}  // namespace
}  // namespace ptpkg::conda
