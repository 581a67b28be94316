#include "model/artifact.h"

#include <gtest/gtest.h>

namespace ptpkg {
namespace {

TEST(Artifact, Extensions) {
  EXPECT_EQ(ArtifactExtension(ArtifactFormat::kConda), ".conda");
  EXPECT_EQ(ArtifactExtension(ArtifactFormat::kTarBz2), ".tar.bz2");
  EXPECT_EQ(ArtifactExtension(ArtifactFormat::kWheel), ".whl");
  EXPECT_EQ(ArtifactExtension(ArtifactFormat::kZip), ".zip");
}

TEST(Artifact, NamesRoundTrip) {
  for (const char* name : {"conda", "tar.bz2", "wheel", "zip"}) {
    const auto format = ParseArtifactFormat(name);
    ASSERT_TRUE(format) << name;
    EXPECT_EQ(ArtifactFormatName(*format), name);
  }
  EXPECT_FALSE(ParseArtifactFormat("whl"));
}

}  // namespace
}  // namespace ptpkg
