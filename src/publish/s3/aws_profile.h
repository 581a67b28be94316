#pragma once
// Finds keys, region and endpoint where AWS's own clients do: variables, then ~/.aws. Layer: publish. Source:
// AWS SDKs and Tools Reference Guide "Shared config and credentials files"; botocore has the same order.

#include <string>

#include "support/env.h"

namespace ptpkg::publish {

struct AwsSettings {
  std::string region = {};         ///< AWS_REGION, AWS_DEFAULT_REGION, the profile; "" = not set.
  std::string endpoint = {};       ///< AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile; "" = AWS itself.
  std::string endpoint_from = {};  ///< The setting that gave `endpoint`, for messages: "AWS_ENDPOINT_URL".
};

/// Reads the profile in AWS_PROFILE, or "default". Errors: kInvalidInput at a malformed line of
/// the profile, kUsage for a setting of several lines, kIo.
Result<AwsSettings> ReadAwsSettings(Env& env);

/// AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. Then the profile: first in the
/// credentials file (AWS_SHARED_CREDENTIALS_FILE, ~/.aws/credentials), then in the configuration
/// (AWS_CONFIG_FILE, ~/.aws/config). Errors: any from ReadAwsSettings, kRefused with a hint for missing or
/// incomplete keys, kUsage for one of several lines.
Result<AwsKeys> FindAwsKeys(Env& env);

}  // namespace ptpkg::publish
