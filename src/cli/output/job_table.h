#pragma once
// Jobs of a matrix run as a table. Layer: cli.

#include <string>
#include <vector>

#include "pipeline/matrix/matrix.h"

namespace ptpkg::cli {

/// A heading and one line per job: name, state, attempts, time and time left, and why it failed or waits.
std::vector<std::string> JobTable(const matrix::RunStatus& status);

/// "3 of 5 jobs passed (1 cached), 1 running, 1 waiting; about 4 min left".
std::string JobSummary(const matrix::RunStatus& status);

/// "0.8 s", "12 s", "4 min", "3.2 h".
std::string ShortTime(double seconds);

}  // namespace ptpkg::cli
