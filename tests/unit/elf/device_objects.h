#pragma once
// Relocatable objects with containers of GPU code, and archives with a table of symbols, put together byte by
// byte.

#include <string>
#include <utility>
#include <vector>

#include "unit/elf/device_containers.h"

namespace ptpkg::elf::test {

/// An object as nvcc's host compiler makes it: wrappers with a relocation to each container.
struct DeviceObject {
  std::vector<std::string> containers;  ///< Of .nv_fatbin; each begins on 8 bytes.
  std::string relocatable = {};         ///< Of __nv_relfatbin; "" for none.
  bool named = false;                   ///< Relocations go by a symbol of each container, not of the section.
  std::uint64_t tail_align = 16;        ///< Of .tail, which stands behind the containers.
  std::uint16_t machine = kMachineX8664;
  std::uint32_t pointer_type = 1;  ///< R_X86_64_64

  /// Where the parts came to lie in the image that Build made last.
  struct Places {
    std::uint64_t code = 0;
    std::uint64_t relocatable = 0;
    std::uint64_t relocations = 0;  ///< One for each container, one to .tail, one to __nv_relfatbin.
    std::uint64_t symbols = 0;      ///< Null, .nv_fatbin, __nv_relfatbin, .tail's, then those of containers.
    std::uint64_t section_headers = 0;
  };
  Places places = {};

  std::string Build();
};

/// Indices of its sections.
inline constexpr std::size_t kObjectCode = 2;
inline constexpr std::size_t kObjectRelocatable = 3;
inline constexpr std::size_t kObjectTail = 4;
inline constexpr std::size_t kObjectRelocations = 6;

/// A static archive of GNU's form whose table has `symbols`: names, and indices of their members. `wide`: of
/// 64 bits.
std::string ArchiveWithSymbols(const std::vector<std::pair<std::string, std::string>>& members,
                               const std::vector<std::pair<std::string, std::size_t>>& symbols,
                               bool wide = false);

}  // namespace ptpkg::elf::test
