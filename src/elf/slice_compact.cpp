#include "elf/slice_compact.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "elf/code_references.h"
#include "elf/edit.h"
#include "elf/relocations.h"
#include "elf/section_table.h"
#include "elf/symbol_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kMovedAlign = 64;  // of notes, hash tables and symbols none asks for more
constexpr std::uint64_t kSmallestPage = 4096;

/// Why the compact form is not possible; "" when nothing is in the way.
using Obstacle = std::string;

std::uint64_t Up(std::uint64_t value, std::uint64_t align) { return (value + align - 1) / align * align; }
std::uint64_t Down(std::uint64_t value, std::uint64_t align) { return value / align * align; }

class CompactPlanner {
 public:
  CompactPlanner(File& file, const Image& image, const SlicedSection& sliced)
      : file_(file),
        image_(image),
        sliced_(sliced),
        section_(image.sections[sliced.index]),
        containers_(sliced.containers) {
    layout_.section = sliced.index;
    layout_.begin = section_.offset;
    layout_.end = section_.offset + section_.size;
    layout_.vaddr = section_.addr;
    layout_.spared = image.segments.size();
  }

  Result<CompactPlan> Run() {
    PTPKG_TRY(Obstacle why, FindObstacle());
    CompactPlan plan;
    plan.why_not = std::move(why);
    if (!plan.why_not.empty()) return plan;
    PTPKG_TRY(plan.replacements, PlanHeaders(file_, image_, layout_));
    for (Replacement& replacement : replacements_) plan.replacements.push_back(std::move(replacement));
    PTPKG_CHECK(PlanPointers(plan.replacements));
    plan.replacements.push_back(PackedSection());
    return plan;
  }

 private:
  Result<Obstacle> FindObstacle() {
    if (Obstacle why = CheckKind(); !why.empty()) return why;
    if (Obstacle why = FindLoad(); !why.empty()) return why;
    if (Obstacle why = CheckOthers(); !why.empty()) return why;
    if (Obstacle why = CheckSound(); !why.empty()) return why;
    if (Obstacle why = CheckDynamic(); !why.empty()) return why;
    layout_.packed = Pack(containers_);
    layout_.used_bytes = layout_.packed.size_bytes;
    PTPKG_TRY(Obstacle pointers, ReadPointers());
    if (!pointers.empty()) return pointers;
    if (Obstacle why = FindShift(); !why.empty()) return why;
    PTPKG_TRY(Obstacle exported, CheckDynamicSymbols());
    if (!exported.empty()) return exported;
    PTPKG_TRY(Obstacle computed, CheckCode());
    if (!computed.empty()) return computed;
    return PlanSymbols();
  }

  [[nodiscard]] Obstacle CheckKind() const {
    if (!image_.codec.Is64() || image_.codec.order() != ByteOrder::kLittle)
      return "the file is not a 64-bit little-endian one";
    if (image_.header.type == kTypeExec)
      return "the program has fixed addresses, and no relocations tell what points to its containers";
    if (image_.header.type != kTypeDyn || !image_.dynamic)
      return "the file is not a linked library or program";
    if (!RelativeType(image_))
      return fmt::format("relocations of machine {} are not known", image_.header.machine);
    if (layout_.section >= kFirstReservedIndex) return "the file has more than 65,279 sections";
    const bool has_static = std::any_of(image_.sections.begin(), image_.sections.end(), [](const Section& s) {
      return (s.type == kSectionRela || s.type == kSectionRel || s.type == kSectionCrel) && s.addr == 0;
    });
    return has_static ? "the file keeps the relocations of its link (ld --emit-relocs)" : "";
  }

  Obstacle FindLoad() {
    const auto holds = [&](const Segment& load) {
      return load.type == kSegmentLoad && layout_.begin >= load.offset &&
             layout_.end <= load.offset + load.file_size &&
             load.vaddr + (layout_.begin - load.offset) == layout_.vaddr;
    };
    const auto found = std::find_if(image_.segments.begin(), image_.segments.end(), holds);
    if (found == image_.segments.end()) return ".nv_fatbin lies in no loadable segment";
    layout_.load = static_cast<std::size_t>(found - image_.segments.begin());
    layout_.splits = found->vaddr + found->memory_size != layout_.vaddr + section_.size;
    if (layout_.splits && found->offset + found->file_size == layout_.end)
      return "memory without bytes in the file follows .nv_fatbin";
    if (layout_.vaddr % kContainerAlign != 0) return ".nv_fatbin is not aligned";
    return "";
  }

