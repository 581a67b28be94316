#pragma once
// Writes a zip atomically and hashes it while writing. Layer: archive.

#include <functional>

#include "archive/zip/zip_writer.h"
#include "model/artifact.h"
#include "support/files/atomic_file.h"

namespace ptpkg::archive {

/// Writes `target` with the members that `write` gives it; all have the time env.source_date_epoch. Returns
/// sha256 and md5 of the bytes written; of the written file only members whose packed size is above
/// DigestingFile::kWindowBytes are read back for them. Errors: kAlreadyExists (kRefuse only, before anything
/// is written), kIo, those of `write`.
Result<Digests> WriteZipFile(Env& env, const AbsPath& target, ExistingFilePolicy on_existing,
                             const std::function<Result<void>(ZipWriter&)>& write);

/// Writes a plain zip of `entries`, in byte-wise order of names; symlinks become copies. Equal input gives
/// equal bytes, whatever env.jobs is. Errors: kAlreadyExists, those of WriteZipMembers.
Result<Artifact> WriteZipArchive(Env& env, const EntrySet& entries, const AbsPath& target);

}  // namespace ptpkg::archive
