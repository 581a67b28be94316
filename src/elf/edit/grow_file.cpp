// Idea: nothing that the loader uses is moved within the file. New strings, the dynamic section, version
// records, the interpreter and, if needed, the program headers go to the end of the file, into the last
// PT_LOAD where it can grow, else into a new one. Then one write of the ELF header and the program headers
// switches from the old layout to the new one.
// Invariants: every byte of the tail is written before the switch, so the file loads at each
// moment, first as the old one, then as the new one; file offset and address of a segment are congruent
// modulo the largest page; bytes that are not used any more (old paths, copied tables) are erased after the
// switch. docs/formats/elf-search-path.md has the measurements behind the choices.

#include "elf/edit/grow_file.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <map>

#include "elf/edit/address_users.h"
#include "elf/edit/byte_diff.h"
#include "elf/edit/finalize.h"
#include "elf/edit/segment_slots.h"
#include "elf/symbols/symbol_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLargestPage = 64U << 10U;  // of arm64 and ppc64 kernels
constexpr std::uint64_t kBlockAlign = 16;           // notes ask for 4 or 8
// In front of a new segment's first part: llvm-objcopy 14 takes a PT_INTERP or PT_NOTE that begins where the
// PT_LOAD does for the one that contains it, and aligns the PT_LOAD to a byte.
constexpr std::uint64_t kLead = kBlockAlign;
constexpr std::uint64_t kSpareStringBytes = 2048;  // at least; rounded up to the end of a page
constexpr std::size_t kSpareEntries = 16;
// Linux before 5.18 computes a program's AT_PHDR from the first segment's bias, so a moved program
// header table must keep that bias. Beyond this much padding the file would suffer more than old kernels.
constexpr std::uint64_t kMaxBiasPadding = 16U << 20U;

enum class StringsMode : std::uint8_t {
  kStay,      ///< Every new string is found in the table as it is.
  kContinue,  ///< The table ends the file and its segment: it only grows.
  kCopy,      ///< The table is copied to the tail, and grows there.
};

/// Content of the tail, and its places.
struct Layout {
  bool extends = false;   ///< The last PT_LOAD grows; else a new one is added.
  bool has_tail = false;  ///< Anything goes to the end at all.
  StringsMode strings_mode = StringsMode::kStay;
  bool moves_headers = false;
  bool moves_dynamic = false;
  bool moves_needs = false;
  std::uint64_t begin = 0;  ///< File offset.
  std::uint64_t vaddr = 0;  ///< Address of `begin`.
  std::uint64_t align = kPage;
  std::uint64_t headers = 0, interpreter = 0, needs = 0, dynamic = 0;  ///< File offsets, 0 if not moved.
  std::uint64_t block = 0;    ///< Likewise; of the bytes behind the program headers, `block_range_`.
  std::uint64_t strings = 0;  ///< File offset of .dynstr as it will be.
  std::uint64_t end = 0;
  std::size_t dynamic_capacity = 0;

  [[nodiscard]] std::uint64_t AddressOf(std::uint64_t offset) const { return vaddr + (offset - begin); }
};

std::uint64_t EndOfAddresses(const Image& image) {
  std::uint64_t end = 0;
  for (const Segment& segment : image.segments) {
    if (segment.type == kSegmentLoad) end = std::max(end, segment.vaddr + segment.memory_size);
  }
  return end;
}

std::size_t LastLoad(const std::vector<Segment>& segments) {
  std::size_t last = segments.size();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].type == kSegmentLoad) last = i;
  }
  return last;
}

class GrowthPlanner {
 public:
  GrowthPlanner(File& file, const Image& image, const NewDynamicState& state)
      : file_(file), image_(image), codec_(image.codec), state_(state) {}

  Result<EditPlan> Run() {
    if (LastLoad(image_.segments) == image_.segments.size()) {
      return Error(ErrorCode::kUnsupported, "the file has no loadable segment to grow behind");
    }
    ChooseExtension();
    ChooseAddress();
    if (image_.dynamic) PTPKG_CHECK(ChooseStrings());
    layout_.moves_dynamic = image_.dynamic && state_.entries.size() >= image_.dynamic->capacity;
    if (layout_.moves_dynamic) PTPKG_CHECK(CheckDynamicReferences());
    layout_.moves_needs = state_.NeedsChanged() && !state_.needs.empty();
    PTPKG_CHECK(PlanSegmentSlots());
    if (slots_.is_short) {
      PTPKG_TRY(const bool is_freed, FreeOldTail());
      if (is_freed) PTPKG_CHECK(PlanSegmentSlots());
    }
    PTPKG_CHECK(Build());
    return Assemble();
  }

