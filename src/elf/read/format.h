#pragma once
// On-disk records of ELF, for both classes and byte orders. Layer: elf. Sources: System V gABI chapters 4 and
// 5, Linux Standard Base 5.0 "Symbol Versioning", <elf.h> of glibc for the GNU values. It does not include
// <elf.h>, whose macros would shadow the names here.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "support/digest/stream.h"

namespace ptpkg::elf {

enum class ElfClass : std::uint8_t { k32 = 1, k64 = 2 };
enum class ByteOrder : std::uint8_t { kLittle = 1, kBig = 2 };

/// e_type.
inline constexpr std::uint16_t kTypeRel = 1;
inline constexpr std::uint16_t kTypeExec = 2;
inline constexpr std::uint16_t kTypeDyn = 3;

/// e_machine, where the code depends on it.
inline constexpr std::uint16_t kMachine386 = 3;
inline constexpr std::uint16_t kMachineMips = 8;
inline constexpr std::uint16_t kMachinePpc64 = 21;
inline constexpr std::uint16_t kMachineS390 = 22;
inline constexpr std::uint16_t kMachineArm = 40;
inline constexpr std::uint16_t kMachineX8664 = 62;
inline constexpr std::uint16_t kMachineAarch64 = 183;
inline constexpr std::uint16_t kMachineRiscv = 243;

/// p_type.
inline constexpr std::uint32_t kSegmentNull = 0;
inline constexpr std::uint32_t kSegmentLoad = 1;
inline constexpr std::uint32_t kSegmentDynamic = 2;
inline constexpr std::uint32_t kSegmentInterp = 3;
inline constexpr std::uint32_t kSegmentNote = 4;
inline constexpr std::uint32_t kSegmentPhdr = 6;
/// The kernel reads at most this many bytes of PT_INTERP, including the closing NUL (PATH_MAX).
inline constexpr std::uint64_t kMaxInterpreterBytes = 4096;
inline constexpr std::uint32_t kSegmentTls = 7;
inline constexpr std::uint32_t kSegmentGnuStack = 0x6474e551;
inline constexpr std::uint32_t kSegmentGnuRelro = 0x6474e552;
inline constexpr std::uint32_t kSegmentGnuProperty = 0x6474e553;

/// p_flags.
inline constexpr std::uint32_t kFlagExecute = 1;
inline constexpr std::uint32_t kFlagWrite = 2;
inline constexpr std::uint32_t kFlagRead = 4;

/// sh_type.
inline constexpr std::uint32_t kSectionProgbits = 1;
inline constexpr std::uint32_t kSectionSymtab = 2;
inline constexpr std::uint32_t kSectionStrtab = 3;
inline constexpr std::uint32_t kSectionRela = 4;
inline constexpr std::uint32_t kSectionHash = 5;
inline constexpr std::uint32_t kSectionDynamic = 6;
inline constexpr std::uint32_t kSectionNote = 7;
inline constexpr std::uint32_t kSectionNobits = 8;
inline constexpr std::uint32_t kSectionRel = 9;
inline constexpr std::uint32_t kSectionDynsym = 11;
inline constexpr std::uint32_t kSectionCrel = 0x40000014;  ///< Relocations, packed (clang -Wa,--crel).
inline constexpr std::uint32_t kSectionRelr = 19;
inline constexpr std::uint32_t kSectionGnuHash = 0x6ffffff6;
inline constexpr std::uint32_t kSectionGnuVerdef = 0x6ffffffd;
inline constexpr std::uint32_t kSectionGnuVerneed = 0x6ffffffe;
inline constexpr std::uint32_t kSectionGnuVersym = 0x6fffffff;
/// SHN_XINDEX as the index of the section names: the index is in sh_link of section 0.
inline constexpr std::uint16_t kEscapedIndex = 0xffff;

/// sh_flags.
inline constexpr std::uint64_t kSectionWrite = 1;
inline constexpr std::uint64_t kSectionAlloc = 2;  ///< Takes memory in a process.
inline constexpr std::uint64_t kSectionExecute = 4;
inline constexpr std::uint64_t kSectionThreadLocal = 0x400;

/// d_tag.
inline constexpr std::uint64_t kDtNull = 0;
inline constexpr std::uint64_t kDtNeeded = 1;
inline constexpr std::uint64_t kDtPltrelsz = 2;
inline constexpr std::uint64_t kDtPltgot = 3;
inline constexpr std::uint64_t kDtHash = 4;
inline constexpr std::uint64_t kDtStrtab = 5;
inline constexpr std::uint64_t kDtSymtab = 6;
inline constexpr std::uint64_t kDtRela = 7;
inline constexpr std::uint64_t kDtRelasz = 8;
inline constexpr std::uint64_t kDtRelaent = 9;
inline constexpr std::uint64_t kDtStrsz = 10;
inline constexpr std::uint64_t kDtSyment = 11;
inline constexpr std::uint64_t kDtInit = 12;
inline constexpr std::uint64_t kDtFini = 13;
inline constexpr std::uint64_t kDtSoname = 14;
inline constexpr std::uint64_t kDtRpath = 15;
inline constexpr std::uint64_t kDtRel = 17;
inline constexpr std::uint64_t kDtRelsz = 18;
inline constexpr std::uint64_t kDtRelent = 19;
inline constexpr std::uint64_t kDtPltrel = 20;
inline constexpr std::uint64_t kDtDebug = 21;
inline constexpr std::uint64_t kDtTextrel = 22;
inline constexpr std::uint64_t kDtJmprel = 23;
inline constexpr std::uint64_t kDtBindNow = 24;
inline constexpr std::uint64_t kDtInitArray = 25;
inline constexpr std::uint64_t kDtFiniArray = 26;
inline constexpr std::uint64_t kDtInitArraysz = 27;
inline constexpr std::uint64_t kDtFiniArraysz = 28;
inline constexpr std::uint64_t kDtRunpath = 29;
inline constexpr std::uint64_t kDtFlags = 30;
inline constexpr std::uint64_t kDtPreinitArray = 32;
inline constexpr std::uint64_t kDtRelrsz = 35;
inline constexpr std::uint64_t kDtRelr = 36;
inline constexpr std::uint64_t kDtRelrent = 37;
inline constexpr std::uint64_t kDtGnuHash = 0x6ffffef5;
inline constexpr std::uint64_t kDtConfig = 0x6ffffefa;
inline constexpr std::uint64_t kDtDepaudit = 0x6ffffefb;
inline constexpr std::uint64_t kDtAudit = 0x6ffffefc;
inline constexpr std::uint64_t kDtVersym = 0x6ffffff0;
inline constexpr std::uint64_t kDtRelacount = 0x6ffffff9;
inline constexpr std::uint64_t kDtRelcount = 0x6ffffffa;
inline constexpr std::uint64_t kDtFlags1 = 0x6ffffffb;
inline constexpr std::uint64_t kDtVerdef = 0x6ffffffc;
inline constexpr std::uint64_t kDtVerdefnum = 0x6ffffffd;
inline constexpr std::uint64_t kDtVerneed = 0x6ffffffe;
inline constexpr std::uint64_t kDtVerneednum = 0x6fffffff;
inline constexpr std::uint64_t kDtMipsLiblist = 0x70000009;
inline constexpr std::uint64_t kDtMipsSymtabno = 0x70000011;
inline constexpr std::uint64_t kDtMipsRldMapRel = 0x70000035;
inline constexpr std::uint64_t kDtAuxiliary = 0x7ffffffd;
inline constexpr std::uint64_t kDtFilter = 0x7fffffff;

/// True if a value of that tag is an address that the loader uses.
constexpr bool HoldsAddress(std::uint64_t tag) {
  constexpr std::array kTags = {kDtPltgot, kDtHash,    kDtStrtab, kDtSymtab,    kDtRela,      kDtInit,
                                kDtFini,   kDtRel,     kDtJmprel, kDtInitArray, kDtFiniArray, kDtPreinitArray,
                                kDtRelr,   kDtGnuHash, kDtVersym, kDtVerdef,    kDtVerneed};
  return std::find(kTags.begin(), kTags.end(), tag) != kTags.end();
}

/// Bits of DT_FLAGS_1.
inline constexpr std::uint64_t kFlag1NoOpen = 0x40;
inline constexpr std::uint64_t kFlag1NoDefaultLibraries = 0x800;
inline constexpr std::uint64_t kFlag1Pie = 0x08000000;

struct FileHeader {
  std::uint16_t type = 0;
  std::uint16_t machine = 0;
  std::uint64_t program_headers_offset = 0;
  std::uint64_t section_headers_offset = 0;  ///< 0 when there are none.
  std::uint32_t flags = 0;
  std::uint16_t program_header_size = 0;
  std::uint16_t program_header_count = 0;  ///< Stored value; 0xffff is the escape value PN_XNUM.
  std::uint16_t section_header_size = 0;
  std::uint16_t section_header_count = 0;  ///< Stored value; 0 can mean "see section 0".
  std::uint16_t section_names_index = 0;
};

struct Segment {
  std::uint32_t type = 0;
  std::uint32_t flags = 0;
  std::uint64_t offset = 0;
  std::uint64_t vaddr = 0;
  std::uint64_t paddr = 0;
  std::uint64_t file_size = 0;
  std::uint64_t memory_size = 0;
  std::uint64_t align = 0;

