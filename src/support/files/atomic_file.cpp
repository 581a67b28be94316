// Temp file, sync, rename. Layer: support.

#include "support/files/atomic_file.h"

#include <fmt/core.h>
#include <utility>

#include "support/files/locked_file.h"

namespace ptpkg {
namespace {

constexpr int kNameAttempts = 100;

}  // namespace

Result<void> RenameAs(Fs& fs, const AbsPath& from, const AbsPath& to, ExistingFilePolicy on_existing) {
  return on_existing == ExistingFilePolicy::kReplace ? fs.Rename(from, to) : fs.RenameNoReplace(from, to);
}

AtomicFile::AtomicFile(Fs& fs, AbsPath target, AbsPath temp, std::unique_ptr<File> file,
                       std::unique_ptr<File> lock)
    : fs_(&fs),
      target_(std::move(target)),
      temp_(std::move(temp)),
      file_(std::move(file)),
      lock_(std::move(lock)) {}

AtomicFile::AtomicFile(AtomicFile&&) noexcept = default;

AtomicFile::~AtomicFile() {
  if (file_ == nullptr) return;
  file_.reset();
  // Nothing can be done about a failure here; RemoveAbandoned of a later run is the second net.
  static_cast<void>(fs_->Remove(temp_));
}

Result<AtomicFile> AtomicFile::Create(Fs& fs, const AbsPath& target) {
  const std::string frame = fmt::format("while writing '{}'", target.str());
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    const AbsPath temp = target.Parent() / NewScratchFileName(target.Name());
    Result<std::unique_ptr<File>> file = fs.Open(temp, OpenMode::kCreateNew);
    if (!file && file.error().code() == ErrorCode::kAlreadyExists) continue;
    if (!file) return std::move(file).error().WithContext(frame);
    AtomicFile made(fs, target, temp, *std::move(file), nullptr);
    PTPKG_TRY(LockedFile held, TryLockFile(fs, temp, LockKind::kExclusive), frame);
    // Neither: somebody who cleans was faster than we, the file is his.
    if (held.state != LockState::kHeld && held.state != LockState::kUnlocked) continue;
    made.lock_ = std::move(held.file);
    return made;
  }
  return Error(ErrorCode::kAlreadyExists, fmt::format("no free temporary name beside '{}'", target.str()))
      .WithHint("remove the files that end in '.ptpkg-tmp' there");
}

Result<void> AtomicFile::Commit(ExistingFilePolicy on_existing) && {
  PTPKG_ASSERT(file_ != nullptr);
  AtomicFile self = std::move(*this);  // whatever way out is taken, its destructor cleans up
  // The messages below name the temp file; the user knows only the target.
  const std::string frame = fmt::format("while writing '{}'", self.target_.str());
  // Sync before rename: otherwise a power cut can leave the final name on an empty file (ext4 and xfs delay
  // the allocation).
  PTPKG_CHECK(self.file_->Sync(), frame);
  PTPKG_CHECK(self.file_->Close(), frame);
  Result<void> renamed = RenameAs(*self.fs_, self.temp_, self.target_, on_existing);
  if (!renamed) {
    if (on_existing == ExistingFilePolicy::kReplace || renamed.error().code() != ErrorCode::kAlreadyExists) {
      return std::move(renamed).error().WithContext(frame);
    }
    return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' already exists", self.target_.str()))
        .WithHint("remove it, or choose another output directory");
  }
  self.file_.reset();
  self.lock_.reset();
  // The rename itself is an entry of the directory, which a power cut could lose.
  PTPKG_CHECK(self.fs_->SyncDir(self.target_.Parent()), frame);
  return Ok();
}

}  // namespace ptpkg
