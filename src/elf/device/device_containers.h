#pragma once
// Parses the fatbins of one section. Layer: elf. Source: fatbinary_section.h of CUDA 13; containers written
// by fatbinary of CUDA 12.8 and 13.0. docs/formats/device-code.md describes them field by field.

#include <compare>
#include <functional>
#include <string>
#include <vector>

#include "elf/read/image.h"

namespace ptpkg::elf {

/// sm_90a is {90, 'a'}; an AMD architecture is {0, '\0', "gfx90a:xnack-"}.
struct DeviceArchitecture {
  std::uint32_t number = 0;
  char suffix = '\0';       ///< 'a': this chip only, 'f': its family, '\0': none.
  std::string target = {};  ///< NormalGfxTarget; "" for CUDA.

  [[nodiscard]] bool IsAmd() const { return !target.empty(); }
  [[nodiscard]] std::string SassName() const;  ///< "sm_90a", "gfx90a"
  [[nodiscard]] std::string PtxName() const;   ///< "compute_90a", "amdgcnspirv"
  auto operator<=>(const DeviceArchitecture&) const = default;
};

enum class DeviceCodeKind : std::uint8_t {
  kSass,   ///< Machine code.
  kPtx,    ///< PTX or SPIR-V, which the driver compiles for chips of later architectures.
  kOther,  ///< Intermediate code for link-time optimisation, and unknown kinds.
};

struct DeviceElement {
  DeviceCodeKind kind = DeviceCodeKind::kOther;
  DeviceArchitecture architecture = {};  ///< {} for kOther.
  std::uint64_t offset = 0;              ///< In the file.
  std::uint64_t size_bytes = 0;          ///< Header and payload.
};

struct DeviceContainer {
  std::uint64_t offset = 0;        ///< In the file.
  std::uint64_t header_bytes = 0;  ///< At least 16.
  std::uint64_t size_bytes = 0;    ///< Header and elements.
  std::vector<DeviceElement> elements = {};

  [[nodiscard]] std::uint64_t End() const { return offset + size_bytes; }
};

inline constexpr std::string_view kEmbeddedCode = ".nv_fatbin";
inline constexpr std::string_view kRelocatableCode = "__nv_relfatbin";

/// Offset, in a container's header, of the total size in bytes of its elements.
inline constexpr std::uint64_t kContainerSizeAt = 8;

/// Limit for one container. nvcc writes one element per architecture of a translation unit, and one for its
/// PTX.
inline constexpr std::size_t kMaxDeviceElements = 65'536;

/// Indices of the sections of that name which have bytes, in table order. Sections of a valid file share no
/// bytes; a walk through a million that do could take hours. `names`: ReadSectionNames. Errors: kInvalidInput
/// for a section that passes the end of the file, and when all of them hold more bytes than the file.
Result<std::vector<std::size_t>> FindDeviceSections(const Image& image, std::string_view names,
                                                    std::string_view name);

/// Offset, in a section at file offset `begin`, of the first byte at or after `at` that is not 0; `size` if
/// there is none.
Result<std::uint64_t> SkipZeros(File& file, std::string_view name, std::uint64_t begin, std::uint64_t at,
                                std::uint64_t size);

/// Calls `take` with each container of `section`, in file order, without reading payloads. `name` is for
/// messages. Skips zeros between containers. Cost: a read of 64 bytes for each element. Errors:
/// - kInvalidInput, naming section and offset: containers that contradict their section, more than
///   kMaxDeviceElements in one
/// - kUnsupported: unknown container versions
/// - kIo, and any error from `take`, which ends the walk
Result<void> ForEachContainer(File& file, std::string_view name, const Section& section,
                              const std::function<Result<void>(const DeviceContainer&)>& take);

}  // namespace ptpkg::elf
