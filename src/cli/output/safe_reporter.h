#pragma once
// Sanitises output of build scripts, archives and servers for the terminal. Layer: cli.

#include <memory>

#include "support/reporter.h"

namespace ptpkg::cli {

/// Forwards everything to `inner`, which outlives it. Passes external texts through DisplayLine first: the
/// output of child processes, names in notes and warnings, subjects of tasks.
std::unique_ptr<Reporter> MakeSafeReporter(Reporter& inner);

}  // namespace ptpkg::cli
