#pragma once
// The XML that S3 answers with: elements and text. Layer: publish. No library that ptpkg is linked to reads
// XML. Source: XML 1.0 (Fifth Edition), as far as such answers go.

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::publish {

struct XmlElement {
  std::string name = {};  ///< Without the prefix of a namespace.
  std::string text = {};  ///< Directly in it, entities resolved.
  std::vector<XmlElement> children = {};

  /// The first child of the name; nullptr when there is none.
  [[nodiscard]] const XmlElement* Child(std::string_view wanted) const;
  /// The trimmed text of that child; "" when there is none.
  [[nodiscard]] std::string TextOf(std::string_view wanted) const;
};

/// The root of a document. Attributes, comments and declarations in front are passed over; document types,
/// other entities than the five and numbers, and sections of CDATA are refused, as is what is nested deeper
/// than 16 or has more than 100,000 elements. Errors: kInvalidInput.
Result<XmlElement> ParseXml(std::string_view text);

/// `text` as the content of an element.
std::string EscapeXml(std::string_view text);

}  // namespace ptpkg::publish
