#pragma once
// Splits an expression into tokens. Layer: recipe. Used by expression_parser.cpp only.

#include <string>
#include <string_view>
#include <vector>

#include "recipe/expression/expression.h"

namespace ptpkg::recipe {

struct Token {
  enum class Kind : std::uint8_t { kEnd, kName, kInteger, kReal, kText, kSymbol };

  Kind kind = Kind::kEnd;
  std::string text;  ///< A name, a symbol, the digits, or the unescaped text.
  std::size_t offset = 0;
  std::size_t length = 1;

  [[nodiscard]] bool Is(std::string_view symbol) const { return kind == Kind::kSymbol && text == symbol; }
  [[nodiscard]] bool IsWord(std::string_view word) const { return kind == Kind::kName && text == word; }
};

/// The tokens of `text`; the last one is kEnd. Errors: kInvalidInput with a span: a character that no
/// token begins with, an unfinished string, an unknown escape, a number with letters.
Result<std::vector<Token>> Tokenize(std::string_view text, const ExpressionPlace& place);

}  // namespace ptpkg::recipe
