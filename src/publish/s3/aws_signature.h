#pragma once
// Requests signed by AWS Signature Version 4, in the Authorization header. Layer: publish.
// Source: AWS General Reference "Create a signed AWS API request"; Amazon S3 API Reference "Authenticating
// Requests: Using the Authorization Header". Not left to libcurl: the one of Debian 12 (7.88) signs queries
// as they stand, unsorted, and S3 wants x-amz-content-sha256, which it does not send.

#include <chrono>
#include <string>

#include "support/net/http.h"
#include "support/secret.h"

namespace ptpkg::publish {

struct AwsKeys {
  Secret id = Secret();  ///< No secret to AWS, and nobody's business in a log.
  Secret key = Secret();
  Secret session_token = Secret();  ///< "" = the keys are not those of a session.
};

/// What a signature is good for.
struct AwsScope {
  std::string region = {};
  std::string service = "s3";
};

/// Adds x-amz-date, x-amz-security-token if there is one, and Authorization. Signed are the method, the host,
/// path and query, all headers but User-Agent, which a proxy may change, and the body by its
/// x-amz-content-sha256; a call without that header has none. REQUIRES: path and query are percent-encoded as
/// RFC 3986 has it.
void SignForAws(HttpCall& call, const AwsKeys& keys, const AwsScope& scope,
                std::chrono::system_clock::time_point now);

/// The two texts on the way there, for tests. REQUIRES: x-amz-date is among the headers.
std::string AwsCanonicalRequest(const HttpCall& call);
std::string AwsStringToSign(const HttpCall& call, const AwsScope& scope);

/// RFC 2104 with SHA-256; 32 bytes.
std::string HmacSha256(std::string_view key, std::string_view text);

}  // namespace ptpkg::publish
