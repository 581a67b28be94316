#pragma once
// What build scripts, archives and servers say reaches no terminal as it is. Layer: cli.

#include <memory>

#include "support/reporter.h"

namespace ptpkg::cli {

/// Hands everything to `inner`, which outlives it, texts of others first put through DisplayLine: the output
/// of child processes, names in notes and warnings, what tasks work on.
std::unique_ptr<Reporter> MakeSafeReporter(Reporter& inner);

}  // namespace ptpkg::cli
