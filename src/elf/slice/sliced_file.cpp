// Shows a planned slice as a file without writing it, and writes it (MakeSlicedFile and WriteSlice,
// declared in elf/slice/device_slice.h).
//
// A read is mapped to the pieces of the plan, so the checks can read the slice before it exists. Writing
// skips zeros and the original's holes, and makes holes of long runs of zeros, so a slice in place takes
// less disk. Each piece is read back and compared right after it was written, while it is still in the
// cache.
//
// The original's stamp is compared before and after, because its bytes are read until the end.

#include "elf/slice/sliced_file.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/digest/scratch_buffer.h"
#include "support/process/parallel.h"

namespace ptpkg::elf {
namespace {

/// Bytes written and read back at once: both copies stay in a core's cache.
constexpr std::uint64_t kWrittenAtOnce = 1U << 20U;
/// A block of this size and alignment that is all zeros becomes a hole.
constexpr std::uint64_t kLeastHole = 64U << 10U;

Error Changed() { return {ErrorCode::kRefused, "the file changed since its slice was planned"}; }

Result<void> CheckPlanned(File& file, const SlicePlan& plan) {
  PTPKG_TRY(const FileStat now, file.Stat());
  return now.IsUnchangedSince(plan.seen) ? Ok() : Changed();
}

FileStat StatOf(const SlicePlan& plan) {
  FileStat stat = plan.seen;
  stat.size_bytes = plan.new_size;
  return stat;
}

struct Step {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

/// The parts of the result that are neither zeros nor whole holes of the original.
Result<std::vector<Step>> StepsOf(File& original, const SlicePlan& plan) {
  std::vector<Step> steps;
  std::uint64_t at = 0;
  for (const SlicePiece& piece : plan.pieces) {
    const std::uint64_t begin = at;
    const std::uint64_t end = at + piece.size_bytes;
    if (piece.kind == SlicePiece::Kind::kZeros) at = end;
    while (at < end) {
      if (piece.kind == SlicePiece::Kind::kCopy) {
        const std::uint64_t from = piece.from + (at - begin);
        PTPKG_TRY(const std::uint64_t data, original.NextData(from));
        at += std::min(data - from, end - at);
        if (at == end) break;
      }
      const bool goes_on = !steps.empty() && steps.back().offset + steps.back().size_bytes == at &&
                           steps.back().size_bytes < kWrittenAtOnce;
      if (!goes_on) steps.push_back({.offset = at});
      const std::uint64_t size = std::min(kWrittenAtOnce - steps.back().size_bytes, end - at);
      steps.back().size_bytes += size;
      at += size;
    }
  }
  return steps;
}

bool IsZero(Bytes bytes) {
  static const std::string zeros(kLeastHole, '\0');
  return AsText(bytes) == std::string_view(zeros).substr(0, bytes.size());
}

/// Writes `bytes`, and reads them back.
Result<void> WriteAndRead(Bytes bytes, std::uint64_t offset, File& target, ScratchBuffer& found) {
  PTPKG_CHECK(target.WriteAt(offset, bytes));
  PTPKG_TRY(const std::size_t back, target.ReadAt(offset, found.bytes().first(bytes.size())));
  if (AsText(found.First(back)) == AsText(bytes)) return Ok();
  return Error(ErrorCode::kIo,
               fmt::format("the data written at file offset {} reads as something else", offset))
      .WithHint("another program may have changed the file; else check the machine's memory and disk");
}

/// Writes the step, except for blocks that become holes.
Result<void> WriteStep(File& sliced, const Step& step, File& target) {
  ScratchBuffer wanted(step.size_bytes);
  PTPKG_TRY(const std::size_t got, sliced.ReadAt(step.offset, wanted.bytes()));
  if (got != step.size_bytes) return Changed();
  ScratchBuffer found(step.size_bytes);
  std::uint64_t begin = 0;  // of the bytes to write
  for (std::uint64_t at = 0; at < step.size_bytes;) {
    const std::uint64_t next = std::min(step.size_bytes, at + kLeastHole - (step.offset + at) % kLeastHole);
    if (next - at == kLeastHole && IsZero(Bytes(wanted.bytes()).subspan(at, kLeastHole))) {
      if (at != begin)
        PTPKG_CHECK(WriteAndRead(Bytes(wanted.bytes()).subspan(begin, at - begin), step.offset + begin,
                                 target, found));
      begin = next;
    }
    at = next;
  }
  if (begin == step.size_bytes) return Ok();
  return WriteAndRead(Bytes(wanted.bytes()).subspan(begin), step.offset + begin, target, found);
}

}  // namespace

SlicedFile::SlicedFile(File& original, const SlicePlan& plan)
    : ReadOnlyFile(StatOf(plan)), original_(original), pieces_(plan.pieces) {
  std::uint64_t at = 0;
  for (const SlicePiece& piece : pieces_) ends_.push_back(at += piece.size_bytes);
}

/// Index of the piece that has the byte; the number of pieces behind the end.
std::size_t SlicedFile::IndexAt(std::uint64_t offset) const {
  return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), offset) - ends_.begin());
}

