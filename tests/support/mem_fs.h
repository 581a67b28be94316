#pragma once
// An Fs in memory, with symlinks, hard links, modes and times. Enforces permission bits as for an
// ordinary user (tests often run as root, where the real file system does not), and counts what is
// read and written, so that tests can assert access patterns. Locks work between handles. Thread-safe.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "support/files/fs.h"

namespace ptpkg::test {

struct FsCall {
  std::string
      operation;     ///< The name of the Fs method; Open is "OpenRead", "OpenReadWrite" or "OpenCreateNew".
  std::string path;  ///< Its first path.
  bool operator==(const FsCall&) const = default;
};

class MemFs final : public Fs {
 public:
  MemFs();
  ~MemFs() override;

  Result<FileStat> Lstat(const AbsPath& path) override;
  Result<FileStat> Stat(const AbsPath& path) override;
  Result<std::unique_ptr<File>> Open(const AbsPath& path, OpenMode mode) override;
  Result<std::string> ReadLink(const AbsPath& path) override;
  Result<std::vector<std::string>> ListDir(const AbsPath& path) override;
  Result<void> MakeDirs(const AbsPath& path) override;
  Result<void> MakeDir(const AbsPath& path) override;
  Result<void> CreateSymlink(const std::string& target, const AbsPath& path) override;
  Result<void> CreateHardLink(const AbsPath& existing, const AbsPath& path) override;
  Result<void> Rename(const AbsPath& from, const AbsPath& to) override;
  Result<void> RenameNoReplace(const AbsPath& from, const AbsPath& to) override;
  Result<void> Remove(const AbsPath& path) override;
  Result<void> SetMode(const AbsPath& path, std::uint32_t mode) override;
  Result<void> SetMtime(const AbsPath& path, std::int64_t mtime_ns) override;
  Result<void> CopyFile(const AbsPath& from, const AbsPath& to) override;
  Result<void> SyncDir(const AbsPath& path) override;
  /// What the limit leaves; 1 TiB without limit.
  Result<std::uint64_t> FreeBytes(const AbsPath& path) override;

  // Preparation and inspection; none of these is recorded. They throw on failure.

  /// Makes parents; replaces what was there.
  void AddFile(std::string_view path, std::string_view content, std::uint32_t mode = 0644);
  void AddDir(std::string_view path, std::uint32_t mode = 0755);
  void AddSymlink(std::string_view target, std::string_view path);
  /// A fifo, as the example of what packages cannot hold.
  void AddOther(std::string_view path);
  /// Becomes what `other` is, in place of its own files: inodes, times and hard links too, but no locks.
  void CopyFrom(const MemFs& other);
  [[nodiscard]] std::string Content(std::string_view path);
  /// True if the content would survive a power failure: Sync() came after the last write or copy.
  [[nodiscard]] bool IsSynced(std::string_view path);
  /// ListTree (temp_dir.h) of `root`.
  [[nodiscard]] std::vector<std::string> List(std::string_view root = "/");
  /// Writes beyond so many bytes in all files together fail with ENOSPC.
  void LimitBytes(std::uint64_t limit_bytes);

  /// From now on as a file system without locks.
  void DisableLocks();

  [[nodiscard]] std::vector<FsCall> calls() const;
  void ClearCalls();
  /// Bytes that ReadAt and CopyFile took from this path's file, counted by the path it was opened by.
  [[nodiscard]] std::uint64_t BytesRead(std::string_view path) const;
  [[nodiscard]] std::uint64_t BytesWritten(std::string_view path) const;
  /// Files that were opened and neither closed nor destroyed.
  [[nodiscard]] int open_files() const;

 private:
  struct Node;
  using NodePtr = std::shared_ptr<Node>;  // shared: hard links, and open files that were removed
  class Handle;
  struct Place;

  enum class Follow : std::uint8_t { kNo, kYes };

  Result<Place> Find(const AbsPath& path, Follow follow, std::string_view what);
  Result<NodePtr> FindNode(const AbsPath& path, Follow follow, std::string_view what);
  NodePtr NewNode(FileKind kind, std::uint32_t mode);
  Result<void> Insert(const AbsPath& path, NodePtr node, std::string_view what);
  Result<void> MoveNode(const AbsPath& from, const AbsPath& to, bool replace);
  Result<void> MakeDirsLocked(const AbsPath& path);
  void Record(std::string_view operation, const AbsPath& path);
  void Touch(Node& node);

  mutable std::mutex mutex_;
  std::condition_variable unlocked_;
  bool has_locks_ = true;
  NodePtr root_;
  std::uint64_t next_inode_ = 1;
  std::int64_t now_ns_;
  std::optional<std::uint64_t> limit_bytes_;
  std::uint64_t used_bytes_ = 0;
  int open_files_ = 0;
  std::vector<FsCall> calls_;
  std::map<std::string, std::uint64_t, std::less<>> bytes_read_;
  std::map<std::string, std::uint64_t, std::less<>> bytes_written_;
};

}  // namespace ptpkg::test
