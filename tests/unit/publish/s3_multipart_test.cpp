#include "publish/s3/s3_multipart.h"

#include "unit/publish/fake_s3.h"

namespace ptpkg::publish {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class S3MultipartTest : public S3Test {
 protected:
  /// A file of `mib` MiB and a bit more.
  Upload BigUpload(int mib, char fill = 'x') {
    const AbsPath file = env_.dir().path() / "big.whl";
    std::string text(static_cast<std::size_t>(mib) << 20U, fill);
    text += "the end";
    EXPECT_THAT(WriteFile(env_->fs, file, text), IsOk());
    Upload upload{.file = file, .format = ArtifactFormat::kWheel};
    upload.digests.sha256 = HashText(text);
    upload.digests.size_bytes = text.size();
    return upload;
  }
  Result<void> SendBig(const Upload& upload) {
    S3Multipart multipart(*bucket_);
    return multipart.Send(upload, "wheels/big.whl", {.nothing = true}, {});
  }
};

Digests DigestsOf(const std::string& text, std::uint64_t size_bytes) {
  Digests digests;
  digests.sha256 = HashText(text);
  digests.size_bytes = size_bytes;
  return digests;
}

TEST(LayoutOfTest, CutsFilesOfAnySize) {
  for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{16} << 20U, std::uint64_t{40} << 20U,
                                   std::uint64_t{160} << 30U, std::uint64_t{5} << 40U}) {
    for (const char* text : {"a", "b", "c"}) {
      const Digests file = DigestsOf(text, size);
      const PartLayout layout = LayoutOf(file);
      EXPECT_GE(layout.part_bytes, 16U << 20U);
      EXPECT_LE(layout.parts, 10'000);
      EXPECT_GE(layout.parts, 1);
      EXPECT_EQ(layout.OffsetOf(layout.parts) + layout.SizeOf(layout.parts, size), size);
      EXPECT_GT(layout.SizeOf(layout.parts, size), 0U);
      EXPECT_EQ(layout.part_bytes, LayoutOf(file).part_bytes);
    }
  }
  EXPECT_NE(LayoutOf(DigestsOf("a", 1)).part_bytes, LayoutOf(DigestsOf("b", 1)).part_bytes);
}

TEST_F(S3MultipartTest, ALargeFileGoesInParts) {
  const Upload upload = BigUpload(40);
  ASSERT_THAT(SendBig(upload), IsOk());
  EXPECT_EQ(HashText(s3_.objects["wheels/big.whl"].text), upload.digests.sha256);
  EXPECT_EQ(Sent("PUT").size(), 3U);
  EXPECT_THAT(s3_.uploads, IsEmpty());
}

TEST_F(S3MultipartTest, WhatAnEarlierRunSentIsNotSentAgain) {
  const Upload upload = BigUpload(40);
  s3_.instead["POST wheels/big.whl?uploadId=id1"] = {Error(ErrorCode::kNetwork, "cut")};
  EXPECT_THAT(SendBig(upload), FailsWith(ErrorCode::kNetwork, HasSubstr("cut")));
  ASSERT_EQ(s3_.uploads["id1"].size(), 3U);  // stays for the next run
  s3_.uploads["id1"].erase(2);
  s3_.log.clear();
  ASSERT_THAT(SendBig(upload), IsOk());
  EXPECT_THAT(Sent("PUT"), ElementsAre("PUT wheels/big.whl?partNumber=2&uploadId=id1"));
  EXPECT_EQ(HashText(s3_.objects["wheels/big.whl"].text), upload.digests.sha256);
}

TEST_F(S3MultipartTest, TheUploadOfAnotherFileIsLeftAlone) {
  s3_.instead["POST wheels/big.whl?uploadId=id1"] = {Error(ErrorCode::kNetwork, "cut")};
  EXPECT_THAT(SendBig(BigUpload(40, 'y')), FailsWith(ErrorCode::kNetwork, ::testing::_));
  const Upload upload = BigUpload(40);
  ASSERT_THAT(SendBig(upload), IsOk());
  EXPECT_EQ(HashText(s3_.objects["wheels/big.whl"].text), upload.digests.sha256);
  EXPECT_EQ(s3_.uploads["id1"].size(), 3U);
}

TEST_F(S3MultipartTest, WhatCannotBeFinishedIsTakenBack) {
  s3_.instead["PUT wheels/big.whl?partNumber=2&uploadId=id1"] = {FakeS3::ErrorAnswer(403, "AccessDenied")};
  EXPECT_THAT(SendBig(BigUpload(40)), FailsWith(ErrorCode::kRefused, HasSubstr("AccessDenied: words")));
  EXPECT_THAT(s3_.uploads, IsEmpty());
}

TEST_F(S3MultipartTest, AFileThatChangesIsNotCompleted) {
  Upload upload = BigUpload(40);
  upload.digests.sha256 = HashText("what it was");
  EXPECT_THAT(SendBig(upload), FailsWith(ErrorCode::kRefused, HasSubstr("changed while")));
  EXPECT_THAT(s3_.objects, IsEmpty());
  EXPECT_THAT(s3_.uploads, IsEmpty());
}

TEST_F(S3MultipartTest, AnErrorWithStatus200IsNone) {
  s3_.instead["POST wheels/big.whl?uploadId=id1"] = {FakeS3::ErrorAnswer(200, "InternalError")};
  EXPECT_THAT(SendBig(BigUpload(40)), FailsWith(ErrorCode::kNetwork, HasSubstr("InternalError")));
  EXPECT_EQ(s3_.uploads["id1"].size(), 3U);
}

TEST_F(S3MultipartTest, SomebodyElsesFileIsNotReplaced) {
  s3_.objects["wheels/big.whl"].text = "other";
  EXPECT_THAT(SendBig(BigUpload(40)), FailsWith(ErrorCode::kAlreadyExists, ::testing::_));
  EXPECT_EQ(s3_.objects["wheels/big.whl"].text, "other");
  EXPECT_THAT(s3_.uploads, IsEmpty());
}

}  // namespace
}  // namespace ptpkg::publish
