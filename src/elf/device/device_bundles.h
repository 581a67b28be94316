#pragma once
// Parses clang offload bundles with AMD GPU code. Layer: elf. Source: LLVM's documentation of
// clang-offload-bundler; output of clang 14 to 19. docs/formats/device-code.md describes them field by field.

#include <optional>

#include "elf/device/device_containers.h"

namespace ptpkg::elf {

inline constexpr std::string_view kAmdCode = ".hip_fatbin";
/// Prefix of section names in an object compiled with -fgpu-rdc, one section per entry. The entry's id
/// follows it.
inline constexpr std::string_view kBundleSection = "__CLANG_OFFLOAD_BUNDLE__";
/// Code of LLVM's offload packager, which ptpkg does not read.
inline constexpr std::string_view kPackagerSection = ".llvm.offloading";

inline constexpr std::size_t kMaxBundles = 65'536;  ///< Limit for one section.

/// An entry "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-": machine code, or "…--amdgcnspirv": kPtx; code for other
/// targets is kOther. nullopt for host code, "host-x86_64-unknown-linux-gnu-".
std::optional<DeviceElement> ElementOfId(std::string_view id);

/// Calls `take` with each bundle of `section`, in file order, plain and compressed ones. Does not read
/// payloads. For a compressed bundle, unpacks the table, and splits the bundle's bytes in the file among the
/// entries by their unpacked sizes. Memory: 1 MiB, and zstd's window of at most 128 MiB, in which it touches
/// only the beginning. Errors:
/// - kInvalidInput, naming section and offset: bundles that contradict their section, damaged tables, more
///   than kMaxBundles
/// - kUnsupported: unknown versions and compression methods
/// - kIo, and any error from `take`
Result<void> ForEachBundle(File& file, std::string_view name, const Section& section,
                           const std::function<Result<void>(const DeviceContainer&)>& take);

}  // namespace ptpkg::elf
