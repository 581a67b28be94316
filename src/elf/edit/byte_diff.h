#pragma once
// Byte-level helpers of the edit planner. Layer: elf, private to it.

#include <optional>
#include <vector>

#include "elf/edit/edit.h"

namespace ptpkg::elf {

/// A switch must lie inside one block of this size: the kernel copies a write page by page, and a killed
/// process may stop between two.
inline constexpr std::uint64_t kAtomicBlock = 4096;

inline std::uint64_t AlignUp(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// The one write that turns `before` into `after` (equal sizes) at `offset`; nullopt when they are equal.
std::optional<PlannedWrite> DiffWrite(std::uint64_t offset, Bytes before, Bytes after);

/// True if `size` bytes at `offset` touch one block only.
bool IsInOneBlock(std::uint64_t offset, std::uint64_t size);

/// True if the write touches one block only.
bool IsAtomic(const PlannedWrite& write);

/// The program header table as bytes.
std::vector<std::byte> EncodeSegments(const Codec& codec, const std::vector<Segment>& segments);

/// The dynamic table with its closing DT_NULLs, `capacity` entries in all.
/// REQUIRES: entries.size() < capacity.
std::vector<std::byte> EncodeDynamic(const Codec& codec, const std::vector<DynamicEntry>& entries,
                                     std::size_t capacity);

}  // namespace ptpkg::elf
