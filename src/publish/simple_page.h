#pragma once
// One project's page of a simple index, as JSON or HTML. Layer: publish. Sources: PEP 691, PEP 503.

#include <optional>
#include <string>
#include <string_view>

#include "support/http.h"

namespace ptpkg::publish {

/// What to ask for: JSON, and HTML of servers that have nothing else.
inline constexpr const char* kSimplePageAccept =
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

struct SimpleFile {
  std::string sha256 = {};  ///< Lower case; "": the page does not tell.
  std::string link = {};  ///< Where the file is, as the page has it: perhaps relative to the page. May be "".
};

/// nullopt when the page does not list a file of that name. Errors: kInvalidInput for JSON that is no page.
Result<std::optional<SimpleFile>> FindInSimplePage(const HttpAnswer& page, std::string_view file_name);

}  // namespace ptpkg::publish
