#include <string>

#include "conda/channel_names.h"
#include "support/matchers.h"

namespace ptpkg::conda {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::HasSubstr;

TEST(CheckSubdir, TakesNoarchOrTwoParts) {
  EXPECT_THAT(CheckSubdir("noarch"), IsOk());
  EXPECT_THAT(CheckSubdir("linux-aarch64"), IsOk());
  EXPECT_THAT(CheckSubdir("linux"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("neither 'noarch'")));
  EXPECT_THAT(CheckSubdir("linux-64-x"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("neither 'noarch'")));
  EXPECT_FALSE(IsSubdir("Linux-64"));
}

TEST(CheckSubdir, KnowsThePlatformsOfClients) {
  for (const char* subdir : {"noarch", "linux-64", "osx-arm64", "zos-z", "wasi-wasm32", "linux-loongarch64"})
    EXPECT_TRUE(IsKnownSubdir(subdir)) << subdir;
  for (const char* subdir : {"", "foo-64", "linux-amd64", "linux-loong64", "osx-universal2", "Linux-64"})
    EXPECT_FALSE(IsKnownSubdir(subdir)) << subdir;
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
