#pragma once
// The light reader: headers, program headers, section headers and the dynamic section of one ELF file. Uses
// positional reads of a few pages, whatever the file's size. Layer: elf.
// Source: System V gABI chapters 4 and 5, glibc elf/dl-load.c for the loader's requirements.
//
// Checks every offset, size and count against the file before use. A file that breaks a rule is kCorrupt with
// the rule and the numbers. Errors do not name the file: the caller adds that as context.

#include <optional>
#include <string>
#include <vector>

#include "elf/read/format.h"
#include "support/files/fs.h"

namespace ptpkg::elf {

/// A range of the file that is mapped at `vaddr`.
struct MappedRange {
  std::uint64_t offset = 0;
  std::uint64_t vaddr = 0;
  std::uint64_t size_bytes = 0;
};

/// The dynamic section: entries before the first DT_NULL, and their room in the file.
struct DynamicTable {
  MappedRange range;
  std::vector<DynamicEntry> entries;
  std::size_t capacity = 0;  ///< Entries that fit `range`, the closing DT_NULL included.

  /// Value of the first entry with `tag`.
  [[nodiscard]] std::optional<std::uint64_t> Find(std::uint64_t tag) const;
};

struct Image {
  Codec codec{ElfClass::k64, ByteOrder::kLittle};
  FileHeader header;
  std::uint64_t file_size = 0;
  FileStat seen;  ///< The file when its headers were read.
  std::vector<Segment> segments;
  std::vector<Section> sections;        ///< Empty when the file has no section headers.
  std::optional<DynamicTable> dynamic;  ///< Absent in static programs, objects and debug companions.
  MappedRange strings;                  ///< .dynstr; meaningful when `dynamic` is present.

  /// File offset of `size_bytes` bytes at `vaddr`. Errors: kCorrupt unless one PT_LOAD holds all of them;
  /// `what` names the data in the message.
  [[nodiscard]] Result<std::uint64_t> OffsetOf(std::uint64_t vaddr, std::uint64_t size_bytes,
                                               std::string_view what) const;
  /// The first segment of `type`, or null.
  [[nodiscard]] const Segment* FindSegment(std::uint32_t type) const;
  /// The PT_LOAD that has a byte of the file for `vaddr`, or null.
  [[nodiscard]] const Segment* LoadAt(std::uint64_t vaddr) const;
  /// Index of the section with `type` at address `addr`; nullopt if none.
  [[nodiscard]] std::optional<std::size_t> FindSection(std::uint32_t type, std::uint64_t addr) const;
};

/// A position-independent program without interpreter (gcc -static-pie): it relocates itself, and glibc's
/// start-up code aborts when it finds a search path.
bool IsStaticPie(const Image& image);

/// nullopt: not an ELF file (no magic: text, script, linker script, empty). Errors: kCorrupt (truncated or
/// contradictory), kUnsupported (more program headers than e_phnum can hold, unknown class), kIo. Cost: the
/// header pages. Memory: at most 65,534 segments and 1,048,576 sections.
Result<std::optional<Image>> ReadImage(File& file);

/// The bytes [offset, offset + size). Errors: kCorrupt naming `what` if the file ends before.
Result<std::vector<std::byte>> ReadExact(File& file, std::uint64_t offset, std::uint64_t size_bytes,
                                         std::string_view what);

/// The string at `offset` of .dynstr. Errors: kCorrupt if it begins or runs past the table's end.
Result<std::string> ReadDynamicString(File& file, const Image& image, std::uint64_t offset,
                                      std::string_view what);

enum class PathTag : std::uint8_t { kRpath, kRunpath };

/// DT_RPATH or DT_RUNPATH as written: colon separated.
struct SearchPath {
  PathTag tag = PathTag::kRunpath;
  std::string text;

  bool operator==(const SearchPath&) const = default;
};

enum class StackFlag : std::uint8_t {
  kUnstated,  ///< No PT_GNU_STACK: the loader assumes an executable stack on most machines.
  kNotExecutable,
  kExecutable,
};

/// Names that the dynamic loader reads.
struct LinkFacts {
  std::optional<SearchPath> rpath;    ///< The DT_RPATH entry.
  std::optional<SearchPath> runpath;  ///< The DT_RUNPATH entry; if both exist, ld.so ignores the other.
  std::vector<std::string> needed;
  std::optional<std::string> soname;
  std::optional<std::string> interpreter;
  std::vector<std::string> version_files;  ///< Libraries that .gnu.version_r names, in file order.
  StackFlag stack = StackFlag::kUnstated;
  std::uint64_t flags_1 = 0;     ///< DT_FLAGS_1; 0 when absent.
  bool has_debug_entry = false;  ///< DT_DEBUG, where a debugger finds the loader's list.

  /// The entry that ld.so uses.
  [[nodiscard]] const std::optional<SearchPath>& Effective() const { return runpath ? runpath : rpath; }
  bool operator==(const LinkFacts&) const = default;
};

/// Reads the strings behind `image`. Works on static programs too (interpreter and stack only).
/// Errors: kCorrupt, kIo.
Result<LinkFacts> ReadLinkFacts(File& file, const Image& image);

/// One record of .gnu.version_r: a library and its required versions.
struct VersionNeed {
  struct Version {
    std::uint32_t hash = 0;
    std::uint16_t flags = 0;
    std::uint16_t index = 0;  ///< Value in the .gnu.version entries of this version.
    std::uint32_t name = 0;   ///< Offset in .dynstr.

    bool operator==(const Version&) const = default;
  };
  std::uint32_t name = 0;  ///< Offset in .dynstr of the library's name.
  std::vector<Version> versions;

  bool operator==(const VersionNeed&) const = default;
};

/// .gnu.version_r as a block of bytes and as records.
struct VersionNeeds {
  MappedRange range;  ///< From the first record to the end of the last; empty when the file has none.
  std::vector<VersionNeed> records;
};

/// The version requirements in chain order.
/// Errors: kCorrupt for a chain that leaves the file, goes backwards, or is shorter than DT_VERNEEDNUM.
Result<VersionNeeds> ReadVersionNeeds(File& file, const Image& image);

/// The records laid out one after the other, as linkers do; its size is VersionNeedsSize(records).
std::vector<std::byte> EncodeVersionNeeds(const Codec& codec, const std::vector<VersionNeed>& records);
std::uint64_t VersionNeedsSize(const std::vector<VersionNeed>& records);

/// One record of .gnu.version_d.
struct VersionDefinition {
  std::uint16_t flags = 0;
  std::uint16_t index = 0;  ///< Value in the .gnu.version entries of this version.
  std::uint32_t hash = 0;
  std::vector<std::uint64_t> names = {};  ///< Offsets in .dynstr: its own, then its parents'.
};

/// The version definitions in chain order. Errors: as ReadVersionNeeds, and for another format.
Result<std::vector<VersionDefinition>> ReadVersionDefinitions(File& file, const Image& image);

}  // namespace ptpkg::elf
