// Finds files by their first bytes in a large tree, in parallel. Names are filtered first, and files are
// opened relative to their directory, which saves the kernel the walk from the root.
// Listing a directory and probing its files are separate tasks: a single large directory must occupy all
// threads.
// The tree can change meanwhile. Vanished files are skipped, O_NOFOLLOW and O_NONBLOCK keep a symlink or fifo
// in a file's place harmless, and the kind is checked again on the descriptor.
// Invariant: subdirectories wait as paths, not as descriptors, or a wide tree would exceed the limit of open
// files.

#include "support/files/os_find.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <memory>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "support/process/thread_pool.h"

namespace ptpkg {
namespace {

constexpr std::size_t kNamesPerTask = 256;
// O_NONBLOCK: a fifo that took a file's place must not hang us.
constexpr int kOpenFile = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
constexpr int kOpenFolder = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY;

/// An open directory. Names relative to it save the kernel the walk from the root: a third of the time.
class Folder {
 public:
  Folder(DIR* stream, std::string path) : stream_(stream), path_(std::move(path)) {}
  Folder(Folder&&) = delete;
  Folder& operator=(Folder&&) = delete;
  ~Folder() { ::closedir(stream_); }

  [[nodiscard]] DIR* stream() const { return stream_; }
  [[nodiscard]] int fd() const { return ::dirfd(stream_); }
  /// Path below the root of the entry `name`.
  [[nodiscard]] std::string Below(const std::string& name) const {
    return path_.empty() ? name : path_ + "/" + name;
  }

 private:
  DIR* stream_;
  std::string path_;
};

// Shared by the tasks that probe its files; the last one closes it.
using FolderPtr = std::shared_ptr<const Folder>;

class Search {
 public:
  Search(const AbsPath& root, const FileFilter& wanted, const CancelToken& cancel)
      : root_(root), wanted_(wanted), cancel_(cancel) {}

  Result<std::vector<FoundFile>> Run(int jobs) {
    const int fd = ::open(root_.c_str(), kOpenFolder & ~O_NOFOLLOW);
    if (fd < 0 && errno == ENOTDIR) {
      return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a directory", root_.str()));
    }
    if (fd < 0) return Failure(errno, "list", "");
    tasks_.Add([this, fd] { List(fd, ""); });
    tasks_.Run(static_cast<std::size_t>(std::max(jobs, 1)));
    PTPKG_CHECK(cancel_.Check());
    if (error_) return *std::move(error_);
    return std::move(found_);
  }

 private:
  [[nodiscard]] Error Failure(int sys_errno, std::string_view what, const std::string& path) const {
    return ErrnoError(sys_errno,
                      fmt::format("cannot {} '{}'", what, path.empty() ? root_.str() : (root_ / path).str()));
  }

  void Fail(int sys_errno, std::string_view what, const std::string& path) {
    if (sys_errno == ENOENT) return;  // it vanished meanwhile
    const std::lock_guard lock(mutex_);
    // Among several errors, the first in order of paths counts, whatever the timing.
    if (error_ && error_path_ <= path) return;
    error_path_ = path;
    error_ = Failure(sys_errno, what, path);
  }

  /// Takes over `fd`.
  void List(int fd, const std::string& path) {
    DIR* const stream = ::fdopendir(fd);
    if (stream == nullptr) {
      Fail(errno, "list", path);
      ::close(fd);
      return;
    }
    // shared: with the tasks that probe the directory's files
    const FolderPtr folder = std::make_shared<const Folder>(stream, path);
    if (cancel_.cancelled()) return;
    std::vector<std::string> files;
    while (true) {
      errno = 0;
      // NOLINTNEXTLINE(concurrency-mt-unsafe): unsafe only when threads share one DIR.
      const dirent* entry = ::readdir(stream);
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      unsigned char type = entry->d_type;
      if (type == DT_UNKNOWN) type = TypeOf(*folder, entry->d_name);
      if (type == DT_DIR) Descend(*folder, std::string(name));
      if (type == DT_REG && wanted_.IsCandidate(name)) files.emplace_back(name);
      if (files.size() == kNamesPerTask) {
        tasks_.Add([this, folder, names = std::exchange(files, {})] { Probe(*folder, names); });
      }
    }
    if (errno != 0) Fail(errno, "list", path);
    Probe(*folder, files);
  }

  /// For the file systems that do not tell.
  unsigned char TypeOf(const Folder& folder, const char* name) {
    struct stat st {};
    if (::fstatat(folder.fd(), name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
      Fail(errno, "read", folder.Below(name));
      return DT_UNKNOWN;
    }
    if (S_ISDIR(st.st_mode)) return DT_DIR;
    return S_ISREG(st.st_mode) ? DT_REG : DT_UNKNOWN;
  }

  void Descend(const Folder& folder, const std::string& name) {
    std::string path = folder.Below(name);
    // By path, when its turn comes: descriptors of all waiting directories would be too many.
    tasks_.Add([this, path = std::move(path)] {
      const int fd = ::open((root_ / path).c_str(), kOpenFolder);
      if (fd < 0) return Fail(errno, "list", path);
      List(fd, path);
    });
  }

  void Probe(const Folder& folder, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (cancel_.cancelled()) return;
      const int fd = ::openat(folder.fd(), name.c_str(), kOpenFile);
      if (fd < 0) {
        // A symlink that took the file's place is not followed.
        if (errno != ELOOP) Fail(errno, "open", folder.Below(name));
        continue;
      }
      ProbeOpen(folder, name, fd);
      ::close(fd);
    }
  }

  void ProbeOpen(const Folder& folder, const std::string& name, int fd) {
    std::array<char, 64> head{};
    const ssize_t got = ::pread(fd, head.data(), wanted_.magic.size(), 0);
    if (got < 0) return Fail(errno, "read", folder.Below(name));
    if (std::string_view(head.data(), static_cast<std::size_t>(got)) != wanted_.magic) return;
    struct stat st {};
    if (::fstat(fd, &st) != 0) return Fail(errno, "read", folder.Below(name));
    if (!S_ISREG(st.st_mode)) return;
    const std::lock_guard lock(mutex_);
    found_.push_back({.path = RelPath::Literal(folder.Below(name)),
                      .size_bytes = static_cast<std::uint64_t>(st.st_size),
                      .mode = st.st_mode & 07777U});
  }

  const AbsPath& root_;
  const FileFilter& wanted_;
  const CancelToken& cancel_;
  TaskQueue tasks_;
  std::mutex mutex_;
  std::vector<FoundFile> found_;
  std::optional<Error> error_;
  std::string error_path_;
};

}  // namespace

Result<std::vector<FoundFile>> FindByMagicOnDisk(const AbsPath& root, const FileFilter& wanted, int jobs,
                                                 const CancelToken& cancel) {
  return Search(root, wanted, cancel).Run(jobs);
}

}  // namespace ptpkg
