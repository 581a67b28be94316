#pragma once
// Which of two conda versions is the newer one. Layer: conda.
// Source: CEP 33 "Version literals and their ordering"; equal to conda's VersionOrder.

#include <compare>
#include <string_view>

namespace ptpkg::conda {

/// Total over all text: what is not a number compares as lower-case text.
[[nodiscard]] std::strong_ordering CompareVersions(std::string_view left, std::string_view right);

}  // namespace ptpkg::conda
