// Helpers on the Fs interface; the real file system is os_fs.cpp. Layer: support.

#include "support/files/fs.h"

#include <algorithm>
#include <cerrno>
#include <fmt/core.h>

#include "support/files/atomic_file.h"
#include "support/process/parallel.h"

namespace ptpkg {
namespace {

Error TooLarge(const AbsPath& path, std::uint64_t limit_bytes) {
  return Error(
      ErrorCode::kInvalidInput,
      fmt::format("'{}' is larger than {} bytes, the limit for this kind of file", path.str(), limit_bytes));
}

Result<void> RemoveLeaf(Fs& fs, const AbsPath& path) {
  Result<void> removed = fs.Remove(path);
  // Gone already: another process cleans the same directory.
  if (!removed && removed.error().code() == ErrorCode::kNotFound) return Ok();
  return removed;
}

/// nullopt when nothing of that name exists.
Result<std::optional<FileStat>> LstatIfExists(Fs& fs, const AbsPath& path) {
  Result<FileStat> stat = fs.Lstat(path);
  if (stat) return std::optional<FileStat>(*stat);
  if (stat.error().code() == ErrorCode::kNotFound) return std::optional<FileStat>();
  return std::move(stat).error();
}

/// Removes all of `names` in `folder` that are no directories, and returns the directories. Several at once:
/// a file system may let each removal wait, 4 ms on one ext4 and a round trip on NFS, and waits overlap.
Result<std::vector<AbsPath>> RemoveFilesIn(Fs& fs, const AbsPath& folder,
                                           const std::vector<std::string>& names) {
  constexpr int kThreads = 8;
  constexpr std::size_t kFewFiles = 32;
  std::vector<char> is_folder(names.size(), 0);
  PTPKG_CHECK(
      ParallelFor(names.size() < kFewFiles ? 1 : kThreads, names.size(), [&](std::size_t i) -> Result<void> {
        PTPKG_TRY(const auto stat, LstatIfExists(fs, folder / names[i]));
        if (!stat) return Ok();
        is_folder[i] = stat->kind == FileKind::kDirectory ? 1 : 0;
        return is_folder[i] != 0 ? Ok() : RemoveLeaf(fs, folder / names[i]);
      }));
  std::vector<AbsPath> folders;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (is_folder[i] != 0) folders.push_back(folder / names[i]);
  }
  return folders;
}

}  // namespace

Result<void> Fs::WriteThrough(const AbsPath& path, Bytes /*bytes*/) {
  return Error(ErrorCode::kUnsupported, fmt::format("cannot write through '{}'", path.str()));
}

Result<void> Fs::CopyOwner(const AbsPath& /*from*/, const AbsPath& /*to*/) { return Ok(); }

Result<void> Fs::CopyAttributes(const AbsPath& /*from*/, const AbsPath& /*to*/) { return Ok(); }

Result<AbsPath> Fs::RealPath(const std::string& text) {
  constexpr int kMaxLinks = 40;  // as the kernel follows
  PTPKG_TRY(AbsPath path, AbsPath::Parse(text));
  for (int i = 0; i < kMaxLinks; ++i) {
    PTPKG_TRY(const FileStat stat, Lstat(path));
    if (stat.kind != FileKind::kSymlink) return path;
    PTPKG_TRY(const std::string target, ReadLink(path));
    PTPKG_TRY(path, AbsPath::Resolve(path.Parent(), target));
  }
  return ErrnoError(ELOOP, fmt::format("cannot follow '{}'", text));
}

Result<bool> Exists(Fs& fs, const AbsPath& path) {
  PTPKG_TRY(const std::optional<FileStat> stat, LstatIfExists(fs, path));
  return stat.has_value();
}

Result<std::string> ReadFile(Fs& fs, const AbsPath& path, std::uint64_t limit_bytes) {
  PTPKG_TRY(std::unique_ptr<File> file, fs.Open(path, OpenMode::kRead));
  PTPKG_TRY(const FileStat stat, file->Stat());
  if (stat.size_bytes > limit_bytes) return TooLarge(path, limit_bytes);

  // The size is a hint only: the file may grow meanwhile, and /proc says 0. One byte more than
  // expected lets the first read see the end of the file.
  std::string text;
  std::uint64_t want = stat.size_bytes + 1;
  while (true) {
    const std::size_t have = text.size();
    text.resize(have + want);
    PTPKG_TRY(const std::size_t got,
              file->ReadAt(have, std::as_writable_bytes(std::span(text.data() + have, text.size() - have))));
    text.resize(have + got);
    if (text.size() > limit_bytes) return TooLarge(path, limit_bytes);
    if (got < want) return text;
    // Doubles the buffer, up to one byte above the limit, by which a file that is too large shows.
    const std::uint64_t room = limit_bytes - text.size();
    want = std::min<std::uint64_t>(std::max<std::uint64_t>(text.size(), 4096) - 1, room) + 1;
  }
}

Result<void> WriteFile(Fs& fs, const AbsPath& path, std::string_view text) {
  PTPKG_TRY(AtomicFile atomic, AtomicFile::Create(fs, path));
  const std::string frame = fmt::format("while writing '{}'", path.str());
  PTPKG_CHECK(atomic.file().WriteAt(0, AsBytes(text)), frame);
  return std::move(atomic).Commit(ExistingFilePolicy::kReplace);
}

Result<void> RemoveTree(Fs& fs, const AbsPath& path) {
  // A stack of its own, because a hostile tree may be deeper than the thread's stack allows.
  struct Visit {
    AbsPath path;
    bool emptied;
  };
  std::vector<Visit> stack = {{path, false}};
  while (!stack.empty()) {
    const Visit visit = std::move(stack.back());
    stack.pop_back();
    if (visit.emptied) {
      PTPKG_CHECK(RemoveLeaf(fs, visit.path));
      continue;
    }
    PTPKG_TRY(const std::optional<FileStat> stat, LstatIfExists(fs, visit.path));
    if (!stat) continue;
    if (stat->kind != FileKind::kDirectory) {
      PTPKG_CHECK(RemoveLeaf(fs, visit.path));
      continue;
    }
    // Build scripts leave read-only directories (Go's module cache), whose content even the owner can't
    // remove.
    constexpr std::uint32_t kOwnerAll = 0700;
    if ((stat->mode & kOwnerAll) != kOwnerAll) {
      PTPKG_CHECK(fs.SetMode(visit.path, stat->mode | kOwnerAll));
    }
    PTPKG_TRY(const std::vector<std::string> names, fs.ListDir(visit.path));
    PTPKG_TRY(std::vector<AbsPath> folders, RemoveFilesIn(fs, visit.path, names));
    stack.push_back({visit.path, true});
    for (AbsPath& folder : folders) stack.push_back({std::move(folder), false});
  }
  return Ok();
}

Result<std::size_t> FileSource::Read(MutableBytes buffer) {
  PTPKG_TRY(const std::size_t got, file_.ReadAt(offset_, buffer));
  offset_ += got;
  return got;
}

Result<void> FileSink::Write(Bytes bytes) {
  PTPKG_CHECK(file_.WriteAt(offset_, bytes));
  offset_ += bytes.size();
  return Ok();
}

}  // namespace ptpkg
