#pragma once
// Linked libraries whose wrappers point to containers of GPU code, put together byte by byte.

#include <string>
#include <vector>

#include "unit/elf/device_containers.h"

namespace ptpkg::elf::test {

/// One load segment holds headers, tables, .nv_fatbin and a section behind it; a second one .dynamic and the
/// wrappers.
struct WrappedLibrary {
  std::vector<std::string> containers;  ///< Each with its wrapper and its symbol in .symtab.
  std::vector<std::string> relocatable =
      {};                           ///< The same in __nv_relfatbin; that section only if there are any.
  bool packed_relocations = false;  ///< DT_RELR instead of DT_RELA.
  bool spare_segment = true;        ///< A PT_NULL; else a note stands behind the program headers.
  std::uint16_t machine = kMachineX8664;
  std::uint64_t page_bytes = 0x1000;  ///< Alignment of the load segments.

  /// Where the parts came to lie in the image that Build made last; its addresses are its offsets.
  struct Places {
    std::uint64_t relocations = 0;
    std::uint64_t code = 0;         ///< .nv_fatbin
    std::uint64_t relocatable = 0;  ///< __nv_relfatbin
    std::uint64_t tail = 0;         ///< .tail, behind it.
    std::uint64_t wrappers = 0;
    std::uint64_t symbols = 0;  ///< .symtab: symbol i + 1 is that of container i, relocatable ones last.
    std::uint64_t dynamic_symbols = 0;
    std::uint64_t dynamic =
        0;  ///< Tables of hash, symbols (and record size), strings (and size), relocations.
    std::uint64_t section_headers = 0;
  };
  Places places = {};
  std::size_t code_section = 0;  ///< Index of .nv_fatbin.

  std::string Build();
};

}  // namespace ptpkg::elf::test
