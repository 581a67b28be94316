#pragma once
// Dependencies as they stand in index.json. Layer: conda.
// Source: CEP 29, the positional form "name [version [build]]" that CEP 34 asks for.

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::conda {

/// One blank between fields, none at the ends. Errors: kInvalidInput for an empty text, a name that
/// breaks CEP 26 (virtual packages "__cuda" are allowed), more than three fields, and characters that
/// no version or build expression has (brackets among them).
Result<std::string> NormalizeMatchSpec(std::string_view text);

/// Every spec normalised, sorted byte-wise, duplicates dropped: conda-build's order.
Result<std::vector<std::string>> NormalizeMatchSpecs(const std::vector<std::string>& specs);

/// The name field of a spec that NormalizeMatchSpec accepted.
[[nodiscard]] std::string_view MatchSpecName(std::string_view spec);

}  // namespace ptpkg::conda