  /// What shares bytes with the section could not be told apart from it afterwards.
  [[nodiscard]] Obstacle CheckOthers() const {
    for (std::size_t i = 0; i < image_.segments.size(); ++i) {
      const Segment& segment = image_.segments[i];
      const bool is_behind = segment.offset >= layout_.end;
      const bool is_before =
          segment.offset <= layout_.begin && segment.file_size <= layout_.begin - segment.offset;
      const bool is_empty = segment.file_size == 0 && segment.type != kSegmentLoad;
      if (i == layout_.load || is_empty || is_behind || is_before) continue;
      return fmt::format("program header {} (type {:#x}) maps part of .nv_fatbin too", i, segment.type);
    }
    return "";
  }

  [[nodiscard]] Obstacle CheckSound() const {
    if (const Result<void> sound = CheckSegments(image_); !sound) return sound.error().message();
    for (std::size_t i = 0; i < image_.sections.size(); ++i) {
      const Section& section = image_.sections[i];
      const bool has_bytes = section.type != 0 && section.type != kSectionNobits && section.size != 0;
      if (has_bytes && (section.flags & kSectionAlloc) == 0 && IsInLoad(section))
        return fmt::format("section {} is not to be loaded by its flags, and lies in a load segment", i);
    }
    return FindSharedBytes(image_);
  }

  [[nodiscard]] bool IsInLoad(const Section& section) const {
    return std::any_of(image_.segments.begin(), image_.segments.end(), [&](const Segment& load) {
      return load.type == kSegmentLoad && section.offset < load.offset + load.file_size &&
             load.offset < section.offset + section.size;
    });
  }

  /// What the loader reads must not be what is dropped, whatever section headers say.
  [[nodiscard]] Obstacle CheckDynamic() const {
    constexpr std::array<std::uint64_t, 14> kAddresses = {
        kDtPltgot, kDtHash,      kDtStrtab,    kDtSymtab,  kDtRela,   kDtInit,    kDtFini,
        kDtJmprel, kDtInitArray, kDtFiniArray, kDtGnuHash, kDtVersym, kDtVerneed, kDtVerdef};
    for (const DynamicEntry& entry : image_.dynamic->entries) {
      const bool is_address = std::find(kAddresses.begin(), kAddresses.end(), entry.tag) != kAddresses.end();
      if (is_address && IsInSection(entry.value))
        return fmt::format("an entry of .dynamic (tag {:#x}) leads into .nv_fatbin", entry.tag);
    }
    const MappedRange& strings = image_.strings;
    const bool apart =
        strings.offset >= layout_.end ||
        (strings.offset <= layout_.begin && strings.size_bytes <= layout_.begin - strings.offset);
    return apart ? "" : "the dynamic string table reaches into .nv_fatbin";
  }

  [[nodiscard]] bool IsInSection(std::uint64_t vaddr) const {
    return vaddr >= layout_.vaddr && vaddr - layout_.vaddr < section_.size;
  }

  /// Index of the container that begins at `vaddr`; the number of containers when none does.
  [[nodiscard]] std::size_t ContainerAt(std::uint64_t vaddr) const {
    return sliced_.ContainerAt(vaddr - layout_.vaddr + layout_.begin);
  }

  [[nodiscard]] bool Moves(std::size_t container) const {
    return containers_[container].offset != layout_.begin + layout_.packed.places[container];
  }

  Result<Obstacle> ReadPointers() {
    Obstacle why;
    room_ = FindHeaderRoom(image_, image_.segments.size() + 1);
    const Result<void> read = ForEachRelocation(file_, image_, [&](const Relocation& relocation) {
      if (why.empty()) why = Take(relocation);
      return Ok();
    });
    if (!read && read.error().code() == ErrorCode::kUnsupported) return read.error().message();
    PTPKG_CHECK(read);
    if (!why.empty()) return why;
    std::vector<bool> has_pointer(containers_.size());
    for (const Relocation& pointer : pointers_) has_pointer[ContainerAt(pointer.addend)] = true;
    for (std::size_t i = 0; i < containers_.size(); ++i) {
      if (!has_pointer[i] && Moves(i)) {
        return fmt::format("no relocation points to the container at file offset {}", containers_[i].offset);
      }
    }
    return Obstacle();
  }

