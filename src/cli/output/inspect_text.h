#pragma once
// Text output of `ptpkg inspect` and `ptpkg diff`, made from the documents that --json prints. Layer: cli.

#include <string>
#include <vector>

#include "support/text/json_fwd.h"

namespace ptpkg::cli {

struct InspectTextOptions {
  std::size_t rows = 10;  ///< Most rows of each list; one line summarises the rest.
  bool graph = false;     ///< Every library that each ELF file needs, not only the missing ones.
};

/// Lines for one item of docs/json/inspect.json, without its findings.
std::vector<std::string> InspectLines(const Json& document, const InspectTextOptions& options);

/// Lines for docs/json/diff.json; no lines for identical artifacts. If a list is cut, the last line has the
/// options that show everything.
std::vector<std::string> DiffLines(const Json& document, const InspectTextOptions& options);

}  // namespace ptpkg::cli
