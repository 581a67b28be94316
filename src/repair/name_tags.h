#pragma once
// Compares the tags of WHEEL and the file name. Layer: repair. Source: PyPA binary distribution format,
// ".dist-info/WHEEL".

#include "wheel/retag_wheel.h"
#include "wheel/wheel_file.h"

namespace ptpkg::repair {

/// What makes WHEEL say what the file name says, by which installers choose: its tags and build; nothing
/// where `said`, which WHEEL holds, agrees.
wheel::RetagRequest TagsOfName(const wheel::FileName& name, const wheel::WheelFile& said);

}  // namespace ptpkg::repair
