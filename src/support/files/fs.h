#pragma once
// File system interface, replaceable in tests. Layer: support. Every error names the path. Nothing else in
// the program calls open(2) and friends, except child processes and third-party readers that are handed a
// path.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/digest/stream.h"
#include "support/path.h"

namespace ptpkg {

enum class FileKind : std::uint8_t { kRegular, kDirectory, kSymlink, kOther };

struct FileStat {
  FileKind kind = FileKind::kRegular;
  std::uint64_t size_bytes = 0;
  std::uint32_t mode = 0;  ///< Permission bits, 07777.
  std::int64_t mtime_ns = 0;
  std::uint64_t link_count = 1;
  std::uint64_t inode = 0;
  std::uint64_t device = 0;

  bool operator==(const FileStat&) const = default;
  /// True if it is the same file, not written since: the criteria of `make`, and more.
  [[nodiscard]] bool IsUnchangedSince(const FileStat& before) const {
    return inode == before.inode && device == before.device && size_bytes == before.size_bytes &&
           mtime_ns == before.mtime_ns;
  }
};

enum class OpenMode : std::uint8_t {
  kRead,       ///< Existing regular file (else kInvalidInput); follows symlinks.
  kReadWrite,  ///< Existing regular file; refuses a symlink (kInvalidInput).
  kCreateNew,  ///< Fails with kAlreadyExists if anything of that name exists. Mode 0666 & ~umask.
};

enum class LockKind : std::uint8_t { kShared, kExclusive };

enum class LockOutcome : std::uint8_t {
  kHeld,         ///< The lock is this handle's until Close.
  kBusy,         ///< Another handle, of this process or another, holds a lock that excludes it.
  kUnsupported,  ///< The file system has no locks, or none for a handle opened like this one (NFS).
};

/// One open file. Reads and writes are positional, so one handle serves many threads.
class File {
 public:
  virtual ~File() = default;
  /// Reads up to `buffer`; returns less only at the end of the file.
  virtual Result<std::size_t> ReadAt(std::uint64_t offset, MutableBytes buffer) = 0;
  virtual Result<void> WriteAt(std::uint64_t offset, Bytes bytes) = 0;
  /// Offset of the first byte at or behind `offset` that is not in a hole (SEEK_DATA of lseek(2)), at most
  /// the file's size: all bytes before it are zeros, and need not be read. A file without knowledge of holes
  /// returns `offset`.
  virtual Result<std::uint64_t> NextData(std::uint64_t offset) { return offset; }
  virtual Result<FileStat> Stat() = 0;
  virtual Result<void> Truncate(std::uint64_t size_bytes) = 0;
  virtual Result<void> Sync() = 0;
  /// Waits until no other handle holds a lock of this file (flock(2)), then holds it exclusively until
  /// Close. A file system without locks grants it at once. Errors: kIo.
  virtual Result<void> Lock() { return Ok(); }
  /// Takes the lock without waiting. A lock belongs to the open file: it ends with Close or with the
  /// process, however that ends, and is not passed on to child processes. Errors: kIo.
  virtual Result<LockOutcome> TryLock(LockKind /*kind*/) { return LockOutcome::kUnsupported; }
  /// Errors of close(2) are reported only here; the destructor closes silently.
  virtual Result<void> Close() = 0;
};

class Fs {
 public:
  virtual ~Fs() = default;

