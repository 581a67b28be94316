// Temp file, sync, rename. Layer: support.

#include "support/atomic_file.h"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <signal.h>
#include <unistd.h>
#include <utility>

namespace ptpkg {
namespace {

constexpr std::string_view kTempSuffix = ".ptpkg-tmp";
/// Collisions come only from an earlier process of the same id whose files nobody removed yet.
constexpr int kNameAttempts = 1000;
constexpr std::size_t kNameMaxBytes = 255;  // NAME_MAX of every common file system

std::uint64_t NextNumber() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a counter that makes names unique.
  static std::atomic<std::uint64_t> counter{0};
  return counter.fetch_add(1, std::memory_order_relaxed);
}

AbsPath TempPathFor(const AbsPath& target) {
  const std::string tail = fmt::format(".{}-{}{}", ::getpid(), NextNumber(), kTempSuffix);
  // A long target name is cut, so that the temp name is legal whenever the target name is.
  const std::string_view name = target.Name().substr(0, kNameMaxBytes - 1 - tail.size());
  return target.Parent() / fmt::format(".{}{}", name, tail);
}

/// The process id in "<pid>-<n>"; nullopt for any other text.
std::optional<pid_t> OwnerIn(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view number_text = text.substr(dash + 1);
  if (number_text.empty() || number_text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  pid_t pid = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + dash, pid);
  if (status != std::errc() || end != text.data() + dash || pid <= 0) return std::nullopt;
  return pid;
}

/// The process id in ".<name>.<pid>-<n>.ptpkg-tmp"; nullopt for any other name.
std::optional<pid_t> TempOwner(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(kTempSuffix)) return std::nullopt;
  name.remove_suffix(kTempSuffix.size());
  const std::size_t dot = name.rfind('.');
  return dot == 0 ? std::nullopt : OwnerIn(name.substr(dot + 1));
}

bool IsAlive(pid_t pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

}  // namespace

AtomicFile::AtomicFile(Fs& fs, AbsPath target, AbsPath temp, std::unique_ptr<File> file)
    : fs_(&fs), target_(std::move(target)), temp_(std::move(temp)), file_(std::move(file)) {}

AtomicFile::AtomicFile(AtomicFile&&) noexcept = default;

AtomicFile::~AtomicFile() {
  if (file_ == nullptr) return;
  file_.reset();
  // Nothing can be done about a failure here; RemoveStaleTemps of a later run is the second net.
  static_cast<void>(fs_->Remove(temp_));
}

Result<AtomicFile> AtomicFile::Create(Fs& fs, AbsPath target) {
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    AbsPath temp = TempPathFor(target);
    Result<std::unique_ptr<File>> file = fs.Open(temp, OpenMode::kCreateNew);
    if (file) return AtomicFile(fs, std::move(target), std::move(temp), *std::move(file));
    if (file.error().code() != ErrorCode::kAlreadyExists) {
      return std::move(file).error().WithContext(fmt::format("while writing '{}'", target.str()));
    }
  }
  return Error(ErrorCode::kAlreadyExists, fmt::format("no free temporary name beside '{}'", target.str()))
      .WithHint(fmt::format("remove the files that end in '{}' there", kTempSuffix));
}

Result<void> AtomicFile::Commit(OnExisting on_existing) && {
  PTPKG_ASSERT(file_ != nullptr);
  AtomicFile self = std::move(*this);  // whatever way out is taken, its destructor cleans up
  // The messages below name the temp file; the user knows only the target.
  const std::string frame = fmt::format("while writing '{}'", self.target_.str());
  PTPKG_CHECK(self.file_->Sync(), frame);
  PTPKG_CHECK(self.file_->Close(), frame);
  const bool may_replace = on_existing == OnExisting::kReplace;
  Result<void> renamed = may_replace ? self.fs_->Rename(self.temp_, self.target_)
                                     : self.fs_->RenameNoReplace(self.temp_, self.target_);
  if (!renamed) {
    if (may_replace || renamed.error().code() != ErrorCode::kAlreadyExists) {
      return std::move(renamed).error().WithContext(frame);
    }
    return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' exists already", self.target_.str()))
        .WithHint("remove it, or choose another output folder");
  }
  self.file_.reset();
  PTPKG_CHECK(self.fs_->SyncDir(self.target_.Parent()), frame);
  return Ok();
}

namespace {

/// Calls `remove` for every name in `folder` whose owner, as `owner_of` reads it, no longer lives.
Result<void> RemoveOfDead(Fs& fs, const AbsPath& folder,
                          const std::function<std::optional<pid_t>(std::string_view)>& owner_of,
                          const std::function<Result<void>(const AbsPath&)>& remove) {
  Result<std::vector<std::string>> names = fs.ListDir(folder);
  if (!names) {
    if (names.error().code() == ErrorCode::kNotFound) return Ok();
    return std::move(names).error();
  }
  for (const std::string& name : *names) {
    const std::optional<pid_t> owner = owner_of(name);
    if (!owner || IsAlive(*owner)) continue;
    Result<void> removed = remove(folder / name);
    if (!removed && removed.error().code() != ErrorCode::kNotFound) return removed;
  }
  return Ok();
}

}  // namespace

Result<void> RemoveStaleTemps(Fs& fs, const AbsPath& folder) {
  return RemoveOfDead(fs, folder, TempOwner, [&](const AbsPath& path) { return fs.Remove(path); });
}

Result<void> RemoveStaleTempDirs(Fs& fs, const AbsPath& parent, std::string_view prefix) {
  const std::string start = fmt::format("{}-", prefix);
  const auto owner_of = [&](std::string_view name) {
    return name.starts_with(start) ? OwnerIn(name.substr(start.size())) : std::nullopt;
  };
  return RemoveOfDead(fs, parent, owner_of, [&](const AbsPath& path) { return RemoveTree(fs, path); });
}

TempDir::TempDir(TempDir&& other) noexcept
    : fs_(std::exchange(other.fs_, nullptr)), path_(std::move(other.path_)) {}

TempDir::~TempDir() {
  if (fs_ != nullptr) static_cast<void>(RemoveTree(*fs_, path_));
}

Result<TempDir> TempDir::Create(Fs& fs, const AbsPath& parent, std::string_view prefix) {
  PTPKG_CHECK(fs.MakeDirs(parent));
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    AbsPath path = parent / fmt::format("{}-{}-{}", prefix, ::getpid(), NextNumber());
    Result<void> made = fs.MakeDir(path);
    if (made) return TempDir(fs, std::move(path));
    if (made.error().code() != ErrorCode::kAlreadyExists) return std::move(made).error();
  }
  return Error(ErrorCode::kAlreadyExists,
               fmt::format("no free name for a folder '{}-…' in '{}'", prefix, parent.str()));
}

AbsPath TempDir::Release() && {
  fs_ = nullptr;
  return path_;
}

}  // namespace ptpkg
