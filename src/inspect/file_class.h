#pragma once
// Classifies the files of an artifact for size reports. Layer: inspect.

#include <string_view>

namespace ptpkg::inspect {

enum class FileClass : std::uint8_t {
  kElf,
  kStaticArchive,
  kArchive,  ///< zip, tar and compressed files.
  kPython,
  kHeader,
  kMetadata,  ///< Below info/ of a conda package, *.dist-info/ and *.egg-info/.
  kText,
  kSymlink,
  kData,  ///< All else.
};

/// "static archive", as JSON and text say it.
std::string_view FileClassName(FileClass file_class);

/// Class by the name alone: "libx.so.1" counts as an ELF file.
FileClass ClassOfName(std::string_view path);

}  // namespace ptpkg::inspect
