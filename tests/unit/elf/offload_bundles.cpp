#include "unit/elf/offload_bundles.h"

#include "unit/elf/elf_additions.h"

namespace ptpkg::elf::test {
namespace {

std::string Number(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>((value >> (8 * i)) & 0xFFU);
  return text;
}

}  // namespace

std::string Bundle(const std::vector<BundleEntry>& entries, std::size_t align) {
  std::size_t offset = 32;
  for (const BundleEntry& entry : entries) offset += 24 + entry.id.size();
  std::string table = "__CLANG_OFFLOAD_BUNDLE__" + Number(entries.size(), 8);
  std::string payloads;
  const std::size_t begin = offset;
  for (const BundleEntry& entry : entries) {
    while ((begin + payloads.size()) % align != 0) payloads += '\0';
    table += Number(begin + payloads.size(), 8) + Number(entry.payload.size(), 8) +
             Number(entry.id.size(), 8) + entry.id;
    payloads += entry.payload;
  }
  return table + payloads;
}

std::string PackedBundle(unsigned version, unsigned method, const std::string& packed,
                         std::uint64_t unpacked_bytes) {
  const std::string begin = "CCOB" + Number(version, 2) + Number(method, 2);
  const std::string digest(8, 'd');
  const std::size_t width = version == 3 ? 8 : 4;
  const std::size_t header = 16 + width * (version == 1 ? 1 : 2);
  const std::string total = version == 1 ? "" : Number(header + packed.size(), width);
  return begin + total + Number(unpacked_bytes, width) + digest + packed;
}

std::string StoredZlib(const std::string& raw) {
  std::uint32_t low = 1;
  std::uint32_t high = 0;
  for (const char c : raw) {
    low = (low + static_cast<unsigned char>(c)) % 65521;
    high = (high + low) % 65521;
  }
  std::string checksum;
  for (const std::uint32_t part : {high, low}) {
    checksum += static_cast<char>(part >> 8U);
    checksum += static_cast<char>(part & 0xFFU);
  }
  return "\x78\x01\x01" + Number(raw.size(), 2) + Number(~raw.size(), 2) + raw + checksum;
}

std::string StoredZstd(const std::string& raw) {
  // Descriptor: a content size of 4 bytes, one segment. Block: last, raw.
  return Number(0xFD2FB528, 4) + '\xa0' + Number(raw.size(), 4) + Number(raw.size() << 3U | 1U, 3) + raw;
}

}  // namespace ptpkg::elf::test
