#include "support/mem_fs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/core.h>
#include <functional>
#include <set>
#include <stdexcept>

#include "support/must.h"
#include "support/temp_dir.h"

namespace ptpkg::test {
namespace {

constexpr std::uint32_t kMayRead = 0400;
constexpr std::uint32_t kMayWrite = 0200;
constexpr std::uint32_t kMaySearch = 0100;
constexpr std::int64_t kFirstTimeNs = 1'700'000'000'000'000'000;
constexpr std::int64_t kTickNs = 1'000'000'000;
constexpr int kMaxLinks = 40;

Error PathError(int sys_errno, std::string_view what, const AbsPath& path) {
  return ErrnoError(sys_errno, fmt::format("cannot {} '{}'", what, path.str()));
}

/// Components in reverse order, so that the next one is last.
void PushComponents(std::string_view path, std::vector<std::string>* todo) {
  std::vector<std::string> components;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    components.emplace_back(path.substr(0, slash));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  todo->insert(todo->end(), components.rbegin(), components.rend());
}

}  // namespace

struct MemFs::Node {
  FileStat stat;
  std::string content;                      // regular files
  bool is_synced = true;                    // of the content
  std::string target;                       // symlinks
  std::map<std::string, NodePtr> children;  // directories
  std::set<const Handle*> locked_by;        // files
  bool locked_exclusively = false;          // then by one

  [[nodiscard]] bool IsDir() const { return stat.kind == FileKind::kDirectory; }
  [[nodiscard]] bool May(std::uint32_t bits) const { return (stat.mode & bits) == bits; }
};

struct MemFs::Place {
  NodePtr folder;    // null for "/"
  std::string name;  // in `folder`
  NodePtr node;      // null if nothing is there
};

class MemFs::Handle final : public File {
 public:
  Handle(MemFs& fs, NodePtr node, AbsPath path, bool writable)
      : fs_(fs), node_(std::move(node)), path_(std::move(path)), writable_(writable) {
    ++fs_.open_files_;
  }
  Handle(Handle&&) = delete;
  Handle& operator=(Handle&&) = delete;
  ~Handle() override { static_cast<void>(Close()); }

  Result<std::size_t> ReadAt(std::uint64_t offset, MutableBytes buffer) override {
    const std::lock_guard lock(fs_.mutex_);
    PTPKG_CHECK(CheckOpen("read"));
    const std::string& content = node_->content;
    if (buffer.empty() || offset >= content.size()) return std::size_t{0};
    const std::size_t count = std::min<std::size_t>(buffer.size(), content.size() - offset);
    std::memcpy(buffer.data(), content.data() + offset, count);
    fs_.bytes_read_[path_.str()] += count;
    return count;
  }

  Result<void> WriteAt(std::uint64_t offset, Bytes bytes) override {
    const std::lock_guard lock(fs_.mutex_);
    PTPKG_CHECK(CheckWritable("write"));
    if (bytes.empty()) return Ok();
    node_->is_synced = false;
    PTPKG_CHECK(Resize(std::max<std::uint64_t>(node_->content.size(), offset + bytes.size()), "write"));
    std::memcpy(node_->content.data() + offset, bytes.data(), bytes.size());
    fs_.bytes_written_[path_.str()] += bytes.size();
    fs_.Touch(*node_);
    return Ok();
  }

  Result<FileStat> Stat() override {
    const std::lock_guard lock(fs_.mutex_);
    PTPKG_CHECK(CheckOpen("read"));
    return node_->stat;
  }

  Result<void> Truncate(std::uint64_t size_bytes) override {
    const std::lock_guard lock(fs_.mutex_);
    PTPKG_CHECK(CheckWritable("resize"));
    node_->is_synced = false;
    PTPKG_CHECK(Resize(size_bytes, "resize"));
    fs_.Touch(*node_);
    return Ok();
  }

  Result<void> Sync() override {
    const std::lock_guard lock(fs_.mutex_);
    PTPKG_CHECK(CheckOpen("sync"));
    fs_.Record("Sync", path_);
    node_->is_synced = true;
    return Ok();
  }

