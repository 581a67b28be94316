#include "verify/file_kind.h"

#include <array>

namespace ptpkg::verify {

namespace {

using namespace std::string_view_literals;

constexpr std::size_t kPeOffsetAt = 0x3c;  // of the field in the DOS header that says where "PE" is

struct Magic {
  std::string_view bytes;
  MachineCode code;
};
constexpr std::array<Magic, 7> kMagics = {{{"\x7f"
                                            "ELF"sv,
                                            MachineCode::kElf},
                                           {"\xfe\xed\xfa\xce"sv, MachineCode::kMachO},  // big endian
                                           {"\xfe\xed\xfa\xcf"sv, MachineCode::kMachO},
                                           {"\xce\xfa\xed\xfe"sv, MachineCode::kMachO},  // little endian
                                           {"\xcf\xfa\xed\xfe"sv, MachineCode::kMachO},
                                           {"\0asm"sv, MachineCode::kWasm},
                                           {"!<arch>\n"sv, MachineCode::kObjects}}};

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

Result<std::optional<MachineCode>> MachineCodeOf(Fs& fs, const AbsPath& path) {
  PTPKG_TRY(const std::unique_ptr<File> file, fs.Open(path, OpenMode::kRead));
  std::array<std::byte, kPeOffsetAt + 4> bytes{};
  PTPKG_TRY(const std::size_t got, file->ReadAt(0, bytes));
  const std::string_view head = AsText(Bytes(bytes).first(got));
  for (const Magic& magic : kMagics) {
    if (head.starts_with(magic.bytes)) return std::optional(magic.code);
  }
  if (IsFatMachO(head)) return std::optional(MachineCode::kMachO);
  PTPKG_TRY(const bool pe, IsPe(*file, head));
  return pe ? std::optional(MachineCode::kPe) : std::nullopt;
}

Result<std::set<MachineCode>> MachineCodeIn(Env& env, const StagedTree& tree) {
  std::set<MachineCode> kinds;
  for (const TreeEntry& entry : tree.entries) {
    if (entry.kind != FileKind::kRegular) continue;
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_TRY(const auto code, MachineCodeOf(env.fs, tree.root / entry.path));
    if (code) kinds.insert(*code);
  }
  return kinds;
}

}  // namespace ptpkg::verify
