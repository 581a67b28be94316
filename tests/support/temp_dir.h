#pragma once
// A real scratch directory for one test, removed at its end.

#include <string_view>

#include "support/files/fs.h"

namespace ptpkg::test {

class TempDir {
 public:
  TempDir();
  TempDir(TempDir&&) = delete;
  TempDir& operator=(TempDir&&) = delete;
  ~TempDir();

  /// Without symlinks in it.
  [[nodiscard]] const AbsPath& path() const { return path_; }
  [[nodiscard]] AbsPath operator/(std::string_view tail) const { return path_ / tail; }

  /// Makes parents too. The file must be new. Aborts the test program on failure.
  AbsPath WriteFile(std::string_view relative, std::string_view content, std::uint32_t mode = 0644) const;
  AbsPath MakeDir(std::string_view relative) const;
  AbsPath MakeSymlink(std::string_view target, std::string_view relative) const;
  [[nodiscard]] std::string ReadFile(std::string_view relative) const;
  /// Paths of everything below, sorted; directories end with "/", symlinks with " -> target".
  [[nodiscard]] std::vector<std::string> List() const;

 private:
  AbsPath path_;
};

/// TempDir::List for any directory of any Fs. A missing directory is empty.
std::vector<std::string> ListTree(Fs& fs, const AbsPath& root);

}  // namespace ptpkg::test
