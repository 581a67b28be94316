// Compares a slice with its original, byte range by byte range, in parallel.
//
// Ranges are collected first, neighbours are joined, and work is cut into units of 4 MiB, so that all
// threads have work, whatever the sizes of the ranges. A range that the slice takes unchanged from the
// original by its own pieces needs no read. Words that the slice is expected to change are put into the
// original's bytes before the comparison, so the rest is compared with memcmp.

#include "elf/slice/slice_compare.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/read/format.h"
#include "support/digest/scratch_buffer.h"
#include "support/process/parallel.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kComparedAtOnce = 1U << 20U;
/// Bytes that one thread compares before it takes more.
constexpr std::uint64_t kUnitBytes = 4U << 20U;
constexpr std::uint64_t kExpectedBytes = 8;

Result<void> Fill(File& file, std::uint64_t offset, MutableBytes bytes) {
  PTPKG_TRY(const std::size_t got, file.ReadAt(offset, bytes));
  return got == bytes.size()
             ? Ok()
             : SliceDiffers(fmt::format("the file ends before offset {}", offset + bytes.size()));
}

/// Index of the first byte that differs; the size when none does.
std::size_t FirstDifference(Bytes one, Bytes other) {
  if (AsText(one) == AsText(other)) return one.size();  // memcmp, which is 20 times faster than the search
  return static_cast<std::size_t>(std::mismatch(one.begin(), one.end(), other.begin()).first - one.begin());
}

Result<void> RequireEqual(Bytes wanted, Bytes found, std::string_view what, std::uint64_t original) {
  const std::size_t same = FirstDifference(wanted, found);
  if (same == wanted.size()) return Ok();
  return SliceDiffers(fmt::format("{}, byte {} of the original", what, original + same));
}

}  // namespace

Error SliceDiffers(const std::string& what) {
  return Error(ErrorCode::kInternal, "the slice differs from its original: " + what)
      .WithHint("please report this; the original is unchanged");
}

Result<void> CompareRecords(File& original, File& sliced, const ComparedRange& range,
                            std::uint64_t record_bytes, const std::function<void(MutableBytes)>& follow) {
  const std::uint64_t step = std::min(kComparedAtOnce / record_bytes * record_bytes, range.size_bytes);
  ScratchBuffer wanted_bytes(step);
  ScratchBuffer found_bytes(step);
  for (std::uint64_t at = 0; at < range.size_bytes; at += step) {
    const std::uint64_t size = std::min(step, range.size_bytes - at);
    const MutableBytes wanted = wanted_bytes.bytes().first(size);
    const MutableBytes found = found_bytes.bytes().first(size);
    PTPKG_CHECK(Fill(original, range.original + at, wanted));
    PTPKG_CHECK(Fill(sliced, range.sliced + at, found));
    for (std::uint64_t i = 0; i + record_bytes <= size; i += record_bytes)
      follow(wanted.subspan(i, record_bytes));
    PTPKG_CHECK(RequireEqual(wanted, found, range.what, range.original + at));
  }
  return Ok();
}

struct RangeComparison::Buffers {
  ScratchBuffer original{kComparedAtOnce};
  ScratchBuffer sliced{kComparedAtOnce};
};

RangeComparison::RangeComparison(File& original, File& sliced)
    : original_(original), sliced_(sliced), unwritten_(dynamic_cast<const SlicedFile*>(&sliced)) {}

bool RangeComparison::IsEqualByItsSource(const ComparedRange& range) const {
  if (unwritten_ == nullptr) return false;
  // A word that begins up to seven bytes before the range reaches into it.
  const auto word = expected_.lower_bound(range.original - std::min(range.original, kExpectedBytes - 1));
  const bool changes = word != expected_.end() && word->first < range.original + range.size_bytes;
  return !changes && unwritten_->IsTakenFrom(original_, range.original, range.sliced, range.size_bytes);
}

void RangeComparison::Add(const ComparedRange& range) {
  if (range.size_bytes == 0) return;
  if (!ranges_.empty()) {
    ComparedRange& last = ranges_.back();
    const bool goes_on = last.original + last.size_bytes == range.original &&
                         last.sliced + last.size_bytes == range.sliced && last.what == range.what;
    if (goes_on) {
      last.size_bytes += range.size_bytes;
      return;
    }
  }
  ranges_.push_back(range);
}

Result<void> RangeComparison::Run(int jobs) const {
  struct Unit {
    std::size_t range = 0;  ///< The first one.
    std::uint64_t at = 0;   ///< In it.
  };
  std::vector<Unit> units;
  std::uint64_t left = 0;  // of the unit
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    for (std::uint64_t at = 0; at < ranges_[i].size_bytes;) {
      if (left == 0) {
        units.push_back({.range = i, .at = at});
        left = kUnitBytes;
      }
      const std::uint64_t size = std::min(left, ranges_[i].size_bytes - at);
      at += size;
      left -= size;
    }
  }
  return ParallelFor(jobs, units.size(), [&](std::size_t unit) -> Result<void> {
    Buffers buffers;
    auto [index, at] = units[unit];
    for (std::uint64_t rest = kUnitBytes; rest != 0 && index < ranges_.size(); ++index, at = 0) {
      const ComparedRange& range = ranges_[index];
      const std::uint64_t size = std::min(rest, range.size_bytes - at);
      PTPKG_CHECK(Compare({.original = range.original + at,
                           .sliced = range.sliced + at,
                           .size_bytes = size,
                           .what = range.what},
                          buffers));
      rest -= size;
    }
    return Ok();
  });
}

Result<void> RangeComparison::Compare(const ComparedRange& range, Buffers& buffers) const {
  for (std::uint64_t at = 0; at < range.size_bytes; at += kComparedAtOnce) {
    const std::uint64_t size = std::min(kComparedAtOnce, range.size_bytes - at);
    const ComparedRange step{
        .original = range.original + at, .sliced = range.sliced + at, .size_bytes = size};
    if (IsEqualByItsSource(step)) continue;
    const MutableBytes wanted = buffers.original.bytes().first(size);
    const MutableBytes found = buffers.sliced.bytes().first(size);
    PTPKG_CHECK(Fill(original_, range.original + at, wanted));
    PTPKG_CHECK(Fill(sliced_, range.sliced + at, found));
    Follow(range.original + at, wanted);
    const std::size_t same = FirstDifference(wanted, found);
    if (same != size) {
      return SliceDiffers(fmt::format("{}, byte {} of the original", range.what, range.original + at + same));
    }
  }
  return Ok();
}

void RangeComparison::Follow(std::uint64_t original, MutableBytes bytes) const {
  const std::uint64_t end = original + bytes.size();
  const std::uint64_t reach = original - std::min(original, kExpectedBytes - 1);
  for (auto word = expected_.lower_bound(reach); word != expected_.end() && word->first < end; ++word) {
    for (std::uint64_t i = 0; i < kExpectedBytes; ++i) {
      const std::uint64_t at = word->first + i;
      if (at >= original && at < end) bytes[at - original] = static_cast<std::byte>(word->second >> (8 * i));
    }
  }
}

}  // namespace ptpkg::elf