Result<std::size_t> SlicedFile::ReadAt(std::uint64_t offset, MutableBytes buffer) {
  std::size_t index = IndexAt(offset);
  std::size_t done = 0;
  for (; index < pieces_.size() && done < buffer.size(); ++index) {
    const SlicePiece& piece = pieces_[index];
    const std::uint64_t skip = offset + done - (ends_[index] - piece.size_bytes);
    const std::uint64_t size = std::min<std::uint64_t>(piece.size_bytes - skip, buffer.size() - done);
    PTPKG_CHECK(ReadPiece(piece, skip, buffer.subspan(done, size)));
    done += size;
  }
  return done;
}

Result<std::uint64_t> SlicedFile::NextData(std::uint64_t offset) {
  const std::size_t index = IndexAt(offset);
  const bool is_zero = index < pieces_.size() && pieces_[index].kind == SlicePiece::Kind::kZeros;
  return is_zero ? ends_[index] : offset;
}

bool SlicedFile::IsTakenFrom(const File& original, std::uint64_t from, std::uint64_t offset,
                             std::uint64_t size_bytes) const {
  if (&original != &original_) return false;
  const std::uint64_t end = offset + size_bytes;
  for (std::size_t index = IndexAt(offset); offset < end; ++index) {
    if (index == pieces_.size() || pieces_[index].kind != SlicePiece::Kind::kCopy) return false;
    const std::uint64_t begin = ends_[index] - pieces_[index].size_bytes;
    if (pieces_[index].from + (offset - begin) != from) return false;
    const std::uint64_t size = std::min(end, ends_[index]) - offset;
    offset += size;
    from += size;
  }
  return true;
}

Result<void> SlicedFile::ReadPiece(const SlicePiece& piece, std::uint64_t skip, MutableBytes to) {
  if (piece.kind == SlicePiece::Kind::kCopy) {
    PTPKG_TRY(const std::size_t got, original_.ReadAt(piece.from + skip, to));
    if (got != to.size()) return Changed();
  } else if (piece.kind == SlicePiece::Kind::kBytes) {
    const Bytes from = Bytes(piece.bytes).subspan(skip, to.size());
    std::copy(from.begin(), from.end(), to.begin());
  } else {
    std::fill(to.begin(), to.end(), std::byte{0});
  }
  return Ok();
}

Result<std::unique_ptr<File>> MakeSlicedFile(File& file, const SlicePlan& plan) {
  PTPKG_CHECK(CheckPlanned(file, plan));
  return std::unique_ptr<File>(std::make_unique<SlicedFile>(file, plan));
}

Result<void> WriteSlice(File& file, const SlicePlan& plan, File& target, int jobs) {
  PTPKG_CHECK(CheckPlanned(file, plan));
  SlicedFile sliced(file, plan);
  PTPKG_CHECK(target.Truncate(plan.new_size));
  PTPKG_TRY(const std::vector<Step> steps, StepsOf(file, plan));
  PTPKG_CHECK(
      ParallelFor(jobs, steps.size(), [&](std::size_t i) { return WriteStep(sliced, steps[i], target); }));
  // The original was read until here, so it must not have changed until here.
  return CheckPlanned(file, plan);
}

}  // namespace ptpkg::elf
