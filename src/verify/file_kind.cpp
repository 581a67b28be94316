#include "verify/file_kind.h"

#include <array>

namespace ptpkg::verify {

Result<bool> IsElfFile(Fs& fs, const AbsPath& path) {
  PTPKG_TRY(const std::unique_ptr<File> file, fs.Open(path, OpenMode::kRead));
  std::array<std::byte, 4> magic{};
  PTPKG_TRY(const std::size_t got, file->ReadAt(0, magic));
  return AsText(Bytes(magic).first(got)) ==
         "\x7f"
         "ELF";
}

}  // namespace ptpkg::verify
