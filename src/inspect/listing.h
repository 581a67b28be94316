#pragma once
// Lists an artifact without reading its payload. Layer: inspect.

#include <optional>
#include <string>
#include <vector>

#include "inspect/file_class.h"
#include "inspect/metadata.h"
#include "model/artifact.h"
#include "support/env.h"

namespace ptpkg::inspect {

/// One file or symlink.
struct ListedFile {
  std::string path;
  std::uint64_t size_bytes = 0;                    ///< 0 of a symlink.
  std::optional<std::uint64_t> stored_bytes = {};  ///< nullopt where members are compressed together.
  std::optional<std::uint32_t> mode = {};          ///< Permission bits; nullopt where the directory has none.
  FileClass file_class = FileClass::kData;         ///< By its name.
  std::string target = {};                         ///< Target of a symlink; "" where only its content has it.
};

struct Listing {
  ArtifactFormat format = ArtifactFormat::kZip;
  std::uint64_t size_bytes = 0;  ///< Size of the artifact.
  ArtifactMetadata metadata = {};
  std::vector<ListedFile> files = {};  ///< Sorted by path.

  [[nodiscard]] std::uint64_t UnpackedBytes() const;
};

/// Lists the central directory of a wheel or zip. For a conda package, lists info/ and the files in its
/// paths.json, with the sizes given there. A .tar.bz2 has no directory: it is decompressed up to the end of
/// info/, which in a package packed by hand can be the end of the archive. METADATA, WHEEL and
/// entry_points.txt of a wheel are read independently. An unreadable one is a warning; without METADATA, the
/// file name gives name and version. Errors: kInvalidInput (RequireFormat), kCorrupt, kNotFound, kIo.
Result<Listing> ReadListing(Env& env, const AbsPath& artifact);

}  // namespace ptpkg::inspect
