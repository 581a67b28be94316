#pragma once
// The pieces that a slice is made of. Layer: elf, private to it.

#include <string_view>
#include <vector>

#include "elf/device_choice.h"

namespace ptpkg::elf {

SlicePiece CopyPiece(std::uint64_t from, std::uint64_t size_bytes);
SlicePiece ZeroPiece(std::uint64_t size_bytes);
SlicePiece BytesPiece(std::vector<std::byte> bytes);

std::uint64_t SizeOf(const std::vector<SlicePiece>& pieces);

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
