// Makes one HTML file from a document, without a server and without requests
// (docs/decisions/0017-html-page.md).
//
// The document is deflated and embedded as base64, and the page's script unpacks it. A plain table serves
// readers without scripts. The content security policy names script and style by digest and lets nothing be
// loaded or sent. So text from an artifact cannot run, even if an escape were forgotten.

#include "inspect/document_page.h"

#include <array>
#include <fmt/core.h>
#include <span>
#include <string_view>
#include <utility>

#include "archive/deflate/deflate_chunk.h"
#include "inspect/page_css.h"   // generated from data/page.css
#include "inspect/page_html.h"  // generated from data/page.html
#include "inspect/page_js.h"    // generated from data/*.js
#include "inspect/plain_tables.h"
#include "support/assert.h"
#include "support/digest/base64.h"
#include "support/digest/hash.h"
#include "support/text/json.h"

namespace ptpkg::inspect {
namespace {

constexpr int kPageLevel = 9;

/// The source expression of a script or style of this text (Content Security Policy level 3, 2.3.1).
std::string PolicyDigest(std::string_view text) {
  const Sha256 digest = HashText(text);
  return fmt::format("'sha256-{}'", Base64(std::as_bytes(std::span(digest.bytes))));
}

/// The page, each "@name@" replaced.
std::string FilledPage(const std::array<std::pair<std::string_view, std::string_view>, 5>& parts) {
  std::string page;
  std::string_view rest = kPageHtml;
  for (const auto& [name, text] : parts) {
    const std::size_t at = rest.find(name);
    PTPKG_ASSERT(at != std::string_view::npos);
    page.append(rest.substr(0, at)).append(text);
    rest.remove_prefix(at + name.size());
  }
  return page.append(rest);
}

}  // namespace

Result<std::string> HtmlPage(const Json& document) {
  const std::string text = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  archive::DeflatePool pool(kPageLevel);
  PTPKG_TRY(const std::string deflated, pool.Deflate(AsBytes(text), archive::ChunkPlace::kLast));
  const std::string policy = fmt::format(
      "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
      PolicyDigest(kPageJs), PolicyDigest(kPageCss));
  const std::string data = Base64(AsBytes(deflated));
  const std::string plain = PlainTables(document);
  // In the order of the page.
  return FilledPage({{{"@policy@", policy},
                      {"@style@", kPageCss},
                      {"@plain@", plain},
                      {"@document@", data},
                      {"@script@", kPageJs}}});
}

std::string_view HtmlPageBeginning() { return kPageHtml.substr(0, kPageHtml.find("<html")); }

}  // namespace ptpkg::inspect
