#pragma once
// Decides whether ld.so accepts or skips a file during its search. Layer: elf. Source: glibc elf/dl-load.c,
// open_verify and _dl_map_object_from_fd.

#include <string_view>

#include "elf/read/image.h"

namespace ptpkg::elf {

/// The processor of the process, as given by its first file.
struct Host {
  ElfClass elf_class = ElfClass::k64;
  ByteOrder order = ByteOrder::kLittle;
  std::uint16_t machine = 0;

  auto operator<=>(const Host&) const = default;
};

enum class CompatibilityKind : std::uint8_t {
  kLoads,       ///< According to the header, it loads.
  kPassedOver,  ///< Another class or processor: ld.so continues its search.
  kRefused,     ///< ld.so ends the process, whatever else is on the search path.
};

struct LoaderCompatibility {
  CompatibilityKind fit = CompatibilityKind::kLoads;
  std::string_view reason;  ///< ld.so's own message for kRefused, else "".
};

inline constexpr std::size_t kCompatibilityHeaderBytes =
    64;  ///< From the file's beginning; the 64-bit ELF header.

/// Judges a file by its first kCompatibilityHeaderBytes; `head` is shorter only if the file is.
LoaderCompatibility CompatibilityFromHeader(Bytes head, const Host& host);

/// Judges a dynamic file that passes the header check: programs cannot be loaded as libraries.
LoaderCompatibility CompatibilityFromFlags(const LinkFacts& facts);

}  // namespace ptpkg::elf
