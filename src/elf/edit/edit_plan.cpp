// PlanEdit: decides the tier, and lists the writes of an edit in place (declared in elf/edit/edit.h).
//
// The cheapest tier that holds the new state wins: nothing, in place, a spare dynamic entry, or growth of
// the file (elf/edit/grow_file.cpp). In place means that strings, entries, version records, interpreter and
// stack header all fit where they are now. Then only the bytes that differ are written, so an edit without
// effect writes nothing and keeps the time stamp.
//
// Refused here, before any write: growth that strip would destroy later, and growth of a file with a
// payload behind its end. PyInstaller and self-extracting archives look for the payload at the end of the
// file. At last the plan compares the file's stamp, because a file that changed during planning needs a new
// plan.

#include <algorithm>
#include <fmt/core.h>

#include "elf/edit/byte_diff.h"
#include "elf/edit/finalize.h"
#include "elf/edit/grow_file.h"
#include "elf/read/corrupt.h"
#include "elf/read/section_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kPayloadBytes = 1U << 20U;

/// Lists the writes of an edit that needs no new room.
class InPlace {
 public:
  InPlace(File& file, const Image& image, const NewDynamicState& state, const Placement& placement)
      : file_(file), image_(image), state_(state), placement_(placement) {}

  Result<std::vector<PlannedWrite>> Run() {
    for (const auto* patches : {&placement_.strings, &placement_.blanks}) {
      for (const TablePatch& patch : *patches) {
        PTPKG_CHECK(Put(image_.strings.offset + patch.offset, AsBytes(patch.bytes)));
      }
    }
    PTPKG_CHECK(PutNeeds());
    PTPKG_TRY(std::vector<PlannedWrite> versions, PlanVersionIndices(file_, image_, state_));
    std::move(versions.begin(), versions.end(), std::back_inserter(writes_));
    PTPKG_CHECK(PutSegments());
    if (image_.dynamic) PTPKG_CHECK(PutDynamic());
    return std::move(writes_);
  }

 private:
  Result<void> Put(std::uint64_t offset, Bytes bytes) {
    PTPKG_TRY(const auto old, ReadExact(file_, offset, bytes.size(), "the bytes to change"));
    if (auto write = DiffWrite(offset, old, bytes)) writes_.push_back(std::move(*write));
    return Ok();
  }

  Result<void> PutNeeds() {
    if (!state_.NeedsChanged()) return Ok();
    std::vector<std::byte> bytes = EncodeVersionNeeds(image_.codec, FinalVersionNeeds(state_, placement_));
    bytes.resize(state_.needs_range.size_bytes);
    PTPKG_CHECK(Put(state_.needs_range.offset, bytes));
    PTPKG_TRY(const auto retired, RetiredSections(file_, image_, state_));
    for (const auto& [index, section] : retired) PTPKG_CHECK(PutSection(index, section));
    const auto index = image_.FindSection(kSectionGnuVerneed, state_.needs_range.vaddr);
    if (!index || state_.needs.empty()) return Ok();
    Section section = image_.sections[*index];
    section.info = static_cast<std::uint32_t>(state_.needs.size());
    return PutSection(*index, section);
  }

  Result<void> PutSection(std::size_t index, const Section& section) {
    std::vector<std::byte> bytes(image_.codec.SectionSize());
    image_.codec.EncodeSection(section, bytes);
    return Put(image_.header.section_headers_offset + index * bytes.size(), bytes);
  }

  Result<void> PutSegments() {
    if (!state_.interpreter && !state_.executable_stack) return Ok();
    std::vector<Segment> segments = image_.segments;
    if (state_.interpreter) PTPKG_CHECK(PutInterpreter(segments));
    if (state_.executable_stack) SetStack(segments);
    return Put(image_.header.program_headers_offset, EncodeSegments(image_.codec, segments));
  }

  /// The kernel refuses a place of more than 4,096 bytes, however short the name in it is.
  Result<void> PutInterpreter(std::vector<Segment>& segments) {
    const Segment interp = *image_.FindSegment(kSegmentInterp);
    std::string text = *state_.interpreter;
    text.resize(interp.file_size, '\0');
    PTPKG_CHECK(Put(interp.offset, AsBytes(text)));
    // The segment shrinks to the name, while its old bytes behind the name become NULs.
    const std::uint64_t size = state_.interpreter->size() + 1;
    for (Segment& segment : segments) {
      if (segment.type == kSegmentInterp) segment.file_size = segment.memory_size = size;
    }
    const auto index = image_.FindSection(kSectionProgbits, interp.vaddr);
    if (!index) return Ok();
    Section section = image_.sections[*index];
    section.size = size;
    return PutSection(*index, section);
  }

  void SetStack(std::vector<Segment>& segments) const {
    if (image_.FindSegment(kSegmentGnuStack) == nullptr) {
      const auto unused = std::find_if(segments.begin(), segments.end(),
                                       [](const Segment& s) { return s.type == kSegmentNull; });
      *unused = Segment{.type = kSegmentGnuStack, .flags = kFlagRead | kFlagWrite, .align = 16};
    }
    for (Segment& segment : segments) {
      if (segment.type != kSegmentGnuStack) continue;
      segment.flags = (segment.flags & ~kFlagExecute) | (*state_.executable_stack ? kFlagExecute : 0U);
    }
  }

