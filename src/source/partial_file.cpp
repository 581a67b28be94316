// A download that was cut may only be resumed if the server still has the same file. Its validator is
// therefore stored next to the bytes, and before the first byte: a kill between the two leaves no byte
// without its version. Bytes without a version are useless, and Open drops them.
//
// The digest of a whole that came in one run is computed while the bytes arrive. A resumed one is read again
// from the start, because the earlier bytes were not seen. MoveTo syncs the file before the rename, and the
// directory after it.

#include "source/partial_file.h"

#include <fmt/core.h>

namespace ptpkg::source {

namespace {

constexpr std::string_view kPrefix = ".partial-";
constexpr std::string_view kVersionEnding = ".version";
constexpr std::uint64_t kLongestVersion = 64U << 10U;  // of a header line; servers use 100 bytes

Result<void> RemoveIfThere(Fs& fs, const AbsPath& path) {
  Result<void> removed = fs.Remove(path);
  if (!removed && removed.error().code() == ErrorCode::kNotFound) return Ok();
  return removed;
}

}  // namespace

Result<PartialFile> PartialFile::Open(Env& env, const AbsPath& folder, const std::string& url,
                                      HashChoice choice) {
  constexpr std::size_t kDigits = 16;
  const AbsPath path = folder / (std::string(kPrefix) + HashText(url).Hex().substr(0, kDigits));
  auto file = env.fs.Open(path, OpenMode::kReadWrite);
  if (!file && file.error().code() == ErrorCode::kNotFound) file = env.fs.Open(path, OpenMode::kCreateNew);
  if (!file) return std::move(file).error();
  PartialFile partial(env, path, *std::move(file), choice);
  PTPKG_TRY(const FileStat stat, partial.file_->Stat());
  const auto version = ReadFile(env.fs, partial.VersionPath(), kLongestVersion);
  if (version && !version->empty() && stat.size_bytes > 0) {
    partial.size_bytes_ = stat.size_bytes;
    partial.version_ = *version;
  } else {
    PTPKG_CHECK(partial.Drop());
  }
  return partial;
}

AbsPath PartialFile::VersionPath() const {
  return path_.Parent() / (std::string(path_.Name()) + std::string(kVersionEnding));
}

Result<void> PartialFile::Begin(const HttpBegin& begin) {
  if (begin.offset == 0) {
    PTPKG_CHECK(Drop());
    version_ = begin.version;
    // Before the bytes: a kill between the two leaves no byte without its version.
    if (!version_.empty()) PTPKG_CHECK(WriteFile(env_->fs, VersionPath(), version_));
    hasher_ = std::make_unique<HashingSink>(nullptr, choice_);
    return Ok();
  }
  if (begin.offset != size_bytes_)
    return Error(ErrorCode::kInternal, "a download resumed at the wrong offset");
  hasher_.reset();
  return Ok();
}

Result<void> PartialFile::Write(Bytes bytes) {
  PTPKG_CHECK(file_->WriteAt(size_bytes_, bytes));
  size_bytes_ += bytes.size();
  return hasher_ ? hasher_->Write(bytes) : Ok();
}

Result<Digests> PartialFile::Digest() {
  if (hasher_) {
    const Digests digests = hasher_->Finish();
    hasher_.reset();
    return digests;
  }
  HashingSink all(nullptr, choice_);
  FileSource source(*file_);
  PTPKG_TRY(const std::uint64_t bytes, Pump(source, all));
  static_cast<void>(bytes);
  return all.Finish();
}

Result<void> PartialFile::MoveTo(const AbsPath& target) && {
  PTPKG_CHECK(file_->Sync());
  PTPKG_CHECK(file_->Close());
  PTPKG_CHECK(env_->fs.Rename(path_, target));
  PTPKG_CHECK(RemoveIfThere(env_->fs, VersionPath()));
  return env_->fs.SyncDir(target.Parent());
}

Result<void> PartialFile::Drop() {
  hasher_.reset();
  size_bytes_ = 0;
  version_.clear();
  PTPKG_CHECK(file_->Truncate(0));
  return RemoveIfThere(env_->fs, VersionPath());
}

Result<void> RemovePartialFiles(Fs& fs, const AbsPath& folder) {
  PTPKG_TRY(const std::vector<std::string> names, fs.ListDir(folder));
  for (const std::string& name : names) {
    if (IsPartialFileName(name)) PTPKG_CHECK(RemoveIfThere(fs, folder / name));
  }
  return Ok();
}

bool IsPartialFileName(std::string_view name) { return name.starts_with(kPrefix); }

}  // namespace ptpkg::source
