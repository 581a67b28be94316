// Tokens of expressions. Layer: recipe.
//
// Each token keeps its offset and length, so that errors can point at it. The longest symbol wins:
// two-character symbols come first in the table. A number that is followed by a letter or a second dot is
// most likely a version without quotes, such as 3.10.1, and gets a hint of its own. Bytes above ASCII can
// only occur in quoted text.

#include "recipe/expression/expression_lexer.h"

#include <array>
#include <fmt/core.h>

namespace ptpkg::recipe {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Two-character symbols first, so that the longest one wins.
constexpr std::array<std::string_view, 25> kSymbols = {"//", "**", "==", "!=", "<=", ">=", "+", "-", "*",
                                                       "/",  "%",  "~",  "<",  ">",  "(",  ")", "[", "]",
                                                       ",",  "=",  "|",  ".",  ":",  "{",  "}"};

class Lexer {
 public:
  Lexer(std::string_view text, const ExpressionPlace& place) : text_(text), place_(place) {}

  Result<std::vector<Token>> Run() {
    std::vector<Token> tokens;
    while (true) {
      while (pos_ < text_.size() && IsSpace(text_[pos_])) ++pos_;
      PTPKG_TRY(Token token, Next());
      const bool end = token.kind == Token::Kind::kEnd;
      tokens.push_back(std::move(token));
      if (end) return tokens;
    }
  }

 private:
  Result<Token> Next() {
    Token token;
    token.offset = pos_;
    if (pos_ == text_.size()) return token;
    const char c = text_[pos_];
    if (IsNameStart(c)) {
      token.kind = Token::Kind::kName;
      while (pos_ < text_.size() && IsNamePart(text_[pos_])) token.text += text_[pos_++];
    } else if (IsDigit(c)) {
      PTPKG_CHECK(ReadNumber(token));
    } else if (c == '"' || c == '\'') {
      PTPKG_CHECK(ReadText(token));
    } else {
      PTPKG_CHECK(ReadSymbol(token));
    }
    token.length = pos_ - token.offset;
    return token;
  }

  Result<void> ReadNumber(Token& token) {
    token.kind = Token::Kind::kInteger;
    while (pos_ < text_.size() && IsDigit(text_[pos_])) token.text += text_[pos_++];
    if (pos_ + 1 < text_.size() && text_[pos_] == '.' && IsDigit(text_[pos_ + 1])) {
      token.kind = Token::Kind::kReal;
      token.text += text_[pos_++];
      while (pos_ < text_.size() && IsDigit(text_[pos_])) token.text += text_[pos_++];
    }
    // "3.10.1" and "1rc1" would otherwise become two tokens, and the error would name the second one.
    const bool more =
        pos_ < text_.size() && (IsNameStart(text_[pos_]) ||
                                (text_[pos_] == '.' && pos_ + 1 < text_.size() && IsDigit(text_[pos_ + 1])));
    if (!more) return Ok();
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is followed by more than a number", token.text))
        .At(place_.Part(token.offset, pos_ + 1 - token.offset))
        .WithHint("put a version or other text in quotes");
  }

  Result<void> ReadText(Token& token) {
    token.kind = Token::Kind::kText;
    const char quote = text_[pos_++];
    while (pos_ < text_.size() && text_[pos_] != quote) {
      if (text_[pos_] == '\\') {
        PTPKG_CHECK(ReadEscape(token));
      } else {
        token.text += text_[pos_++];
      }
    }
    if (pos_ == text_.size()) {
      return Error(ErrorCode::kInvalidInput, "text without its closing quote")
          .At(place_.Part(token.offset, text_.size() - token.offset));
    }
    ++pos_;
    return Ok();
  }

  Result<void> ReadEscape(Token& token) {
    const char escaped = pos_ + 1 < text_.size() ? text_[pos_ + 1] : '\0';
    constexpr std::string_view kEscapes = "nt\\'\"";
    constexpr std::string_view kMeanings = "\n\t\\'\"";
    const std::size_t index = kEscapes.find(escaped);
    // Python keeps an unknown escape as it is. Here it is most likely a mistake, such as a path of Windows.
    if (escaped == '\0' || index == std::string_view::npos) {
      return Error(ErrorCode::kInvalidInput, "unknown escape in text")
          .At(place_.Part(pos_, 2))
          .WithHint(R"(known are \n, \t, \\, \' and \")");
    }
    token.text += kMeanings[index];
    pos_ += 2;
    return Ok();
  }

  Result<void> ReadSymbol(Token& token) {
    for (const std::string_view symbol : kSymbols) {
      if (text_.substr(pos_).starts_with(symbol)) {
        token.kind = Token::Kind::kSymbol;
        token.text = symbol;
        pos_ += symbol.size();
        return Ok();
      }
    }
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("unexpected '{}' in an expression", text_.substr(pos_, 1)))
        .At(place_.Part(pos_, 1));
  }

  std::string_view text_;
  const ExpressionPlace& place_;
  std::size_t pos_ = 0;
};

}  // namespace

Result<std::vector<Token>> Tokenize(std::string_view text, const ExpressionPlace& place) {
  return Lexer(text, place).Run();
}

}  // namespace ptpkg::recipe
