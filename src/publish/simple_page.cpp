#include "publish/simple_page.h"

#include <vector>

#include "support/json.h"
#include "support/text.h"

namespace ptpkg::publish {
namespace {

constexpr std::size_t kSha256Digits = 64;

std::string Sha256Behind(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return "";
  const std::string_view digits = text.substr(at + mark.size(), kSha256Digits);
  const bool whole = digits.size() == kSha256Digits &&
                     digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
  return whole ? ToLower(digits) : "";
}

Result<std::optional<SimpleFile>> FindInJson(const std::string& body, std::string_view file_name) {
  PTPKG_TRY(const Json page, ParseJson(body, "page of the index"));
  if (!page.is_object() || !page.contains("files") || !page["files"].is_array()) {
    return Error(ErrorCode::kInvalidInput, "page of the index: no list of files");
  }
  for (const Json& file : page["files"]) {
    if (!file.is_object() || file.value("filename", Json("")) != Json(file_name)) continue;
    const auto text = [](const Json& object, const char* key) {
      return object.is_object() && object.contains(key) && object[key].is_string()
                 ? object[key].get<std::string>()
                 : std::string();
    };
    return std::optional(SimpleFile{.sha256 = ToLower(text(file.value("hashes", Json::object()), "sha256")),
                                    .link = text(file, "url")});
  }
  return std::optional<SimpleFile>();
}

/// '+' and others may be percent-encoded in a link.
std::string PercentDecode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      return at < text.size() ? kDigits.find(ToLower(text.substr(at, 1))) : std::string_view::npos;
    };
    const bool encoded =
        text[i] == '%' && digit(i + 1) != std::string_view::npos && digit(i + 2) != std::string_view::npos;
    decoded += encoded ? static_cast<char>(digit(i + 1) * 16 + digit(i + 2)) : text[i];
    if (encoded) i += 2;
  }
  return decoded;
}

/// Of each `href="…"` the last part of its path is the file's name, and its fragment the digest.
std::optional<SimpleFile> FindInHtml(std::string_view body, std::string_view file_name) {
  constexpr std::string_view kHref = "href=";
  for (std::size_t at = body.find(kHref); at != std::string_view::npos; at = body.find(kHref, at + 1)) {
    const std::size_t begin = at + kHref.size();
    if (begin >= body.size() || (body[begin] != '"' && body[begin] != '\'')) continue;
    const std::size_t end = body.find(body[begin], begin + 1);
    if (end == std::string_view::npos) break;
    const std::string_view link = body.substr(begin + 1, end - begin - 1);
    const std::string_view path = link.substr(0, link.find_first_of("#?"));
    const std::size_t slash = path.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (PercentDecode(name) != file_name) continue;
    return SimpleFile{.sha256 = Sha256Behind(link, "#sha256="),
                      .link = ReplaceAll(std::string(link.substr(0, link.find('#'))), "&amp;", "&")};
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<SimpleFile>> FindInSimplePage(const HttpAnswer& page, std::string_view file_name) {
  const auto type = page.headers.find("content-type");
  const bool json = type != page.headers.end() && type->second.find("json") != std::string::npos;
  if (json) return FindInJson(page.body, file_name);
  return FindInHtml(page.body, file_name);
}

}  // namespace ptpkg::publish
