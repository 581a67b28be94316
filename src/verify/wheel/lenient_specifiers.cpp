// uv repairs some invalid conditions, for which pip and the index refuse a wheel. Such a wheel gets another
// finding than one that nobody installs. So uv's repairs are repeated here, in one pass from left to right.
// uv also has limits for numbers: 2^64 - 2 in versions, 2^64 - 1 in build tags.

#include "verify/wheel/lenient_specifiers.h"

#include <algorithm>
#include <compare>
#include <vector>

namespace ptpkg::verify {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// True if `text`, up to a ".*", ends with an order and numbers: ">= 1.0".
bool EndsInOrder(std::string_view text) {
  const auto drop = [&](auto is) {
    while (!text.empty() && is(text.back())) text.remove_suffix(1);
  };
  drop([](char c) { return IsDigit(c) || c == '.'; });
  drop([](char c) { return c == ' ' || c == '\t'; });
  if (text.ends_with('=')) text.remove_suffix(1);
  return text.ends_with('<') || text.ends_with('>');
}

constexpr std::string_view kMost64 = "18446744073709551615";  // 2^64 - 1

std::strong_ordering AgainstMost64(std::string_view number) {
  // Numbers have no leading zeros, so the longer one is larger. Equal lengths compare as text.
  if (number.size() != kMost64.size()) return number.size() <=> kMost64.size();
  return number.compare(kMost64) <=> 0;
}

}  // namespace

std::string NormalizeLikeUv(std::string_view text) {
  constexpr std::string_view kOperators = "<>=~^!";
  // The marker behind the ';' stays: uv repairs only conditions.
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

bool UvReadsNumbers(const wheel::Version& version) {
  std::vector<std::string> numbers = version.release;
  numbers.insert(numbers.end(),
                 {version.epoch, version.pre, version.post.value_or("0"), version.dev.value_or("0")});
  return std::all_of(numbers.begin(), numbers.end(),
                     [](const std::string& number) { return AgainstMost64(number) < 0; });
}

bool UvReadsNumbers(const wheel::Specifiers& specifiers) {
  return std::all_of(specifiers.begin(), specifiers.end(), [](const auto& specifier) {
    std::string_view text = specifier.second;
    if (text.ends_with(".*")) text.remove_suffix(2);
    const auto version = wheel::ParseVersion(text);
    return !version || UvReadsNumbers(*version);
  });
}

bool UvReadsBuild(std::string_view build) {
  std::string_view number = build.substr(0, build.find_first_not_of("0123456789"));
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return AgainstMost64(number) <= 0;
}

}  // namespace ptpkg::verify
