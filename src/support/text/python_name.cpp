#include "support/text/python_name.h"

#include <algorithm>

#include "support/text/text.h"

namespace ptpkg {
namespace {

bool IsIdentifier(std::string_view word) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (word.empty() || is_digit(word.front())) return false;
  return std::all_of(word.begin(), word.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
           static_cast<unsigned char>(c) > 127;
  });
}

}  // namespace

bool IsDottedName(std::string_view text) {
  const std::vector<std::string> words = Split(text, '.');
  return std::all_of(words.begin(), words.end(), IsIdentifier);
}

}  // namespace ptpkg
