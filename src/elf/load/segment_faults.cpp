#include "elf/load/segment_faults.h"

#include <algorithm>
#include <bit>
#include <fmt/core.h>

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kMaxSpan = 1ULL << 40U;      // 1 TiB: more than a process gets at once
constexpr std::uint64_t kMaxTlsAlign = 1ULL << 30U;  // beyond it the allocation fails

void CheckLoadSegments(const Image& image, FaultList& faults) {
  const Segment* before = nullptr;
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < image.segments.size(); ++i) {
    const Segment& segment = image.segments[i];
    if (segment.type != kSegmentLoad) continue;
    if ((segment.vaddr - segment.offset) % kLoaderPage != 0) {
      faults.Segments(
          fmt::format("address {:#x} and file offset {:#x} of loadable segment {} differ within a page",
                      segment.vaddr, segment.offset, i));
    }
    if (before == nullptr) {
      first = PageDown(segment.vaddr);
    } else if (segment.vaddr < before->vaddr + before->memory_size) {
      faults.Segments(fmt::format("loadable segment {} begins before the end of the one ahead of it", i));
    } else if (PageDown(segment.vaddr) < before->vaddr + before->memory_size &&
               (before->flags & ~segment.flags) != 0) {
      faults.Segments(fmt::format("loadable segment {} takes rights from a page of the one ahead of it", i));
    }
    if (segment.flags == 0 && segment.file_size != 0)
      faults.Segments(fmt::format("loadable segment {} can be neither read, written nor run", i));
    if (segment.align > kMaxSpan)
      faults.Segments(fmt::format("loadable segment {} has the alignment {:#x}", i, segment.align));
    if (segment.vaddr + segment.memory_size - first > kMaxSpan) {
      faults.Segments(fmt::format("loadable segment {} ends {} bytes behind the first one", i,
                                  segment.vaddr + segment.memory_size - first));
    }
    before = &segment;
  }
}

/// ld.so reads no sections, but links rely on what they say: each that takes memory is in a loadable segment,
/// and thread-local ones are in PT_TLS. A table whose first entry is not the null section (gABI "Sections")
/// is damaged, so the function then reports nothing.
void CheckSectionPlaces(const Image& image, FaultList& faults) {
  if (image.sections.empty() || image.sections.front().type != 0 || image.sections.front().flags != 0) return;
  const Segment* const tls = image.FindSegment(kSegmentTls);
  for (const Section& section : image.sections) {
    const bool takes_memory = section.type != 0 && (section.flags & kSectionAlloc) != 0 && section.size != 0;
    if (!takes_memory) continue;
    const bool is_thread_local = (section.flags & kSectionThreadLocal) != 0;
    const auto holds = [&](const Segment& segment) {
      return section.addr >= segment.vaddr && section.size <= segment.memory_size &&
             section.addr - segment.vaddr <= segment.memory_size - section.size;
    };
    if (is_thread_local && (tls == nullptr || !holds(*tls))) {
      faults.Segments(
          fmt::format("the thread-local section at address {:#x} is outside of PT_TLS", section.addr));
      return;
    }
    const bool is_mapped =
        is_thread_local ||
        std::any_of(image.segments.begin(), image.segments.end(),
                    [&](const Segment& segment) { return segment.type == kSegmentLoad && holds(segment); });
    if (is_mapped) continue;
    faults.Segments(
        fmt::format("no segment maps the section at address {:#x}, so its first use fails", section.addr));
    return;
  }
}

void CheckTls(const Image& image, const Segment& segment, FaultList& faults) {
  if ((segment.memory_size | segment.file_size) == 0) return;
  if (segment.file_size > segment.memory_size ||
      (segment.file_size != 0 && !image.OffsetOf(segment.vaddr, segment.file_size, "PT_TLS"))) {
    faults.Segments("PT_TLS has initial values outside of the loadable segments");
  }
  if (segment.memory_size > kMaxSpan)
    faults.Segments(fmt::format("PT_TLS asks for {} bytes in each thread", segment.memory_size));
  if (segment.align > kMaxTlsAlign || !std::has_single_bit(segment.align))
    faults.Segments(fmt::format("PT_TLS has the alignment {}", segment.align));
}

void CheckDynamicSegment(const Image& image, const Segment& segment, FaultList& faults) {
  const Segment* const load = image.LoadAt(segment.vaddr);
  if (load == nullptr || IsMips(image) || image.header.machine == kMachineRiscv) return;
  // The loader adds its base to the entries where PT_DYNAMIC says that it may write.
  if ((segment.flags & kFlagWrite) != 0 && (load->flags & kFlagWrite) == 0)
    faults.Segments("PT_DYNAMIC is writable, but its loadable segment is not");
}

/// True if every page of the range belongs to some PT_LOAD.
bool IsRangeMapped(const Image& image, const Segment& range) {
  const std::uint64_t end = range.vaddr + range.memory_size;
  if (end < range.vaddr || range.memory_size > kMaxSpan) return false;
  std::uint64_t at = PageDown(range.vaddr);
  while (at < end) {
    const Segment* const load = PageOwner(image, at);
    if (load == nullptr) return false;
    at = PageDown(load->vaddr + load->memory_size + kLoaderPage - 1);
  }
  return true;
}

void CheckSpecialSegments(const Image& image, FaultList& faults) {
  if (image.dynamic && image.FindSegment(kSegmentDynamic) == nullptr)
    faults.Segments("no PT_DYNAMIC leads to the dynamic section");
  for (const Segment& segment : image.segments) {
    if (segment.type == kSegmentTls) CheckTls(image, segment, faults);
    // A PT_PHDR is where the loader reads the program headers again.
    if (segment.type == kSegmentPhdr &&
        !MapsTo(image, segment.vaddr, image.codec.SegmentSize() * image.segments.size(),
                image.header.program_headers_offset)) {
      faults.Segments(
          fmt::format("PT_PHDR is at address {:#x}, where the program headers are not", segment.vaddr));
    }
    if (segment.type == kSegmentGnuRelro && segment.memory_size != 0 && !IsRangeMapped(image, segment)) {
      faults.Segments("PT_GNU_RELRO is outside of the loadable segments");
    }
    if (segment.type == kSegmentDynamic) CheckDynamicSegment(image, segment, faults);
  }
}

}  // namespace

void FindSegmentFaults(const Image& image, FaultList& faults) {
  CheckLoadSegments(image, faults);
  CheckSectionPlaces(image, faults);
  CheckSpecialSegments(image, faults);
}

/// Reads it like the kernel (fs/binfmt_elf.c).
Result<void> FindInterpreterFaults(File& file, const Image& image, FaultList& faults) {
  const Segment* const segment = image.FindSegment(kSegmentInterp);
  if (segment == nullptr) return Ok();
  if (segment->file_size < 2 || segment->file_size > kMaxInterpreterBytes) {
    faults.Segments(fmt::format("PT_INTERP has {} bytes, and the kernel takes 2 to {}", segment->file_size,
                                kMaxInterpreterBytes));
    return Ok();
  }
  PTPKG_TRY(const auto last, ReadExact(file, segment->offset + segment->file_size - 1, 1, "PT_INTERP"));
  if (last.front() != std::byte{0}) faults.Segments("PT_INTERP does not end with a NUL byte");
  return Ok();
}

}  // namespace ptpkg::elf
