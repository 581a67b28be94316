#pragma once
// Iterates over the dynamic relocations of a linked file. Layer: elf, private to it. Source: System V gABI
// chapter 4 "Relocation", chapter 5 "Dynamic Section" (DT_RELR); processor supplements.

#include <functional>
#include <optional>

#include "elf/read/image.h"

namespace ptpkg::elf {

/// A record of a table with addends: u64 place, u32 type, u32 symbol, i64 addend.
inline constexpr std::uint64_t kRelaSize = 24;

struct Relocation {
  std::uint64_t place = 0;   ///< Address of the word.
  std::uint32_t type = 0;    ///< For DT_RELR, the type of a relative one.
  std::uint32_t symbol = 0;  ///< Index in .dynsym; 0: none.
  /// Target of a relative one: for DT_RELA its addend, for DT_REL and DT_RELR the word at `place`. 0 for
  /// others of DT_REL.
  std::uint64_t addend = 0;
  std::uint64_t addend_offset = 0;  ///< File offset of the addend.
  bool is_relr = false;
};

/// Place, type and symbol of the record at `at`, from a table with or without addends.
Relocation DecodeRelocation(const Codec& codec, Bytes bytes, std::uint64_t at);

/// r_type of "the word is the load address + addend"; nullopt for unknown machines.
std::optional<std::uint32_t> RelativeType(const Image& image);

/// Calls `take` with every relocation of DT_REL, DT_RELA, DT_JMPREL and DT_RELR, in this order. REQUIRES:
/// RelativeType. Cost: reads the tables, and for DT_RELR the words. Errors:
/// - kUnsupported: Android's packed tables, naming them
/// - kUnsupported: places of DT_RELR that do not ascend (linkers write them in ascending order)
/// - kCorrupt: tables and words that lie in no segment
/// - kIo, and any error from `take`
Result<void> ForEachRelocation(File& file, const Image& image,
                               const std::function<Result<void>(const Relocation&)>& take);

/// Reads single words at ascending addresses, a window of 64 KiB at a time.
class WordReader {
 public:
  WordReader(File& file, const Image& image) : file_(file), image_(image) {}

  struct Word {
    std::uint64_t offset = 0;  ///< In the file.
    std::uint64_t value = 0;
  };
  /// The word of the file's class at address `vaddr`. Errors: kCorrupt, kIo.
  Result<Word> Read(std::uint64_t vaddr);

 private:
  File& file_;
  const Image& image_;
  const Segment* segment_ = nullptr;  ///< The segment of the last word.
  std::uint64_t begin_ = 0;           ///< Offset of `window_` in the file.
  std::vector<std::byte> window_;
};

}  // namespace ptpkg::elf
