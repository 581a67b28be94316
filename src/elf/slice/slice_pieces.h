#pragma once
// The pieces that a slice is made of. Layer: elf, private to it.

#include <algorithm>
#include <string_view>
#include <vector>

#include "elf/device/device_choice.h"

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

/// One section of device code and what becomes of its containers.
struct SlicedSection {
  std::size_t index = 0;
  std::string_view name = {};                    ///< kEmbeddedCode or kRelocatableCode.
  std::vector<SlicedContainer> containers = {};  ///< Ascending by offset.

  [[nodiscard]] bool Changes() const;
  /// Index of the container that begins at file offset `offset`; the number of containers when none does.
  [[nodiscard]] std::size_t ContainerAt(std::uint64_t offset) const;
};

/// Where containers come to lie when they follow each other, from the section's begin.
struct PackedContainers {
  std::vector<std::uint64_t> places = {};
  std::uint64_t size_bytes = 0;  ///< From the section's begin to the end of the last one.
};

/// On 8 bytes each, as nvcc aligns them.
PackedContainers Pack(const std::vector<SlicedContainer>& containers);

/// The bytes of `packed`, with zeros between containers.
std::vector<SlicePiece> PiecesOf(const std::vector<SlicedContainer>& containers,
                                 const PackedContainers& packed);

inline constexpr std::uint64_t kContainerAlign = 8;

/// Each section and symbol is looked up among those that are packed; an object of nvcc has two, one of
/// `ld -r` no more, a file of `ld --unique` one for each object of the link.
inline constexpr std::size_t kMaxPackedSections = 64;

/// A section of containers that move together, so that what lies behind it can move to the front.
struct PackedSection {
  PackedSection(const SlicedSection& section, const Image& image);

  const SlicedSection* sliced;
  const Section* header;  ///< As the original has it.
  PackedContainers packed;
  std::uint64_t shift = 0;  ///< By how much what lies behind moves. At most what the section loses.

  [[nodiscard]] std::uint64_t End() const { return header->offset + header->size; }
  /// The container that begins `from_begin` bytes into the section; null when none does.
  [[nodiscard]] const SlicedContainer* Find(std::uint64_t from_begin) const;
  /// Where one of its containers comes to lie, from the section's begin.
  [[nodiscard]] std::uint64_t NewPlace(const SlicedContainer& container) const;
};

/// Where in the file what stood at `old` comes to stand. Something without bytes may stand in the midst of a
/// section: there it moves no further than to the section's new end. `sections`: ascending, none overlap.
template <class Section>
std::uint64_t NewOffset(const std::vector<Section>& sections, std::uint64_t old) {
  std::uint64_t offset = old;
  for (const PackedSection& section : sections) {
    if (old >= section.End()) {
      offset -= section.shift;
    } else if (old > section.header->offset) {
      offset -= old - std::min(old, section.End() - section.shift);
    }
  }
  return offset;
}

/// What takes the place of a range of the original.
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
