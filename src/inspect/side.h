#pragma once
// Loads one of two artifacts for a comparison. Layer: inspect.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "elf/device/device_code.h"
#include "inspect/elf_parts.h"
#include "inspect/listing.h"

namespace ptpkg::inspect {

struct SideFile {
  bool is_link = false;
  std::uint32_t mode = 0644;  ///< 0644 or 0755: what installers make of it.
  std::uint64_t size_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::size_t index = 0;    ///< In the archive.
  Sha256 sha256 = {};       ///< All zero for links.
  std::string target = {};  ///< Target of a symlink.
  FileClass file_class = FileClass::kData;
  std::shared_ptr<const ElfContent> elf = {};  ///< Shared by hard links.
  std::optional<elf::DeviceCode> device_code = {};
};

using SideFiles = std::map<std::string, SideFile>;  ///< By path.

struct Side {
  AbsPath artifact = AbsPath::Literal("/nonexistent");
  Listing listing = {};
  Sha256 sha256 = {};    ///< Digest of the artifact.
  SideFiles files = {};  ///< Empty until ReadContents.
};

/// Listing and digest of the artifact. Errors: any from ReadListing, kIo.
Result<Side> OpenSide(Env& env, const AbsPath& artifact);

/// Reads every file once, in parallel (env.jobs). Errors: any from archive::ZipMembers and
/// conda::VisitPackage.
Result<void> ReadContents(Env& env, Side& side);

/// The content of the files `paths` on this side, by path; hard links of a tar have none. Skips the other
/// members of a zip, but reads a conda package to its end. REQUIRES: the files fit into memory. Errors: as
/// ReadContents.
Result<std::map<std::string, std::string>> ReadTexts(Env& env, const Side& side,
                                                     const std::set<std::string>& paths);

}  // namespace ptpkg::inspect
