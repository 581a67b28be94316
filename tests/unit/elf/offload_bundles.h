#pragma once
// Bundles of code for AMD's GPUs, put together byte by byte.

#include <string>
#include <vector>

#include "unit/elf/device_containers.h"

namespace ptpkg::elf::test {

struct BundleEntry {
  std::string id = "hipv4-amdgcn-amd-amdhsa--gfx90a";
  std::string payload = "payload.";
};

inline constexpr const char* kHostId = "host-x86_64-unknown-linux-gnu-";

/// As clang-offload-bundler writes it: payloads follow the table, each on `align` bytes.
std::string Bundle(const std::vector<BundleEntry>& entries, std::size_t align = 8);

/// CCOB of a version, around `packed`, which is what `unpacked_bytes` were compressed to.
std::string PackedBundle(unsigned version, unsigned method, const std::string& packed,
                         std::uint64_t unpacked_bytes);

/// `raw` as a zlib stream, and as a zstd frame, of one stored block each.
std::string StoredZlib(const std::string& raw);
std::string StoredZstd(const std::string& raw);

}  // namespace ptpkg::elf::test