  Obstacle Take(const Relocation& relocation) {
    if (IsInSection(relocation.place) || IsInSection(relocation.place + 7))
      return fmt::format("the loader writes into .nv_fatbin (address {:#x})", relocation.place);
    if (relocation.addend_offset >= layout_.begin && relocation.addend_offset < layout_.end)
      return "relocations lie in .nv_fatbin";
    const bool is_relative = relocation.type == RelativeType(image_);
    if (is_relative && room_ && relocation.addend >= room_->vaddr &&
        relocation.addend - room_->vaddr < room_->end - room_->begin) {
      room_.reset();  // that pointer would have to follow too
    }
    if (!IsInSection(relocation.addend)) return "";
    if (!is_relative) {
      if (relocation.symbol != 0) return "";  // the addend is added to a symbol's address
      return fmt::format("a relocation of type {} points into .nv_fatbin", relocation.type);
    }
    if (ContainerAt(relocation.addend) == containers_.size())
      return fmt::format("a pointer leads into the midst of .nv_fatbin (address {:#x})", relocation.addend);
    pointers_.push_back(relocation);
    return "";
  }

  Obstacle FindShift() {
    std::uint64_t page = kSmallestPage;
    for (const Segment& segment : image_.segments) {
      if (segment.type != kSegmentLoad) continue;
      if ((segment.align & (segment.align - 1)) != 0)
        return fmt::format("a segment is aligned to {:#x}, no power of 2", segment.align);
      page = std::max(page, segment.align);
    }
    if (layout_.splits) {
      if (Obstacle why = FindSlot(); !why.empty()) return why;
    }
    const std::uint64_t gain = section_.size - std::min(section_.size, layout_.used_bytes);
    layout_.shift = Down(gain, page);
    if (layout_.shift != 0) return "";
    return fmt::format("the file would get smaller by {} bytes, less than a page of {}", gain, page);
  }

  [[nodiscard]] bool IsInMovedSection(std::uint64_t offset) const {
    return std::any_of(image_.sections.begin(), image_.sections.end(), [&](const Section& section) {
      return room_->Holds(image_, section) && offset >= section.offset &&
             offset - section.offset < section.size;
    });
  }

  /// A program header for what lies behind the section.
  Obstacle FindSlot() {
    const std::vector<Segment>& segments = image_.segments;
    const auto spare = std::find_if(segments.begin(), segments.end(),
                                    [](const Segment& segment) { return segment.type == kSegmentNull; });
    if (spare != segments.end()) {
      layout_.spared = static_cast<std::size_t>(spare - segments.begin());
      return "";
    }
    if (CanSparePhdr(image_)) {
      layout_.spared = static_cast<std::size_t>(image_.FindSegment(kSegmentPhdr) - segments.data());
      return "";
    }
    if (!room_) return "there is no room for another program header";
    layout_.room = room_;
    std::uint64_t end = room_->begin;
    bool is_mapped = true;  // at the addresses that the load segment gives its bytes
    const auto take = [&](std::uint64_t offset, std::uint64_t vaddr, std::uint64_t size) {
      is_mapped = is_mapped && vaddr - room_->vaddr == offset - room_->begin;
      end = std::max(end, offset + size);
    };
    for (const Section& section : image_.sections) {
      if (room_->Holds(image_, section)) take(section.offset, section.addr, section.size);
    }
    bool is_named = true;  // by the header of a section that moves along
    for (const Segment& segment : segments) {
      if (!room_->Holds(segment)) continue;
      take(segment.offset, segment.vaddr, segment.file_size);
      is_named = is_named && (segment.file_size == 0 || IsInMovedSection(segment.offset));
    }
    if (!is_named) return "no section header tells what stands behind the program headers";
    if (!is_mapped) return "what stands behind the program headers is mapped from elsewhere";
    layout_.block_bytes = end - room_->begin;
    if (layout_.block_bytes == 0) return "";
    const std::uint64_t past = Up(layout_.Address(layout_.packed.size_bytes), kMovedAlign);
    layout_.block_at = past + room_->vaddr % kMovedAlign - layout_.vaddr;
    layout_.used_bytes = layout_.block_at + layout_.block_bytes;
    return "";
  }

  [[nodiscard]] Result<Obstacle> CheckDynamicSymbols() const {
    const auto address = image_.dynamic->Find(kDtSymtab);
    const auto table = address ? image_.FindSection(kSectionDynsym, *address) : std::nullopt;
    if (!table) return Obstacle("no section header tells the size of .dynsym");
    return ForEachSymbol(file_, image_, image_.sections[*table], [&](const TableSymbol& symbol) -> Obstacle {
      const bool is_here =
          symbol.section == layout_.section || (symbol.section != 0 && IsInSection(symbol.value));
      return is_here ? "a symbol of .dynsym lies in .nv_fatbin" : "";
    });
  }

