#pragma once
// Parses YAML into nodes with source positions. Layer: support. Built from yaml-cpp's event parser; no
// yaml-cpp type here. Scalars stay text: the reader of a field decides its type, and can tell plain from
// quoted.

#include <string>
#include <vector>

#include "support/files/fs.h"
#include "support/result.h"

namespace ptpkg {

struct YamlEntry;

struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kScalar, kSequence, kMapping };

  Kind kind = Kind::kNull;
  SourceSpan span;                 ///< First byte of the node, with its line as excerpt.
  std::string scalar;              ///< kScalar: the text after unquoting.
  bool plain = false;              ///< kScalar: written without quotes or block indicator.
  std::vector<YamlNode> items;     ///< kSequence
  std::vector<YamlEntry> entries;  ///< kMapping, in written order, keys unique.

  [[nodiscard]] const YamlNode* Find(std::string_view key) const;  ///< kMapping: value or null.
  [[nodiscard]] const char* KindName() const;  ///< "nothing", "text", "a list", "a mapping".
};

struct YamlEntry {
  std::string key;
  SourceSpan key_span;
  YamlNode value;
};

/// One document. Errors: kInvalidInput with a span for syntax errors, duplicate keys, keys that are
/// not scalars, anchors and aliases (kUnsupported), a second document, and what is beyond kYamlDepth and
/// kYamlNodes of limits.h. Memory: some 300 bytes a node besides the text; nodes share their lines.
Result<YamlNode> ParseYaml(std::string_view text, const std::string& file);

}  // namespace ptpkg
