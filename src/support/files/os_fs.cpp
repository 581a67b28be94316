// The real file system: thin, errno-exact wrappers over the system calls. Layer: support.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

#include "support/digest/scratch_buffer.h"
#include "support/files/copy_range.h"
#include "support/files/fs.h"
#include "support/files/os_attributes.h"
#include "support/files/os_find.h"

namespace ptpkg {
namespace {

constexpr std::size_t kCopyBufferBytes = 1U << 20U;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

/// Repeats a system call that a signal interrupted.
template <class Call>
auto RetryOnSignal(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

Error PathError(int sys_errno, std::string_view what, const AbsPath& path) {
  return ErrnoError(sys_errno, fmt::format("cannot {} '{}'", what, path.str()));
}

Error NotAFolder(const AbsPath& path) {
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a directory", path.str()));
}

Error InTheWay(const AbsPath& wanted, const AbsPath& blocker) {
  return Error(ErrorCode::kAlreadyExists, fmt::format("cannot create directory '{}': '{}' is not a directory",
                                                      wanted.str(), blocker.str()))
      .WithHint("remove or rename it");
}

FileKind KindOf(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::kRegular;
  if (S_ISDIR(mode)) return FileKind::kDirectory;
  if (S_ISLNK(mode)) return FileKind::kSymlink;
  return FileKind::kOther;
}

FileStat FromSystem(const struct stat& st) {
  FileStat result;
  result.kind = KindOf(st.st_mode);
  result.size_bytes = static_cast<std::uint64_t>(st.st_size);
  result.mode = st.st_mode & 07777U;
  result.mtime_ns = std::int64_t{st.st_mtim.tv_sec} * kNanosecondsPerSecond + st.st_mtim.tv_nsec;
  result.link_count = st.st_nlink;
  result.inode = st.st_ino;
  result.device = st.st_dev;
  return result;
}

std::array<timespec, 2> MtimeOnly(std::int64_t mtime_ns) {
  // Times before 1970: tv_nsec must lie in [0, 1e9), so the seconds are rounded down.
  std::int64_t seconds = mtime_ns / kNanosecondsPerSecond;
  std::int64_t rest = mtime_ns % kNanosecondsPerSecond;
  if (rest < 0) {
    rest += kNanosecondsPerSecond;
    --seconds;
  }
  return {timespec{0, UTIME_OMIT}, timespec{seconds, rest}};
}

/// A descriptor that closes itself.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&&) = delete;
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }

  [[nodiscard]] int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

class OsFile final : public File, public DescriptorFile {
 public:
  OsFile(Fd fd, AbsPath path) : fd_(std::move(fd)), path_(std::move(path)) {}
  OsFile(OsFile&&) = delete;
  OsFile& operator=(OsFile&&) = delete;
  ~OsFile() override { Unlock(); }

