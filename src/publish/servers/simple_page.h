#pragma once
// Parses a project page of a simple index. Layer: publish. Sources: PEP 691, PEP 629, PEP 503, pip 26.3.

#include <string>
#include <string_view>
#include <vector>

#include "support/net/http.h"

namespace ptpkg::publish {

/// Accept header: JSON preferred, HTML from servers that have nothing else.
inline constexpr const char* kSimplePageAccept =
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

struct SimpleFile {
  std::string sha256 = {};  ///< Lower case; "": not on the page.
  std::string link = {};    ///< URL of the file on FoundFiles::base; "": the base itself.
  bool is_yanked = false;
};

struct FoundFiles {
  std::vector<SimpleFile> files = {};  ///< All entries of the name, in the order of the page.
  std::string base = {};               ///< Base of the links, relative to the page's URL; "": the page's URL.
  std::string newer_version = {};  ///< The page's version of the interface, if its minor version is newer.
};

/// The entries of a name that pip would see. Errors: kInvalidInput for a text that is not an index page,
/// kUnsupported for another major version of the interface.
Result<FoundFiles> FindInSimplePage(const HttpAnswer& page, std::string_view file_name);

}  // namespace ptpkg::publish
