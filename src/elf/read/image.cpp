// Reads the headers and the dynamic section of an ELF file, and nothing else, whatever the file's size.
//
// Every offset, size and count comes from a file that may be hostile or truncated. Each is compared with
// the file's size before memory is allocated for it, and sums are tested so that they cannot wrap around.
// The loader uses addresses and program headers, so those are authoritative, and section headers serve
// where nothing else tells (debug companions, linker scripts without PT_DYNAMIC).
//
// Invariants that edits rely on: .dynamic ends with DT_NULL within its segment, its offset and address
// agree, and .dynstr overlaps no header table. Otherwise one write of an edit would change two tables.

#include "elf/read/image.h"

#include <algorithm>
#include <fmt/core.h>
#include <tuple>

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kMaxSections = 1U << 20U;
constexpr std::uint64_t kMaxDynamicBytes = 1U << 20U;
constexpr std::uint16_t kEscapedSegmentCount = 0xffff;  // PN_XNUM

Error CorruptImage(std::string message) {
  return Error(ErrorCode::kCorrupt, std::move(message))
      .WithHint("the file is damaged or truncated; rebuild or fetch it");
}

bool RangeFits(std::uint64_t offset, std::uint64_t size, std::uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

Result<std::optional<Codec>> ReadIdent(Bytes ident) {
  static constexpr std::string_view kMagic = "\177ELF";
  if (ident.size() < kMagic.size() || AsText(ident.first(4)) != kMagic) return std::optional<Codec>();
  if (ident.size() < 16) return CorruptImage("the ELF identification is truncated");
  const int elf_class = std::to_integer<int>(ident[4]);
  const int order = std::to_integer<int>(ident[5]);
  if (elf_class != 1 && elf_class != 2) {
    return CorruptImage(fmt::format("ELF class {} is neither 32-bit (1) nor 64-bit (2)", elf_class));
  }
  if (order != 1 && order != 2) {
    return CorruptImage(fmt::format("ELF byte order {} is neither little (1) nor big (2)", order));
  }
  return std::optional<Codec>(Codec(static_cast<ElfClass>(elf_class), static_cast<ByteOrder>(order)));
}

Result<void> ReadSegments(File& file, Image& image) {
  const FileHeader& header = image.header;
  if (header.program_header_count == kEscapedSegmentCount) {
    return Error(ErrorCode::kUnsupported, "65,535 or more program headers");
  }
  if (header.program_header_count == 0) return Ok();
  const std::size_t record = image.codec.SegmentSize();
  if (header.program_header_size != record) {
    return CorruptImage(
        fmt::format("program headers of {} bytes each, expected {}", header.program_header_size, record));
  }
  const std::uint64_t size = std::uint64_t{record} * header.program_header_count;
  PTPKG_TRY(const auto bytes,
            ReadExact(file, header.program_headers_offset, size, "the program header table"));
  for (std::size_t i = 0; i < header.program_header_count; ++i) {
    image.segments.push_back(image.codec.DecodeSegment(Bytes(bytes).subspan(i * record, record)));
  }
  return Ok();
}

Result<void> ReadSections(File& file, Image& image) {
  const FileHeader& header = image.header;
  if (header.section_headers_offset == 0) return Ok();
  const std::size_t record = image.codec.SectionSize();
  if (header.section_header_size != record) {
    return CorruptImage(
        fmt::format("section headers of {} bytes each, expected {}", header.section_header_size, record));
  }
  std::uint64_t count = header.section_header_count;
  if (count == 0) {  // gABI: from 0xff00 sections on, the count is in sh_size of section 0
    PTPKG_TRY(const auto first, ReadExact(file, header.section_headers_offset, record, "section header 0"));
    count = image.codec.DecodeSection(first).size;
  }
  if (count > kMaxSections) return CorruptImage(fmt::format("{} section headers", count));
  PTPKG_TRY(const auto bytes,
            ReadExact(file, header.section_headers_offset, count * record, "the section header table"));
  for (std::size_t i = 0; i < count; ++i) {
    image.sections.push_back(image.codec.DecodeSection(Bytes(bytes).subspan(i * record, record)));
  }
  return Ok();
}

bool Overlap(std::uint64_t a, std::uint64_t a_size, std::uint64_t b, std::uint64_t b_size) {
  return a < b + b_size && b < a + a_size;
}

/// Names inside a table that an edit rewrites would change with it.
Result<void> CheckApart(const Image& image, const MappedRange& dynamic, const MappedRange& strings) {
  const std::uint64_t headers = image.codec.SegmentSize() * image.segments.size();
  const std::uint64_t headers_at = image.header.program_headers_offset;
  for (const auto& [offset, size, what] :
       {std::tuple(dynamic.offset, dynamic.size_bytes, "dynamic section"),
        std::tuple(headers_at, headers, "program headers"),
        std::tuple(std::uint64_t{0}, std::uint64_t{image.codec.FileHeaderSize()}, "ELF header")}) {
    if (!Overlap(offset, size, strings.offset, strings.size_bytes)) continue;
    return CorruptImage(fmt::format("the dynamic string table (bytes {} to {}) overlaps the {}",
                                    strings.offset, strings.offset + strings.size_bytes, what));
  }
  return Ok();
}

/// Debug companions of objcopy --only-keep-debug and eu-strip -f have the headers of their program, but no
/// bytes of code. eu-strip leaves segments that pass the end of the file.
bool IsDebugCompanion(const Image& image) {
  constexpr std::uint64_t kInstructions = 4;  // SHF_EXECINSTR
  bool has_code = false;
  bool has_bytes = false;  // 32-bit PowerPC has a procedure linkage table without bytes beside its code
  for (const Section& section : image.sections) {
    if (section.type == 0 || (section.flags & kInstructions) == 0) continue;
    has_code = true;
    has_bytes = has_bytes || section.type != kSectionNobits;
  }
  return has_code && !has_bytes;
}

Result<void> CheckLoads(const Image& image) {
  if (IsDebugCompanion(image)) return Ok();
  for (std::size_t i = 0; i < image.segments.size(); ++i) {
    const Segment& segment = image.segments[i];
    if (segment.type != kSegmentLoad) continue;
    if (!RangeFits(segment.offset, segment.file_size, image.file_size)) {
      return CorruptImage(fmt::format("loadable segment {} needs bytes {} to {}, but the file ends at {}", i,
                                      segment.offset, segment.offset + segment.file_size, image.file_size));
    }
    if (segment.file_size > segment.memory_size || segment.vaddr + segment.memory_size < segment.vaddr) {
      return CorruptImage(
          fmt::format("loadable segment {} has sizes or addresses that contradict each other", i));
    }
  }
  return Ok();
}

/// By PT_DYNAMIC; without one by the section, which a linker script may give no segment.
std::optional<MappedRange> DynamicRange(const Image& image) {
  if (IsDebugCompanion(image)) return std::nullopt;
  if (const Segment* const segment = image.FindSegment(kSegmentDynamic)) {
    const bool has_bytes = image.FindSection(kSectionDynamic, segment->vaddr).has_value();
    const bool is_of_companion = !has_bytes && image.FindSection(kSectionNobits, segment->vaddr);
    if (is_of_companion || segment->file_size == 0) return std::nullopt;
    return MappedRange{.offset = segment->offset, .vaddr = segment->vaddr, .size_bytes = segment->file_size};
  }
  if (image.header.type == kTypeRel) return std::nullopt;
  for (const Section& section : image.sections) {
    if (section.type == kSectionDynamic && (section.flags & kSectionAlloc) != 0 && section.size != 0)
      return MappedRange{.offset = section.offset, .vaddr = section.addr, .size_bytes = section.size};
  }
  return std::nullopt;
}

Result<void> ReadDynamic(File& file, Image& image) {
  const std::optional<MappedRange> range = DynamicRange(image);
  if (!range) return Ok();
  if (range->size_bytes > kMaxDynamicBytes) {
    return CorruptImage(fmt::format("a dynamic section of {} bytes", range->size_bytes));
  }
  PTPKG_TRY(const std::uint64_t mapped,
            image.OffsetOf(range->vaddr, range->size_bytes, "the dynamic section"));
  if (mapped != range->offset) {
    return CorruptImage(
        fmt::format("the dynamic section is declared to be at file offset {}, but its address maps to {}",
                    range->offset, mapped));
  }
  DynamicTable table;
  const std::size_t record = image.codec.DynamicEntrySize();
  // Entries behind the first DT_NULL are room for later edits.
  table.capacity = range->size_bytes / record;
  table.range = {.offset = mapped, .vaddr = range->vaddr, .size_bytes = table.capacity * record};
  PTPKG_TRY(const auto bytes, ReadExact(file, mapped, table.range.size_bytes, "the dynamic section"));
  bool closed = false;
  for (std::size_t i = 0; i < table.capacity && !closed; ++i) {
    const DynamicEntry entry = image.codec.DecodeDynamicEntry(Bytes(bytes).subspan(i * record, record));
    closed = entry.tag == kDtNull;
    if (!closed) table.entries.push_back(entry);
  }
  if (!closed) return CorruptImage("the dynamic section is not closed by DT_NULL");
  const auto strtab = table.Find(kDtStrtab);
  const auto strsz = table.Find(kDtStrsz);
  if (!strtab || !strsz)
    return CorruptImage("the dynamic section names no string table (DT_STRTAB, DT_STRSZ)");
  PTPKG_TRY(const std::uint64_t strings, image.OffsetOf(*strtab, *strsz, "the dynamic string table"));
  PTPKG_CHECK(CheckApart(image, table.range, {.offset = strings, .vaddr = *strtab, .size_bytes = *strsz}));
  image.strings = {.offset = strings, .vaddr = *strtab, .size_bytes = *strsz};
  image.dynamic = std::move(table);
  return Ok();
}

}  // namespace