 private:
  /// Decides between extending the last segment and adding one.
  void ChooseExtension() {
    const Segment& last = image_.segments[LastLoad(image_.segments)];
    layout_.extends =
        last.offset + last.file_size == image_.file_size && last.file_size == last.memory_size &&
        last.vaddr + last.memory_size == EndOfAddresses(image_) && (last.flags & kFlagExecute) == 0;
  }

  void ChooseAddress() {
    const std::uint64_t end = EndOfAddresses(image_);
    if (layout_.extends) {
      layout_.begin = image_.file_size;
      layout_.vaddr = end;
      return;
    }
    for (const Segment& segment : image_.segments) {
      if (segment.type == kSegmentLoad) layout_.align = std::max(layout_.align, segment.align);
    }
    layout_.begin = AlignUp(image_.file_size, kPage);
    layout_.vaddr = AlignUp(end, layout_.align) + layout_.begin % layout_.align;
  }

  /// The loader fills in the table that PT_DYNAMIC names. Who reads the other one finds what the linker
  /// wrote.
  Result<std::string> FindDynamicReference() {
    const MappedRange& table = image_.dynamic->range;
    return FindAddressReference(file_, image_, {{.begin = table.vaddr, .size_bytes = table.size_bytes}});
  }

  Result<void> CheckDynamicReferences() {
    PTPKG_TRY(const std::string user, FindDynamicReference());
    if (user.empty()) return Ok();
    return Error(ErrorCode::kUnsupported,
                 fmt::format("the dynamic section has no free entry and cannot move: {} refers to it", user))
        .WithHint("link the file with a search path (-Wl,-rpath,/SOME/LONG/PATH), which is then replaced");
  }

  Result<void> ChooseStrings() {
    PTPKG_TRY(placement_, PlaceStrings(file_, image_, state_, SlotReuse::kForbidden));
    if (placement_.appended.empty()) return Ok();
    const MappedRange& strings = image_.strings;
    if (layout_.extends && strings.offset + strings.size_bytes == layout_.begin &&
        strings.vaddr + strings.size_bytes == layout_.vaddr) {
      layout_.strings_mode = StringsMode::kContinue;
      return Ok();
    }
    layout_.strings_mode = StringsMode::kCopy;
    PTPKG_TRY(placement_, PlaceStrings(file_, image_, state_, SlotReuse::kAllowed));
    return Ok();
  }

  /// If a PT_LOAD holds nothing but moved items and tables that can move too (the tail of an edit before a
  /// strip), they come along, and its slot is free. Returns whether one is.
  Result<bool> FreeOldTail() {
    if (!image_.dynamic || layout_.extends || !layout_.has_tail) return false;
    MovedSections moving = Moving();
    PTPKG_TRY(const EmptiedSegments before, FindEmptied(file_, image_, moving, std::nullopt));
    const auto frees = [&](std::optional<std::size_t> section) -> Result<bool> {
      if (section) moving.push_back(*section);
      PTPKG_TRY(const EmptiedSegments after, FindEmptied(file_, image_, moving, std::nullopt));
      return after.dropped.size() > before.dropped.size();
    };
    const auto dynamic = image_.FindSection(kSectionDynamic, image_.dynamic->range.vaddr);
    PTPKG_TRY(const bool by_strings, frees(image_.FindSection(kSectionStrtab, image_.strings.vaddr)));
    if (!by_strings) {
      PTPKG_TRY(const bool by_dynamic, frees(dynamic));
      if (!by_dynamic) return false;
      PTPKG_TRY(const std::string user, FindDynamicReference());
      if (!user.empty()) return false;
      layout_.moves_dynamic = true;
    }
    if (layout_.strings_mode == StringsMode::kCopy) return true;
    layout_.strings_mode = StringsMode::kCopy;
    PTPKG_TRY(placement_, PlaceStrings(file_, image_, state_, SlotReuse::kAllowed));
    return true;
  }

