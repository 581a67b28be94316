#include "support/fault_fs.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace ptpkg::test {
namespace {

constexpr bool kReads = false;
constexpr bool kMutates = true;

}  // namespace

class FaultFs::Handle final : public File {
 public:
  Handle(FaultFs& fs, std::unique_ptr<File> inner, std::string path, bool writable)
      : fs_(fs), inner_(std::move(inner)), path_(std::move(path)), writable_(writable) {}

  Result<std::size_t> ReadAt(std::uint64_t offset, MutableBytes buffer) override {
    PTPKG_CHECK(fs_.Pass(kReads, "read", path_));
    return inner_->ReadAt(offset, buffer);
  }
  Result<void> WriteAt(std::uint64_t offset, Bytes bytes) override {
    const bool dead_before = fs_.fired();
    Result<void> pass = fs_.Pass(kMutates, "write", path_);
    if (pass) return inner_->WriteAt(offset, bytes);
    if (!dead_before) PTPKG_CHECK(inner_->WriteAt(offset, bytes.first(fs_.TornSize(offset, bytes.size()))));
    return pass;
  }
  Result<FileStat> Stat() override {
    PTPKG_CHECK(fs_.Pass(kReads, "read", path_));
    return inner_->Stat();
  }
  Result<void> Truncate(std::uint64_t size_bytes) override {
    PTPKG_CHECK(fs_.Pass(kMutates, "resize", path_));
    return inner_->Truncate(size_bytes);
  }
  Result<void> Sync() override {
    PTPKG_CHECK(fs_.Pass(kMutates, "sync", path_));
    return inner_->Sync();
  }
  Result<void> Lock() override {
    PTPKG_CHECK(fs_.Pass(kReads, "lock", path_));
    return inner_->Lock();
  }
  Result<LockOutcome> TryLock(LockKind kind) override {
    PTPKG_CHECK(fs_.Pass(kReads, "lock", path_));
    return inner_->TryLock(kind);
  }
  Result<void> Close() override {
    PTPKG_CHECK(inner_->Close());  // close(2) releases the descriptor even when it fails
    return fs_.Pass(writable_, "close", path_);
  }

 private:
  FaultFs& fs_;
  std::unique_ptr<File> inner_;
  std::string path_;
  bool writable_;
};

std::size_t FaultFs::TornSize(std::uint64_t offset, std::size_t size) const {
  constexpr std::uint64_t kPage = 4096;
  switch (plan_.tear) {
    case FaultTear::kHalf:
      return size / 2;
    case FaultTear::kAtPages: {
      const std::uint64_t end = (offset + size / 2) / kPage * kPage;
      return end > offset ? end - offset : 0;
    }
    case FaultTear::kNothing:
      return 0;
    case FaultTear::kAll:
      return size;
  }
  return 0;
}

Result<void> FaultFs::Pass(bool mutating, std::string_view operation, const std::string& path) {
  if (++all_ == other_at_) other_();
  const bool dead = plan_.after == FaultAfter::kDead && fired_;
  const bool in_scope = plan_.scope == FaultScope::kAny || (plan_.scope == FaultScope::kMutating) == mutating;
  if (!dead && (!in_scope || ++count_ != plan_.number)) return Ok();
  fired_ = true;
  return ErrnoError(plan_.sys_errno, fmt::format("injected fault: cannot {} '{}'", operation, path));
}

Result<FileStat> FaultFs::Lstat(const AbsPath& path) {
  PTPKG_CHECK(Pass(kReads, "read", path.str()));
  return inner_.Lstat(path);
}

Result<FileStat> FaultFs::Stat(const AbsPath& path) {
  PTPKG_CHECK(Pass(kReads, "read", path.str()));
  return inner_.Stat(path);
}

Result<std::unique_ptr<File>> FaultFs::Open(const AbsPath& path, OpenMode mode) {
  const bool creates = mode == OpenMode::kCreateNew;
  PTPKG_CHECK(Pass(creates, creates ? "create" : "open", path.str()));
  PTPKG_TRY(std::unique_ptr<File> file, inner_.Open(path, mode));
  return std::unique_ptr<File>(
      std::make_unique<Handle>(*this, std::move(file), path.str(), mode != OpenMode::kRead));
}

Result<std::string> FaultFs::ReadLink(const AbsPath& path) {
  PTPKG_CHECK(Pass(kReads, "read the symlink", path.str()));
  return inner_.ReadLink(path);
}

