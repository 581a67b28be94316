#pragma once
// Reads required, defined and bound symbol versions. Layer: elf. Source: Linux Standard Base 5.0 "Symbol
// Versioning".

#include <map>
#include <span>
#include <string>
#include <vector>

#include "elf/read/image.h"

namespace ptpkg::elf {

inline constexpr std::uint16_t kVersionIndexMask =
    0x7fff;  ///< For entries of .gnu.version; bit 15 hides the symbol.

/// One entry of .gnu.version_r.
struct RequiredVersion {
  std::string library;      ///< Name in DT_NEEDED.
  std::string version;      ///< "GLIBC_2.14"
  std::uint16_t index = 0;  ///< Value in .gnu.version for the symbols bound to it.
  bool weak = false;        ///< ld.so loads the file without it, too.

  bool operator==(const RequiredVersion&) const = default;
};

/// Reads them in file order. Cost: .gnu.version_r and its strings. Errors: kCorrupt, kIo.
Result<std::vector<RequiredVersion>> ReadRequiredVersions(File& file, const Image& image);

/// Names that .gnu.version_d defines, sorted; empty when the file versions nothing. Errors: kCorrupt, kIo.
Result<std::vector<std::string>> ReadDefinedVersions(File& file, const Image& image);

/// Index in .gnu.version → hash of the version's name, as ld.so compares it; 0 for the base version, which
/// stands for the file itself.
using VersionHashes = std::map<std::uint16_t, std::uint32_t>;

/// The versions that the file requires and defines. Errors: kCorrupt, kIo.
Result<VersionHashes> ReadVersionHashes(File& file, const Image& image);

/// An undefined symbol and the version index that it is bound to.
struct BoundSymbol {
  std::string name;
  std::uint16_t index = 0;

  bool operator==(const BoundSymbol&) const = default;
};

/// The `names` (sorted) that the file uses and does not define, sorted. Cost: one pass over .dynsym in
/// pieces of 48 KiB, and the name of each undefined symbol. Errors: kCorrupt, kIo.
Result<std::vector<std::string>> FindUndefinedSymbols(File& file, const Image& image,
                                                      const std::vector<std::string>& names);

/// For each of `indexes`, the first `limit` undefined symbols bound to it, in the order of the symbol table.
/// Cost: one pass over .dynsym and .gnu.version in pieces of 64 KiB, ended as soon as all are found.
/// Errors: kCorrupt, kIo.
Result<std::vector<BoundSymbol>> FindBoundSymbols(File& file, const Image& image,
                                                  std::span<const std::uint16_t> indexes, std::size_t limit);

}  // namespace ptpkg::elf
