#pragma once
// The indexes of a bucket: a conda channel in conda/, a simple index in wheels/, as an output directory has
// them. Layer: publish.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "publish/artifact_store.h"
#include "publish/s3/s3_bucket.h"
#include "publish/upload.h"
#include "support/text/json.h"

namespace ptpkg::publish {

/// Path of an artifact below the prefix: the same as OutputFolder::PlaceOf.
std::string S3PathOf(const ArtifactId& artifact);
std::string S3PathOf(const Upload& upload);

/// Makes the indexes list the uploads, which are in the bucket, beside all that others have put there. Each
/// index is read, completed, and written on condition that it is still what was read; else all over again.
/// Derived files (repodata.json.zst, HTML pages) follow, until a round finds nothing to write; in a
/// store without conditional writes until that is so some seconds after the last write. Rows are those of
/// IndexConda and IndexWheels. `confirm` fails where the bucket has another file under an upload's name by
/// now; it is asked before each write of an index with digests, so that rows and files fit. Errors: kNetwork
/// (others keep writing), kRefused (a file that is not an index, or that changed since), those of S3Bucket
/// and `confirm`.
using ConfirmUpload = std::function<Result<void>(const Upload&)>;
Result<void> CompleteIndexes(S3Bucket& bucket, const std::vector<const Upload*>& uploads,
                             const ConfirmUpload& confirm);

/// Takes what is to be removed out of the indexes, or says there that wheels are yanked: `changes`, all of
/// one action. An index that is not there is not made. Errors: those of CompleteIndexes.
Result<void> EditIndexes(S3Bucket& bucket, const std::vector<Change>& changes);

/// nullopt: the project of the wheel has no page. Errors: kRefused (a page that is none), those of S3Bucket.
Result<std::optional<Json>> ReadProjectPage(S3Bucket& bucket, const ArtifactId& wheel);

/// The files that CompleteIndexes reads and writes for one artifact, below the prefix.
std::vector<std::string> IndexFilesOf(const ArtifactId& artifact);

}  // namespace ptpkg::publish
