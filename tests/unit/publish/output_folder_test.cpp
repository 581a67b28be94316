#include "publish/output_folder.h"

#include "support/json.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::publish {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OutputFolderTest : public ::testing::Test {
 protected:
  OutputFolder Open(bool force = false) {
    auto output = OutputFolder::Open(env_, root_, force);
    EXPECT_THAT(output, test::IsOk());
    return *std::move(output);
  }

  Artifact MakeArtifact(const std::string& text) {
    const AbsPath path = env_.dir().path() / "packed.whl";
    EXPECT_THAT(WriteFile(env_->fs, path, text), test::IsOk());
    return {.format = ArtifactFormat::kWheel, .path = path, .digests = *HashFile(env_->fs, path)};
  }

  ArtifactRecord RecordOf(const Artifact& artifact) {
    return {.path = place_.str(),
            .format = "wheel",
            .sha256 = artifact.digests.sha256.Hex(),
            .size_bytes = artifact.digests.size_bytes,
            .inputs = {{"source", "abc"}}};
  }

  test::TestEnv env_;
  AbsPath root_ = env_.dir().path() / "dist";
  RelPath place_ = RelPath::Literal("wheels/x.whl");
};

TEST_F(OutputFolderTest, PublishesByRename) {
  OutputFolder output = Open();
  const Artifact artifact = MakeArtifact("one");
  ASSERT_THAT(output.Publish(artifact, place_), test::IsOk());
  EXPECT_THAT(ReadFile(env_->fs, root_ / place_), IsOkAndHolds(Eq("one")));
  EXPECT_THAT(Exists(env_->fs, artifact.path), IsOkAndHolds(false));
}

TEST_F(OutputFolderTest, LeavesEqualBytesAlone) {
  OutputFolder output = Open();
  ASSERT_THAT(output.Publish(MakeArtifact("one"), place_), test::IsOk());
  const auto before = env_->fs.Lstat(root_ / place_);
  ASSERT_THAT(output.Publish(MakeArtifact("one"), place_), test::IsOk());
  EXPECT_EQ(env_->fs.Lstat(root_ / place_)->inode, before->inode);
}

TEST_F(OutputFolderTest, RefusesAForeignFileUnlessForced) {
  {
    OutputFolder output = Open();
    ASSERT_THAT(WriteFile(env_->fs, root_ / place_, "foreign"), test::IsOk());
    EXPECT_THAT(output.Publish(MakeArtifact("one"), place_),
                FailsWith(ErrorCode::kAlreadyExists, HasSubstr("manifest.json")));
    EXPECT_THAT(ReadFile(env_->fs, root_ / place_), IsOkAndHolds(Eq("foreign")));
  }
  OutputFolder output = Open(/*force=*/true);
  EXPECT_THAT(output.Publish(MakeArtifact("one"), place_), test::IsOk());
  EXPECT_THAT(ReadFile(env_->fs, root_ / place_), IsOkAndHolds(Eq("one")));
}

TEST_F(OutputFolderTest, ReplacesWhatTheManifestKnows) {
  {
    OutputFolder output = Open();
    const Artifact artifact = MakeArtifact("one");
    const ArtifactRecord record = RecordOf(artifact);
    ASSERT_THAT(output.Publish(artifact, place_), test::IsOk());
    ASSERT_THAT(output.WriteManifest({record}, {}), test::IsOk());
  }
  OutputFolder output = Open();
  EXPECT_THAT(output.Publish(MakeArtifact("two"), place_), test::IsOk());
  EXPECT_THAT(ReadFile(env_->fs, root_ / place_), IsOkAndHolds(Eq("two")));
}

TEST_F(OutputFolderTest, AFileChangedSinceTheManifestIsForeign) {
  {
    OutputFolder output = Open();
    const Artifact artifact = MakeArtifact("one");
    const ArtifactRecord record = RecordOf(artifact);
    ASSERT_THAT(output.Publish(artifact, place_), test::IsOk());
    ASSERT_THAT(output.WriteManifest({record}, {}), test::IsOk());
    ASSERT_THAT(WriteFile(env_->fs, root_ / place_, "own"), test::IsOk());  // same size, other bytes
  }
  OutputFolder output = Open();
  EXPECT_THAT(output.Publish(MakeArtifact("two"), place_),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("x.whl")));
}

TEST_F(OutputFolderTest, TheManifestForgetsFilesThatAreGone) {
  {
    OutputFolder output = Open();
    const Artifact artifact = MakeArtifact("one");
    ASSERT_THAT(output.WriteManifest({RecordOf(artifact)}, {{.stage = "wheel", .subject = "x", .ran = true}}),
                test::IsOk());
  }
  OutputFolder output = Open();
  ASSERT_THAT(output.WriteManifest({}, {}), test::IsOk());
  const auto manifest = ParseJson(*ReadFile(env_->fs, root_ / "manifest.json"), "manifest.json");
  ASSERT_THAT(manifest, test::IsOk());
  EXPECT_THAT((*manifest)["artifacts"], IsEmpty());
}

TEST_F(OutputFolderTest, ADamagedManifestIsAnErrorWithARemedy) {
  Open();
  for (const char* text : {"{", "[]", R"({"artifacts": [{"path": "../up"}]})"}) {
    ASSERT_THAT(WriteFile(env_->fs, root_ / "manifest.json", text), test::IsOk());
    EXPECT_FALSE(OutputFolder::Open(env_, root_, false).has_value()) << text;
  }
  ASSERT_THAT(WriteFile(env_->fs, root_ / "manifest.json", "{"), test::IsOk());
  EXPECT_THAT(OutputFolder::Open(env_, root_, false), FailsWith(ErrorCode::kCorrupt, HasSubstr("damaged")));
}

TEST_F(OutputFolderTest, OpeningRemovesWhatAKilledRunLeft) {
  Open();
  ASSERT_THAT(env_->fs.MakeDirs(root_ / ".ptpkg-pack-999999999-0/half"), test::IsOk());
  ASSERT_THAT(WriteFile(env_->fs, root_ / ".manifest.json.999999999-1.ptpkg-tmp", ""), test::IsOk());
  Open();
  EXPECT_THAT(env_->fs.ListDir(root_), IsOkAndHolds(::testing::ElementsAre("conda", "logs", "wheels")));
}

TEST_F(OutputFolderTest, AnUnwritablePlaceIsNamed) {
  ASSERT_THAT(WriteFile(env_->fs, root_, "a file"), test::IsOk());
  const auto output = OutputFolder::Open(env_, root_, false);
  ASSERT_FALSE(output.has_value());
  EXPECT_THAT(FormatError(output.error()), HasSubstr("while preparing the output folder"));
}

}  // namespace
}  // namespace ptpkg::publish
