#pragma once
// Elements and text of the XML that S3 answers with. Layer: publish. pugixml behind it, no pugixml type here.

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::publish {

struct XmlElement {
  std::string name = {};  ///< Without a namespace prefix.
  std::string text = {};  ///< Its own text, with entities resolved.
  std::vector<XmlElement> children = {};

  /// The trimmed text of the first child with this name; "" if there is none.
  [[nodiscard]] std::string TextOf(std::string_view wanted) const;
};

/// Returns the root element. Ignores attributes, comments and processing instructions. Refuses document
/// types, CDATA sections, unknown entities, more than 16 levels and more than 100,000 elements: S3 sends none
/// of them. Errors: kInvalidInput.
Result<XmlElement> ParseXml(std::string_view text);

}  // namespace ptpkg::publish
