#pragma once
// The indexes of a bucket: a conda channel in conda/, a simple index in wheels/, as an output folder has
// them. Layer: publish.

#include <string>
#include <vector>

#include "publish/s3_bucket.h"
#include "publish/upload.h"

namespace ptpkg::publish {

/// Where an artifact lies below the prefix: as OutputFolder::PlaceOf.
std::string S3PathOf(const Upload& upload);

/// Makes the indexes list the uploads, which are in the bucket, beside all that others have put there. Each
/// index is read, completed, and written on condition that it is still what was read; else all over again.
/// What is made of it (repodata.json.zst, HTML pages) follows, until a round finds nothing to write. Rows are
/// those of IndexConda and IndexWheels. Errors: kNetwork (others keep writing), kRefused (an index that is
/// none, a file that changed since), those of S3Bucket.
Result<void> CompleteIndexes(S3Bucket& bucket, const std::vector<const Upload*>& uploads);

/// The files that CompleteIndexes reads and writes for one upload, below the prefix.
std::vector<std::string> IndexFilesOf(const Upload& upload);

}  // namespace ptpkg::publish