Result<std::vector<std::string>> FaultFs::ListDir(const AbsPath& path) {
  PTPKG_CHECK(Pass(kReads, "list", path.str()));
  return inner_.ListDir(path);
}

Result<void> FaultFs::MakeDirs(const AbsPath& path) {
  PTPKG_CHECK(Pass(kMutates, "create folder", path.str()));
  return inner_.MakeDirs(path);
}

Result<void> FaultFs::MakeDir(const AbsPath& path) {
  PTPKG_CHECK(Pass(kMutates, "create folder", path.str()));
  return inner_.MakeDir(path);
}

Result<void> FaultFs::CreateSymlink(const std::string& target, const AbsPath& path) {
  PTPKG_CHECK(Pass(kMutates, "create symlink", path.str()));
  return inner_.CreateSymlink(target, path);
}

Result<void> FaultFs::CreateHardLink(const AbsPath& existing, const AbsPath& path) {
  PTPKG_CHECK(Pass(kMutates, "link", path.str()));
  return inner_.CreateHardLink(existing, path);
}

Result<void> FaultFs::Rename(const AbsPath& from, const AbsPath& to) {
  PTPKG_CHECK(Pass(kMutates, "rename", from.str()));
  return inner_.Rename(from, to);
}

Result<void> FaultFs::RenameNoReplace(const AbsPath& from, const AbsPath& to) {
  PTPKG_CHECK(Pass(kMutates, "rename", from.str()));
  return inner_.RenameNoReplace(from, to);
}

Result<void> FaultFs::Remove(const AbsPath& path) {
  PTPKG_CHECK(Pass(kMutates, "remove", path.str()));
  return inner_.Remove(path);
}

Result<void> FaultFs::SetMode(const AbsPath& path, std::uint32_t mode) {
  PTPKG_CHECK(Pass(kMutates, "change the mode of", path.str()));
  return inner_.SetMode(path, mode);
}

Result<void> FaultFs::SetMtime(const AbsPath& path, std::int64_t mtime_ns) {
  PTPKG_CHECK(Pass(kMutates, "change the time of", path.str()));
  return inner_.SetMtime(path, mtime_ns);
}

Result<void> FaultFs::CopyFile(const AbsPath& from, const AbsPath& to) {
  PTPKG_CHECK(Pass(kMutates, "copy", from.str()));
  return inner_.CopyFile(from, to);
}

Result<void> FaultFs::WriteThrough(const AbsPath& path, Bytes bytes) {
  PTPKG_CHECK(Pass(kMutates, "write", path.str()));
  return inner_.WriteThrough(path, bytes);
}

Result<void> FaultFs::CopyOwner(const AbsPath& from, const AbsPath& to) { return inner_.CopyOwner(from, to); }

Result<void> FaultFs::CopyAttributes(const AbsPath& from, const AbsPath& to) {
  PTPKG_CHECK(Pass(kMutates, "copy the attributes of", from.str()));
  return inner_.CopyAttributes(from, to);
}

Result<void> FaultFs::SyncDir(const AbsPath& path) {
  PTPKG_CHECK(Pass(kMutates, "sync directory", path.str()));
  return inner_.SyncDir(path);
}

Result<std::uint64_t> FaultFs::FreeBytes(const AbsPath& path) {
  PTPKG_CHECK(Pass(kReads, "find the free space of", path.str()));
  return inner_.FreeBytes(path);
}

int RunFaultLoop(const FaultLoop& loop) {
  constexpr int kTooMany = 10'000;  // a body that retries for ever
  for (int number = 1; number < kTooMany; ++number) {
    SCOPED_TRACE(fmt::format("fault at operation {}", number));
    MemFs mem;
    if (loop.setup) loop.setup(mem);
    const FaultPlan plan{static_cast<std::uint64_t>(number), loop.sys_errno, loop.scope, loop.after,
                         loop.tear};
    FaultFs fs(mem, plan);
    const Result<void> result = loop.run(fs);
    EXPECT_EQ(mem.open_files(), 0) << "a file was left open";
    if (!fs.fired()) {
      EXPECT_TRUE(result.has_value()) << "failed without a fault: " << FormatError(result.error());
      return number - 1;
    }
    if (result) {
      EXPECT_TRUE(loop.may_swallow) << "the fault was swallowed";
    } else if (loop.check) {
      loop.check(mem, result.error());
    }
  }
  ADD_FAILURE() << "no run ended before operation " << kTooMany;
  return kTooMany;
}

}  // namespace ptpkg::test
