// Idea: the tail goes into the last PT_LOAD where that ends the file and the address space, else into a new
// one. Each phase decides one thing from the decisions before it: the tail's place, the tables that move, the
// slots of the program headers, the offset of each part. Only a shortage of slots leads back: then an old
// tail is emptied, if that frees a slot, and the slots are chosen again.

#include "elf/edit/tail_layout.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "elf/edit/address_users.h"
#include "elf/edit/byte_diff.h"
#include "elf/edit/finalize.h"

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

std::uint64_t EndOfAddresses(const Image& image) {
  std::uint64_t end = 0;
  for (const Segment& segment : image.segments) {
    if (segment.type == kSegmentLoad) end = std::max(end, segment.vaddr + segment.memory_size);
  }
  return end;
}

/// Extends the last segment where the file and the addresses end with it, else adds one.
TailPlace ChooseTailPlace(const Image& image) {
  const Segment& last = image.segments[LastLoad(image.segments)];
  const std::uint64_t end = EndOfAddresses(image);
  const bool extends = last.offset + last.file_size == image.file_size &&
                       last.file_size == last.memory_size && last.vaddr + last.memory_size == end &&
                       (last.flags & kFlagExecute) == 0;
  if (extends) return {.extends = true, .begin = image.file_size, .vaddr = end, .align = kPage};
  TailPlace place{.extends = false, .begin = AlignUp(image.file_size, kPage), .vaddr = 0, .align = kPage};
  for (const Segment& segment : image.segments) {
    if (segment.type == kSegmentLoad) place.align = std::max(place.align, segment.align);
  }
  place.vaddr = AlignUp(end, place.align) + place.begin % place.align;
  return place;
}

/// The place of a tail with moved program headers: in a program, where the segments keep their bias.
TailPlace WithBias(const Image& image, TailPlace place) {
  const bool program = image.header.type == kTypeExec || image.FindSegment(kSegmentInterp) != nullptr;
  if (!program) return place;
  const auto first = std::find_if(image.segments.begin(), image.segments.end(),
                                  [](const Segment& s) { return s.type == kSegmentLoad; });
  if (first->vaddr < first->offset) return place;
  const std::uint64_t bias = first->vaddr - first->offset;
  // Congruence follows from the bias; only no page may be shared with the segment before.
  const std::uint64_t free_address = AlignUp(EndOfAddresses(image), std::min(place.align, kLargestPage));
  if (bias % place.align != 0 || free_address < bias) return place;
  const std::uint64_t begin = std::max(place.begin, free_address - bias);
  if (begin - place.begin > kMaxBiasPadding) return place;
  place.begin = begin;
  place.vaddr = begin + bias;
  return place;
}

/// The loader fills in the table that PT_DYNAMIC names. Who reads the other one finds what the linker
/// wrote.
Result<std::string> FindDynamicReference(const GrowingFile& growing) {
  const MappedRange& table = growing.image.dynamic->range;
  std::set<std::uint64_t> entries;
  for (std::uint64_t at = 0; at < table.size_bytes; at += growing.image.codec.DynamicEntrySize())
    entries.insert(table.vaddr + at);
  return FindAddressReference(growing.file, growing.image,
                              {{.begin = table.vaddr, .size_bytes = table.size_bytes}}, entries);
}

Result<void> CheckDynamicReferences(const GrowingFile& growing) {
  PTPKG_TRY(const std::string user, FindDynamicReference(growing));
  if (user.empty()) return Ok();
  return Error(ErrorCode::kUnsupported,
               fmt::format("the dynamic section has no free entry and cannot move: {} refers to it", user))
      .WithHint("link the file with a search path (-Wl,-rpath,/SOME/LONG/PATH), which is then replaced");
}

/// Copies .dynstr to the tail, and places the new strings in the copy.
Result<void> CopyStringTable(const GrowingFile& growing, TailMoves& moves) {
  moves.strings_mode = StringsMode::kCopy;
  PTPKG_TRY(moves.placement, PlaceStrings(growing.file, growing.image, growing.state, SlotReuse::kAllowed));
  return Ok();
}

Result<void> ChooseStrings(const GrowingFile& growing, const TailPlace& place, TailMoves& moves) {
  PTPKG_TRY(moves.placement, PlaceStrings(growing.file, growing.image, growing.state, SlotReuse::kForbidden));
  if (moves.placement.appended.empty()) return Ok();
  const MappedRange& strings = growing.image.strings;
  if (place.extends && strings.offset + strings.size_bytes == place.begin &&
      strings.vaddr + strings.size_bytes == place.vaddr) {
    moves.strings_mode = StringsMode::kContinue;
    return Ok();
  }
  return CopyStringTable(growing, moves);
}

