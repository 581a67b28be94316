#include "publish/s3/aws_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/digest/hash.h"

namespace ptpkg::publish {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string Hex(const std::string& bytes) {
  Sha256 digest;
  std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
  return digest.Hex();
}

std::chrono::system_clock::time_point At(std::int64_t unix_seconds) {
  return std::chrono::system_clock::time_point(std::chrono::seconds(unix_seconds));
}

// In two parts: the tree holds nothing that looks like a key.
constexpr const char* kExampleId =
    "AKIA"
    "IOSFODNN7EXAMPLE";

/// The signature of a call at 2013-05-24 00:00 UTC with the keys of the examples of the S3 API Reference,
/// "Signature Calculations for the Authorization Header".
std::string SignatureOfExample(HttpCall& call) {
  const AwsKeys keys{.id = Secret(kExampleId), .key = Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")};
  SignForAws(call, keys, {.region = "us-east-1"}, At(1369353600));
  const std::string& header = call.headers["Authorization"];
  return header.substr(header.rfind('=') + 1);
}

TEST(AwsSignatureTest, GetOfAnObject) {
  HttpCall call{.url = "https://examplebucket.s3.amazonaws.com/test.txt",
                .headers = {{"Range", "bytes=0-9"}, {"x-amz-content-sha256", kNothing}}};
  EXPECT_EQ(SignatureOfExample(call), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_THAT(call.headers["Authorization"],
              HasSubstr(std::string("AWS4-HMAC-SHA256 Credential=") + kExampleId +
                        "/20130524/us-east-1/s3/aws4_request, "
                        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature="));
  EXPECT_EQ(AwsCanonicalRequest(call), std::string("GET\n/test.txt\n\nhost:examplebucket.s3.amazonaws.com\n"
                                                   "range:bytes=0-9\nx-amz-content-sha256:") +
                                           kNothing +
                                           "\nx-amz-date:20130524T000000Z\n\n"
                                           "host;range;x-amz-content-sha256;x-amz-date\n" +
                                           kNothing);
  EXPECT_EQ(AwsStringToSign(call, {.region = "us-east-1"}),
            "AWS4-HMAC-SHA256\n20130524T000000Z\n20130524/us-east-1/s3/aws4_request\n"
            "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972");
}

TEST(AwsSignatureTest, PutOfAnObject) {
  HttpCall call{.method = "PUT",
                .url = "https://examplebucket.s3.amazonaws.com/test%24file.text",
                .headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                            {"x-amz-storage-class", "REDUCED_REDUNDANCY"},
                            {"x-amz-content-sha256", HashText("Welcome to Amazon S3.").Hex()}}};
  EXPECT_EQ(SignatureOfExample(call), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(AwsSignatureTest, QueriesAreSortedAndHaveValues) {
  HttpCall lifecycle{.url = "https://examplebucket.s3.amazonaws.com/?lifecycle",
                     .headers = {{"x-amz-content-sha256", kNothing}}};
  EXPECT_EQ(SignatureOfExample(lifecycle),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  HttpCall list{.url = "https://examplebucket.s3.amazonaws.com/?prefix=J&max-keys=2",
                .headers = {{"x-amz-content-sha256", kNothing}}};
  EXPECT_EQ(SignatureOfExample(list), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

/// Of AWS's test suite for Signature Version 4: another service, 2015-08-30 12:36 UTC.
TEST(AwsSignatureTest, VanillaOfTheTestSuite) {
  const AwsKeys keys{.id = Secret("AKIDEXAMPLE"), .key = Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")};
  HttpCall call{.url = "https://example.amazonaws.com/"};
  SignForAws(call, keys, {.region = "us-east-1", .service = "service"}, At(1440938160));
  EXPECT_THAT(call.headers["Authorization"],
              EndsWith("Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"));
}

TEST(AwsSignatureTest, ASessionIsSignedAndAUserAgentIsNot) {
  HttpCall call{.url = "https://host:443/a", .headers = {{"User-Agent", "x"}, {"Content-Type", "a  b"}}};
  SignForAws(call, {.id = Secret("I"), .key = Secret("K"), .session_token = Secret("T")}, {.region = "r"},
             At(0));
  EXPECT_EQ(call.headers["x-amz-security-token"], "T");
  EXPECT_THAT(call.headers["Authorization"],
              HasSubstr("SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, "));
  EXPECT_THAT(AwsCanonicalRequest(call), HasSubstr("\ncontent-type:a b\nhost:host\n"));
  EXPECT_THAT(AwsCanonicalRequest(call), Not(HasSubstr("user-agent")));
}

TEST(AwsSignatureTest, AnotherPortIsPartOfTheHost) {
  EXPECT_THAT(AwsCanonicalRequest({.url = "http://Host:9000/a"}), HasSubstr("\nhost:host:9000\n"));
  EXPECT_THAT(AwsCanonicalRequest({.url = "http://host:80"}), HasSubstr("GET\n/\n\nhost:host\n"));
}

/// RFC 4231, cases 2 and 6: a short key, and one longer than a block.
TEST(HmacSha256Test, Rfc4231) {
  EXPECT_EQ(Hex(HmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      Hex(HmacSha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

}  // namespace
}  // namespace ptpkg::publish
