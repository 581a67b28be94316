#include "verify/lenient_specifiers.h"

#include <algorithm>

namespace ptpkg::verify {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// Whether `text`, up to a ".*", ends in an order and numbers: ">= 1.0".
bool EndsInOrder(std::string_view text) {
  const auto drop = [&](auto is) {
    while (!text.empty() && is(text.back())) text.remove_suffix(1);
  };
  drop([](char c) { return IsDigit(c) || c == '.'; });
  drop([](char c) { return c == ' ' || c == '\t'; });
  if (text.ends_with('=')) text.remove_suffix(1);
  return text.ends_with('<') || text.ends_with('>');
}

}  // namespace

std::string AsUvReads(std::string_view text) {
  constexpr std::string_view kOperators = "<>=~^!";
  const std::size_t end = std::min(text.find(';'), text.size());
  std::string out;
  for (const char c : text.substr(0, end)) {
    const bool after_digit = !out.empty() && IsDigit(out.back());
    if (c == '\'' || c == '"') continue;
    if (after_digit && kOperators.find(c) != std::string_view::npos) out += ',';
    if (after_digit && c == '*') out += '.';
    out += c;
    if (out.ends_with(".*") && EndsInOrder(std::string_view(out).substr(0, out.size() - 2))) {
      out.resize(out.size() - 2);
    }
  }
  return out.append(text.substr(end));
}

}  // namespace ptpkg::verify