std::optional<std::uint64_t> DynamicTable::Find(std::uint64_t tag) const {
  const auto it = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.tag == tag; });
  if (it == entries.end()) return std::nullopt;
  return it->value;
}

Result<std::uint64_t> Image::OffsetOf(std::uint64_t vaddr, std::uint64_t size_bytes,
                                      std::string_view what) const {
  for (const Segment& segment : segments) {
    if (segment.type != kSegmentLoad || vaddr < segment.vaddr) continue;
    if (RangeFits(vaddr - segment.vaddr, size_bytes, segment.file_size))
      return segment.offset + (vaddr - segment.vaddr);
  }
  return CorruptImage(
      fmt::format("{} ({} bytes at address {:#x}) lies in no loadable segment", what, size_bytes, vaddr));
}

bool IsStaticPie(const Image& image) {
  return image.header.type == kTypeDyn && image.dynamic && image.FindSegment(kSegmentInterp) == nullptr &&
         (image.dynamic->Find(kDtFlags1).value_or(0) & kFlag1Pie) != 0;
}

const Segment* Image::FindSegment(std::uint32_t type) const {
  const auto it =
      std::find_if(segments.begin(), segments.end(), [&](const Segment& s) { return s.type == type; });
  return it == segments.end() ? nullptr : &*it;
}