  void KeepBias() {
    const std::uint64_t end_of_addresses = EndOfAddresses(image_);
    const bool program = image_.header.type == kTypeExec || image_.FindSegment(kSegmentInterp) != nullptr;
    if (!program) return;
    const auto first = std::find_if(image_.segments.begin(), image_.segments.end(),
                                    [](const Segment& s) { return s.type == kSegmentLoad; });
    if (first->vaddr < first->offset) return;
    const std::uint64_t bias = first->vaddr - first->offset;
    // Congruence follows from the bias; only no page may be shared with the segment before.
    const std::uint64_t free_address = AlignUp(end_of_addresses, std::min(layout_.align, kLargestPage));
    if (bias % layout_.align != 0 || free_address < bias) return;
    const std::uint64_t begin = std::max(layout_.begin, free_address - bias);
    if (begin - layout_.begin > kMaxBiasPadding) return;
    layout_.begin = begin;
    layout_.vaddr = begin + bias;
  }

  /// Gives every part its offset, then computes the new headers and tables.
  Result<void> Build() {
    std::uint64_t at = layout_.begin + (layout_.extends ? 0 : kLead);
    layout_.strings = image_.strings.offset;
    if (layout_.strings_mode == StringsMode::kContinue) at += StringGrowth(at);
    const auto place = [&at](bool wanted, std::uint64_t size) -> std::uint64_t {
      if (!wanted) return 0;
      const std::uint64_t offset = AlignUp(at, 8);
      at = offset + size;
      return offset;
    };
    layout_.headers = place(layout_.moves_headers, slots_.count * codec_.SegmentSize());
    if (slots_.room) {
      layout_.block = AlignUp(at, kBlockAlign) + slots_.room->begin % kBlockAlign;
      at = layout_.block + block_bytes_.size();
    }
    layout_.dynamic_capacity = layout_.moves_dynamic ? state_.entries.size() + 1 + kSpareEntries
                               : image_.dynamic      ? image_.dynamic->capacity
                                                     : 0;
    layout_.dynamic = place(layout_.moves_dynamic, layout_.dynamic_capacity * codec_.DynamicEntrySize());
    const std::vector<VersionNeed> needs = FinalVersionNeeds(state_, placement_);
    layout_.needs = place(layout_.moves_needs, VersionNeedsSize(needs));
    layout_.interpreter = place(state_.interpreter.has_value(), state_.interpreter.value_or("").size() + 1);
    if (layout_.strings_mode == StringsMode::kCopy) {
      layout_.strings = place(true, image_.strings.size_bytes);
      at += StringGrowth(at);
    }
    layout_.end = layout_.has_tail ? at : image_.file_size;
    if (!codec_.Fits(layout_.end) || !codec_.Fits(layout_.AddressOf(layout_.end))) {
      return Error(ErrorCode::kUnsupported, "the 32-bit file would grow past 4 GiB");
    }
    BuildSegments();
    if (image_.dynamic) BuildDynamic();
    needs_ = EncodeVersionNeeds(codec_, needs);
    return Ok();
  }

  /// Bytes for the appended strings and spare room, when the old table ends at `at`.
  [[nodiscard]] std::uint64_t StringGrowth(std::uint64_t at) const {
    if (layout_.strings_mode == StringsMode::kStay) return 0;
    const std::uint64_t least = placement_.appended.size() + kSpareStringBytes;
    return AlignUp(at + least, kPage) - at;
  }

