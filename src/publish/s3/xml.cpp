// Reads the XML of S3 answers with pugixml, which is more tolerant than XML. Such answers never have
// document types, CDATA, unknown entities or several roots, so these are refused. Otherwise pugixml would
// skip some of them silently, hence the flags below. Namespace prefixes are dropped.

#include "publish/s3/xml.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>
#include <pugixml.hpp>

#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

constexpr int kMostDepth = 16;
constexpr std::size_t kMostElements = 100'000;
constexpr std::array<std::string_view, 5> kEntities = {"amp", "lt", "gt", "quot", "apos"};

Error Bad(std::string_view what) { return {ErrorCode::kInvalidInput, fmt::format("no XML: {}", what)}; }

/// "amp", "#65" or "#x41": an entity that stands for one character of XML.
bool IsKnownEntity(std::string_view entity) {
  if (!entity.starts_with('#')) return std::ranges::find(kEntities, entity) != kEntities.end();
  entity.remove_prefix(1);
  const bool hexadecimal = entity.starts_with('x');
  if (hexadecimal) entity.remove_prefix(1);
  std::uint32_t code = 0;
  const char* const end = entity.data() + entity.size();
  const auto [stop, failed] = std::from_chars(entity.data(), end, code, hexadecimal ? 16 : 10);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return failed == std::errc() && stop == end && code != 0 && code <= 0x10FFFF && !surrogate;
}

/// pugixml leaves an unknown entity unchanged and takes any number for a character.
Result<void> CheckEntities(std::string_view text) {
  while (true) {
    const std::size_t sign = text.find('&');
    if (sign == std::string_view::npos) return Ok();
    text.remove_prefix(sign + 1);
    const std::size_t end = text.find(';');
    if (end == std::string_view::npos || !IsKnownEntity(text.substr(0, end))) return Bad("an unknown entity");
    text.remove_prefix(end + 1);
  }
}

class XmlConverter {
 public:
  Result<XmlElement> Convert(const pugi::xml_node& node, int depth) {
    if (depth > kMostDepth || ++elements_ > kMostElements) return Bad("too many elements or levels");
    const std::string_view full_name = node.name();
    XmlElement element{.name = std::string(full_name.substr(full_name.find(':') + 1))};
    for (const pugi::xml_node& child : node.children()) {
      if (child.type() == pugi::node_pcdata) {
        element.text += child.value();
      } else if (child.type() == pugi::node_element) {
        PTPKG_TRY(XmlElement converted, Convert(child, depth + 1));
        element.children.push_back(std::move(converted));
      } else if (child.type() == pugi::node_cdata) {
        return Bad("a CDATA section");
      }
    }
    return element;
  }

 private:
  std::size_t elements_ = 0;
};

}  // namespace

std::string XmlElement::TextOf(std::string_view wanted) const {
  const auto child = std::ranges::find(children, wanted, &XmlElement::name);
  return child == children.end() ? "" : std::string(Trim(child->text));
}

Result<XmlElement> ParseXml(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return Bad("a NUL byte");
  PTPKG_CHECK(CheckEntities(text));
  // Fragments, document types and CDATA are parsed only so that they can be refused; pugixml would skip them.
  constexpr unsigned kFlags =
      pugi::parse_escapes | pugi::parse_fragment | pugi::parse_doctype | pugi::parse_cdata;
  pugi::xml_document document;
  const pugi::xml_parse_result parsed =
      document.load_buffer(text.data(), text.size(), kFlags, pugi::encoding_utf8);
  if (!parsed) return Bad(parsed.description());
  pugi::xml_node root;
  for (const pugi::xml_node& node : document.children()) {
    if (node.type() != pugi::node_element || root) return Bad("something besides one root element");
    root = node;
  }
  if (!root) return Bad("no root element");
  return XmlConverter().Convert(root, 1);
}

}  // namespace ptpkg::publish
