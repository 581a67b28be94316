// Compares a file before and after an edit, for deep verification.
//
// The edit may change names, search path and version requirements as planned, and nothing else: symbols,
// notes and code must be the same. Code is hashed by its sections. Without section headers, the executable
// segments are hashed, which may contain headers and names: planned writes are then cleared from both
// hashes.
//
// LIEF's writer moves everything behind the program headers by one distance. For its files a symbol may
// move, but only by the distance of the first one that moved.

#include "elf/read/model.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/read/section_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kChunkBytes = 1U << 20U;

struct Range {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

std::vector<Range> CodeRanges(const Image& image) {
  std::vector<Range> ranges;
  for (const Section& section : image.sections) {
    if ((section.flags & kSectionExecute) == 0 || section.type == kSectionNobits) continue;
    ranges.push_back({.offset = section.offset, .size_bytes = section.size});
  }
  if (!image.sections.empty()) return ranges;
  for (const Segment& segment : image.segments) {
    if (segment.type != kSegmentLoad || (segment.flags & kFlagExecute) == 0) continue;
    ranges.push_back({.offset = segment.offset, .size_bytes = segment.file_size});
  }
  return ranges;
}

void ClearOverlap(std::uint64_t begin, MutableBytes bytes, const PlannedWrite& write) {
  const std::uint64_t from = std::max(begin, write.offset);
  const std::uint64_t to = std::min(begin + bytes.size(), write.offset + write.size_bytes());
  if (from >= to) return;
  const MutableBytes overlap = bytes.subspan(from - begin, to - from);
  std::fill(overlap.begin(), overlap.end(), std::byte{0});
}

Error Differs(std::string what) {
  return Error(ErrorCode::kInternal, fmt::format("deep verification: {}", what))
      .WithHint("the old content was restored; please report the file");
}

/// Distance that the first moved symbol moved.
std::uint64_t FirstMove(const Model& before, const Model& after) {
  for (std::size_t i = 0; i < before.symbols.size(); ++i) {
    if (after.symbols[i].value != before.symbols[i].value)
      return after.symbols[i].value - before.symbols[i].value;
  }
  return 0;
}

Result<void> CompareSymbols(const Model& before, const Model& after, bool versions, Addresses addresses) {
  if (before.symbols.size() != after.symbols.size()) {
    return Differs(fmt::format("{} dynamic symbols became {}", before.symbols.size(), after.symbols.size()));
  }
  const std::uint64_t move = addresses == Addresses::kMayMove ? FirstMove(before, after) : 0;
  for (std::size_t i = 0; i < before.symbols.size(); ++i) {
    ModelSymbol now = after.symbols[i];
    // With fewer version requirements, symbols of the removed ones become unversioned as planned.
    if (!versions) now.version = before.symbols[i].version;
    if (now.value == before.symbols[i].value + move) now.value = before.symbols[i].value;
    if (now != before.symbols[i])
      return Differs(fmt::format("the symbol '{}' changed", before.symbols[i].name));
  }
  return Ok();
}

}  // namespace

Result<CodeDigest> HashCode(File& file, const Image& image, const std::vector<PlannedWrite>& changing) {
  Blake2b256Hasher hasher;
  for (const Range& range : CodeRanges(image)) {
    for (std::uint64_t done = 0; done < range.size_bytes; done += kChunkBytes) {
      const std::uint64_t begin = range.offset + done;
      const std::uint64_t size = std::min(kChunkBytes, range.size_bytes - done);
      PTPKG_TRY(auto bytes, ReadExact(file, begin, size, "the code"));
      if (image.sections.empty()) {
        for (const PlannedWrite& write : changing) ClearOverlap(begin, bytes, write);
      }
      hasher.Update(bytes);
    }
  }
  return hasher.Finish();
}

Result<void> CheckCodeUntouched(const Image& image, const EditPlan& plan) {
  if (image.sections.empty()) return Ok();  // the headers and names of such a file may lie in a code segment
  for (const Range& range : CodeRanges(image)) {
    for (const PlannedWrite& write : plan.writes) {
      if (write.offset >= range.offset + range.size_bytes ||
          range.offset >= write.offset + write.size_bytes())
        continue;
      return Differs(fmt::format("a write at {} touches the code at {} to {}", write.offset, range.offset,
                                 range.offset + range.size_bytes));
    }
  }
  return Ok();
}

Result<void> CompareModels(const Model& before, const Model& after, const LinkFacts& expected,
                           Addresses addresses) {
  LinkFacts facts = after.facts;
  facts.stack = expected.stack;  // not read through LIEF
  facts.flags_1 = expected.flags_1;
  facts.has_debug_entry = expected.has_debug_entry;
  if (facts != expected) return Differs("names or search path differ from the plan");
  PTPKG_CHECK(CompareSymbols(
      before, after, before.facts.version_files.size() == after.facts.version_files.size(), addresses));
  if (before.notes != after.notes) return Differs("a note, such as the build id, changed");
  return Ok();
}

}  // namespace ptpkg::elf