  /// Chooses the place of the program headers. In front, if there is any way: strip, eu-strip, llvm-strip and
  /// objcopy put them there without looking at what they overwrite.
  Result<void> PlanSegmentSlots() {
    const bool adds_stack = state_.executable_stack && image_.FindSegment(kSegmentGnuStack) == nullptr;
    const auto extended =
        layout_.extends ? std::optional<std::size_t>(LastLoad(image_.segments)) : std::nullopt;
    PTPKG_TRY(EmptiedSegments emptied, FindEmptied(file_, image_, Moving(), extended));
    leaves_bytes_ = emptied.leaves_bytes;
    SlotRequest request{.emptied = std::move(emptied.dropped), .needs = state_.needs_range};
    layout_.has_tail = layout_.strings_mode != StringsMode::kStay || layout_.moves_dynamic ||
                       layout_.moves_needs || state_.interpreter;
    // To make room for a header, something may have to go to the end that did not have to before.
    for (;; layout_.has_tail = true) {
      request.wanted = (layout_.has_tail && !layout_.extends ? 1U : 0U) + (adds_stack ? 1U : 0U);
      PTPKG_TRY(slots_, FindSegmentSlots(file_, image_, request));
      if (layout_.has_tail || (!slots_.room && !slots_.moves_headers)) break;
    }
    layout_.moves_headers = slots_.moves_headers;
    if (layout_.moves_headers && !layout_.extends) KeepBias();
    if (!slots_.room) return Ok();
    PTPKG_TRY(block_bytes_, ReadExact(file_, slots_.room->begin, slots_.room->end - slots_.room->begin,
                                      "the bytes behind the program headers"));
    return Ok();
  }
  /// Sections that get another place wherever the program headers find theirs, by index.
  [[nodiscard]] MovedSections Moving() const {
    MovedSections moving;
    const auto add = [&](bool moves, std::uint32_t type, std::uint64_t address) {
      if (const auto index = image_.FindSection(type, address); moves && index) moving.push_back(*index);
    };
    add(layout_.strings_mode == StringsMode::kCopy, kSectionStrtab, image_.strings.vaddr);
    if (layout_.moves_dynamic) add(true, kSectionDynamic, image_.dynamic->range.vaddr);
    add(layout_.moves_needs, kSectionGnuVerneed, state_.needs_range.vaddr);
    if (state_.interpreter) add(true, kSectionProgbits, image_.FindSegment(kSegmentInterp)->vaddr);
    return moving;
  }

  void BuildSegments() {
    segments_ = slots_.kept;
    const std::size_t last = LastLoad(segments_);
    std::uint32_t flags = kFlagRead | (layout_.moves_dynamic ? kFlagWrite : 0U);
    if (layout_.has_tail && layout_.extends) {
      Segment& load = segments_[last];
      load.flags |= flags;
      load.file_size = load.memory_size = layout_.end - load.offset;
    } else if (layout_.has_tail) {
      const std::uint64_t size = layout_.end - layout_.begin;
      segments_.insert(segments_.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                       Segment{.type = kSegmentLoad,
                               .flags = flags,
                               .offset = layout_.begin,
                               .vaddr = layout_.vaddr,
                               .paddr = layout_.vaddr,
                               .file_size = size,
                               .memory_size = size,
                               .align = layout_.align});
    }
    if (state_.executable_stack) SetStack();
    segments_.resize(slots_.count);
    const auto move = [&](std::uint32_t type, std::uint64_t offset, std::uint64_t size) {
      for (Segment& segment : segments_) {
        if (segment.type != type) continue;
        segment.offset = offset;
        segment.vaddr = segment.paddr = layout_.AddressOf(offset);
        segment.file_size = segment.memory_size = size;
      }
    };
    if (layout_.moves_headers) move(kSegmentPhdr, layout_.headers, slots_.count * codec_.SegmentSize());
    if (slots_.room) {
      for (Segment& segment : segments_) {
        if (segment.type == kSegmentPhdr)
          segment.file_size = segment.memory_size = slots_.count * codec_.SegmentSize();
        // An interpreter that changes has its own place.
        if (slots_.room->Holds(segment) && !(segment.type == kSegmentInterp && state_.interpreter)) {
          segment.offset = layout_.block + (segment.offset - slots_.room->begin);
          segment.vaddr = segment.paddr = layout_.AddressOf(segment.offset);
        }
      }
    }
    if (layout_.moves_dynamic) {
      move(kSegmentDynamic, layout_.dynamic, layout_.dynamic_capacity * codec_.DynamicEntrySize());
    }
    if (state_.interpreter) move(kSegmentInterp, layout_.interpreter, state_.interpreter->size() + 1);
  }

  void SetStack() {
    const std::uint32_t execute = *state_.executable_stack ? kFlagExecute : 0U;
    const auto it = std::find_if(segments_.begin(), segments_.end(),
                                 [](const Segment& s) { return s.type == kSegmentGnuStack; });
    if (it != segments_.end()) {
      it->flags = (it->flags & ~kFlagExecute) | execute;
    } else {
      segments_.push_back({.type = kSegmentGnuStack,
                           .flags = kFlagRead | kFlagWrite | execute,
                           .offset = 0,
                           .vaddr = 0,
                           .paddr = 0,
                           .file_size = 0,
                           .memory_size = 0,
                           .align = 16});
    }
  }