  Result<void> Lock() override {
    std::unique_lock lock(fs_.mutex_);
    PTPKG_CHECK(CheckOpen("lock"));
    if (!fs_.has_locks_) return Ok();
    fs_.unlocked_.wait(lock, [&] { return MayLock(LockKind::kExclusive); });
    TakeLock(LockKind::kExclusive);
    return Ok();
  }

  Result<LockOutcome> TryLock(LockKind kind) override {
    const std::lock_guard lock(fs_.mutex_);
    PTPKG_CHECK(CheckOpen("lock"));
    if (!fs_.has_locks_) return LockOutcome::kUnsupported;
    if (!MayLock(kind)) return LockOutcome::kBusy;
    TakeLock(kind);
    return LockOutcome::kHeld;
  }

  Result<void> Close() override {
    const std::lock_guard lock(fs_.mutex_);
    if (open_) --fs_.open_files_;
    open_ = false;
    if (node_->locked_by.erase(this) != 0) fs_.unlocked_.notify_all();
    return Ok();
  }

 private:
  [[nodiscard]] bool MayLock(LockKind kind) const {
    const std::size_t others = node_->locked_by.size() - node_->locked_by.count(this);
    return others == 0 || (kind == LockKind::kShared && !node_->locked_exclusively);
  }
  void TakeLock(LockKind kind) {
    node_->locked_by.insert(this);
    node_->locked_exclusively = kind == LockKind::kExclusive;
    fs_.unlocked_.notify_all();  // an exclusive lock may have become a shared one
  }
  [[nodiscard]] Result<void> CheckOpen(std::string_view what) const {
    if (!open_) return PathError(EBADF, what, path_);
    return Ok();
  }
  [[nodiscard]] Result<void> CheckWritable(std::string_view what) const {
    if (!open_ || !writable_) return PathError(EBADF, what, path_);
    return Ok();
  }
  Result<void> Resize(std::uint64_t size_bytes, std::string_view what) {
    const std::uint64_t used = fs_.used_bytes_ - node_->content.size() + size_bytes;
    if (fs_.limit_bytes_ && used > *fs_.limit_bytes_ && size_bytes > node_->content.size()) {
      return PathError(ENOSPC, what, path_);
    }
    fs_.used_bytes_ = used;
    node_->content.resize(size_bytes);
    node_->stat.size_bytes = size_bytes;
    return Ok();
  }

  MemFs& fs_;
  NodePtr node_;
  AbsPath path_;
  bool writable_;
  bool open_ = true;
};

MemFs::MemFs() : now_ns_(kFirstTimeNs) { root_ = NewNode(FileKind::kDirectory, 0755); }
MemFs::~MemFs() = default;

MemFs::NodePtr MemFs::NewNode(FileKind kind, std::uint32_t mode) {
  auto node = std::make_shared<Node>();
  node->stat.kind = kind;
  node->stat.mode = mode;
  node->stat.inode = next_inode_++;
  node->stat.device = 1;
  Touch(*node);
  return node;
}

void MemFs::Touch(Node& node) {
  now_ns_ += kTickNs;
  node.stat.mtime_ns = now_ns_;
}

void MemFs::Record(std::string_view operation, const AbsPath& path) {
  calls_.push_back({std::string(operation), path.str()});
}

Result<MemFs::Place> MemFs::Find(const AbsPath& path, Follow follow, std::string_view what) {
  std::vector<NodePtr> chain = {root_};
  std::vector<std::string> todo;
  PushComponents(path.str(), &todo);
  int links = 0;
  while (!todo.empty()) {
    const std::string name = std::move(todo.back());
    todo.pop_back();
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      if (chain.size() > 1) chain.pop_back();
      continue;
    }
    const NodePtr& folder = chain.back();
    if (!folder->IsDir()) return PathError(ENOTDIR, what, path);
    if (!folder->May(kMaySearch)) return PathError(EACCES, what, path);
    const auto found = folder->children.find(name);
    const NodePtr child = found == folder->children.end() ? nullptr : found->second;
    const bool is_link = child != nullptr && child->stat.kind == FileKind::kSymlink;
    if (todo.empty() && !(is_link && follow == Follow::kYes)) return Place{folder, name, child};
    if (child == nullptr) return PathError(ENOENT, what, path);
    if (!is_link) {
      chain.push_back(child);
      continue;
    }
    if (++links > kMaxLinks) return PathError(ELOOP, what, path);
    if (child->target.starts_with('/')) chain = {root_};
    PushComponents(child->target, &todo);
  }
  return Place{nullptr, "", chain.back()};
}

