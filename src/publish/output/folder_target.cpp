// Publishes into an output directory, new or existing.
//
// A new directory is built next to its place and appears by one rename, complete with its indexes. If that
// fails because another run was faster, the files go into its directory like into any existing one. Into an
// existing directory they go by OutputFolder's transaction, and the indexes follow. A published file with
// other content is a conflict: unlike a build's own output, it may be in use elsewhere.
//
// Each file is copied and the copy is hashed before it gets its name. So the published bytes are the
// checked ones, even if the source changes in the meantime.

#include "publish/output/folder_target.h"

#include <fmt/core.h>
#include <set>

#include "index/conda_channel/patch_instructions.h"
#include "index/index.h"
#include "publish/output/output_folder.h"
#include "support/files/scratch.h"
#include "support/reporter.h"

namespace ptpkg::publish {
namespace {

RelPath PlaceOf(const Upload& upload) {
  return OutputFolder::PlaceOf(upload.format, upload.conda ? upload.conda->subdir : "", upload.Name());
}

/// Digest of the file at the artifact's place; nullopt: there is none.
Result<std::optional<Sha256>> DigestThere(Env& env, const AbsPath& root, const Upload& upload) {
  const AbsPath path = root / PlaceOf(upload);
  PTPKG_TRY(const bool there, Exists(env.fs, path));
  if (!there) return std::optional<Sha256>();
  PTPKG_TRY(const Digests digests, HashFile(env.fs, path));
  return std::optional(digests.sha256);
}

ArtifactRecord RecordOf(const Upload& upload, std::size_t batch) {
  return {.path = PlaceOf(upload).str(),
          .format = upload.beside.empty() ? std::string(ArtifactFormatName(upload.format)) : upload.beside,
          .sha256 = upload.digests.sha256.Hex(),
          .md5 = upload.digests.md5.Hex(),
          .size_bytes = upload.digests.size_bytes,
          .publication_size = batch};
}

/// Returns IndexSummary::hidden.
Result<std::set<std::string>> WriteIndexes(Env& env, const OutputFolder& output, const AbsPath& root,
                                           const AbsPath& shown) {
  Task task(env.reporter, {.stage = "index", .subject = std::string(shown.Name())});
  const auto frame = [&](const AbsPath& folder) {
    if (root != shown) return fmt::format("while indexing the files for '{}'", shown.str());
    return fmt::format("the files are published; complete the index with: ptpkg index {}",
                       ShellQuote({folder.str()}));
  };
  // Both, so that the failure of one leaves no file of the other without its row.
  Result<index::IndexSummary> conda = index::IndexConda(env, output.CondaRoot());
  PTPKG_TRY(const index::IndexSummary wheels, index::IndexWheels(env, output.WheelRoot()),
            frame(output.WheelRoot()));
  if (!conda) return std::move(conda).error().WithContext(frame(output.CondaRoot()));
  task.Done(fmt::format("{} packages, {} wheels", conda->packages, wheels.packages));
  return std::move(conda->hidden);
}

/// Sends to `root`, which becomes or is `shown`.
Result<std::vector<SendOutcome>> SendInto(Env& env, const AbsPath& root, const AbsPath& shown,
                                          const std::vector<Upload>& uploads, bool force) {
  PTPKG_TRY(OutputFolder output, OutputFolder::Open(env, root));
  PTPKG_CHECK(output.Prepare());
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env.fs, output.StagingRoot(), "publish"));
  std::vector<SendOutcome> outcomes;
  std::vector<PublishItem> items;
  for (const Upload& upload : uploads) {
    PTPKG_CHECK(env.cancel.Check());
    const std::string sha256 = upload.digests.sha256.Hex();
    PTPKG_TRY(const std::optional<Sha256> there, DigestThere(env, root, upload));
    const bool same = there == upload.digests.sha256;
    // A build may replace what ptpkg made. A published file may be in use elsewhere.
    if (there && !same && !force)
      return ConflictOf(upload, "sha256 " + there->Hex(), fmt::format("directory '{}'", shown.str()));
    outcomes.push_back({.name = upload.Name(),
                        .sha256 = sha256,
                        .result = same ? UploadResult::kWasThere : UploadResult::kSent,
                        .remote_sha256 = sha256});
    if (same) continue;
    Task task(env.reporter, {.stage = "publish", .subject = upload.Name()});
    // By number: packages of two subdirs may have one name.
    const AbsPath copy = scratch.path() / std::to_string(items.size());
    PTPKG_CHECK(env.fs.CopyFile(upload.file, copy));
    // The file that was read and checked gets the name, whatever became of the source since.
    PTPKG_TRY(const Digests copied, HashFile(env.fs, copy));
    if (copied.sha256 != upload.digests.sha256) return ChangedWhilePublished(upload);
    items.push_back({.file = copy, .record = RecordOf(upload, uploads.size())});
    task.Done();
  }
  if (!items.empty()) {
    PTPKG_CHECK(output.Publish(items, force ? ForeignFilePolicy::kReplace : ForeignFilePolicy::kRefuseAny),
                fmt::format("while publishing to '{}'", shown.str()));
  }
  PTPKG_TRY(const std::set<std::string> hidden, WriteIndexes(env, output, root, shown));
  std::vector<std::string> packages;
  for (const Upload& upload : uploads) packages.push_back(upload.ChannelPath());
  index::WarnOfHidden(env, hidden, packages);
  return outcomes;
}

