#include "publish/s3/s3_bucket.h"

#include "publish/s3/s3_remote.h"
#include "unit/publish/fake_s3.h"

namespace ptpkg::publish {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::HasSubstr;
using ::testing::Not;

using S3BucketTest = S3Test;

TEST_F(S3BucketTest, AStoreWithoutConditionsIsWrittenToWithout) {
  s3_.knows_conditions = false;
  EXPECT_THAT(bucket_->Write("a", "text/plain", "1", {.nothing = true}), IsOk());
  EXPECT_THAT(bucket_->Write("b", "text/plain", "1", {.nothing = true}), IsOk());
  EXPECT_EQ(Sent("PUT").size(), 3U);  // asked once
  EXPECT_EQ(env_.reporter.warnings().size(), 1U);
}

TEST_F(S3BucketTest, AddressesAreThoseOfAwsOrOfTheEndpoint) {
  const auto url = [&](S3Place place) {
    const auto made = S3Bucket::Make(env_, std::move(place));
    return made ? (*made)->FileUrl("a/b c+d") : FormatError(made.error());
  };
  EXPECT_EQ(url({.bucket = "bbb", .region = "eu-1"}), "https://bbb.s3.eu-1.amazonaws.com/a/b%20c%2Bd");
  EXPECT_EQ(url({.bucket = "bbb"}), "https://bbb.s3.us-east-1.amazonaws.com/a/b%20c%2Bd");
  EXPECT_EQ(url({.bucket = "b.b", .region = "eu-1"}), "https://s3.eu-1.amazonaws.com/b.b/a/b%20c%2Bd");
  EXPECT_EQ(url({.bucket = "bbb", .region = "cn-north-1"}),
            "https://bbb.s3.cn-north-1.amazonaws.com.cn/a/b%20c%2Bd");
  EXPECT_EQ(url({.bucket = "bbb", .prefix = "x/y", .endpoint = "http://h:9000/s3/"}),
            "http://h:9000/s3/bbb/x/y/a/b%20c%2Bd");
  for (const S3Place& wrong :
       {S3Place{.bucket = "b"}, S3Place{.bucket = "a b"}, S3Place{.bucket = "bbb", .prefix = "a//b"},
        S3Place{.bucket = "bbb", .prefix = "../b"}, S3Place{.bucket = "bbb", .region = "a/b"},
        S3Place{.bucket = "bbb", .region = std::string(65, 'a')}})
    EXPECT_THAT(S3Bucket::Make(env_, wrong), FailsWith(ErrorCode::kUsage, ::testing::_));
  EXPECT_THAT(S3Bucket::Make(env_, {.bucket = "bbb", .endpoint = "h:9000"}),
              FailsWith(ErrorCode::kInvalidInput, ::testing::_));
}

TEST_F(S3BucketTest, AKeyThatSomebodyElseWritesIsTriedAgain) {
  const HttpAnswer busy = FakeS3::ErrorAnswer(409, "OperationAborted");
  s3_.instead["PUT a"] = {2, busy};
  EXPECT_THAT(bucket_->Write("a", "text/plain", "1", {}), IsOk());
  EXPECT_EQ(s3_.objects["a"].text, "1");
  s3_.instead["PUT a"] = {9, busy};
  EXPECT_THAT(bucket_->Write("a", "text/plain", "2", {}),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("409")));
  // A condition that did not hold is not tried again.
  s3_.log.clear();
  EXPECT_THAT(bucket_->Write("a", "text/plain", "2", {.nothing = true}),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("409")));
  EXPECT_EQ(Sent("PUT").size(), 1U);
}

TEST_F(S3BucketTest, ErrorsSayWhatToDo) {
  const auto error = [&](const HttpAnswer& answer) { return bucket_->ErrorOf(answer, "asked"); };
  const Error clock =
      error(FakeS3::ErrorAnswer(403, "RequestTimeTooSkewed",
                                "<RequestTime>20200101T000000Z</RequestTime><ServerTime>now</ServerTime>"));
  EXPECT_EQ(clock.code(), ErrorCode::kRefused);
  EXPECT_THAT(clock.message(), HasSubstr("the server's is now"));
  const Error region =
      error(FakeS3::ErrorAnswer(400, "AuthorizationHeaderMalformed", "<Region>eu-1</Region>"));
  EXPECT_THAT(region.message(), HasSubstr("in the region 'eu-1'"));
  EXPECT_EQ(region.hint(), "set AWS_REGION=eu-1");
  const Error moved = error({.status = 301, .headers = {{"x-amz-bucket-region", "eu-2"}}, .body = ""});
  EXPECT_THAT(moved.message(), HasSubstr("'eu-2'"));
  EXPECT_EQ(error(FakeS3::ErrorAnswer(404, "NoSuchBucket")).code(), ErrorCode::kNotFound);
  EXPECT_THAT(error(FakeS3::ErrorAnswer(403, "AccessDenied")).hint(), HasSubstr("s3:PutObject"));
  EXPECT_EQ(error(FakeS3::ErrorAnswer(412, "PreconditionFailed")).code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(error(FakeS3::ErrorAnswer(409, "ConditionalRequestConflict")).code(), ErrorCode::kAlreadyExists);
  for (const long status : {429L, 500L, 502L, 503L}) {
    for (const char* code : {"SlowDown", "AccessDenied", "Other"}) {
      const Error later = error(FakeS3::ErrorAnswer(status, code));
      EXPECT_EQ(later.code(), ErrorCode::kNetwork) << status << code;
      EXPECT_THAT(later.hint(), HasSubstr("publish again later")) << status << code;
    }
  }
  HttpAnswer answer = FakeS3::ErrorAnswer(403, "AccessDenied");
  answer.body =
      "<Error><Code>X</Code><Message>Credential=I/2026, Signature=0a1b2c3d4e, and so on</Message></Error>";
  const Error repeated = error(answer);
  EXPECT_THAT(repeated.message(), HasSubstr("Signature=****, and so on"));
  EXPECT_THAT(repeated.message(), Not(HasSubstr("0a1b2c3d4e")));
  EXPECT_EQ(error({.status = 403, .headers = {}, .body = ""}).code(), ErrorCode::kRefused);
}

TEST(S3RemoteTest, AFileLargerThanOnePutIsRefusedByName) {
  test::TestEnv env;
  ASSERT_OK_AND_ASSIGN(const auto remote, MakeS3(env, {.bucket = "bucket", .endpoint = "http://h"}));
  Upload upload{.file = AbsPath::Literal("/dist/wheels/big.whl"), .format = ArtifactFormat::kWheel};
  upload.digests.size_bytes = std::uint64_t{5} << 30U;
  EXPECT_THAT(remote->CheckRules(upload), IsOk());
  upload.digests.size_bytes += 1;
  EXPECT_THAT(remote->CheckRules(upload),
              FailsWith(ErrorCode::kRefused, HasSubstr("'big.whl' is too large for S3")));
}

}  // namespace
}  // namespace ptpkg::publish
