#pragma once
// Summarises the GPU code in a file or static archive. Layer: elf. Sources: fatbinary_section.h of CUDA 13
// for the section names; containers written by fatbinary of CUDA 12.8 and 13.0. For AMD's code LLVM's
// clang-offload-bundler. docs/formats/device-code.md describes them field by field.

#include <map>
#include <optional>

#include "elf/device/device_containers.h"

namespace ptpkg::elf {

struct DeviceAmount {
  std::uint64_t elements = 0;    ///< Number of containers: one per translation unit with the architecture.
  std::uint64_t size_bytes = 0;  ///< In the file, headers included; compressed size of compressed code.

  bool operator==(const DeviceAmount&) const = default;
};
using DeviceAmounts = std::map<DeviceArchitecture, DeviceAmount>;

struct DeviceCodeStats {
  DeviceAmounts sass = {};        ///< Machine code.
  DeviceAmounts ptx = {};         ///< PTX or SPIR-V, which the driver compiles for later architectures.
  std::uint64_t other_bytes = 0;  ///< Intermediate code for link-time optimisation, and unknown kinds.
  std::uint64_t containers = 0;

  bool operator==(const DeviceCodeStats&) const = default;
};

void AddDeviceCodeStats(const DeviceCodeStats& more, DeviceCodeStats& sum);
void AddElement(const DeviceElement& element, DeviceCodeStats& sum);
DeviceCodeStats DeviceCodeStatsOf(const DeviceContainer& container);

struct DeviceCode {
  DeviceCodeStats embedded = {};  ///< Sections .nv_fatbin and .hip_fatbin: code that a process can run.
  DeviceCodeStats relocatable =
      {};  ///< Sections __nv_relfatbin and, for AMD, __CLANG_OFFLOAD_BUNDLE__*: for the device linker.
  /// Part of the relocatable PTX: the PTX in containers without machine code for other architectures than the
  /// embedded code. The driver can link it. The rest came with a library of the device linker, such as
  /// libcudadevrt.a.
  DeviceAmounts linkable_ptx = {};
  /// False for objects and archives, because a later link can take each part of them.
  bool is_linked = false;

  /// Code that counts as the file's architectures. For a linked file, its embedded code and linkable PTX,
  /// because the device linker makes only machine code. Without embedded machine code, and for objects and
  /// archives, all its code.
  [[nodiscard]] DeviceCodeStats EffectiveCode() const;
  /// True if it has code for AMD GPUs.
  [[nodiscard]] bool HasAmd() const;
  /// Counts a container of relocatable code. REQUIRES: `is_linked` and `embedded` are complete.
  void AddRelocatable(const DeviceCodeStats& container);
  bool operator==(const DeviceCode&) const = default;
};

/// Reads the device code without the payloads. nullopt: neither ELF file nor static archive, or one without
/// device code. For an archive, returns the sum over its members, and skips members that are not ELF files.
/// Cost: a page per container. Memory: the section headers and their names. Errors:
/// - kInvalidInput: containers that contradict their section, naming section and offset (and the member)
/// - kInvalidInput: truncated archives
/// - kUnsupported: thin archives (their members are elsewhere), unknown container versions, code of LLVM's
///   offload packager
/// - kCorrupt as ReadImage, kIo
Result<std::optional<DeviceCode>> ReadDeviceCode(File& file);

/// The same for an ELF file whose headers were already read.
Result<std::optional<DeviceCode>> ReadDeviceCode(File& file, const Image& image);

}  // namespace ptpkg::elf
