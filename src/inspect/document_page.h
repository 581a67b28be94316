#pragma once
// Renders reports as self-contained HTML pages. Layer: inspect. The page's own text is in data/; it is
// written for browsers of 2023 or later.

#include <string>
#include <string_view>

#include "support/result.h"
#include "support/text/json_fwd.h"

namespace ptpkg::inspect {

/// `document`: as docs/json/inspect.json, diff.json or slice.json. The page holds it deflated and in base64,
/// so that no name in it can end the enclosing element, and as PlainTables for browsers without scripts. The
/// page's policy (Content Security Policy level 3) allows only the script and the style with these digests,
/// and no requests. Equal documents give equal bytes for one version of libdeflate. Text that is not UTF-8 is
/// shown with U+FFFD. Errors: kInternal from libdeflate.
Result<std::string> HtmlPage(const Json& document);

/// Prefix of every page; other files rarely have it.
std::string_view HtmlPageBeginning();

}  // namespace ptpkg::inspect
