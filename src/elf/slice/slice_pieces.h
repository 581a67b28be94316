#pragma once
// The pieces that a slice is made of. Layer: elf, private to it.

#include <string_view>
#include <vector>

#include "elf/slice/device_choice.h"

namespace ptpkg::elf {

SlicePiece CopyPiece(std::uint64_t from, std::uint64_t size_bytes);
SlicePiece ZeroPiece(std::uint64_t size_bytes);
SlicePiece BytesPiece(std::vector<std::byte> bytes);

std::uint64_t SizeOf(const std::vector<SlicePiece>& pieces);

/// A container and what becomes of it.
struct SlicedContainer {
  std::uint64_t offset = 0;      ///< In the original file.
  std::uint64_t size_bytes = 0;  ///< There.
  std::uint64_t new_size = 0;
  std::vector<SlicePiece> pieces = {};  ///< KeptOf
};

/// A section of device code and the changes to its containers.
struct SlicedSection {
  std::size_t index = 0;
  std::string_view name = {};                    ///< kEmbeddedCode or kRelocatableCode.
  std::vector<SlicedContainer> containers = {};  ///< Ascending by offset.

  [[nodiscard]] bool Changes() const;
  /// Index of the container that begins at file offset `offset`; the number of containers when none does.
  [[nodiscard]] std::size_t ContainerAt(std::uint64_t offset) const;
};

/// Places of containers that follow each other, from the section's begin.
struct PackedContainers {
  std::vector<std::uint64_t> places = {};
  std::uint64_t size_bytes = 0;  ///< From the section's begin to the end of the last one.
};

/// Packs on 8-byte boundaries, as nvcc aligns them.
PackedContainers Pack(const std::vector<SlicedContainer>& containers);

/// The bytes of `packed`, with zeros between containers.
std::vector<SlicePiece> PiecesOf(const std::vector<SlicedContainer>& containers,
                                 const PackedContainers& packed);

inline constexpr std::uint64_t kContainerAlign = 8;

/// Replacement of a range of the original.
struct Replacement {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
  std::vector<SlicePiece> pieces = {};
  std::string_view what = {};  ///< For messages: "a container of device code". Static text.
};

/// Writes `value` over the word at `offset`.
Replacement WordReplacement(std::uint64_t offset, std::uint64_t value, std::string_view what);

/// The container with its kept elements alone, moved together behind its header, whose size says so. Errors:
/// kIo.
Result<std::vector<SlicePiece>> KeptOf(File& file, const DeviceContainer& container,
                                       const DeviceChoice& choice);

/// The whole file with `replacements` instead of their ranges, in any order. Errors: kInvalidInput when two
/// of them overlap, or one passes `file_size`: a file that says two things of the same bytes.
Result<std::vector<SlicePiece>> Assemble(std::uint64_t file_size, std::vector<Replacement> replacements);

}  // namespace ptpkg::elf
