#pragma once
// Finds faults for which glibc's loader rejects a file. Layer: elf. Source: glibc elf/dl-load.c,
// get-dynamic-info.h, dl-version.c, dl-init.c, dl-tls.c. tests/e2e/elf/ld_so_files_test.py compares the
// results with ld.so itself.

#include <string>
#include <vector>

#include "elf/read/image.h"

namespace ptpkg::elf {

/// A reason for the rejection. It applies whatever else the process loads.
struct LoadFault {
  enum class Part : std::uint8_t { kHeader, kSegments, kDynamic, kRelocation, kStart };
  Part part = Part::kHeader;
  std::string message;

  bool operator==(const LoadFault&) const = default;
};

/// Faults of the ELF header of a file that processes of its own kind load as a library. Errors: kIo.
Result<std::vector<LoadFault>> FindHeaderFaults(File& file, const Image& image);

/// Faults of the program headers and the dynamic section. REQUIRES: image.dynamic. Cost: the version
/// requirements and the head of the hash table. Errors: kIo.
Result<std::vector<LoadFault>> FindLoadFaults(File& file, const Image& image);

/// A loader feature that the file needs and that no symbol version states.
struct LoaderNeed {
  unsigned minor = 0;     ///< Minor version of the first glibc 2.x whose loader has it.
  std::string_view what;  ///< "DT_RELR"

  bool operator==(const LoaderNeed&) const = default;
};

/// REQUIRES: image.dynamic.
std::vector<LoaderNeed> FindLoaderNeeds(const Image& image);

/// The first PT_LOAD whose mapping by ld.so covers the page of `vaddr`, or null. Assumes pages of 4 KiB: no
/// machine has smaller ones.
const Segment* PageOwner(const Image& image, std::uint64_t vaddr);

}  // namespace ptpkg::elf
