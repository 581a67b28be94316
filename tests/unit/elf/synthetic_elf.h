#pragma once
// ELF images put together byte by byte, for classes, byte orders and damages that no linker here makes.

#include <optional>
#include <string>
#include <vector>

#include "elf/format.h"

namespace ptpkg::elf::test {

struct SyntheticElf {
  ElfClass elf_class = ElfClass::k64;
  ByteOrder order = ByteOrder::kLittle;
  std::uint16_t machine = 62;  ///< EM_X86_64
  std::uint16_t type = kTypeDyn;
  std::vector<std::string> needed = {"libdeep.so.1", "libc.so.6"};
  std::optional<std::string> soname = "libanswer.so";
  std::optional<std::string> rpath;
  std::optional<std::string> runpath;
  std::optional<std::string> interpreter;
  std::vector<std::string> symbols = {"answer"};
  /// Version requirement of the first needed library; "" = no .gnu.version_r.
  std::string version = "DEEP_1";
  std::string extra_strings;  ///< Raw bytes put before the strings of the table.
  std::size_t spare_entries = 5;
  std::size_t spare_segments = 0;  ///< PT_NULL entries.
  bool sections = true;
  bool stack = true;
  bool dynamic = true;
  std::uint64_t align = 0x1000;

  /// Where the parts came to lie in the image that Build made last.
  struct Places {
    std::uint64_t program_headers = 0;
    std::uint64_t section_headers = 0;
    std::uint64_t dynamic = 0;
    std::uint64_t strings = 0;
    std::uint64_t strings_size = 0;
    std::uint64_t symbols = 0;
    std::uint64_t hash = 0;
    std::uint64_t needs = 0;
    std::uint64_t interpreter = 0;
  };
  Places places;

  [[nodiscard]] Codec codec() const { return {elf_class, order}; }
  std::string Build();
};

/// Writes a word, half or word-sized value of `codec` into an image.
void PokeU16(std::string& image, const Codec& codec, std::uint64_t at, std::uint16_t value);
void PokeU32(std::string& image, const Codec& codec, std::uint64_t at, std::uint32_t value);
void PokeWord(std::string& image, const Codec& codec, std::uint64_t at, std::uint64_t value);

}  // namespace ptpkg::elf::test
