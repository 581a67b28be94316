#pragma once
// Independent view of an ELF file by LIEF, for verification. Layer: elf. Deep verification uses it: LIEF
// 0.12.3 takes 2.6 s and 634 MB for a library of 448 MB. It is also the other writer, on request
// (docs/decisions/0010-lief-writer.md).

#include <array>
#include <string>
#include <vector>

#include "elf/edit/edit.h"
#include "support/digest/blake2b.h"

namespace ptpkg::elf {

struct ModelSymbol {
  std::string name;
  std::string version;  ///< "" when unversioned.
  std::uint64_t value = 0;
  std::uint64_t size = 0;
  std::uint32_t type = 0;
  std::uint32_t binding = 0;
  std::uint32_t section = 0;

  bool operator==(const ModelSymbol&) const = default;
};

struct Model {
  LinkFacts facts;                   ///< Names only: not the stack flag, DT_FLAGS_1 and DT_DEBUG.
  std::vector<ModelSymbol> symbols;  ///< Dynamic symbols in table order.
  std::vector<std::string> notes;    ///< Owner and content of every note, including the build id.
};

/// Parses `path` with LIEF. Errors: kCorrupt when LIEF cannot read it; kInternal when LIEF throws.
/// Cost: reads the whole file into memory.
Result<Model> ReadModel(const AbsPath& path);

/// Like ReadModel, but from only the tables of the open file (name_tables.h). Without dynamic section: an
/// empty model. Errors: as ReadModel, and kIo.
Result<Model> ReadModelOfTables(File& file, const Image& image);

/// Errors: kInternal when a planned write touches an executable section of `image`.
Result<void> CheckCodeUntouched(const Image& image, const EditPlan& plan);

using CodeDigest = std::array<std::uint8_t, 32>;

/// BLAKE2b over the code of the open file, read in pieces: its executable sections. Without section headers,
/// its executable segments, in which the bytes of `changing` count as zeros, because headers and names can be
/// in the same segment.
Result<CodeDigest> HashCode(File& file, const Image& image, const std::vector<PlannedWrite>& changing);

enum class Addresses : std::uint8_t {
  kKept,
  kMayMove,  ///< Symbols may have other values, all shifted by the same distance.
};

/// Compares intended and forbidden changes of an edit: the link facts must equal `expected`, and symbols and
/// notes must be unchanged. A version is compared only while its requirement is kept. Errors: kInternal
/// naming the first difference.
Result<void> CompareModels(const Model& before, const Model& after, const LinkFacts& expected,
                           Addresses addresses = Addresses::kKept);

/// `path` written by LIEF's own writer, with the names and paths of `before` replaced by the ones in `after`.
/// Errors: kUnsupported for changes that LIEF 0.12 has no edit for (stack and loader flags, a removed version
/// requirement), kCorrupt, kInternal. Cost: memory of several times the file's size.
Result<std::vector<std::uint8_t>> RewriteByLief(const AbsPath& path, const LinkFacts& before,
                                                const LinkFacts& after);

}  // namespace ptpkg::elf