  void BuildDynamic() {
    FinalAddresses addresses;
    addresses.strings = layout_.strings_mode == StringsMode::kCopy ? layout_.AddressOf(layout_.strings)
                                                                   : image_.strings.vaddr;
    addresses.strings_size = image_.strings.size_bytes + StringGrowth(StringsEnd());
    addresses.dynamic =
        layout_.moves_dynamic ? layout_.AddressOf(layout_.dynamic) : image_.dynamic->range.vaddr;
    if (layout_.moves_needs) addresses.needs = layout_.AddressOf(layout_.needs);
    if (slots_.room) {
      addresses.block = {.from = slots_.room->vaddr,
                         .to = layout_.AddressOf(layout_.block),
                         .size_bytes = slots_.room->end - slots_.room->begin};
    }
    strings_address_ = addresses.strings;
    strings_size_ = addresses.strings_size;
    dynamic_ =
        EncodeDynamic(codec_, FinalEntries(image_, state_, placement_, addresses), layout_.dynamic_capacity);
  }

  /// File offset where the bytes that stand in .dynstr today end in the new file.
  [[nodiscard]] std::uint64_t StringsEnd() const { return layout_.strings + image_.strings.size_bytes; }

  Result<std::optional<PlannedWrite>> DiffDynamic() {
    const MappedRange& range = image_.dynamic->range;
    PTPKG_TRY(const auto old, ReadExact(file_, range.offset, range.size_bytes, "the dynamic section"));
    return DiffWrite(range.offset, old, dynamic_);
  }

  Result<EditPlan> Assemble() {
    EditPlan plan;
    plan.tier = WriteTier::kAppend;
    plan.old_size = image_.file_size;
    plan.new_size = layout_.end;
    const bool were_in_front = image_.header.program_headers_offset == codec_.FileHeaderSize();
    plan.strip_hazard =
        ((layout_.moves_headers && were_in_front) || leaves_bytes_) && !image_.sections.empty();
    writes_ = &plan.writes;
    if (layout_.has_tail) AppendTail();
    PTPKG_TRY(std::vector<PlannedWrite> versions, PlanVersionIndices(file_, image_, state_));
    std::move(versions.begin(), versions.end(), std::back_inserter(plan.writes));
    PTPKG_CHECK(SwitchHeaders());
    if (image_.dynamic && !layout_.moves_dynamic) {
      PTPKG_TRY(auto write, DiffDynamic());
      if (write) plan.writes.push_back(std::move(*write));
    }
    PTPKG_CHECK(UpdateSections());
    PTPKG_TRY(auto symbols, PlanSymbolValues(file_, image_, moved_));
    std::move(symbols.begin(), symbols.end(), std::back_inserter(plan.writes));
    if (image_.dynamic) PTPKG_CHECK(BlankOldStrings());
    return plan;
  }

  void Literal(std::uint64_t offset, std::vector<std::byte> bytes) {
    writes_->push_back({.offset = offset, .bytes = std::move(bytes)});
  }

  /// Everything beyond the old end of the file: nothing refers to it yet.
  void AppendTail() {
    const bool continues = layout_.strings_mode == StringsMode::kContinue;
    const std::uint64_t parts_begin = layout_.begin + (continues ? StringGrowth(layout_.begin) : 0);
    const std::uint64_t parts_end =
        layout_.strings_mode == StringsMode::kCopy ? layout_.strings : layout_.end;
    std::vector<std::byte> parts(parts_end - parts_begin);
    const auto put = [&](std::uint64_t offset, Bytes bytes) {
      if (offset == 0) return;
      std::copy(bytes.begin(), bytes.end(),
                parts.begin() + static_cast<std::ptrdiff_t>(offset - parts_begin));
    };
    put(layout_.headers, EncodeSegments(codec_, segments_));
    put(layout_.block, block_bytes_);
    put(layout_.dynamic, dynamic_);
    put(layout_.needs, needs_);
    put(layout_.interpreter, AsBytes(state_.interpreter.value_or("")));
    if (!parts.empty()) Literal(parts_begin, std::move(parts));
    if (layout_.strings_mode == StringsMode::kCopy) CopyStrings();
    if (layout_.strings_mode == StringsMode::kStay) return;
    std::vector<std::byte> grown(StringGrowth(StringsEnd()));
    const Bytes appended = AsBytes(placement_.appended);
    std::copy(appended.begin(), appended.end(), grown.begin());
    Literal(StringsEnd(), std::move(grown));
  }