Result<MemFs::NodePtr> MemFs::FindNode(const AbsPath& path, Follow follow, std::string_view what) {
  PTPKG_TRY(const Place place, Find(path, follow, what));
  if (place.node == nullptr) return PathError(ENOENT, what, path);
  return place.node;
}

Result<void> MemFs::Insert(const AbsPath& path, NodePtr node, std::string_view what) {
  PTPKG_TRY(const Place place, Find(path, Follow::kNo, what));
  if (place.node != nullptr) return PathError(EEXIST, what, path);
  if (!place.folder->May(kMayWrite)) return PathError(EACCES, what, path);
  place.folder->children.emplace(place.name, std::move(node));
  Touch(*place.folder);
  return Ok();
}

Result<FileStat> MemFs::Lstat(const AbsPath& path) {
  const std::lock_guard lock(mutex_);
  Record("Lstat", path);
  PTPKG_TRY(const NodePtr node, FindNode(path, Follow::kNo, "read"));
  return node->stat;
}

Result<FileStat> MemFs::Stat(const AbsPath& path) {
  const std::lock_guard lock(mutex_);
  Record("Stat", path);
  PTPKG_TRY(const NodePtr node, FindNode(path, Follow::kYes, "read"));
  return node->stat;
}

Result<std::unique_ptr<File>> MemFs::Open(const AbsPath& path, OpenMode mode) {
  const std::lock_guard lock(mutex_);
  if (mode == OpenMode::kCreateNew) {
    Record("OpenCreateNew", path);
    NodePtr node = NewNode(FileKind::kRegular, 0644);
    PTPKG_CHECK(Insert(path, node, "create"));
    return std::unique_ptr<File>(std::make_unique<Handle>(*this, std::move(node), path, true));
  }
  const bool writable = mode == OpenMode::kReadWrite;
  Record(writable ? "OpenReadWrite" : "OpenRead", path);
  PTPKG_TRY(NodePtr node, FindNode(path, writable ? Follow::kNo : Follow::kYes, "open"));
  if (node->stat.kind == FileKind::kSymlink) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is a symlink", path.str())).WithErrno(ELOOP);
  }
  if (node->stat.kind != FileKind::kRegular) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a regular file", path.str()));
  }
  if (!node->May(writable ? kMayRead | kMayWrite : kMayRead)) return PathError(EACCES, "open", path);
  return std::unique_ptr<File>(std::make_unique<Handle>(*this, std::move(node), path, writable));
}

Result<std::string> MemFs::ReadLink(const AbsPath& path) {
  const std::lock_guard lock(mutex_);
  Record("ReadLink", path);
  PTPKG_TRY(const NodePtr node, FindNode(path, Follow::kNo, "read the symlink"));
  if (node->stat.kind != FileKind::kSymlink) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a symlink", path.str()))
        .WithErrno(EINVAL);
  }
  return node->target;
}

Result<std::vector<std::string>> MemFs::ListDir(const AbsPath& path) {
  const std::lock_guard lock(mutex_);
  Record("ListDir", path);
  PTPKG_TRY(const NodePtr node, FindNode(path, Follow::kYes, "list"));
  if (!node->IsDir()) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a directory", path.str()));
  }
  if (!node->May(kMayRead)) return PathError(EACCES, "list", path);
  std::vector<std::string> names;
  for (const auto& [name, child] : node->children) names.push_back(name);
  return names;
}

