#include "model/artifact.h"

#include <gtest/gtest.h>

namespace ptpkg {
namespace {

TEST(Artifact, Extensions) {
  EXPECT_EQ(ArtifactExtension(ArtifactFormat::kConda), ".conda");
  EXPECT_EQ(ArtifactExtension(ArtifactFormat::kTarBz2), ".tar.bz2");
  EXPECT_EQ(ArtifactExtension(ArtifactFormat::kWheel), ".whl");
}

}  // namespace
}  // namespace ptpkg
