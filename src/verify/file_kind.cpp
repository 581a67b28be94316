#include "verify/file_kind.h"

#include <algorithm>
#include <array>

namespace ptpkg::verify {

namespace {

using namespace std::string_view_literals;

constexpr std::size_t kPeOffsetAt = 0x3c;  // of the field in the DOS header that says where "PE" is

constexpr std::array<std::string_view, 6> kMachineCode = {
    "\x7f"
    "ELF"sv,
    "\xfe\xed\xfa\xce"sv,
    "\xfe\xed\xfa\xcf"sv,  // Mach-O, big endian
    "\xce\xfa\xed\xfe"sv,
    "\xcf\xfa\xed\xfe"sv,  // little endian
    "!<arch>\n"sv};

/// Mach-O of several architectures: their number follows where a Java class has its version, 45 or more.
bool IsFatMachO(std::string_view head) {
  return head.starts_with("\xca\xfe\xba\xbe\0\0\0"sv) && head.size() > 7 && head[7] > 0 && head[7] < 45;
}

/// Text may begin with "MZ", so the second signature counts.
Result<bool> IsPe(File& file, std::string_view head) {
  if (!head.starts_with("MZ") || head.size() < kPeOffsetAt + 4) return false;
  std::uint64_t offset = 0;
  for (std::size_t i = 4; i-- > 0;) offset = offset << 8U | static_cast<unsigned char>(head[kPeOffsetAt + i]);
  std::array<std::byte, 4> signature{};
  PTPKG_TRY(const std::size_t got, file.ReadAt(offset, signature));
  return AsText(Bytes(signature).first(got)) == "PE\0\0"sv;
}

}  // namespace

Result<bool> IsElfFile(Fs& fs, const AbsPath& path) {
  PTPKG_TRY(const std::unique_ptr<File> file, fs.Open(path, OpenMode::kRead));
  std::array<std::byte, 4> magic{};
  PTPKG_TRY(const std::size_t got, file->ReadAt(0, magic));
  return AsText(Bytes(magic).first(got)) ==
         "\x7f"
         "ELF";
}

Result<bool> HoldsMachineCode(Fs& fs, const AbsPath& path) {
  PTPKG_TRY(const std::unique_ptr<File> file, fs.Open(path, OpenMode::kRead));
  std::array<std::byte, kPeOffsetAt + 4> bytes{};
  PTPKG_TRY(const std::size_t got, file->ReadAt(0, bytes));
  const std::string_view head = AsText(Bytes(bytes).first(got));
  const bool known = std::any_of(kMachineCode.begin(), kMachineCode.end(),
                                 [&](std::string_view magic) { return head.starts_with(magic); });
  if (known || IsFatMachO(head)) return true;
  return IsPe(*file, head);
}

}  // namespace ptpkg::verify
