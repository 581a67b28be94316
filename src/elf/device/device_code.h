#pragma once
// Summarises the GPU code in a file or static archive. Layer: elf. Source: fatbinary_section.h of CUDA 13 for
// the sections' names; the containers that fatbinary of CUDA 12.8 and 13.0 writes; LLVM's
// clang-offload-bundler for AMD's code. docs/formats/device-code.md has them field by field.

#include <map>
#include <optional>

#include "elf/device/device_containers.h"

namespace ptpkg::elf {

struct DeviceAmount {
  std::uint64_t elements = 0;    ///< Number of containers: one per translation unit with the architecture.
  std::uint64_t size_bytes = 0;  ///< In the file, headers included, compressed where they are.

  bool operator==(const DeviceAmount&) const = default;
};
using DeviceAmounts = std::map<DeviceArchitecture, DeviceAmount>;

struct DeviceCodeStats {
  DeviceAmounts sass = {};        ///< Machine code.
  DeviceAmounts ptx = {};         ///< PTX or SPIR-V, which the driver compiles for later architectures.
  std::uint64_t other_bytes = 0;  ///< Intermediate code for link-time optimisation, and kinds not known here.
  std::uint64_t containers = 0;

  bool operator==(const DeviceCodeStats&) const = default;
};

void AddDeviceCodeStats(const DeviceCodeStats& more, DeviceCodeStats& sum);
void AddElement(const DeviceElement& element, DeviceCodeStats& sum);
DeviceCodeStats DeviceCodeStatsOf(const DeviceContainer& container);

struct DeviceCode {
  DeviceCodeStats embedded = {};  ///< Sections .nv_fatbin and .hip_fatbin: what a process can run.
  DeviceCodeStats relocatable =
      {};  ///< Sections __nv_relfatbin and, for AMD, __CLANG_OFFLOAD_BUNDLE__*: for the device linker.
  /// Part of the relocatable PTX: that in containers without machine code for other architectures than the
  /// embedded one. The driver can link it; the rest came with a library of the device linker, such as
  /// libcudadevrt.a.
  DeviceAmounts linkable_ptx = {};
  /// False for objects and archives, of which each part can be what a later link takes.
  bool is_linked = false;

  /// Code that counts as the file's architectures. For a linked file its embedded code and linkable PTX: the
  /// device linker makes machine code alone. Without embedded machine code, or of objects and archives, all
  /// that it holds.
  [[nodiscard]] DeviceCodeStats EffectiveCode() const;
  /// True if any of it is for AMD GPUs.
  [[nodiscard]] bool HasAmd() const;
  /// Counts a container of relocatable code. REQUIRES: `is_linked` and `embedded` are complete.
  void AddRelocatable(const DeviceCodeStats& container);
  bool operator==(const DeviceCode&) const = default;
};

/// nullopt: neither ELF file nor static archive, or one without device code. Payloads are not read.
/// For an archive, the sum over its members; members that are not ELF files are passed over.
/// Errors: kInvalidInput for containers that contradict their section, naming section and offset (and the
/// member), and for archives that are cut short; kUnsupported for thin archives, whose members are elsewhere,
/// for container versions that are not known and code of LLVM's offload packager; kCorrupt as ReadImage; kIo.
/// Cost: a page per container. Memory: the section headers and their names.
Result<std::optional<DeviceCode>> ReadDeviceCode(File& file);

/// Reads an ELF file whose headers are read already.
Result<std::optional<DeviceCode>> ReadDeviceCode(File& file, const Image& image);

}  // namespace ptpkg::elf