/// A new directory is made beside `root` and appears by one rename, with its index. nullopt: it cannot be
/// made beside it, or another run was faster.
Result<std::optional<std::vector<SendOutcome>>> SendToNewFolder(Env& env, const AbsPath& root,
                                                                const std::vector<Upload>& uploads) {
  Result<TempDir> scratch = TempDir::Create(env.fs, root.Parent(), "channel");
  if (!scratch) return std::optional<std::vector<SendOutcome>>();
  PTPKG_TRY(std::vector<SendOutcome> outcomes, SendInto(env, scratch->path(), root, uploads, false));
  Result<void> moved = (*std::move(scratch)).MoveTo(root);
  if (!moved && moved.error().code() == ErrorCode::kAlreadyExists)
    return std::optional<std::vector<SendOutcome>>();
  PTPKG_CHECK(std::move(moved));
  PTPKG_CHECK(env.fs.SyncDir(root.Parent()));
  return std::optional(std::move(outcomes));
}

/// Errors: kRefused unless `folder` is a directory, or can be made below one.
Result<void> RequireFolder(Env& env, const AbsPath& folder) {
  const Result<FileStat> stat = env.fs.Stat(folder);
  if (stat && stat->kind == FileKind::kDirectory) return Ok();
  PTPKG_TRY(const bool there, Exists(env.fs, folder));
  if (there) {
    return Error(ErrorCode::kRefused, fmt::format("'{}' is not a directory", folder.str()))
        .WithHint("give a directory, or the path of a new one: --to file:///DIR");
  }
  return RequireFolder(env, folder.Parent());
}

}  // namespace

Result<void> CheckFolder(Env& env, const AbsPath& root, const std::vector<Upload>& uploads) {
  std::set<AbsPath> folders = {root,          root / "conda", root / "wheels", root / "wheels" / "simple",
                               root / "logs", root / ".ptpkg"};
  std::vector<index::NewPackage> packages;
  for (const Upload& upload : uploads) {
    folders.insert((root / PlaceOf(upload)).Parent());
    if (upload.conda && upload.beside.empty())
      packages.push_back({.file = upload.file, .subdir = upload.conda->subdir, .digests = upload.digests});
  }
  for (const AbsPath& folder : folders) PTPKG_CHECK(RequireFolder(env, folder));
  // A bad patch would end the run between the artifacts and their index.
  return index::CheckPatches(env, OutputFolder::CondaRootOf(root), packages);
}

Result<std::vector<SendOutcome>> SendToFolder(Env& env, const AbsPath& root,
                                              const std::vector<Upload>& uploads, bool force) {
  PTPKG_TRY(const bool there, Exists(env.fs, root));
  if (!there) {
    PTPKG_TRY(std::optional<std::vector<SendOutcome>> sent, SendToNewFolder(env, root, uploads));
    if (sent) return *std::move(sent);
  }
  return SendInto(env, root, root, uploads, force);
}

}  // namespace ptpkg::publish
