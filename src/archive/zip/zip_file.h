#pragma once
// Writes a zip atomically and hashes it while writing. Layer: archive.

#include <functional>

#include "archive/zip/zip_writer.h"
#include "model/artifact.h"
#include "support/files/atomic_file.h"

namespace ptpkg::archive {

/// Writes `target` with the members that `write` adds; all have the time env.source_date_epoch. Returns
/// sha256 and md5 of the file. Hashing reads back only members whose packed size is above
/// DigestingFile::kWindowBytes. Errors: kAlreadyExists (kRefuse only, before anything is written), kIo, and
/// any error from `write`.
Result<Digests> WriteZipFile(Env& env, const AbsPath& target, ExistingFilePolicy on_existing,
                             const std::function<Result<void>(ZipWriter&)>& write);

/// Writes a plain zip of `entries`, in byte-wise order of names. Symlinks become copies. Equal input gives
/// equal bytes, whatever env.jobs is. Errors: kAlreadyExists, and as WriteZipMembers.
Result<Artifact> WriteZipArchive(Env& env, const EntrySet& entries, const AbsPath& target);

}  // namespace ptpkg::archive
