#include "elf/slice/object_compact.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <map>

#include "elf/read/section_table.h"
#include "elf/symbols/relocations.h"
#include "elf/symbols/symbol_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kSectionHeadersOffsetAt = 40;  // e_shoff

/// Why the compact form is not possible; "" when nothing is in the way.
using Obstacle = std::string;

/// Whether a relocation writes the address itself: symbol + addend (R_X86_64_64, _32, _32S; R_AARCH64_ABS64,
/// _ABS32). Others have something of the place in their addend.
bool IsAbsolute(std::uint16_t machine, std::uint32_t type) {
  if (machine == kMachineX8664) return type == 1 || type == 10 || type == 11;
  return machine == kMachineAarch64 && (type == 257 || type == 258);
}

class ObjectPlanner {
 public:
  ObjectPlanner(File& file, const Image& image, const std::vector<SlicedSection>& sections)
      : file_(file), image_(image) {
    for (const SlicedSection& section : sections) parts_.emplace_back(section, image);
    std::sort(parts_.begin(), parts_.end(), [](const PackedSection& left, const PackedSection& right) {
      return left.header->offset < right.header->offset;
    });
  }

  Result<ObjectPlan> Run() {
    const bool changes = std::any_of(parts_.begin(), parts_.end(),
                                     [](const PackedSection& part) { return part.sliced->Changes(); });
    if (!changes) return ObjectPlan();
    PTPKG_TRY(Obstacle why, FindObstacle());
    if (!why.empty()) return ObjectPlan{.why_not = std::move(why), .replacements = {}};
    PlanHeaders();
    for (const PackedSection& part : parts_) replacements_.push_back(BytesOf(part));
    return ObjectPlan{.why_not = {}, .replacements = std::move(replacements_), .removed_bytes = Removed()};
  }

 private:
  [[nodiscard]] std::uint64_t Removed() const {
    std::uint64_t sum = 0;
    for (const PackedSection& part : parts_) sum += part.shift;
    return sum;
  }
  /// Index of the part that section `section` is; the number of parts when it is none.
  [[nodiscard]] std::size_t PartOf(std::size_t section) const {
    const auto found = std::find_if(parts_.begin(), parts_.end(),
                                    [&](const PackedSection& part) { return part.sliced->index == section; });
    return static_cast<std::size_t>(found - parts_.begin());
  }

  Result<Obstacle> FindObstacle() {
    if (Obstacle why = CheckKind(); !why.empty()) return why;
    if (Obstacle why = FindShifts(); !why.empty()) return why;
    PTPKG_TRY(Obstacle symbols, PlanSymbols());
    if (!symbols.empty()) return symbols;
    return PlanRelocations();
  }

  [[nodiscard]] Obstacle CheckKind() const {
    if (parts_.size() > kMaxPackedSections)
      return fmt::format("it has {} sections of device code", parts_.size());
    if (!image_.codec.Is64() || image_.codec.order() != ByteOrder::kLittle)
      return "the file is not a 64-bit little-endian one";
    if (!image_.segments.empty()) return "the object has program headers";
    if (image_.sections.size() >= kFirstReservedIndex) return "the file has more than 65,279 sections";
    for (std::size_t i = 0; i < image_.sections.size(); ++i) {
      if (!IsKnownInObjects(image_.sections[i].type))
        return fmt::format("section {} is of type {:#x}, which may hold pointers to containers", i,
                           image_.sections[i].type);
    }
    return FindSharedBytes(image_);
  }

  Obstacle FindShifts() {
    std::uint64_t align = 8;  // of the section headers
    for (const Section& section : image_.sections) {
      if ((section.align & (section.align - 1)) != 0)
        return fmt::format("a section is aligned to {:#x}, no power of 2", section.align);
      if (section.type != kSectionNobits) align = std::max(align, section.align);
    }
    std::uint64_t gain = 0;
    for (PackedSection& part : parts_) {
      const std::uint64_t size = part.header->size;
      // Zeros between containers are fewer than before, but for those of containers that had none.
      if (part.packed.size_bytes > size) return "containers do not lie on 8 bytes";
      gain += size - part.packed.size_bytes;
      part.shift = (size - part.packed.size_bytes) / align * align;
    }
    if (Removed() != 0) return "";
    return fmt::format("the file would get smaller by {} bytes, less than its alignment of {}", gain, align);
  }

  Result<Obstacle> PlanSymbols() {
    const Section* table = FindSymbolTable(image_);
    if (table == nullptr) return Obstacle();
    return ForEachSymbol(file_, image_, *table, [&](const TableSymbol& symbol) -> Obstacle {
      const std::size_t index = PartOf(symbol.section);
      if (index == parts_.size()) return "";
      const PackedSection& part = parts_[index];
      symbols_[symbol.number] = {.part = index, .is_section = symbol.IsOfSection()};
      if (symbol.IsOfSection()) return symbol.value == 0 ? "" : "the symbol of a section is not at its begin";
      const SlicedContainer* container = part.Find(symbol.value);
      if (container == nullptr || (symbol.size != 0 && symbol.size != container->size_bytes)) {
        return fmt::format("symbol {} has a part of a container in {}", symbol.number, part.sliced->name);
      }
      const std::uint64_t place = part.NewPlace(*container);
      if (place != symbol.value)
        replacements_.push_back(WordReplacement(symbol.value_offset, place, "a symbol of a container"));
      if (symbol.size != 0 && container->new_size != container->size_bytes) {
        replacements_.push_back(
            WordReplacement(symbol.size_offset, container->new_size, "a symbol of a container"));
      }
      return "";
    });
  }

