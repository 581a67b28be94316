#include "publish/s3/xml.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

constexpr int kMostDepth = 16;
constexpr std::size_t kMostElements = 100'000;
constexpr std::string_view kBlank = " \t\r\n";

struct Entity {
  std::string_view name;
  char character;
};
constexpr std::array kEntities = {Entity{"amp", '&'}, Entity{"lt", '<'}, Entity{"gt", '>'},
                                  Entity{"quot", '"'}, Entity{"apos", '\''}};

Error Bad(std::string_view what) { return {ErrorCode::kInvalidInput, fmt::format("no XML: {}", what)}; }

/// UTF-8 of a character's number.
Result<std::string> CharacterOf(std::uint32_t code) {
  const auto tail = [&](unsigned shift) { return static_cast<char>(0x80U | (code >> shift & 0x3FU)); };
  if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return Bad("a wrong character");
  if (code < 0x80) return std::string{static_cast<char>(code)};
  if (code < 0x800) return std::string{static_cast<char>(0xC0U | code >> 6U), tail(0)};
  if (code < 0x10000) return std::string{static_cast<char>(0xE0U | code >> 12U), tail(6), tail(0)};
  return std::string{static_cast<char>(0xF0U | code >> 18U), tail(12), tail(6), tail(0)};
}

Result<std::string> Resolve(std::string_view entity) {
  for (const Entity& known : kEntities) {
    if (entity == known.name) return std::string{known.character};
  }
  if (!entity.starts_with('#')) return Bad("an unknown entity");
  entity.remove_prefix(1);
  const bool hexadecimal = entity.starts_with('x');
  if (hexadecimal) entity.remove_prefix(1);
  std::uint32_t code = 0;
  const auto [end, failed] =
      std::from_chars(entity.data(), entity.data() + entity.size(), code, hexadecimal ? 16 : 10);
  if (failed != std::errc() || end != entity.data() + entity.size()) return Bad("a wrong character");
  return CharacterOf(code);
}

Result<std::string> Unescape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t sign = std::min(text.find('&'), text.size());
    out += text.substr(0, sign);
    text.remove_prefix(sign);
    if (text.empty()) break;
    const std::size_t end = text.find(';');
    if (end == std::string_view::npos) return Bad("an entity without an end");
    PTPKG_TRY(const std::string character, Resolve(text.substr(1, end - 1)));
    out += character;
    text.remove_prefix(end + 1);
  }
  return out;
}

class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : rest_(text) {}

  Result<XmlElement> Run() {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
    PTPKG_CHECK(SkipMisc());
    PTPKG_TRY(XmlElement root, Element(1));
    PTPKG_CHECK(SkipMisc());
    if (!rest_.empty()) return Bad("text after its end");
    return root;
  }

 private:
  /// Blanks, comments, and "<?…?>".
  Result<void> SkipMisc() {
    while (true) {
      rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlank), rest_.size()));
      if (rest_.starts_with("<?")) {
        PTPKG_CHECK(SkipBehind("?>"));
      } else if (rest_.starts_with("<!--")) {
        PTPKG_CHECK(SkipBehind("-->"));
      } else {
        return Ok();
      }
    }
  }

  Result<void> SkipBehind(std::string_view end) {
    const std::size_t found = rest_.find(end);
    if (found == std::string_view::npos) return Bad("it ends too early");
    rest_.remove_prefix(found + end.size());
    return Ok();
  }

  /// The inside of "<…>" at the front; a '>' in a quoted value ends nothing.
  Result<std::string_view> Tag() {
    if (!rest_.starts_with('<')) return Bad("no element");
    char quote = 0;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '<') {
        break;
      } else if (c == '>') {
        const std::string_view inside = rest_.substr(1, i - 1);
        rest_.remove_prefix(i + 1);
        return inside;
      }
    }
    return Bad("an element without an end");
  }

  Result<XmlElement> Element(int depth) {
    if (depth > kMostDepth || ++elements_ > kMostElements) return Bad("too deep, or too much");
    PTPKG_TRY(std::string_view tag, Tag());
    const bool is_empty = tag.ends_with('/');
    if (is_empty) tag.remove_suffix(1);
    const std::string_view full_name = tag.substr(0, tag.find_first_of(kBlank));
    if (full_name.empty() || full_name.find_first_of("!?/&=\"'") != std::string_view::npos)
      return Bad("a wrong name");
    XmlElement element{.name = std::string(full_name.substr(full_name.find(':') + 1))};
    if (!is_empty) PTPKG_CHECK(Content(element, full_name, depth));
    return element;
  }

  /// Up to the end of the element.
  Result<void> Content(XmlElement& element, std::string_view full_name, int depth) {
    while (true) {
      const std::size_t next = rest_.find('<');
      if (next == std::string_view::npos) return Bad("it ends too early");
      PTPKG_TRY(const std::string text, Unescape(rest_.substr(0, next)));
      element.text += text;
      rest_.remove_prefix(next);
      if (rest_.starts_with("<!--")) {
        PTPKG_CHECK(SkipBehind("-->"));
      } else if (rest_.starts_with("</")) {
        PTPKG_TRY(std::string_view tag, Tag());
        tag.remove_prefix(1);
        return Trim(tag) == full_name ? Ok() : Result<void>(Bad("an element that another one ends"));
      } else {
        PTPKG_TRY(XmlElement child, Element(depth + 1));
        element.children.push_back(std::move(child));
      }
    }
  }

  std::string_view rest_;
  std::size_t elements_ = 0;
};

}  // namespace

const XmlElement* XmlElement::Child(std::string_view wanted) const {
  for (const XmlElement& child : children) {
    if (child.name == wanted) return &child;
  }
  return nullptr;
}

std::string XmlElement::TextOf(std::string_view wanted) const {
  const XmlElement* const child = Child(wanted);
  return child == nullptr ? "" : std::string(Trim(child->text));
}

Result<XmlElement> ParseXml(std::string_view text) { return XmlReader(text).Run(); }

std::string EscapeXml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const Entity* found = nullptr;
    for (const Entity& entity : kEntities) {
      if (entity.character == c) found = &entity;
    }
    out += found == nullptr ? std::string(1, c) : fmt::format("&{};", found->name);
  }
  return out;
}

}  // namespace ptpkg::publish