  Result<std::size_t> ReadAt(std::uint64_t offset, MutableBytes buffer) override {
    std::size_t done = 0;
    // A short read would look like the end of the file to callers.
    while (done < buffer.size()) {
      const ssize_t got = RetryOnSignal([&] {
        return ::pread(fd_.get(), buffer.data() + done, buffer.size() - done,
                       static_cast<off_t>(offset + done));
      });
      if (got < 0) return PathError(errno, "read", path_);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  Result<void> WriteAt(std::uint64_t offset, Bytes bytes) override {
    std::size_t done = 0;
    // A disk that fills up takes a part first, and reports the error at the next call.
    while (done < bytes.size()) {
      const ssize_t put = RetryOnSignal([&] {
        return ::pwrite(fd_.get(), bytes.data() + done, bytes.size() - done,
                        static_cast<off_t>(offset + done));
      });
      if (put <= 0) return PathError(put < 0 ? errno : EIO, "write", path_);
      done += static_cast<std::size_t>(put);
    }
    return Ok();
  }

  [[nodiscard]] int descriptor() const override { return fd_.get(); }

  Result<std::uint64_t> NextData(std::uint64_t offset) override {
    const off_t data = ::lseek(fd_.get(), static_cast<off_t>(offset), SEEK_DATA);
    if (data >= 0) return static_cast<std::uint64_t>(data);
    // ENXIO: no data behind `offset`, so the rest of the file is a hole.
    if (errno != ENXIO) return offset;  // EINVAL: a file system that does not tell
    PTPKG_TRY(const FileStat stat, Stat());
    return std::max(offset, stat.size_bytes);
  }

  Result<FileStat> Stat() override {
    struct stat st {};
    if (::fstat(fd_.get(), &st) != 0) return PathError(errno, "read", path_);
    return FromSystem(st);
  }

  Result<void> Truncate(std::uint64_t size_bytes) override {
    if (RetryOnSignal([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(size_bytes)); }) != 0) {
      return PathError(errno, "resize", path_);
    }
    return Ok();
  }

  Result<void> Sync() override {
    if (RetryOnSignal([&] { return ::fsync(fd_.get()); }) != 0) return PathError(errno, "sync", path_);
    return Ok();
  }

  Result<void> Lock() override {
    if (RetryOnSignal([&] { return ::flock(fd_.get(), LOCK_EX); }) != 0) {
      return HasNoLocks(errno) ? Ok() : PathError(errno, "lock", path_);
    }
    locked_ = true;
    return Ok();
  }

  Result<LockOutcome> TryLock(LockKind kind) override {
    const int operation = (kind == LockKind::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB;
    if (RetryOnSignal([&] { return ::flock(fd_.get(), operation); }) == 0) {
      locked_ = true;
      return LockOutcome::kHeld;
    }
    if (errno == EWOULDBLOCK) return LockOutcome::kBusy;
    if (HasNoLocks(errno)) return LockOutcome::kUnsupported;
    return PathError(errno, "lock", path_);
  }

  Result<void> Close() override {
    Unlock();
    const int fd = fd_.Release();
    if (fd < 0) return Ok();
    // Linux has released the descriptor even when close(2) says EINTR; a second call could close
    // a descriptor that another thread has just opened.
    if (::close(fd) != 0 && errno != EINTR) return PathError(errno, "close", path_);
    return Ok();
  }

 private:
  /// ENOLCK, ENOSYS, EOPNOTSUPP: no locks at all. EBADF: NFS turns flock into fcntl locks, which ask for a
  /// handle that may write.
  static bool HasNoLocks(int sys_errno) {
    return sys_errno == ENOLCK || sys_errno == ENOSYS || sys_errno == EOPNOTSUPP || sys_errno == EBADF;
  }
  /// Closing is not enough: a process that another thread is just forking holds a copy of the descriptor for
  /// a moment, and with it the lock.
  void Unlock() {
    if (locked_) ::flock(fd_.get(), LOCK_UN);
    locked_ = false;
  }

  Fd fd_;
  AbsPath path_;
  bool locked_ = false;
};

Result<Fd> OpenFd(const AbsPath& path, OpenMode mode) {
  // O_NONBLOCK: a fifo in place of a file must not hang us; regular files do not care.
  constexpr int kCommon = O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  // Only reading follows symlinks: a write through one could leave the directory that it was checked for.
  int flags = kCommon | O_RDONLY;
  if (mode == OpenMode::kReadWrite) flags = kCommon | O_RDWR | O_NOFOLLOW;
  if (mode == OpenMode::kCreateNew) flags = kCommon | O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;

  Fd fd(RetryOnSignal([&] { return ::open(path.c_str(), flags, 0666); }));
  if (fd.get() < 0) {
    const int saved = errno;
    if (mode == OpenMode::kReadWrite && saved == ELOOP) {
      return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is a symlink", path.str()))
          .WithErrno(saved)
          .WithHint("give its target");
    }
    if (mode == OpenMode::kReadWrite && (saved == EISDIR || saved == ENXIO)) {
      return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a regular file", path.str()))
          .WithErrno(saved);
    }
    return PathError(saved, mode == OpenMode::kCreateNew ? "create" : "open", path);
  }
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return PathError(errno, "read", path);
  if (!S_ISREG(st.st_mode)) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a regular file", path.str()));
  }
  return fd;
}

/// Writes at the current position.
Result<void> WriteAllTo(int to, Bytes bytes, const AbsPath& path) {
  while (!bytes.empty()) {
    const ssize_t put = RetryOnSignal([&] { return ::write(to, bytes.data(), bytes.size()); });
    if (put <= 0) return PathError(put < 0 ? errno : EIO, "write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return Ok();
}

/// Copies from the current positions of both descriptors to the end of `from`.
Result<void> CopyByBuffer(int from, int to, const AbsPath& from_path, const AbsPath& to_path) {
  ScratchBuffer memory(kCopyBufferBytes);
  const MutableBytes buffer = memory.bytes();
  while (true) {
    const ssize_t got = RetryOnSignal([&] { return ::read(from, buffer.data(), buffer.size()); });
    if (got < 0) return PathError(errno, "read", from_path);
    if (got == 0) return Ok();
    PTPKG_CHECK(WriteAllTo(to, buffer.first(static_cast<std::size_t>(got)), to_path));
  }
}

/// FICLONE shares the extents (btrfs, xfs, bcachefs); copy_file_range stays in the kernel; read and
/// write work everywhere, and finish what copy_file_range could not (it returns 0 early on /proc).
Result<void> CopyBytes(int from, int to, const AbsPath& from_path, const AbsPath& to_path) {
  if (::ioctl(to, FICLONE, from) == 0) return Ok();
  constexpr std::size_t kRange = std::size_t{1} << 30U;
  while (true) {
    const ssize_t moved =
        RetryOnSignal([&] { return ::copy_file_range(from, nullptr, to, nullptr, kRange, 0); });
    if (moved > 0) continue;
    // These would fail in CopyByBuffer again, after much more work. All other errors mean that this pair of
    // files can't be copied this way.
    if (moved < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO || errno == EFBIG)) {
      return PathError(errno, "write", to_path);
    }
    return CopyByBuffer(from, to, from_path, to_path);
  }
}

class OsFs final : public Fs, public MagicFinder {
 public:
  Result<std::vector<FoundFile>> FindByMagic(const AbsPath& root, const FileFilter& wanted, int jobs,
                                             const CancelToken& cancel) override {
    return FindByMagicOnDisk(root, wanted, jobs, cancel);
  }

  Result<FileStat> Lstat(const AbsPath& path) override {
    struct stat st {};
    if (::lstat(path.c_str(), &st) != 0) return PathError(errno, "read", path);
    return FromSystem(st);
  }

  Result<FileStat> Stat(const AbsPath& path) override {
    struct stat st {};
    if (::stat(path.c_str(), &st) != 0) return PathError(errno, "read", path);
    return FromSystem(st);
  }

  Result<std::unique_ptr<File>> Open(const AbsPath& path, OpenMode mode) override {
    PTPKG_TRY(Fd fd, OpenFd(path, mode));
    return std::unique_ptr<File>(std::make_unique<OsFile>(std::move(fd), path));
  }

  Result<std::string> ReadLink(const AbsPath& path) override {
    // A target longer than PATH_MAX cannot exist on Linux; one byte more shows truncation.
    std::string target(PATH_MAX + 1, '\0');
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    if (length < 0) {
      if (errno == EINVAL) {
        return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a symlink", path.str()))
            .WithErrno(EINVAL);
      }
      return PathError(errno, "read the symlink", path);
    }
    target.resize(static_cast<std::size_t>(length));
    return target;
  }

  Result<std::vector<std::string>> ListDir(const AbsPath& path) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
    if (folder == nullptr) {
      const int saved = errno;
      struct stat st {};
      // Not kNotFound, which callers may read as an empty directory.
      if (saved == ENOTDIR && ::stat(path.c_str(), &st) == 0) return NotAFolder(path);
      return PathError(saved, "list", path);
    }
    std::vector<std::string> names;
    while (true) {
      errno = 0;
      // NOLINTNEXTLINE(concurrency-mt-unsafe): unsafe only when threads share one DIR.
      const dirent* entry = ::readdir(folder.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) return PathError(errno, "list", path);
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<void> MakeDirs(const AbsPath& path) override {
    // Up to the first directory that exists, then down again.
    std::vector<AbsPath> missing;
    AbsPath current = path;
    while (true) {
      struct stat st {};
      if (::stat(current.c_str(), &st) == 0) {
        if (!S_ISDIR(st.st_mode)) return InTheWay(path, current);
        break;
      }
      if (errno != ENOENT && errno != ENOTDIR) return PathError(errno, "create directory", current);
      missing.push_back(current);
      current = current.Parent();
    }
    for (auto it = missing.rbegin(); it != missing.rend(); ++it) {
      if (::mkdir(it->c_str(), 0777) == 0) continue;
      const int saved = errno;
      struct stat st {};
      if (saved != EEXIST) return PathError(saved, "create directory", *it);
      // Another process may have made it meanwhile; a dangling symlink is no directory.
      if (::stat(it->c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) return InTheWay(path, *it);
    }
    return Ok();
  }

  Result<void> MakeDir(const AbsPath& path) override {
    if (::mkdir(path.c_str(), 0777) != 0) return PathError(errno, "create directory", path);
    return Ok();
  }

  Result<void> CreateSymlink(const std::string& target, const AbsPath& path) override {
    if (::symlink(target.c_str(), path.c_str()) != 0) return PathError(errno, "create symlink", path);
    return Ok();
  }

  Result<void> CreateHardLink(const AbsPath& existing, const AbsPath& path) override {
    if (::link(existing.c_str(), path.c_str()) != 0) {
      return ErrnoError(errno, fmt::format("cannot link '{}' to '{}'", path.str(), existing.str()));
    }
    return Ok();
  }

  Result<void> Rename(const AbsPath& from, const AbsPath& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return RenameError(errno, from, to);
    return Ok();
  }

  Result<void> RenameNoReplace(const AbsPath& from, const AbsPath& to) override {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return Ok();
    if (errno != EINVAL && errno != ENOSYS) return RenameError(errno, from, to);
    // NFS and some overlays lack the flag. link(2) refuses an existing name just as atomically.
    if (::link(from.c_str(), to.c_str()) != 0) return RenameError(errno, from, to);
    return Remove(from);
  }

  Result<void> Remove(const AbsPath& path) override {
    // Almost all are files, and EISDIR tells a directory without another call.
    if (::unlink(path.c_str()) == 0) return Ok();
    if (errno == EISDIR && ::rmdir(path.c_str()) == 0) return Ok();
    // Not ErrnoError's rule for EEXIST: some systems report a directory with content that way.
    if (errno == ENOTEMPTY || errno == EEXIST) {
      return Error(ErrorCode::kIo, fmt::format("cannot remove '{}': directory not empty", path.str()))
          .WithErrno(errno);
    }
    return PathError(errno, "remove", path);
  }

  Result<void> SetMode(const AbsPath& path, std::uint32_t mode) override {
    if (::fchmodat(AT_FDCWD, path.c_str(), mode & 07777U, AT_SYMLINK_NOFOLLOW) == 0) {
      return Ok();
    }
    if (errno != EOPNOTSUPP) return PathError(errno, "change the mode of", path);
    // glibc emulates AT_SYMLINK_NOFOLLOW through /proc. A chroot without it fails like a symlink does.
    const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (file.get() >= 0 && ::fchmod(file.get(), mode & 07777U) == 0) return Ok();
    if (errno != ELOOP) return PathError(errno, "change the mode of", path);
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("cannot change the mode of '{}': it is a symlink", path.str()))
        .WithErrno(EOPNOTSUPP);
  }

  Result<void> SetMtime(const AbsPath& path, std::int64_t mtime_ns) override {
    const std::array<timespec, 2> times = MtimeOnly(mtime_ns);
    if (::utimensat(AT_FDCWD, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) != 0) {
      return PathError(errno, "change the time of", path);
    }
    return Ok();
  }

  Result<void> WriteThrough(const AbsPath& path, Bytes bytes) override {
    // Without O_NONBLOCK: the open of a FIFO waits for its reader.
    Fd fd(RetryOnSignal([&] { return ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY); }));
    if (fd.get() < 0) return PathError(errno, "open", path);
    PTPKG_CHECK(WriteAllTo(fd.get(), bytes, path));
    if (::close(fd.Release()) != 0 && errno != EINTR) return PathError(errno, "close", path);
    return Ok();
  }

  Result<void> CopyOwner(const AbsPath& from, const AbsPath& to) override {
    struct stat original {};
    struct stat copy {};
    if (::lstat(from.c_str(), &original) != 0) return PathError(errno, "read", from);
    if (::lstat(to.c_str(), &copy) != 0) return PathError(errno, "read", to);
    // A change to the same owner would still clear the set-ID bits (chown(2)).
    if (original.st_uid == copy.st_uid && original.st_gid == copy.st_gid) return Ok();
    if (::lchown(to.c_str(), original.st_uid, original.st_gid) != 0)
      return PathError(errno, "give an owner to", to);
    return Ok();
  }

  Result<void> CopyAttributes(const AbsPath& from, const AbsPath& to) override {
    return CopyAttributesOnDisk(from, to);
  }

  Result<AbsPath> RealPath(const std::string& text) override {
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(text.c_str(), nullptr), &std::free);
    if (real == nullptr) return ErrnoError(errno, fmt::format("cannot follow '{}'", text));
    return AbsPath::Parse(real.get());
  }

  Result<void> CopyFile(const AbsPath& from, const AbsPath& to) override {
    PTPKG_TRY(const Fd source, OpenFd(from, OpenMode::kRead));
    PTPKG_TRY(Fd target, OpenFd(to, OpenMode::kCreateNew));
    Result<void> copied = CopyInto(source, target, from, to);
    if (!copied) ::unlink(to.c_str());
    return copied;
  }

  Result<void> SyncDir(const AbsPath& path) override {
    const Fd fd(RetryOnSignal([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (fd.get() < 0) return PathError(errno, "open directory", path);
    // EINVAL: this file system has no notion of syncing a directory.
    if (RetryOnSignal([&] { return ::fsync(fd.get()); }) != 0 && errno != EINVAL) {
      return PathError(errno, "sync directory", path);
    }
    return Ok();
  }

  Result<std::uint64_t> FreeBytes(const AbsPath& path) override {
    struct statvfs st {};
    if (RetryOnSignal([&] { return ::statvfs(path.c_str(), &st); }) != 0) {
      return PathError(errno, "find the free space of", path);
    }
    return std::uint64_t{st.f_bavail} * st.f_frsize;
  }

 private:
  static Error RenameError(int sys_errno, const AbsPath& from, const AbsPath& to) {
    std::string what = fmt::format("cannot rename '{}' to '{}'", from.str(), to.str());
    // rename(2) may say either for a directory with content.
    if (sys_errno == ENOTEMPTY) sys_errno = EEXIST;
    return ErrnoError(sys_errno, std::move(what));
  }

  static Result<void> CopyInto(const Fd& source, Fd& target, const AbsPath& from, const AbsPath& to) {
    struct stat st {};
    struct stat copy {};
    if (::fstat(source.get(), &st) != 0) return PathError(errno, "read", from);
    if (::fstat(target.get(), &copy) != 0) return PathError(errno, "read", to);
    PTPKG_CHECK(CopyBytes(source.get(), target.get(), from, to));
    // Another owner's set-ID bit would give the rights of this one.
    const bool same_owner = st.st_uid == copy.st_uid && st.st_gid == copy.st_gid;
    const mode_t mode = st.st_mode & (same_owner ? 07777U : 0777U);
    if (::fchmod(target.get(), mode) != 0) return PathError(errno, "change the mode of", to);
    const std::array<timespec, 2> times = {timespec{0, UTIME_OMIT}, st.st_mtim};
    if (::futimens(target.get(), times.data()) != 0) return PathError(errno, "change the time of", to);
    const int fd = target.Release();
    if (::close(fd) != 0 && errno != EINTR) return PathError(errno, "close", to);
    return Ok();
  }
};

}  // namespace

std::unique_ptr<Fs> MakeOsFs() { return std::make_unique<OsFs>(); }

}  // namespace ptpkg
