// CheckSegments (declared in elf/edit/edit.h): the loader's own rules for segments, tested before and after
// an edit. PT_LOADs must ascend without overlap, with addresses congruent to offsets modulo their
// alignment. The dynamic section and the program headers must be inside one of them.

#include <algorithm>
#include <fmt/core.h>

#include "elf/edit/edit.h"
#include "elf/read/corrupt.h"

namespace ptpkg::elf {
namespace {

bool InsideLoad(const Image& image, const Segment& inner) {
  return std::any_of(image.segments.begin(), image.segments.end(), [&](const Segment& load) {
    return load.type == kSegmentLoad && inner.vaddr >= load.vaddr &&
           inner.vaddr - load.vaddr <= load.memory_size &&
           inner.memory_size <= load.memory_size - (inner.vaddr - load.vaddr);
  });
}

}  // namespace

Result<void> CheckSegments(const Image& image) {
  const Segment* previous = nullptr;
  for (const Segment& segment : image.segments) {
    if (segment.type == kSegmentPhdr || (segment.type == kSegmentDynamic && image.dynamic)) {
      if (!InsideLoad(image, segment)) {
        return Corrupt(fmt::format("the segment at address {:#x} (type {}) lies in no loadable segment",
                                   segment.vaddr, segment.type));
      }
    }
    if (segment.type != kSegmentLoad || segment.memory_size == 0) continue;  // an empty one maps nothing
    // glibc: "ELF load command address/offset not properly aligned".
    if (segment.align > 1 && (segment.vaddr - segment.offset) % segment.align != 0) {
      return Corrupt(
          fmt::format("the loadable segment at address {:#x} is not congruent to its file offset {:#x} "
                      "modulo its alignment {:#x}",
                      segment.vaddr, segment.offset, segment.align));
    }
    if (previous != nullptr && segment.vaddr < previous->vaddr + previous->memory_size) {
      return Corrupt(
          fmt::format("the loadable segments at addresses {:#x} and {:#x} overlap or are out of order",
                      previous->vaddr, segment.vaddr));
    }
    previous = &segment;
  }
  return Ok();
}

}  // namespace ptpkg::elf