  void CopyStrings() {
    writes_->push_back({.offset = layout_.strings,
                        .bytes = {},
                        .copy_from = image_.strings.offset,
                        .copy_bytes = image_.strings.size_bytes});
    for (const auto* patches : {&placement_.blanks, &placement_.strings}) {
      for (const TablePatch& patch : *patches) {
        const Bytes bytes = AsBytes(patch.bytes);
        Literal(layout_.strings + patch.offset, {bytes.begin(), bytes.end()});
      }
    }
  }

  /// One write: the ELF header and, unless they move, the program headers.
  Result<void> SwitchHeaders() {
    const auto headers = EncodeSegments(codec_, segments_);
    const std::uint64_t table = image_.header.program_headers_offset;
    const bool in_place = !layout_.moves_headers;
    if (in_place && !slots_.room) {
      PTPKG_TRY(const auto old, ReadExact(file_, table, headers.size(), "the program header table"));
      if (auto write = DiffWrite(table, old, headers)) writes_->push_back(std::move(*write));
      return Ok();
    }
    const std::uint64_t size = in_place ? table + headers.size() : codec_.FileHeaderSize();
    PTPKG_TRY(const auto old, ReadExact(file_, 0, size, "the ELF header"));
    std::vector<std::byte> bytes = old;
    FileHeader header = image_.header;
    if (layout_.moves_headers) header.program_headers_offset = layout_.headers;
    header.program_header_count = static_cast<std::uint16_t>(slots_.count);
    codec_.EncodeFileHeader(header, bytes);
    if (in_place) {
      std::copy(headers.begin(), headers.end(), bytes.begin() + static_cast<std::ptrdiff_t>(table));
    }
    if (auto write = DiffWrite(0, old, bytes)) writes_->push_back(std::move(*write));
    return Ok();
  }

  /// Section headers follow, for debuggers and strip; the loader never reads them.
  Result<void> UpdateSections() {
    if (image_.dynamic) {
      PTPKG_CHECK(MoveSection(kSectionStrtab, image_.strings.vaddr, layout_.strings, strings_address_,
                              strings_size_));
      if (layout_.moves_dynamic) {
        PTPKG_CHECK(MoveSection(kSectionDynamic, image_.dynamic->range.vaddr, layout_.dynamic,
                                layout_.AddressOf(layout_.dynamic), dynamic_.size()));
      }
    }
    PTPKG_TRY(const auto retired, RetiredSections(file_, image_, state_));
    for (const auto& [index, section] : retired) PTPKG_CHECK(PutSection(index, section));
    if (slots_.room) PTPKG_CHECK(MoveBlockSections());
    if (layout_.moves_needs) {
      PTPKG_CHECK(MoveSection(kSectionGnuVerneed, state_.needs_range.vaddr, layout_.needs,
                              layout_.AddressOf(layout_.needs), needs_.size()));
    }
    if (state_.interpreter) {
      PTPKG_CHECK(MoveSection(kSectionProgbits, image_.FindSegment(kSegmentInterp)->vaddr,
                              layout_.interpreter, layout_.AddressOf(layout_.interpreter),
                              state_.interpreter->size() + 1));
    }
    return Ok();
  }

  Result<void> MoveBlockSections() {
    for (std::size_t i = 0; i < image_.sections.size(); ++i) {
      Section section = image_.sections[i];
      const bool is_interpreter = section.type == kSectionProgbits;
      const bool moves = slots_.room->Holds(image_, section) && !(is_interpreter && state_.interpreter);
      if (!moves) continue;
      section.offset = layout_.block + (section.offset - slots_.room->begin);
      section.addr = layout_.AddressOf(section.offset);
      PTPKG_CHECK(PutSection(i, section));
      if (IsLookupTable(image_, image_.sections[i])) BlankOldTable(image_.sections[i]);
    }
    return Ok();
  }

