#pragma once
// Writes YAML. Layer: recipe.

#include <string>

#include "support/text/json_fwd.h"

namespace ptpkg::recipe {

/// `value` as a YAML document in block style, keys in byte order: any YAML 1.1 or 1.2 reader gets the same
/// value back. Text is quoted wherever a reader could take it for something else. Ends with a line break.
std::string YamlText(const Json& value);

}  // namespace ptpkg::recipe