  bool operator==(const Segment&) const = default;
};

struct Section {
  std::uint32_t name = 0;
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint64_t addr = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t link = 0;
  std::uint32_t info = 0;
  std::uint64_t align = 0;
  std::uint64_t entry_size = 0;

  bool operator==(const Section&) const = default;
};

struct DynamicEntry {
  std::uint64_t tag = 0;
  std::uint64_t value = 0;

  bool operator==(const DynamicEntry&) const = default;
};

/// Reads and writes the records of one class and byte order.
/// REQUIRES of every Decode: at least the record's size in `bytes`. Encode truncates a value that the class
/// cannot hold; the caller checks ranges (Fits).
class Codec {
 public:
  Codec(ElfClass elf_class, ByteOrder order) : class_(elf_class), order_(order) {}

  [[nodiscard]] ElfClass elf_class() const { return class_; }
  [[nodiscard]] ByteOrder order() const { return order_; }
  [[nodiscard]] bool Is64() const { return class_ == ElfClass::k64; }

  [[nodiscard]] std::size_t WordSize() const { return Is64() ? 8 : 4; }
  [[nodiscard]] std::size_t FileHeaderSize() const { return Is64() ? 64 : 52; }
  [[nodiscard]] std::size_t SegmentSize() const { return Is64() ? 56 : 32; }
  [[nodiscard]] std::size_t SectionSize() const { return Is64() ? 64 : 40; }
  [[nodiscard]] std::size_t DynamicEntrySize() const { return Is64() ? 16 : 8; }
  [[nodiscard]] std::size_t SymbolSize() const { return Is64() ? 24 : 16; }
  /// True if an address, offset or size of this class can hold `value`.
  [[nodiscard]] bool Fits(std::uint64_t value) const { return Is64() || value <= 0xffffffffU; }

