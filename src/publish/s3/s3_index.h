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

/// Index files of conda/<subdir>/ that are not updated in buckets: shards, current_repodata.json, patch
/// instructions.
std::vector<std::string> RefusedFilesOf(const std::string& subdir);
/// Errors: kRefused with a hint if the bucket has one of RefusedFilesOf. Clients would prefer it to the newer
/// repodata.json, or the new rows would lack the patch.
Result<void> RequirePlainSubdir(S3Bucket& bucket, const std::string& subdir);

/// Makes the indexes list the uploads, which are in the bucket, besides the files of others. Each index is
/// read, completed, and written on condition that it is unchanged; otherwise this is repeated. Derived files
/// (repodata.json.zst, HTML pages) follow, until a round finds nothing to write. In a store without
/// conditional writes, a round some seconds after the last write must find nothing to write. Rows are the
/// same as from IndexConda and IndexWheels.
///
/// `confirm` fails if the bucket meanwhile has another file under an upload's name. It runs before each write
/// of an index with digests, so that rows and files match. Errors: any from S3Bucket and `confirm`, kNetwork
/// (others keep writing), kRefused (a file that is not an index, or that changed since).
using ConfirmUpload = std::function<Result<void>(const Upload&)>;
Result<void> CompleteIndexes(S3Bucket& bucket, const std::vector<const Upload*>& uploads,
                             const ConfirmUpload& confirm);

/// Removes files from the indexes, or marks wheels as yanked there. `changes`: all with one action. A missing
/// index is not made. Errors: as CompleteIndexes; before any change, as RequirePlainSubdir.
Result<void> EditIndexes(S3Bucket& bucket, const std::vector<Change>& changes);

/// nullopt: the project of the wheel has no page. Errors: any from S3Bucket, kRefused (not a project page).
Result<std::optional<Json>> ReadProjectPage(S3Bucket& bucket, const ArtifactId& wheel);

/// The files that CompleteIndexes reads and writes for one artifact, below the prefix.
std::vector<std::string> IndexFilesOf(const ArtifactId& artifact);

}  // namespace ptpkg::publish
