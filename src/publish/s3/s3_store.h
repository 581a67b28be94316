#pragma once
// Yanking and removal in a bucket of S3, or of a store that speaks as S3 does. Layer: publish.

#include "publish/artifact_store.h"
#include "publish/s3/s3_bucket.h"

namespace ptpkg::publish {

/// Errors: as S3Bucket::Make.
Result<std::unique_ptr<Store>> MakeS3Store(Env& env, S3Place place);

}  // namespace ptpkg::publish