  virtual Result<FileStat> Lstat(const AbsPath& path) = 0;
  virtual Result<FileStat> Stat(const AbsPath& path) = 0;
  virtual Result<std::unique_ptr<File>> Open(const AbsPath& path, OpenMode mode) = 0;
  virtual Result<std::string> ReadLink(const AbsPath& path) = 0;
  /// Names in `path`, sorted byte-wise, without "." and "..". Errors: kInvalidInput if `path` is not a
  /// directory.
  virtual Result<std::vector<std::string>> ListDir(const AbsPath& path) = 0;
  /// Creates missing parents too. An existing directory is not an error. Errors: kAlreadyExists if anything
  /// but a directory is in the way.
  virtual Result<void> MakeDirs(const AbsPath& path) = 0;
  /// Creates one directory in an existing one. Errors: kAlreadyExists if anything with that name exists, so
  /// only one of two processes gets the same scratch directory.
  virtual Result<void> MakeDir(const AbsPath& path) = 0;
  virtual Result<void> CreateSymlink(const std::string& target, const AbsPath& path) = 0;
  virtual Result<void> CreateHardLink(const AbsPath& existing, const AbsPath& path) = 0;
  /// Replaces `to` atomically if it is a file; a non-empty directory at `to` is kAlreadyExists.
  virtual Result<void> Rename(const AbsPath& from, const AbsPath& to) = 0;
  /// Like Rename, but atomically refuses with kAlreadyExists when anything is at `to`. Files only.
  virtual Result<void> RenameNoReplace(const AbsPath& from, const AbsPath& to) = 0;
  /// Removes one file, symlink or empty directory.
  virtual Result<void> Remove(const AbsPath& path) = 0;
  /// Sets the permission bits (07777). Errors: kInvalidInput for a symlink.
  virtual Result<void> SetMode(const AbsPath& path, std::uint32_t mode) = 0;
  /// Sets the modification time; for a symlink, the link's own.
  virtual Result<void> SetMtime(const AbsPath& path, std::int64_t mtime_ns) = 0;
  /// Copies bytes, mode and mtime of one regular file (or of a symlink's target) to a new one: by reflink if
  /// the file system can, else in the kernel. A copy with another owner or group has no set-ID bits. A failed
  /// copy is removed. Errors: kAlreadyExists, kInvalidInput when `from` is not a regular file.
  virtual Result<void> CopyFile(const AbsPath& from, const AbsPath& to) = 0;
  /// Writes `bytes` into the existing `path`, like a shell's '>': a FIFO (waits for its reader), a device, or
  /// a regular file, which loses its old content and keeps owner, mode and links. Follows symlinks. A failure
  /// leaves a part. Errors: kNotFound, kIo; kUnsupported in a file system without devices.
  virtual Result<void> WriteThrough(const AbsPath& path, Bytes bytes);
  /// Gives `to` the owner and group of `from`. Errors: kIo (only root can give files away). A file system
  /// without owners does nothing.
  virtual Result<void> CopyOwner(const AbsPath& from, const AbsPath& to);
  /// Gives `to` the extended attributes and the access list of `from`, and removes an access list that it got
  /// from its directory. Excluded: file capabilities and content signatures, which a change invalidates, and
  /// privileged attributes that this process must not set. REQUIRES: both are writable. Errors: kIo. A file
  /// system without attributes does nothing.
  virtual Result<void> CopyAttributes(const AbsPath& from, const AbsPath& to);
  /// The file at `text`, an absolute path as a user wrote it. Symlinks are followed, and ".." is resolved
  /// like in the kernel: after a link, from its target's directory. Errors: kNotFound, kIo.
  virtual Result<AbsPath> RealPath(const std::string& text);
  /// Makes renames and creations in `path` durable.
  virtual Result<void> SyncDir(const AbsPath& path) = 0;
  virtual Result<std::uint64_t> FreeBytes(const AbsPath& path) = 0;
};

/// The real file system. Stateless.
std::unique_ptr<Fs> MakeOsFs();

// Helpers built on the interface. Same error rules.

/// False only when nothing of that name exists (a dangling symlink exists).
Result<bool> Exists(Fs& fs, const AbsPath& path);
/// Reads a whole file as text. Errors: kInvalidInput when larger than `limit_bytes`.
Result<std::string> ReadFile(Fs& fs, const AbsPath& path, std::uint64_t limit_bytes = 256U << 20U);
/// Creates or replaces `path` by temp file and rename (atomic_file.h).
Result<void> WriteFile(Fs& fs, const AbsPath& path, std::string_view text);
/// Removes `path` and all below it, never following a symlink. A missing path is not an error. Directories
/// without write permission are made writable first.
Result<void> RemoveTree(Fs& fs, const AbsPath& path);

/// Sequential views of a File. They borrow it.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(File& file) : file_(file) {}
  Result<std::size_t> Read(MutableBytes buffer) override;

 private:
  File& file_;
  std::uint64_t offset_ = 0;
};

class FileSink final : public ByteSink {
 public:
  explicit FileSink(File& file) : file_(file) {}
  Result<void> Write(Bytes bytes) override;
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  File& file_;
  std::uint64_t offset_ = 0;
};

}  // namespace ptpkg
