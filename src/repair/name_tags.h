#pragma once
// Compares the tags of WHEEL and the file name. Layer: repair. Source: PyPA binary distribution format,
// ".dist-info/WHEEL".

#include "wheel/retag_wheel.h"
#include "wheel/wheel_file.h"

namespace ptpkg::repair {

/// Request that gives WHEEL the tags and build of the file name, by which installers choose; empty
/// if `said`, the content of WHEEL, agrees.
wheel::RetagRequest TagsOfName(const wheel::FileName& name, const wheel::WheelFile& said);

}  // namespace ptpkg::repair