  /// nvcc's start-up code goes by pointers in data; what a program embeds itself may go by a distance.
  [[nodiscard]] Result<Obstacle> CheckCode() const {
    std::vector<std::uint64_t> moving;
    for (std::size_t i = 0; i < containers_.size(); ++i) {
      if (Moves(i)) moving.push_back(layout_.vaddr + (containers_[i].offset - layout_.begin));
    }
    PTPKG_TRY(const std::optional<std::uint64_t> found, FindCodeReference(file_, image_, moving));
    return found ? fmt::format("code at address {:#x} computes the place of a container", *found)
                 : Obstacle();
  }

  /// Symbols that start-up code of objects gives to containers follow them.
  Result<Obstacle> PlanSymbols() {
    const Section* table = FindSymbolTable(image_);
    if (table == nullptr) return Obstacle();
    return ForEachSymbol(file_, image_, *table, [&](const TableSymbol& symbol) -> Obstacle {
      if (symbol.section != layout_.section || symbol.IsOfSection()) return "";
      const std::size_t container =
          IsInSection(symbol.value) ? ContainerAt(symbol.value) : containers_.size();
      if (container == containers_.size())
        return fmt::format("a symbol of .symtab lies in the midst of .nv_fatbin (address {:#x})",
                           symbol.value);
      const SlicedContainer& what = containers_[container];
      if (symbol.size != 0 && symbol.size != what.size_bytes)
        return fmt::format("a symbol of .symtab has {} bytes of .nv_fatbin, not those of its container ({})",
                           symbol.size, what.size_bytes);
      if (Moves(container)) {
        replacements_.push_back(WordReplacement(symbol.value_offset,
                                                layout_.Address(layout_.packed.places[container]),
                                                "a symbol of a container"));
      }
      if (symbol.size != 0 && what.new_size != what.size_bytes)
        replacements_.push_back(
            WordReplacement(symbol.size_offset, what.new_size, "a symbol of a container"));
      return "";
    });
  }

  Result<void> PlanPointers(std::vector<Replacement>& replacements) {
    std::sort(pointers_.begin(), pointers_.end(),
              [](const Relocation& left, const Relocation& right) { return left.place < right.place; });
    WordReader words(file_, image_);
    for (const Relocation& pointer : pointers_) {
      const std::size_t container = ContainerAt(pointer.addend);
      if (!Moves(container)) continue;
      const std::uint64_t target = layout_.Address(layout_.packed.places[container]);
      replacements.push_back(WordReplacement(pointer.addend_offset, target, "a pointer to a container"));
      if (pointer.is_relr) continue;
      // The loader does not read this word; tools do, where the linker wrote it (lld --apply-dynamic-relocs).
      PTPKG_TRY(const WordReader::Word word, words.Read(pointer.place));
      if (word.value == pointer.addend)
        replacements.push_back(WordReplacement(word.offset, target, "a pointer to a container"));
    }
    return Ok();
  }

  [[nodiscard]] Replacement PackedSection() const {
    Replacement packed{
        .offset = layout_.begin, .size_bytes = section_.size, .pieces = {}, .what = "section .nv_fatbin"};
    packed.pieces = PiecesOf(containers_, layout_.packed);
    std::uint64_t at = layout_.packed.size_bytes;
    if (layout_.block_bytes != 0) {
      packed.pieces.push_back(ZeroPiece(layout_.block_at - at));
      packed.pieces.push_back(CopyPiece(layout_.room->begin, layout_.block_bytes));
      at = layout_.used_bytes;
    }
    packed.pieces.push_back(ZeroPiece(section_.size - layout_.shift - at));
    return packed;
  }

  File& file_;
  const Image& image_;
  const SlicedSection& sliced_;
  const Section& section_;
  const std::vector<SlicedContainer>& containers_;
  CompactLayout layout_;
  std::optional<HeaderRoom> room_;
  std::vector<Relocation> pointers_;  ///< To containers.
  std::vector<Replacement> replacements_;
};

}  // namespace

Result<CompactPlan> PlanCompact(File& file, const Image& image, const SlicedSection& section) {
  return CompactPlanner(file, image, section).Run();
}

}  // namespace ptpkg::elf