Result<void> MemFs::MakeDirsLocked(const AbsPath& path) {
  std::vector<AbsPath> missing;
  for (AbsPath current = path;; current = current.Parent()) {
    const Result<NodePtr> node = FindNode(current, Follow::kYes, "create folder");
    const bool is_dangling = !node && FindNode(current, Follow::kNo, "create folder");
    if (is_dangling || (node && !(*node)->IsDir())) {
      return Error(
          ErrorCode::kAlreadyExists,
          fmt::format("cannot create directory '{}': '{}' is not a directory", path.str(), current.str()));
    }
    if (node) break;
    if (node.error().code() != ErrorCode::kNotFound) return node.error();
    missing.push_back(current);
  }
  for (auto it = missing.rbegin(); it != missing.rend(); ++it) {
    PTPKG_CHECK(Insert(*it, NewNode(FileKind::kDirectory, 0755), "create folder"));
  }
  return Ok();
}

Result<void> MemFs::MakeDirs(const AbsPath& path) {
  const std::lock_guard lock(mutex_);
  Record("MakeDirs", path);
  return MakeDirsLocked(path);
}

Result<void> MemFs::MakeDir(const AbsPath& path) {
  const std::lock_guard lock(mutex_);
  Record("MakeDir", path);
  return Insert(path, NewNode(FileKind::kDirectory, 0755), "create folder");
}

Result<void> MemFs::CreateSymlink(const std::string& target, const AbsPath& path) {
  const std::lock_guard lock(mutex_);
  Record("CreateSymlink", path);
  NodePtr node = NewNode(FileKind::kSymlink, 0777);
  node->target = target;
  node->stat.size_bytes = target.size();
  return Insert(path, std::move(node), "create symlink");
}

Result<void> MemFs::CreateHardLink(const AbsPath& existing, const AbsPath& path) {
  const std::lock_guard lock(mutex_);
  Record("CreateHardLink", existing);
  PTPKG_TRY(const NodePtr node, FindNode(existing, Follow::kNo, "link"));
  if (node->IsDir()) return PathError(EPERM, "link", existing);
  PTPKG_CHECK(Insert(path, node, "link"));
  ++node->stat.link_count;
  return Ok();
}

Result<void> MemFs::MoveNode(const AbsPath& from, const AbsPath& to, bool replace) {
  const std::string what = fmt::format("rename '{}' to", from.str());
  PTPKG_TRY(const Place source, Find(from, Follow::kNo, what));
  if (source.node == nullptr) return PathError(ENOENT, what, to);
  PTPKG_TRY(const Place target, Find(to, Follow::kNo, what));
  if (source.folder == nullptr || target.folder == nullptr) return PathError(EBUSY, what, to);
  if (to != from && to.IsWithin(from)) return PathError(EINVAL, what, to);
  if (!source.folder->May(kMayWrite) || !target.folder->May(kMayWrite)) return PathError(EACCES, what, to);
  if (target.node != nullptr) {
    if (!replace) return PathError(EEXIST, what, to);
    if (target.node == source.node) return Ok();  // POSIX: hard links of one file stay
    if (target.node->IsDir() && !source.node->IsDir()) return PathError(EISDIR, what, to);
    if (!target.node->IsDir() && source.node->IsDir()) return PathError(ENOTDIR, what, to);
    if (!target.node->children.empty()) return PathError(EEXIST, what, to);
    if (--target.node->stat.link_count == 0) used_bytes_ -= target.node->content.size();
  }
  target.folder->children.insert_or_assign(target.name, source.node);
  source.folder->children.erase(source.name);
  Touch(*target.folder);
  Touch(*source.folder);
  return Ok();
}

Result<void> MemFs::Rename(const AbsPath& from, const AbsPath& to) {
  const std::lock_guard lock(mutex_);
  Record("Rename", from);
  return MoveNode(from, to, true);
}

Result<void> MemFs::RenameNoReplace(const AbsPath& from, const AbsPath& to) {
  const std::lock_guard lock(mutex_);
  Record("RenameNoReplace", from);
  return MoveNode(from, to, false);
}

