#pragma once
// What is in a file's containers of GPU code, and what a slice has to keep of them: read and chosen without
// the code under test, by the tables of docs/formats/device-code.md and docs/slices.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptpkg::elf::test {

/// An element of a container, header included.
struct FoundElement {
  std::uint16_t kind = 0;
  std::uint32_t number = 0;
  std::uint64_t flags = 0;
  std::string bytes;
  bool operator==(const FoundElement&) const = default;
};

struct FoundContainer {
  std::uint64_t address = 0;
  std::vector<FoundElement> elements;
};

/// The bytes of the first section of this name of a 64-bit little-endian file; "" without one.
std::string SectionBytes(const std::string& file, std::string_view name);

/// The containers of the file, of .nv_fatbin first, of several sections of that name too; whatever lies
/// between them has to be zeros. Expectations fail for what is none of both.
std::vector<FoundContainer> FindContainers(const std::string& file);

/// What stays of `container` for all of `gpus`, in its order; nullopt when one of them has nothing in it, so
/// that it stays whole.
std::optional<std::vector<FoundElement>> WantedOf(const FoundContainer& container,
                                                  const std::vector<std::uint32_t>& gpus, bool keep_ptx);

/// Expects in the sections of containers of `slice` what WantedOf says of those of `original`, byte by byte.
/// Returns how many elements were compared.
std::size_t ExpectKept(const std::string& original, const std::string& slice,
                       const std::vector<std::uint32_t>& gpus, bool keep_ptx);

}  // namespace ptpkg::elf::test
