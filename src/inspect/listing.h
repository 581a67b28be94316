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

/// Lists a wheel's or zip's central directory; a conda package's info/, and the files in its paths.json,
/// with the sizes that it gives. A .tar.bz2 has no directory: it is decompressed up to the end of info/, in
/// one packed by hand to its end. METADATA, WHEEL and entry_points.txt of a wheel are read each for itself;
/// an unreadable one is a warning, and without METADATA name and version are those of the file name.
/// Errors: kInvalidInput (RequireFormat), kCorrupt, kNotFound, kIo.
Result<Listing> ReadListing(Env& env, const AbsPath& artifact);

}  // namespace ptpkg::inspect
