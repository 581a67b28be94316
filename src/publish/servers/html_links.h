#pragma once
// Extracts links from HTML like Python's html.parser. Layer: publish.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::publish {

struct HtmlLinks {
  std::optional<std::string> base = {};  ///< href of the first <base> that has one.
  std::string repository_version = {};   ///< <meta name="pypi:repository-version" content="…">.
  /// The attributes of each <a>, names in lower case; the last of equal names wins, as in pip.
  std::vector<std::map<std::string, std::string>> anchors = {};
};

/// Versions of html.parser disagree on malformed pages, and on <textarea>, <title> and other elements whose
/// content is text. A link that one of them does not see is left out: installers might not find it. Errors:
/// kInvalidInput for a <base> if they read different attributes.
Result<HtmlLinks> ReadHtmlLinks(std::string_view page);

}  // namespace ptpkg::publish
