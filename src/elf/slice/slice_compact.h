#pragma once
// The compact form of a linked file's slice: what changes in it beside the containers. Layer: elf, private to
// it.

#include <string>
#include <vector>

#include "elf/slice/slice_pieces.h"

namespace ptpkg::elf {

struct CompactPlan {
  /// SlicePlan::not_compact.
  std::string why_not = {};
  /// Indexes of the compacted sections; empty when it cannot be done.
  std::vector<std::size_t> compacted = {};
  std::vector<Replacement> replacements = {};
};

/// Plans the compact form of a linked `file`, whose sections of device code are `sections`: of all that get
/// smaller by a page or more, or, where something is in the way of that, of the one that loses most. Errors:
/// kCorrupt (relocations, symbols or segments that contradict the file), kIo.
Result<CompactPlan> PlanCompact(File& file, const Image& image, const std::vector<SlicedSection>& sections);

}  // namespace ptpkg::elf
