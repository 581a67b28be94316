#include "archive/zip/zip_file.h"

#include <fmt/core.h>

#include "archive/codec/digesting_file.h"
#include "support/text/plural.h"

namespace ptpkg::archive {

Result<Digests> WriteZipFile(Env& env, const AbsPath& target, ExistingFilePolicy on_existing,
                             const std::function<Result<void>(ZipWriter&)>& write) {
  if (on_existing == ExistingFilePolicy::kRefuse) {
    // AtomicFile refuses too, but after the work is done.
    PTPKG_TRY(const bool exists, Exists(env.fs, target));
    if (exists) {
      return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' already exists", target.str()))
          .WithHint("remove it first");
    }
  }
  PTPKG_TRY(AtomicFile out, AtomicFile::Create(env.fs, target));
  DigestingFile file(out.file(), {.md5 = true});
  const auto write_all = [&]() -> Result<void> {
    ZipWriter zip(file, env.source_date_epoch);
    PTPKG_CHECK(write(zip));
    PTPKG_TRY([[maybe_unused]] const std::uint64_t size_bytes, zip.Finish());
    return Ok();
  };
  PTPKG_CHECK(write_all(), fmt::format("while packing '{}'", target.Name()));
  PTPKG_TRY(const Digests digests, file.Finish());
  PTPKG_CHECK(std::move(out).Commit(on_existing));
  return digests;
}

Result<Artifact> WriteZipArchive(Env& env, const EntrySet& entries, const AbsPath& target) {
  const auto write = [&](ZipWriter& zip) -> Result<void> {
    Task task(env.reporter, {"zip", std::string(target.Name()), entries.TotalBytes()});
    PTPKG_CHECK(WriteZipMembers(env, zip, entries.Sorted(), {}, task));
    task.Done(Plural(entries.size(), "file"));
    return Ok();
  };
  PTPKG_TRY(const Digests digests, WriteZipFile(env, target, ExistingFilePolicy::kRefuse, write));
  return Artifact{.format = ArtifactFormat::kZip,
                  .path = target,
                  .digests = digests,
                  .unpacked_bytes = entries.TotalBytes()};
}

}  // namespace ptpkg::archive
