#pragma once
// Parses the fatbins of one section. Layer: elf. Source: fatbinary_section.h of CUDA 13; the containers that
// fatbinary of CUDA 12.8 and 13.0 writes. docs/formats/device-code.md has them field by field.

#include <compare>
#include <functional>
#include <string>
#include <vector>

#include "elf/read/image.h"

namespace ptpkg::elf {

/// sm_90a is {90, 'a'}; an architecture of AMD is {0, '\0', "gfx90a:xnack-"}.
struct DeviceArchitecture {
  std::uint32_t number = 0;
  char suffix = '\0';       ///< 'a': this chip alone; 'f': its family; '\0': none.
  std::string target = {};  ///< NormalGfxTarget; "" for CUDA.

  [[nodiscard]] bool IsAmd() const { return !target.empty(); }
  [[nodiscard]] std::string SassName() const;  ///< "sm_90a", "gfx90a"
  [[nodiscard]] std::string PtxName() const;   ///< "compute_90a", "amdgcnspirv"
  auto operator<=>(const DeviceArchitecture&) const = default;
};

enum class DeviceCodeKind : std::uint8_t {
  kSass,   ///< Machine code.
  kPtx,    ///< PTX or SPIR-V, which the driver compiles for chips of later architectures.
  kOther,  ///< Intermediate code for link-time optimisation, and kinds not known here.
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

/// Offset in a container's header of the size in bytes of its elements.
inline constexpr std::uint64_t kContainerSizeAt = 8;

/// Limit for one container. nvcc writes one element per architecture of a translation unit, and one for its
/// PTX.
inline constexpr std::size_t kMaxDeviceElements = 65'536;

/// Indices of the sections of that name which have bytes, in table order. Sections of an honest file share
/// none; a million that do could be walked for hours. `names`: ReadSectionNames. Errors: kInvalidInput for
/// one that passes the end of the file, and when all of them hold more bytes than the file.
Result<std::vector<std::size_t>> FindDeviceSections(const Image& image, std::string_view names,
                                                    std::string_view name);

/// From `at` of a section at file offset `begin` to its next byte that is not 0, or to `size`.
Result<std::uint64_t> SkipZeros(File& file, std::string_view name, std::uint64_t begin, std::uint64_t at,
                                std::uint64_t size);

/// Calls `take` with each container of `section`, in file order; payloads are not read. `name` is for
/// messages. Zeros between containers are passed over. Errors: kInvalidInput for containers that contradict
/// their section, and for one of more than kMaxDeviceElements, naming section and offset; kUnsupported for
/// container versions that are not known; kIo; those of `take`, which end the walk. Cost: a read of 64 bytes
/// for each element.
Result<void> ForEachContainer(File& file, std::string_view name, const Section& section,
                              const std::function<Result<void>(const DeviceContainer&)>& take);

}  // namespace ptpkg::elf
