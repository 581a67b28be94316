#pragma once
// File system with additional virtual paths. Layer: support.

#include <functional>
#include <map>

#include "support/files/fs.h"

namespace ptpkg {

/// Adds read-only paths to another file system: a change there is kInternal. All else goes to the other file
/// system. A derived class defines which paths are its own, and reads them.
class OverlayFs : public Fs {
 public:
  /// Borrows `other`. `what` is what a path of its own is, for messages: "a member of a zip". Static text.
  OverlayFs(Fs& other, std::string_view what) : other_(other), what_(what) {}

  Result<FileStat> Lstat(const AbsPath& path) final;
  Result<FileStat> Stat(const AbsPath& path) final;
  Result<std::unique_ptr<File>> Open(const AbsPath& path, OpenMode mode) final;
  Result<std::string> ReadLink(const AbsPath& path) final;
  Result<std::vector<std::string>> ListDir(const AbsPath& path) final;
  Result<void> MakeDirs(const AbsPath& path) final;
  Result<void> MakeDir(const AbsPath& path) final;
  Result<void> CreateSymlink(const std::string& target, const AbsPath& path) final;
  Result<void> CreateHardLink(const AbsPath& existing, const AbsPath& path) final;
  Result<void> Rename(const AbsPath& from, const AbsPath& to) final;
  Result<void> RenameNoReplace(const AbsPath& from, const AbsPath& to) final;
  Result<void> Remove(const AbsPath& path) final;
  Result<void> SetMode(const AbsPath& path, std::uint32_t mode) final;
  Result<void> SetMtime(const AbsPath& path, std::int64_t mtime_ns) final;
  Result<void> CopyFile(const AbsPath& from, const AbsPath& to) final;
  Result<void> WriteThrough(const AbsPath& path, Bytes bytes) final;
  Result<void> CopyOwner(const AbsPath& from, const AbsPath& to) final;
  Result<void> CopyAttributes(const AbsPath& from, const AbsPath& to) final;
  Result<AbsPath> RealPath(const std::string& text) final;
  Result<void> SyncDir(const AbsPath& path) final;
  Result<std::uint64_t> FreeBytes(const AbsPath& path) final;

 private:
  [[nodiscard]] virtual bool IsOwn(const AbsPath& path) const = 0;
  /// The functions below get own paths only; errors as in Fs. Symlinks are not followed.
  [[nodiscard]] virtual Result<FileStat> StatOwn(const AbsPath& path) const = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<File>> OpenOwn(const AbsPath& path) const = 0;
  [[nodiscard]] virtual Result<std::string> ReadOwnLink(const AbsPath& path) const = 0;
  [[nodiscard]] virtual Result<std::vector<std::string>> ListOwn(const AbsPath& path) const = 0;

  /// Errors: kInternal for an own path.
  [[nodiscard]] Result<void> RefuseChange(const AbsPath& path) const;

  Fs& other_;
  std::string_view what_;
};

/// Files that are made when they are opened, at paths where no file exists.
class VirtualFilesFs final : public OverlayFs {
 public:
  using Make = std::function<Result<std::unique_ptr<File>>()>;

  explicit VirtualFilesFs(Fs& other) : OverlayFs(other, "a file that is not on disk") {}

  /// Shows a file at `path`; each Open calls `make`, from any thread. Call it before others use this.
  void Show(const AbsPath& path, const FileStat& stat, Make make);

 private:
  struct Shown {
    FileStat stat;
    Make make;
  };
  [[nodiscard]] bool IsOwn(const AbsPath& path) const override;
  [[nodiscard]] Result<FileStat> StatOwn(const AbsPath& path) const override;
  [[nodiscard]] Result<std::unique_ptr<File>> OpenOwn(const AbsPath& path) const override;
  [[nodiscard]] Result<std::string> ReadOwnLink(const AbsPath& path) const override;
  [[nodiscard]] Result<std::vector<std::string>> ListOwn(const AbsPath& path) const override;

  std::map<std::string, Shown> shown_;  // by path
};

}  // namespace ptpkg