  Result<Obstacle> PlanRelocations() {
    const Section* symbols = FindSymbolTable(image_);
    for (const Section& section : image_.sections) {
      if ((section.type != kSectionRela && section.type != kSectionRel) || section.size == 0) continue;
      const std::size_t changed = PartOf(section.info);
      if (changed != parts_.size())
        return fmt::format("relocations change section {}", parts_[changed].sliced->name);
      if (symbols == nullptr || &image_.sections[0] + section.link != symbols)
        return Obstacle("relocations name another table of symbols than .symtab");
      if (section.type == kSectionRel) return Obstacle("its relocations have no addends");
      Obstacle why;
      PTPKG_CHECK(ForEachRela(file_, image_, section.offset, section.size, [&](const Relocation& relocation) {
        if (why.empty()) why = Follow(relocation);
        return Ok();
      }));
      if (!why.empty()) return why;
    }
    return Obstacle();
  }

  Obstacle Follow(const Relocation& relocation) {
    const auto symbol = symbols_.find(relocation.symbol);
    if (symbol == symbols_.end()) return "";
    const PackedSection& part = parts_[symbol->second.part];
    if (!IsAbsolute(image_.header.machine, relocation.type))
      return fmt::format("a relocation of type {} points into {}", relocation.type, part.sliced->name);
    const std::uint64_t from_begin = relocation.addend;
    if (!symbol->second.is_section) {
      // It follows its symbol, which is at the begin of a container.
      return from_begin == 0 ? "" : fmt::format("a pointer leads into the midst of {}", part.sliced->name);
    }
    const SlicedContainer* container = part.Find(from_begin);
    if (container == nullptr) return fmt::format("a pointer leads into the midst of {}", part.sliced->name);
    const std::uint64_t place = part.NewPlace(*container);
    if (place != from_begin)
      replacements_.push_back(WordReplacement(relocation.addend_offset, place, "a pointer to a container"));
    return "";
  }

  void PlanHeaders() {
    const std::uint64_t headers = image_.header.section_headers_offset;
    replacements_.push_back(
        WordReplacement(kSectionHeadersOffsetAt, NewOffset(parts_, headers), "the ELF header"));
    const std::size_t record = image_.codec.SectionSize();
    std::vector<std::byte> bytes(image_.sections.size() * record);
    for (std::size_t i = 0; i < image_.sections.size(); ++i) {
      Section section = image_.sections[i];
      section.offset = NewOffset(parts_, section.offset);
      const std::size_t part = PartOf(i);
      if (part != parts_.size()) section.size = parts_[part].packed.size_bytes;
      image_.codec.EncodeSection(section, MutableBytes(bytes).subspan(i * record, record));
    }
    Replacement table{
        .offset = headers, .size_bytes = bytes.size(), .pieces = {}, .what = "the section headers"};
    table.pieces.push_back(BytesPiece(std::move(bytes)));
    replacements_.push_back(std::move(table));
  }

  [[nodiscard]] static Replacement BytesOf(const PackedSection& part) {
    Replacement packed{.offset = part.header->offset,
                       .size_bytes = part.header->size,
                       .pieces = PiecesOf(part.sliced->containers, part.packed),
                       .what = part.sliced->name};
    packed.pieces.push_back(ZeroPiece(part.header->size - part.shift - part.packed.size_bytes));
    return packed;
  }

  struct DeviceSymbol {
    std::size_t part = 0;
    bool is_section = false;
  };

  File& file_;
  const Image& image_;
  std::vector<PackedSection> parts_;  ///< Ascending by offset.
  std::map<std::uint64_t, DeviceSymbol> symbols_;
  std::vector<Replacement> replacements_;
};

}  // namespace

bool IsKnownInObjects(std::uint32_t type) {
  constexpr std::uint32_t kInitArray = 14;
  constexpr std::uint32_t kGroup = 17;
  constexpr std::array<std::uint32_t, 5> kOfTools = {
      0x6ffffff5,  // SHT_GNU_ATTRIBUTES
      0x6fff4c03,  // SHT_LLVM_ADDRSIG
      0x6fff4c09,  // SHT_LLVM_CALL_GRAPH_PROFILE, whose symbols are in relocations of its own
      0x70000001,  // SHT_X86_64_UNWIND
      0x70000003,  // SHT_AARCH64_ATTRIBUTES
  };
  if (type <= kSectionStrtab || type == kSectionRela || type == kSectionNote || type == kSectionNobits)
    return true;
  if (type == kSectionRel || (type >= kInitArray && type <= kGroup)) return true;
  return std::find(kOfTools.begin(), kOfTools.end(), type) != kOfTools.end();
}

Result<ObjectPlan> PlanObject(File& file, const Image& image, const std::vector<SlicedSection>& sections) {
  return ObjectPlanner(file, image, sections).Run();
}

}  // namespace ptpkg::elf
