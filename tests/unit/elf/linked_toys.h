#pragma once
// Copies of the tiny real libraries that fixtures/elf/link_toys made, and ways to load them. The build
// links them once per linker; what they are is said there.

#include <string>
#include <vector>

#include "support/env.h"
#include "support/temp_dir.h"
#include "support/test_env.h"

namespace ptpkg::elf::test {

/// Of "bfd", "gold", "lld", "mold": those that were installed when the tests were built.
std::vector<std::string> InstalledLinkers();

/// Of those that elf_devices made (CMakeLists.txt): "device-bfd", …
std::vector<std::string> DeviceSets();
/// Of those that elf_aarch64_devices made: "aarch64-lld", …; none where clang or lld is missing.
std::vector<std::string> Aarch64Sets();

/// Libraries of fixtures/elf/shapes.c that `linker` made: "libleaf.so", "libnote.so", …
std::vector<std::string> ShapesOf(const std::string& linker);

class LinkedToys {
 public:
  /// `set`: one of DeviceSets or Aarch64Sets, a linker, or "with-pad", "with-rpath", "with-shared-string"
  /// (CMakeLists.txt).
  explicit LinkedToys(const std::string& set);

  /// Copies one of ShapesOf(linker) to root().
  AbsPath AddShape(const std::string& linker, const std::string& name);

  [[nodiscard]] AbsPath Path(std::string_view relative) const { return dir_ / relative; }
  [[nodiscard]] const AbsPath& root() const { return dir_.path(); }
  Env& env() { return env_; }
  Fs& fs() { return env_.env().fs; }

  /// Exit code of `loader` on `library`: 42 if it loaded, 1 if it did not, 128+n for a signal.
  int Load(const AbsPath& library);
  /// Exit code of the program.
  int Run(const AbsPath& program);
  /// Output of a command in root() that must succeed.
  std::string Output(const std::vector<std::string>& argv);
  [[nodiscard]] std::string Bytes(std::string_view relative) const { return dir_.ReadFile(relative); }

 private:
  ptpkg::test::TestEnv env_;
  ptpkg::test::TempDir dir_;
};

}  // namespace ptpkg::elf::test
