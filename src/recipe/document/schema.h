#pragma once
// Recipe schema: allowed keys and value types. Layer: recipe. Used by document.cpp.

#include <string>
#include <vector>

#include "support/text/yaml.h"

namespace ptpkg::recipe {

/// Checks every branch of the recipe, whatever variant would take it. Conditional list items are looked
/// through. The text of scalars is not looked at.
/// REQUIRES: `root` is a mapping.
/// Errors: kInvalidInput with a span for an unknown key (hint: the nearest one), a value of the wrong
/// kind and a key without a value; kUnsupported for keys of the format that ptpkg does not carry out.
Result<void> CheckKeys(const YamlNode& root);

/// One key that CheckKeys knows.
struct SchemaKey {
  std::string path;         ///< "build.script.file"; lists and free keys add nothing to it.
  bool carried_out = true;  ///< False: CheckKeys refuses the key by name.
};

/// For tests: every key, in the order of the table. They find keys that nothing consumes.
std::vector<SchemaKey> SchemaKeys();

}  // namespace ptpkg::recipe