Result<void> MemFs::Remove(const AbsPath& path) {
  const std::lock_guard lock(mutex_);
  Record("Remove", path);
  PTPKG_TRY(const Place place, Find(path, Follow::kNo, "remove"));
  if (place.node == nullptr) return PathError(ENOENT, "remove", path);
  if (place.folder == nullptr) return PathError(EBUSY, "remove", path);
  if (!place.folder->May(kMayWrite)) return PathError(EACCES, "remove", path);
  if (!place.node->children.empty()) {
    return Error(ErrorCode::kIo, fmt::format("cannot remove '{}': directory not empty", path.str()))
        .WithErrno(ENOTEMPTY);
  }
  if (--place.node->stat.link_count == 0) used_bytes_ -= place.node->content.size();
  place.folder->children.erase(place.name);
  Touch(*place.folder);
  return Ok();
}

Result<void> MemFs::SetMode(const AbsPath& path, std::uint32_t mode) {
  const std::lock_guard lock(mutex_);
  Record("SetMode", path);
  PTPKG_TRY(const NodePtr node, FindNode(path, Follow::kNo, "change the mode of"));
  if (node->stat.kind == FileKind::kSymlink) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("cannot change the mode of '{}': it is a symlink", path.str()));
  }
  node->stat.mode = mode & 07777U;
  return Ok();
}

Result<void> MemFs::SetMtime(const AbsPath& path, std::int64_t mtime_ns) {
  const std::lock_guard lock(mutex_);
  Record("SetMtime", path);
  PTPKG_TRY(const NodePtr node, FindNode(path, Follow::kNo, "change the time of"));
  node->stat.mtime_ns = mtime_ns;
  return Ok();
}

Result<void> MemFs::CopyFile(const AbsPath& from, const AbsPath& to) {
  const std::lock_guard lock(mutex_);
  Record("CopyFile", from);
  PTPKG_TRY(const NodePtr source, FindNode(from, Follow::kYes, "open"));
  if (source->stat.kind != FileKind::kRegular) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a regular file", from.str()));
  }
  if (!source->May(kMayRead)) return PathError(EACCES, "open", from);
  const std::uint64_t size = source->content.size();
  if (limit_bytes_ && used_bytes_ + size > *limit_bytes_) return PathError(ENOSPC, "write", to);
  NodePtr copy = NewNode(FileKind::kRegular, source->stat.mode);
  copy->content = source->content;
  copy->is_synced = false;
  copy->stat.size_bytes = size;
  copy->stat.mtime_ns = source->stat.mtime_ns;
  PTPKG_CHECK(Insert(to, std::move(copy), "create"));
  used_bytes_ += size;
  bytes_read_[from.str()] += size;
  bytes_written_[to.str()] += size;
  return Ok();
}

Result<void> MemFs::SyncDir(const AbsPath& path) {
  const std::lock_guard lock(mutex_);
  Record("SyncDir", path);
  PTPKG_TRY(const NodePtr node, FindNode(path, Follow::kYes, "open directory"));
  if (!node->IsDir()) return PathError(ENOTDIR, "open directory", path);
  return Ok();
}

Result<std::uint64_t> MemFs::FreeBytes(const AbsPath& path) {
  const std::lock_guard lock(mutex_);
  Record("FreeBytes", path);
  PTPKG_TRY(const NodePtr node, FindNode(path, Follow::kYes, "find the free space of"));
  static_cast<void>(node);
  if (!limit_bytes_) return std::uint64_t{1} << 40U;
  return *limit_bytes_ - std::min(*limit_bytes_, used_bytes_);
}

void MemFs::AddFile(std::string_view path, std::string_view content, std::uint32_t mode) {
  const std::lock_guard lock(mutex_);
  const AbsPath absolute = AbsPath::Literal(path);
  Must(MakeDirsLocked(absolute.Parent()));
  const Place place = Must(Find(absolute, Follow::kNo, "create"));
  if (place.node != nullptr) {
    used_bytes_ -= place.node->content.size();
    place.folder->children.erase(place.name);
  }
  NodePtr node = NewNode(FileKind::kRegular, mode);
  node->content = content;
  node->stat.size_bytes = content.size();
  used_bytes_ += content.size();
  Must(Insert(absolute, std::move(node), "create"));
}