const Segment* Image::LoadAt(std::uint64_t vaddr) const {
  const auto it = std::find_if(segments.begin(), segments.end(), [&](const Segment& s) {
    return s.type == kSegmentLoad && vaddr >= s.vaddr && vaddr - s.vaddr < s.file_size;
  });
  return it == segments.end() ? nullptr : &*it;
}

std::optional<std::size_t> Image::FindSection(std::uint32_t type, std::uint64_t addr) const {
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].type == type && sections[i].addr == addr) return i;
  }
  return std::nullopt;
}

Result<std::vector<std::byte>> ReadExact(File& file, std::uint64_t offset, std::uint64_t size_bytes,
                                         std::string_view what) {
  // Most reads are of one record: for those the file's size is not needed first.
  constexpr std::uint64_t kRecordBytes = 4096;
  constexpr std::uint64_t kFarthest = 1ULL << 62U;  // an offset that pread(2) refuses is corrupt input
  if (size_bytes <= kRecordBytes && offset < kFarthest) {
    std::vector<std::byte> bytes(size_bytes);
    PTPKG_TRY(const std::size_t got, file.ReadAt(offset, bytes));
    if (got == size_bytes) return bytes;
  }
  PTPKG_TRY(const FileStat stat, file.Stat());
  // Checked before allocating: a hostile size must not become memory.
  if (!RangeFits(offset, size_bytes, stat.size_bytes)) {
    return CorruptImage(fmt::format("{} needs {} bytes at offset {}, but the file ends at {}", what,
                                    size_bytes, offset, stat.size_bytes));
  }
  std::vector<std::byte> bytes(size_bytes);
  PTPKG_TRY(const std::size_t got, file.ReadAt(offset, bytes));
  if (got != size_bytes) {
    return Error(ErrorCode::kCorrupt, fmt::format("the file changed while {} was read", what));
  }
  return bytes;
}

Result<std::optional<Image>> ReadImage(File& file) {
  PTPKG_TRY(const FileStat stat, file.Stat());
  std::vector<std::byte> head(std::min<std::uint64_t>(stat.size_bytes, 64));
  PTPKG_TRY(const std::size_t got, file.ReadAt(0, head));
  head.resize(got);
  PTPKG_TRY(const std::optional<Codec> codec, ReadIdent(head));
  if (!codec) return std::optional<Image>();
  if (head.size() < codec->FileHeaderSize()) return CorruptImage("the ELF header is truncated");
  Image image;
  image.codec = *codec;
  image.header = codec->DecodeFileHeader(head);
  image.file_size = stat.size_bytes;
  image.seen = stat;
  PTPKG_CHECK(ReadSegments(file, image));
  PTPKG_CHECK(ReadSections(file, image));
  PTPKG_CHECK(CheckLoads(image));
  PTPKG_CHECK(ReadDynamic(file, image));
  return std::optional<Image>(std::move(image));
}

}  // namespace ptpkg::elf
