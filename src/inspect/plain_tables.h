#pragma once
// Static HTML tables for browsers without JavaScript. Layer: inspect.

#include <string>

#include "support/text/json_fwd.h"

namespace ptpkg::inspect {

/// HTML: a table of the document's own values, and one of each list of objects in it with their simple values
/// and lists of texts as columns. A list shows its first 500 rows and says how many follow. All text is
/// escaped.
std::string PlainTables(const Json& document);

}  // namespace ptpkg::inspect
