#pragma once
// Buckets of S3 and of stores that speak as it does. Layer: publish.

#include <memory>

#include "publish/remote.h"
#include "publish/s3/s3_bucket.h"

namespace ptpkg::publish {

/// A channel below conda/ and a simple index below wheels/, as in an output directory. Sends no requests.
/// Errors: as S3Bucket::Make.
Result<std::unique_ptr<Remote>> MakeS3(Env& env, S3Place place);

}  // namespace ptpkg::publish
