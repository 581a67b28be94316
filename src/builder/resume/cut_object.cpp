// A linker can write for minutes, so the time of a file doesn't tell whether it is complete. Its own tables
// do: an ELF file must reach the end of its section headers and of every section, an archive the end of its
// last member.
//
// GNU as and ld write the ELF header last. So a half-written object begins with zeros, or describes bytes
// that the file lacks. A test cuts an object at every byte.
//
// SHT_NOBITS and unused sections have no bytes in the file, so their sizes don't count (gABI, "Section Header
// Table"). A file with e_shnum 0 may be stripped of sections, or keep the number in the first section header.
// A relocatable object without sections has no content and counts as cut. Archives: ar(5), members begin at
// even offsets.

#include "builder/resume/cut_object.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

bool HasObjectName(std::string_view name) {
  return name.ends_with(".o") || name.ends_with(".obj") || name.ends_with(".a") || name.ends_with(".so") ||
         name.find(".so.") != std::string_view::npos;
}

/// A window of a file that says when it would reach beyond the end.
class Bytewise {
 public:
  Bytewise(File& file, std::uint64_t size_bytes) : file_(file), size_bytes_(size_bytes) {}

  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] bool Has(std::uint64_t offset, std::uint64_t length) const {
    return offset <= size_bytes_ && length <= size_bytes_ - offset;
  }
  /// REQUIRES: Has(offset, length).
  Result<std::string> Read(std::uint64_t offset, std::uint64_t length) {
    std::string bytes(length, '\0');
    PTPKG_TRY(const std::size_t got,
              file_.ReadAt(offset, std::as_writable_bytes(std::span(bytes.data(), bytes.size()))));
    bytes.resize(got);
    return bytes;
  }

 private:
  File& file_;
  std::uint64_t size_bytes_;
};

/// Fields of one class and byte order.
struct ElfForm {
  bool wide = true;
  bool big_endian = false;

  [[nodiscard]] std::uint64_t Number(std::string_view bytes, std::size_t at, std::size_t width) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t from = big_endian ? at + i : at + width - 1 - i;
      value = value << 8U | static_cast<unsigned char>(bytes[from]);
    }
    return value;
  }
  [[nodiscard]] std::uint64_t Word(std::string_view bytes, std::size_t narrow_at, std::size_t wide_at) const {
    return wide ? Number(bytes, wide_at, 8) : Number(bytes, narrow_at, 4);
  }
};

Result<bool> IsTruncatedElf(Bytewise& file, std::string_view head) {
  constexpr std::uint64_t kNoBits = 8;
  constexpr std::size_t kClassAt = 4;
  constexpr std::size_t kDataAt = 5;
  const ElfForm form{.wide = head[kClassAt] == 2, .big_endian = head[kDataAt] == 2};
  const std::size_t header_size = form.wide ? 64 : 52;
  if (!file.Has(0, header_size)) return true;
  const std::uint64_t sections_at = form.Word(head, 32, 40);
  const std::uint64_t entry_size = form.Number(head, form.wide ? 58 : 46, 2);
  const std::uint64_t count = form.Number(head, form.wide ? 60 : 48, 2);
  // 0 sections: stripped of them, or more than fit here; sections are then counted in the first one.
  if (sections_at == 0) return form.Number(head, 16, 2) == 1;  // ET_REL is nothing without sections
  // sizeof(Elf64_Shdr) and sizeof(Elf32_Shdr): a finished header has none smaller.
  if (entry_size < (form.wide ? 64U : 40U)) return true;
  if (!file.Has(sections_at, std::max<std::uint64_t>(count, 1) * entry_size)) return true;
  PTPKG_TRY(const std::string table, file.Read(sections_at, count * entry_size));
  for (std::uint64_t i = 0; i < count && (i + 1) * entry_size <= table.size(); ++i) {
    const std::string_view section = std::string_view(table).substr(i * entry_size, entry_size);
    if (form.Number(section, 4, 4) == kNoBits || form.Number(section, 4, 4) == 0) continue;
    if (!file.Has(form.Word(section, 16, 24), form.Word(section, 20, 32))) return true;
  }
  return false;
}

Result<bool> IsTruncatedArchive(Bytewise& file) {
  constexpr std::uint64_t kHeadSize = 60;
  std::uint64_t at = 8;
  while (at < file.size_bytes()) {
    if (!file.Has(at, kHeadSize)) return true;
    PTPKG_TRY(const std::string head, file.Read(at, kHeadSize));
    std::uint64_t size = 0;
    const std::string text(Trim(std::string_view(head).substr(48, 10)));
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    if (!head.ends_with("`\n") || !is_number || !file.Has(at + kHeadSize, size)) return true;
    // Members are padded to even offsets.
    at += kHeadSize + size + size % 2;
  }
  return false;
}

}  // namespace

Result<bool> IsTruncatedObject(Fs& fs, const AbsPath& path, bool executable) {
  const bool named = HasObjectName(path.Name());
  if (!named && !executable) return false;
  PTPKG_TRY(const std::unique_ptr<File> opened, fs.Open(path, OpenMode::kRead));
  PTPKG_TRY(const FileStat stat, opened->Stat());
  if (stat.size_bytes == 0) return named;
  Bytewise file(*opened, stat.size_bytes);
  constexpr std::uint64_t kHeadSize = 64;
  PTPKG_TRY(std::string head, file.Read(0, std::min(stat.size_bytes, kHeadSize)));
  head.resize(kHeadSize);
  if (head.starts_with("\x7f"
                       "ELF"))
    return IsTruncatedElf(file, head);
  if (head.starts_with("!<arch>\n")) return IsTruncatedArchive(file);
  constexpr std::size_t kMagic = 8;
  return named && std::all_of(head.begin(), head.begin() + kMagic, [](char byte) { return byte == '\0'; });
}

}  // namespace ptpkg::builder
