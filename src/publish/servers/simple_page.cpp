// Finds a file in a page of a simple index: JSON (PEP 691) or HTML (PEP 503). The rules are pip's, because
// a file that installers do not see is not published: entries without a URL are skipped, only the first
// digest in a link's fragment counts, and white space in links is dropped like in urllib. A newer minor
// version of the API gives a warning, another major version is refused.

#include "publish/servers/simple_page.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>

#include "publish/http/exchange.h"
#include "publish/servers/html_links.h"
#include "support/net/resolve_url.h"
#include "support/net/url.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

constexpr int kMajor = 1;
constexpr int kMinor = 4;  // PEP 792
constexpr std::size_t kSha256Digits = 64;

/// `text` where it is one; "" otherwise.
std::string Sha256Of(std::string_view text) {
  const bool whole = text.size() == kSha256Digits &&
                     text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
  return whole ? ToLower(text) : "";
}

/// Refuses another major version, and notes a newer minor one.
Result<void> CheckVersion(const std::string& version, FoundFiles& found) {
  int major = 0;
  int minor = 0;
  const char* const end = version.data() + version.size();
  auto parsed = std::from_chars(version.data(), end, major);
  const bool has_minor = parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '.';
  if (has_minor) parsed = std::from_chars(parsed.ptr + 1, end, minor);
  if (!has_minor || parsed.ec != std::errc() || parsed.ptr != end) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("page of the index: '{}' is not an API version", version));
  }
  if (major != kMajor) {
    return Error(ErrorCode::kUnsupported, fmt::format("page of the index: API version {}", version))
        .WithHint("ptpkg reads version 1 (PEP 691); give the URL of such an index: --check-url URL");
  }
  if (minor > kMinor) found.newer_version = version;
  return Ok();
}

std::string TextOf(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string()
             ? object[key].get<std::string>()
             : "";
}

Result<FoundFiles> FindInJson(const std::string& body, std::string_view file_name) {
  PTPKG_TRY(const Json page, ParseJson(body, "page of the index"));
  if (!page.is_object() || !page.contains("files") || !page["files"].is_array())
    return Error(ErrorCode::kInvalidInput, "page of the index: no list of files");
  FoundFiles found;
  const Json meta = page.value("meta", Json::object());
  if (meta.is_object() && meta.contains("api-version")) {
    const Json& version = meta["api-version"];
    PTPKG_CHECK(CheckVersion(version.is_string() ? version.get<std::string>() : version.dump(), found));
  }
  for (const Json& file : page["files"]) {
    // pip passes over an entry without a URL.
    if (TextOf(file, "filename") != file_name || TextOf(file, "url").empty()) continue;
    const Json yanked = file.value("yanked", Json(false));
    found.files.push_back({.sha256 = Sha256Of(TextOf(file.value("hashes", Json::object()), "sha256")),
                           .link = TextOf(file, "url"),
                           .is_yanked = yanked.is_string() || yanked == Json(true)});
  }
  return found;
}

/// The digest in a link's fragment, where sha256 is the first one that it names.
std::string Sha256In(std::string_view link) {
  for (std::size_t at = link.find_first_of("#&"); at != std::string_view::npos;
       at = link.find_first_of("#&", at + 1)) {
    const std::string_view rest = link.substr(at + 1);
    for (const std::string_view name : {"sha512=", "sha384=", "sha256=", "sha224=", "sha1=", "md5="}) {
      if (!rest.starts_with(name)) continue;
      const std::string_view value = rest.substr(name.size());
      return name == "sha256=" ? Sha256Of(value.substr(0, value.find('&'))) : "";
    }
  }
  return "";
}

/// The last part of the path, which may be percent-encoded: '/' too.
std::string NameIn(std::string_view link) {
  std::string path = PercentDecode(link.substr(0, link.find_first_of("#?")));
  while (path.ends_with('/')) path.pop_back();
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

Result<FoundFiles> FindInHtml(std::string_view body, std::string_view file_name) {
  PTPKG_TRY(const HtmlLinks links, ReadHtmlLinks(body));
  FoundFiles found;
  if (!links.repository_version.empty()) PTPKG_CHECK(CheckVersion(links.repository_version, found));
  for (const auto& anchor : links.anchors) {
    const auto href = anchor.find("href");
    if (href == anchor.end() || href->second.empty()) continue;
    // Like urllib.parse.
    std::string link(Trim(href->second));
    std::erase_if(link, [](char c) { return c == '\t' || c == '\n' || c == '\r'; });
    const std::string base = links.base.value_or("");
    // A link without a path leads to the base itself.
    const bool is_of_base = link.empty() || link.front() == '#' || link.front() == '?';
    if (NameIn(is_of_base ? base : link) != file_name) continue;
    found.files.push_back({.sha256 = Sha256In(link),
                           .link = link.substr(0, link.find('#')),
                           .is_yanked = anchor.contains("data-yanked")});
  }
  found.base = links.base.value_or("");
  return found;
}

}  // namespace

Result<FoundFiles> FindInSimplePage(const HttpAnswer& page, std::string_view file_name) {
  const std::string type = ToLower(HeaderOfAnswer(page, "content-type"));
  if (type.find("json") != std::string::npos) return FindInJson(page.body, file_name);
  if (type.starts_with("text/html") || type.starts_with("application/vnd.pypi.simple.v1+html"))
    return FindInHtml(page.body, file_name);
  return Error(ErrorCode::kInvalidInput,
               fmt::format("page of the index: its type is '{}', which installers ignore", type))
      .WithHint("check the URL of the simple index: --check-url URL");
}

}  // namespace ptpkg::publish