/// The tables that do not fit where they are.
Result<TailMoves> ChooseMoves(const GrowingFile& growing, const TailPlace& place) {
  const auto& [file, image, state] = growing;
  TailMoves moves;
  if (image.dynamic) PTPKG_CHECK(ChooseStrings(growing, place, moves));
  moves.moves_dynamic = image.dynamic && state.entries.size() >= image.dynamic->capacity;
  if (moves.moves_dynamic) PTPKG_CHECK(CheckDynamicReferences(growing));
  moves.moves_needs = state.NeedsChanged() && !state.needs.empty();
  return moves;
}

/// Sections that get another place wherever the program headers find theirs, by index.
MovedSections SectionsOf(const GrowingFile& growing, const TailMoves& moves) {
  const auto& [file, image, state] = growing;
  MovedSections moving;
  const auto add = [&](bool is_moved, std::uint32_t type, std::uint64_t address) {
    if (const auto index = growing.image.FindSection(type, address); is_moved && index)
      moving.push_back(*index);
  };
  add(moves.strings_mode == StringsMode::kCopy, kSectionStrtab, image.strings.vaddr);
  if (moves.moves_dynamic) add(true, kSectionDynamic, image.dynamic->range.vaddr);
  add(moves.moves_needs, kSectionGnuVerneed, state.needs_range.vaddr);
  if (state.interpreter) add(true, kSectionProgbits, image.FindSegment(kSegmentInterp)->vaddr);
  return moving;
}

/// Chooses the place of the program headers. In front, if there is any way: strip, eu-strip, llvm-strip and
/// objcopy put them there without looking at what they overwrite.
Result<TailHeaders> ChooseHeaders(const GrowingFile& growing, const TailMoves& moves,
                                  const TailPlace& place) {
  const auto& [file, image, state] = growing;
  const bool adds_stack = state.executable_stack && image.FindSegment(kSegmentGnuStack) == nullptr;
  const auto extended = place.extends ? std::optional<std::size_t>(LastLoad(image.segments)) : std::nullopt;
  PTPKG_TRY(EmptiedSegments emptied, FindEmptied(file, image, SectionsOf(growing, moves), extended));
  TailHeaders headers{.place = place, .leaves_bytes = emptied.leaves_bytes};
  SlotRequest request{.emptied = std::move(emptied.dropped), .needs = state.needs_range};
  headers.has_tail = moves.strings_mode != StringsMode::kStay || moves.moves_dynamic || moves.moves_needs ||
                     state.interpreter;
  // To make room for a header, something may have to go to the end that did not have to before.
  for (;; headers.has_tail = true) {
    request.wanted = (headers.has_tail && !place.extends ? 1U : 0U) + (adds_stack ? 1U : 0U);
    PTPKG_TRY(headers.slots, FindSegmentSlots(file, image, request));
    if (headers.has_tail || (!headers.slots.room && !headers.slots.moves_headers)) break;
  }
  if (headers.slots.moves_headers && !place.extends) headers.place = WithBias(image, place);
  if (const std::optional<HeaderRoom>& room = headers.slots.room) {
    PTPKG_TRY(headers.block_bytes,
              ReadExact(file, room->begin, room->end - room->begin, "the bytes behind the program headers"));
  }
  return headers;
}

