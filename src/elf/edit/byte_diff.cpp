// Reduces a write to the bytes that differ, and encodes tables for such writes.
//
// A shorter write is more often inside one page of 4 KiB, where it is atomic. An edit whose bytes are all
// equal disappears here, and with it the need to open the file for writing.

#include "elf/edit/byte_diff.h"

#include "support/assert.h"

namespace ptpkg::elf {

std::optional<PlannedWrite> DiffWrite(std::uint64_t offset, Bytes before, Bytes after) {
  PTPKG_ASSERT(before.size() == after.size());
  std::size_t begin = 0;
  while (begin < before.size() && before[begin] == after[begin]) ++begin;
  if (begin == before.size()) return std::nullopt;
  std::size_t end = before.size();
  while (before[end - 1] == after[end - 1]) --end;
  PlannedWrite write;
  write.offset = offset + begin;
  write.bytes.assign(after.begin() + static_cast<std::ptrdiff_t>(begin),
                     after.begin() + static_cast<std::ptrdiff_t>(end));
  return write;
}

bool IsInOneBlock(std::uint64_t offset, std::uint64_t size) {
  return size == 0 || offset / kAtomicBlock == (offset + size - 1) / kAtomicBlock;
}

bool IsAtomic(const PlannedWrite& write) { return IsInOneBlock(write.offset, write.size_bytes()); }

std::vector<std::byte> EncodeSegments(const Codec& codec, const std::vector<Segment>& segments) {
  const std::size_t record = codec.SegmentSize();
  std::vector<std::byte> bytes(segments.size() * record);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    codec.EncodeSegment(segments[i], MutableBytes(bytes).subspan(i * record, record));
  }
  return bytes;
}

std::vector<std::byte> EncodeDynamic(const Codec& codec, const std::vector<DynamicEntry>& entries,
                                     std::size_t capacity) {
  PTPKG_ASSERT(entries.size() < capacity);
  const std::size_t record = codec.DynamicEntrySize();
  std::vector<std::byte> bytes(capacity * record);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    codec.EncodeDynamicEntry(entries[i], MutableBytes(bytes).subspan(i * record, record));
  }
  return bytes;
}

}  // namespace ptpkg::elf