  /// Blanks an old table that nothing reads any more, to save space. Notes stay: they are small, and
  /// linker scripts give names to their bytes.
  void BlankOldTable(const Section& section) {
    const std::uint64_t headers_end =
        image_.header.program_headers_offset + slots_.count * codec_.SegmentSize();
    const std::uint64_t begin = std::max(section.offset, headers_end);
    const std::uint64_t end = section.offset + section.size;
    if (begin < end) Literal(begin, std::vector<std::byte>(end - begin));
  }

  Result<void> MoveSection(std::uint32_t type, std::uint64_t old_address, std::uint64_t offset,
                           std::uint64_t address, std::uint64_t size) {
    const auto index = image_.FindSection(type, old_address);
    if (!index) return Ok();
    Section section = image_.sections[*index];
    section.offset = offset;
    section.addr = address;
    section.size = size;
    if (type == kSectionGnuVerneed) section.info = static_cast<std::uint32_t>(state_.needs.size());
    return PutSection(*index, section);
  }

  Result<void> PutSection(std::size_t index, const Section& section) {
    moved_[index] = section.addr - image_.sections[index].addr;
    std::vector<std::byte> bytes(codec_.SectionSize());
    codec_.EncodeSection(section, bytes);
    const std::uint64_t at = image_.header.section_headers_offset + index * bytes.size();
    PTPKG_TRY(const auto old, ReadExact(file_, at, bytes.size(), "a section header"));
    if (auto write = DiffWrite(at, old, bytes)) writes_->push_back(std::move(*write));
    return Ok();
  }

  /// Old paths are erased, even in unused bytes: a build path there would still leak. So is a table that was
  /// copied: megabytes of names twice would be megabytes in every package.
  Result<void> BlankOldStrings() {
    if (layout_.strings_mode == StringsMode::kCopy && StringsStandAlone()) {
      Literal(image_.strings.offset, std::vector<std::byte>(image_.strings.size_bytes));
      return Ok();
    }
    for (const TablePatch& patch : placement_.blanks) {
      const Bytes bytes = AsBytes(patch.bytes);
      Literal(image_.strings.offset + patch.offset, {bytes.begin(), bytes.end()});
    }
    if (layout_.strings_mode != StringsMode::kCopy) return Ok();
    for (const TablePatch& patch : placement_.strings) {
      std::vector<std::byte> zeros(patch.bytes.size());
      PTPKG_TRY(const auto old,
                ReadExact(file_, image_.strings.offset + patch.offset, zeros.size(), "a string"));
      if (auto write = DiffWrite(image_.strings.offset + patch.offset, old, zeros))
        writes_->push_back(std::move(*write));
    }
    return Ok();
  }

  /// True if the section headers say that nothing else lives in the bytes of .dynstr.
  [[nodiscard]] bool StringsStandAlone() const {
    const MappedRange& table = image_.strings;
    const auto index = image_.FindSection(kSectionStrtab, table.vaddr);
    if (!index || image_.sections[*index].offset != table.offset ||
        image_.sections[*index].size != table.size_bytes) {
      return false;
    }
    const auto shares = [&](const Section& section) {
      if (&section == &image_.sections[*index] || section.type == 0) return false;
      if (section.type == kSectionSymtab && section.link == *index) return true;
      return section.type != kSectionNobits && section.size != 0 &&
             section.offset < table.offset + table.size_bytes && section.offset + section.size > table.offset;
    };
    return std::none_of(image_.sections.begin(), image_.sections.end(), shares);
  }

  File& file_;
  const Image& image_;
  const Codec codec_;
  const NewDynamicState& state_;
  Placement placement_;
  Layout layout_;
  SegmentSlots slots_;
  bool leaves_bytes_ = false;                   ///< EmptiedSegments::leaves_bytes.
  std::map<std::size_t, std::uint64_t> moved_;  ///< Section index → growth of its address.
  std::vector<std::byte> block_bytes_;
  std::vector<Segment> segments_;
  std::vector<std::byte> dynamic_;
  std::vector<std::byte> needs_;
  std::uint64_t strings_address_ = 0;
  std::uint64_t strings_size_ = 0;
  std::vector<PlannedWrite>* writes_ = nullptr;
};

}  // namespace

Result<EditPlan> PlanGrownFile(File& file, const Image& image, const NewDynamicState& state) {
  return GrowthPlanner(file, image, state).Run();
}

}  // namespace ptpkg::elf
