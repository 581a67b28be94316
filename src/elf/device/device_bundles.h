#pragma once
// Parses clang offload bundles with AMD GPU code. Layer: elf. Source: LLVM's documentation of
// clang-offload-bundler; what clang 14 to 19 write. docs/formats/device-code.md has them field by field.

#include <optional>

#include "elf/device/device_containers.h"

namespace ptpkg::elf {

inline constexpr std::string_view kAmdCode = ".hip_fatbin";
/// In front of an entry's id: sections of an object that was compiled with -fgpu-rdc, one for each entry.
inline constexpr std::string_view kBundleSection = "__CLANG_OFFLOAD_BUNDLE__";
/// Code of LLVM's offload packager, which is not read.
inline constexpr std::string_view kPackagerSection = ".llvm.offloading";

inline constexpr std::size_t kMaxBundles = 65'536;  ///< Limit for one section.

/// An entry "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-": machine code, or "…--amdgcnspirv": kPtx; code for other
/// targets is kOther. nullopt for code of the host, "host-x86_64-unknown-linux-gnu-".
std::optional<DeviceElement> ElementOfId(std::string_view id);

/// Calls `take` with each bundle of `section`, in file order, plain and compressed ones. Payloads are not
/// read; of a compressed bundle the table is unpacked, and its bytes in the file are split among the entries
/// by their unpacked sizes. Errors: kInvalidInput for bundles that contradict their section, for damaged
/// tables, and for more than kMaxBundles, naming section and offset; kUnsupported for versions and methods of
/// compression that are not known; kIo; those of `take`. Memory: 1 MiB, and what zstd takes for a window of
/// at most 128 MiB, of which it touches the beginning.
Result<void> ForEachBundle(File& file, std::string_view name, const Section& section,
                           const std::function<Result<void>(const DeviceContainer&)>& take);

}  // namespace ptpkg::elf
