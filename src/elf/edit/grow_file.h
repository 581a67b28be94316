#pragma once
// Plans edits that append to the end of the file. Layer: elf, private to it.

#include "elf/edit/string_placement.h"

namespace ptpkg::elf {

/// Plans the writes of an edit whose strings or entries do not fit in place. Sets tier, writes and sizes.
/// Errors: kUnsupported (32-bit file past 4 GiB), kCorrupt, kIo.
Result<EditPlan> PlanGrownFile(File& file, const Image& image, const NewDynamicState& state);

}  // namespace ptpkg::elf
