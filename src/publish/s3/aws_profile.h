#pragma once
// Where AWS's own clients find keys, region and endpoint: variables, then ~/.aws. Layer: publish. Source: AWS
// SDKs and Tools Reference Guide "Shared config and credentials files"; botocore has the same order.

#include <string>

#include "support/env.h"

namespace ptpkg::publish {

struct AwsSettings {
  std::string region = {};    ///< AWS_REGION, AWS_DEFAULT_REGION, the profile; "" = nobody says it.
  std::string endpoint = {};  ///< AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile; "" = AWS itself.
};

/// The profile is that of AWS_PROFILE, or "default". Errors: kInvalidInput at a line of a file that is none;
/// kIo.
Result<AwsSettings> ReadAwsSettings(Env& env);

/// AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; then the profile, in the credentials
/// file (AWS_SHARED_CREDENTIALS_FILE, ~/.aws/credentials) before the configuration (AWS_CONFIG_FILE,
/// ~/.aws/config). Errors: kRefused with a hint when there are none, or half of them; those of
/// ReadAwsSettings.
Result<AwsKeys> FindAwsKeys(Env& env);

}  // namespace ptpkg::publish