  Result<void> PutDynamic() {
    const DynamicTable& table = *image_.dynamic;
    const auto entries = FinalEntries(image_, state_, placement_,
                                      {.strings = image_.strings.vaddr,
                                       .strings_size = image_.strings.size_bytes,
                                       .dynamic = table.range.vaddr,
                                       .needs = std::nullopt,
                                       .block = std::nullopt});
    return Put(table.range.offset, EncodeDynamic(image_.codec, entries, table.capacity));
  }

  File& file_;
  const Image& image_;
  const NewDynamicState& state_;
  const Placement& placement_;
  std::vector<PlannedWrite> writes_;
};

bool FitsInPlace(const Image& image, const NewDynamicState& state, const Placement& placement) {
  if (!placement.appended.empty()) return false;
  if (image.dynamic && state.entries.size() >= image.dynamic->capacity) return false;
  if (state.interpreter && state.interpreter->size() >= image.FindSegment(kSegmentInterp)->file_size)
    return false;
  if (state.executable_stack && image.FindSegment(kSegmentGnuStack) == nullptr &&
      image.FindSegment(kSegmentNull) == nullptr) {
    return false;
  }
  if (!state.NeedsChanged()) return true;
  std::vector<VersionNeed> needs;
  for (const NewVersionNeed& need : state.needs) needs.push_back(need.need);
  return VersionNeedsSize(needs) <= state.needs_range.size_bytes;
}

Error StripHazard() {
  return Error(ErrorCode::kUnsupported,
               "the edit must move the program headers to the end of the file, after which strip or objcopy "
               "would silently destroy it")
      .WithHint(
          "strip the file first and allow the edit with --allow-strip-hazard, or link it with room for the "
          "path");
}

/// A name inside the program headers would change with them.
Result<void> CheckInterpreter(const Image& image) {
  const Segment* name = image.FindSegment(kSegmentInterp);
  const std::uint64_t table = image.header.program_headers_offset;
  const std::uint64_t table_end = table + image.segments.size() * image.codec.SegmentSize();
  if (name == nullptr || name->offset >= table_end || table >= name->offset + name->file_size) return Ok();
  return Corrupt("the interpreter's name lies in the program headers");
}

/// Only padding may follow the last byte that headers name.
Result<void> CheckPayload(File& file, const Image& image) {
  const std::uint64_t end = EndOfNamedBytes(image);
  for (std::uint64_t at = end; at < image.file_size; at += kPayloadBytes) {
    PTPKG_TRY(const auto bytes, ReadExact(file, at, std::min(kPayloadBytes, image.file_size - at),
                                          "the bytes behind the ELF file"));
    const bool is_padding =
        std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
    if (is_padding) continue;
    return Error(ErrorCode::kUnsupported,
                 fmt::format("{} bytes follow the ELF file, and growing the file would move them",
                             image.file_size - end))
        .WithHint(
            "PyInstaller and self-extracting programs would no longer find their payload: edit the program "
            "before appending it, or allow the edit with --allow-payload");
  }
  return Ok();
}

}  // namespace

std::string_view WriteTierName(WriteTier tier) {
  switch (tier) {
    case WriteTier::kNothing:
      return "nothing";
    case WriteTier::kInPlace:
      return "in place";
    case WriteTier::kSpareEntry:
      return "spare entry";
    case WriteTier::kAppend:
      return "append";
  }
  return "";
}

std::uint64_t EditPlan::BytesToWrite() const {
  std::uint64_t sum = 0;
  for (const PlannedWrite& write : writes) sum += write.size_bytes();
  return sum;
}

bool EditPlan::IsFor(const FileStat& now) const { return now.IsUnchangedSince(seen); }

Result<EditPlan> PlanEdit(File& file, const Image& image, const Edits& edits) {
  PTPKG_TRY(const NewDynamicState state, ComputeNewDynamic(file, image, edits));
  EditPlan plan;
  plan.old_size = plan.new_size = image.file_size;
  const bool fewer = image.dynamic && state.entries.size() != image.dynamic->entries.size();
  if (state.after != state.before || fewer) {
    PTPKG_CHECK(CheckSegments(image));
    PTPKG_CHECK(CheckInterpreter(image));
    PTPKG_TRY(const Placement placement, image.dynamic ? PlaceStrings(file, image, state, SlotReuse::kAllowed)
                                                       : Result<Placement>(Placement()));
    if (FitsInPlace(image, state, placement)) {
      PTPKG_TRY(plan.writes, InPlace(file, image, state, placement).Run());
      const bool longer = image.dynamic && state.entries.size() > image.dynamic->entries.size();
      plan.tier = longer ? WriteTier::kSpareEntry : WriteTier::kInPlace;
    } else {
      PTPKG_TRY(plan, PlanGrownFile(file, image, state));
      if (plan.strip_hazard && !edits.allow_strip_hazard) return StripHazard();
      if (plan.BytesGrown() != 0 && !edits.allow_payload) PTPKG_CHECK(CheckPayload(file, image));
    }
  }
  plan.before = state.before;
  plan.after = state.after;
  plan.seen = image.seen;
  PTPKG_TRY(const FileStat now, file.Stat());
  if (!plan.IsFor(now))
    return Error(ErrorCode::kRefused, "another process changed the file while it was read");
  return plan;
}

}  // namespace ptpkg::elf