/// If a PT_LOAD holds nothing but moved items and tables that can move too (the tail of an edit before a
/// strip), they come along, and its slot is free. Returns the moves that free one; nullopt: none do.
Result<std::optional<TailMoves>> FreeOldTail(const GrowingFile& growing, TailMoves moves,
                                             const TailHeaders& headers) {
  const auto& [file, image, state] = growing;
  std::optional<TailMoves> none;
  if (!image.dynamic || headers.place.extends || !headers.has_tail) return none;
  MovedSections moving = SectionsOf(growing, moves);
  PTPKG_TRY(const EmptiedSegments before, FindEmptied(file, image, moving, std::nullopt));
  const auto frees = [&](std::optional<std::size_t> section) -> Result<bool> {
    if (section) moving.push_back(*section);
    PTPKG_TRY(const EmptiedSegments after, FindEmptied(growing.file, growing.image, moving, std::nullopt));
    return after.dropped.size() > before.dropped.size();
  };
  const auto dynamic = image.FindSection(kSectionDynamic, image.dynamic->range.vaddr);
  PTPKG_TRY(const bool by_strings, frees(image.FindSection(kSectionStrtab, image.strings.vaddr)));
  if (!by_strings) {
    PTPKG_TRY(const bool by_dynamic, frees(dynamic));
    if (!by_dynamic) return none;
    PTPKG_TRY(const std::string user, FindDynamicReference(growing));
    if (!user.empty()) return none;
    moves.moves_dynamic = true;
  }
  if (moves.strings_mode != StringsMode::kCopy) PTPKG_CHECK(CopyStringTable(growing, moves));
  return std::optional<TailMoves>(std::move(moves));
}

/// Gives every part its offset.
Result<TailParts> PlaceParts(const GrowingFile& growing, const TailMoves& moves, const TailHeaders& headers) {
  const auto& [file, image, state] = growing;
  const Codec& codec = image.codec;
  const TailPlace& place = headers.place;
  TailParts parts;
  std::uint64_t at = place.begin + (place.extends ? 0 : kLead);
  parts.strings = image.strings.offset;
  if (moves.strings_mode == StringsMode::kContinue) at += moves.StringGrowth(at);
  const auto put = [&at](bool wanted, std::uint64_t size) -> std::uint64_t {
    if (!wanted) return 0;
    const std::uint64_t offset = AlignUp(at, 8);
    at = offset + size;
    return offset;
  };
  parts.headers = put(headers.slots.moves_headers, headers.slots.count * codec.SegmentSize());
  if (headers.slots.room) {
    parts.block = AlignUp(at, kBlockAlign) + headers.slots.room->begin % kBlockAlign;
    at = parts.block + headers.block_bytes.size();
  }
  parts.dynamic_capacity = moves.moves_dynamic ? state.entries.size() + 1 + kSpareEntries
                           : image.dynamic     ? image.dynamic->capacity
                                               : 0;
  parts.dynamic = put(moves.moves_dynamic, parts.dynamic_capacity * codec.DynamicEntrySize());
  parts.needs = put(moves.moves_needs, VersionNeedsSize(FinalVersionNeeds(state, moves.placement)));
  parts.interpreter = put(state.interpreter.has_value(), state.interpreter.value_or("").size() + 1);
  if (moves.strings_mode == StringsMode::kCopy) {
    parts.strings = put(true, image.strings.size_bytes);
    at += moves.StringGrowth(at);
  }
  parts.end = headers.has_tail ? at : image.file_size;
  if (!codec.Fits(parts.end) || !codec.Fits(place.AddressOf(parts.end))) {
    return Error(ErrorCode::kUnsupported, "the 32-bit file would grow past 4 GiB");
  }
  return parts;
}

}  // namespace

std::uint64_t TailMoves::StringGrowth(std::uint64_t at) const {
  if (strings_mode == StringsMode::kStay) return 0;
  const std::uint64_t least = placement.appended.size() + kSpareStringBytes;
  return AlignUp(at + least, kPage) - at;
}

std::size_t LastLoad(const std::vector<Segment>& segments) {
  std::size_t last = segments.size();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].type == kSegmentLoad) last = i;
  }
  return last;
}

Result<TailLayout> LayOutTail(const GrowingFile& growing) {
  const std::vector<Segment>& segments = growing.image.segments;
  if (LastLoad(segments) == segments.size()) {
    return Error(ErrorCode::kUnsupported, "the file has no loadable segment to grow behind");
  }
  const TailPlace place = ChooseTailPlace(growing.image);
  PTPKG_TRY(TailMoves moves, ChooseMoves(growing, place));
  PTPKG_TRY(TailHeaders headers, ChooseHeaders(growing, moves, place));
  if (headers.slots.is_short) {
    PTPKG_TRY(std::optional<TailMoves> more, FreeOldTail(growing, moves, headers));
    if (more) {
      moves = *std::move(more);
      PTPKG_TRY(headers, ChooseHeaders(growing, moves, headers.place));
    }
  }
  PTPKG_TRY(TailParts parts, PlaceParts(growing, moves, headers));
  return TailLayout{.moves = std::move(moves), .headers = std::move(headers), .parts = parts};
}

}  // namespace ptpkg::elf