  [[nodiscard]] std::uint16_t U16(Bytes bytes, std::size_t at) const;
  [[nodiscard]] std::uint32_t U32(Bytes bytes, std::size_t at) const;
  /// An address-sized value: 4 or 8 bytes.
  [[nodiscard]] std::uint64_t Word(Bytes bytes, std::size_t at) const;
  void PutU16(MutableBytes bytes, std::size_t at, std::uint16_t value) const;
  void PutU32(MutableBytes bytes, std::size_t at, std::uint32_t value) const;
  void PutWord(MutableBytes bytes, std::size_t at, std::uint64_t value) const;

  [[nodiscard]] FileHeader DecodeFileHeader(Bytes bytes) const;
  /// Changes only the fields that FileHeader holds.
  void EncodeFileHeader(const FileHeader& header, MutableBytes bytes) const;
  [[nodiscard]] Segment DecodeSegment(Bytes bytes) const;
  void EncodeSegment(const Segment& segment, MutableBytes bytes) const;
  [[nodiscard]] Section DecodeSection(Bytes bytes) const;
  void EncodeSection(const Section& section, MutableBytes bytes) const;
  [[nodiscard]] DynamicEntry DecodeDynamicEntry(Bytes bytes) const;
  void EncodeDynamicEntry(const DynamicEntry& entry, MutableBytes bytes) const;

 private:
  ElfClass class_;
  ByteOrder order_;
};

}  // namespace ptpkg::elf
