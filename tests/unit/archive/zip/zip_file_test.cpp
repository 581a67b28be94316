// Whole zips: their bytes, their digests, and what is left of one that fails.

#include "archive/zip/zip_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "archive/extract.h"
#include "archive/zip/zip_strict.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::IsOkAndHolds;
using ::ptpkg::test::TestEnv;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ZipFileTest : public ::testing::Test {
 protected:
  ZipFileTest() {
    EXPECT_OK(entries_.AddText(RelPath::Literal("top/z"), "last\n"));
    EXPECT_OK(entries_.AddText(RelPath::Literal("top/bin/run"), "#!/bin/sh\n", 0755));
    EXPECT_OK(entries_.AddText(RelPath::Literal("top/a"), RandomText(300'000)));
  }
  Result<std::string> Bytes(const AbsPath& file) { return ReadFile(env_->fs, file); }

  TestEnv env_;
  EntrySet entries_;
};

TEST_F(ZipFileTest, HasItsMembersInOrderAndItsDigests) {
  const AbsPath target = env_.dir() / "a.zip";
  ASSERT_OK_AND_ASSIGN(const Artifact artifact, WriteZipArchive(env_, entries_, target));
  EXPECT_EQ(artifact.format, ArtifactFormat::kZip);
  EXPECT_EQ(artifact.path, target);
  EXPECT_EQ(artifact.unpacked_bytes, entries_.TotalBytes());
  ASSERT_OK_AND_ASSIGN(const Digests digests, HashFile(env_->fs, target, {.md5 = true}));
  EXPECT_EQ(artifact.digests, digests);
  ASSERT_OK_AND_ASSIGN(const ZipReader zip, ZipReader::Open(env_->fs, target));
  std::vector<std::string> names;
  for (const ZipReader::Member& member : zip.members()) names.push_back(member.name);
  EXPECT_THAT(names, ::testing::ElementsAre("top/a", "top/bin/run", "top/z"));
  EXPECT_EQ(zip.Find("top/bin/run")->mode, 0100755U);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<File> file, env_->fs.Open(target, OpenMode::kRead));
  EXPECT_THAT(StrictZipProblems(*file), IsOkAndHolds(IsEmpty()));
}

TEST_F(ZipFileTest, BytesFollowFromEntriesAndTimeAlone) {
  ASSERT_OK(WriteZipArchive(env_, entries_, env_.dir() / "a.zip"));
  env_->jobs = 1;
  ASSERT_OK(WriteZipArchive(env_, entries_, env_.dir() / "b.zip"));
  env_->source_date_epoch += 86400;
  ASSERT_OK(WriteZipArchive(env_, entries_, env_.dir() / "c.zip"));
  ASSERT_OK_AND_ASSIGN(const std::string one, Bytes(env_.dir() / "a.zip"));
  EXPECT_THAT(Bytes(env_.dir() / "b.zip"), IsOkAndHolds(one));
  ASSERT_OK_AND_ASSIGN(const std::string later, Bytes(env_.dir() / "c.zip"));
  EXPECT_NE(later, one);
}

TEST_F(ZipFileTest, RefusesANameThatIsTakenBeforeItPacks) {
  const AbsPath target = env_.dir().WriteFile("a.zip", "other");
  const auto never = [](ZipWriter&) -> Result<void> {
    ADD_FAILURE() << "packed";
    return Ok();
  };
  EXPECT_THAT(WriteZipFile(env_, target, ExistingFilePolicy::kRefuse, never),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("a.zip")));
  EXPECT_THAT(Bytes(target), IsOkAndHolds(std::string("other")));
}

TEST_F(ZipFileTest, LeavesNothingWhenItFails) {
  const auto fail = [](ZipWriter&) -> Result<void> { return Error(ErrorCode::kIo, "no more room"); };
  EXPECT_THAT(WriteZipFile(env_, env_.dir() / "a.zip", ExistingFilePolicy::kReplace, fail),
              FailsWith(ErrorCode::kIo, HasSubstr("no more room")));
  EXPECT_THAT(env_->fs.ListDir(env_.dir().path()), IsOkAndHolds(IsEmpty()));
}

}  // namespace
}  // namespace ptpkg::archive::test