void MemFs::AddDir(std::string_view path, std::uint32_t mode) {
  const std::lock_guard lock(mutex_);
  const AbsPath absolute = AbsPath::Literal(path);
  Must(MakeDirsLocked(absolute));
  Must(FindNode(absolute, Follow::kYes, "create"))->stat.mode = mode;
}

void MemFs::AddSymlink(std::string_view target, std::string_view path) {
  const std::lock_guard lock(mutex_);
  const AbsPath absolute = AbsPath::Literal(path);
  Must(MakeDirsLocked(absolute.Parent()));
  NodePtr node = NewNode(FileKind::kSymlink, 0777);
  node->target = target;
  node->stat.size_bytes = target.size();
  Must(Insert(absolute, std::move(node), "create symlink"));
}

void MemFs::AddOther(std::string_view path) {
  const std::lock_guard lock(mutex_);
  const AbsPath absolute = AbsPath::Literal(path);
  Must(MakeDirsLocked(absolute.Parent()));
  Must(Insert(absolute, NewNode(FileKind::kOther, 0644), "create"));
}

void MemFs::CopyFrom(const MemFs& other) {
  const std::scoped_lock lock(mutex_, other.mutex_);
  std::map<const Node*, NodePtr> copies;  // a hard link leads to the copy that is there
  const std::function<NodePtr(const Node&)> copy = [&](const Node& node) {
    NodePtr& made = copies[&node];
    if (made != nullptr) return made;
    made = std::make_shared<Node>();
    made->stat = node.stat;
    made->content = node.content;
    made->target = node.target;
    for (const auto& [name, child] : node.children) made->children.emplace(name, copy(*child));
    return made;
  };
  root_ = copy(*other.root_);
  next_inode_ = other.next_inode_;
  now_ns_ = other.now_ns_;
  used_bytes_ = other.used_bytes_;
}

std::string MemFs::Content(std::string_view path) {
  const std::lock_guard lock(mutex_);
  const NodePtr node = Must(FindNode(AbsPath::Literal(path), Follow::kYes, "open"));
  if (node->stat.kind != FileKind::kRegular) throw std::runtime_error(std::string(path) + " is not a file");
  return node->content;
}

bool MemFs::IsSynced(std::string_view path) {
  const std::lock_guard lock(mutex_);
  return Must(FindNode(AbsPath::Literal(path), Follow::kYes, "open"))->is_synced;
}

std::vector<std::string> MemFs::List(std::string_view root) {
  const std::vector<FsCall> before = calls();
  std::vector<std::string> found = ListTree(*this, AbsPath::Literal(root));
  const std::lock_guard lock(mutex_);
  calls_ = before;
  return found;
}

void MemFs::LimitBytes(std::uint64_t limit_bytes) {
  const std::lock_guard lock(mutex_);
  limit_bytes_ = limit_bytes;
}

void MemFs::DisableLocks() {
  const std::lock_guard lock(mutex_);
  has_locks_ = false;
}

std::vector<FsCall> MemFs::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

void MemFs::ClearCalls() {
  const std::lock_guard lock(mutex_);
  calls_.clear();
  bytes_read_.clear();
  bytes_written_.clear();
}

std::uint64_t MemFs::BytesRead(std::string_view path) const {
  const std::lock_guard lock(mutex_);
  const auto found = bytes_read_.find(path);
  return found == bytes_read_.end() ? 0 : found->second;
}

std::uint64_t MemFs::BytesWritten(std::string_view path) const {
  const std::lock_guard lock(mutex_);
  const auto found = bytes_written_.find(path);
  return found == bytes_written_.end() ? 0 : found->second;
}

int MemFs::open_files() const {
  const std::lock_guard lock(mutex_);
  return open_files_;
}

}  // namespace ptpkg::test
