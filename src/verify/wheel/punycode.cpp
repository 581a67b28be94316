// The encoder of RFC 3492, section 6.3, with its names. Characters of ASCII come first, then one number for
// each other character, in order of code points. The number counts all steps of a decoder since the last
// insertion. It has variable length in base 36, and the bias adapts the digits to the size of the last
// numbers. The loops need a pass over the text for each code point. Names of modules are at most 255 bytes
// long, so this is cheap, and 64 bits hold every number.

#include "verify/wheel/punycode.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/text/utf8.h"

namespace ptpkg::verify {
namespace {

// The parameters of RFC 3492, section 5.
constexpr std::uint64_t kBase = 36;
constexpr std::uint64_t kLeast = 1;
constexpr std::uint64_t kMost = 26;
constexpr std::uint64_t kSkew = 38;
constexpr std::uint64_t kDamp = 700;
constexpr std::uint64_t kFirstBias = 72;
constexpr std::uint32_t kFirstCode = 128;

/// A byte that begins no character stands for itself.
std::vector<std::uint32_t> CodePoints(std::string_view text) {
  std::vector<std::uint32_t> points;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(Utf8Length(text), 1);
    points.push_back(static_cast<std::uint32_t>(Utf8CodePoint(text.substr(0, length))));
    text.remove_prefix(length);
  }
  return points;
}

std::uint64_t Adapt(std::uint64_t delta, std::uint64_t count, bool first) {
  delta = first ? delta / kDamp : delta / 2;
  delta += delta / count;
  std::uint64_t bias = 0;
  for (; delta > (kBase - kLeast) * kMost / 2; bias += kBase) delta /= kBase - kLeast;
  return bias + (kBase - kLeast + 1) * delta / (delta + kSkew);
}

char Digit(std::uint64_t value) { return static_cast<char>(value < 26 ? 'a' + value : '0' + (value - 26)); }

/// `value` as a variable-length integer (RFC 3492, section 6.3).
void AppendInteger(std::uint64_t value, std::uint64_t bias, std::string& out) {
  for (std::uint64_t k = kBase;; k += kBase) {
    const std::uint64_t least = k <= bias ? kLeast : std::min(k - bias, kMost);
    if (value < least) break;
    out += Digit(least + (value - least) % (kBase - least));
    value = (value - least) / (kBase - least);
  }
  out += Digit(value);
}

}  // namespace

std::string Punycode(std::string_view text) {
  const std::vector<std::uint32_t> points = CodePoints(text);
  std::string out;
  for (const std::uint32_t point : points) {
    if (point < kFirstCode) out += static_cast<char>(point);
  }
  const std::uint64_t basic = out.size();
  std::uint64_t done = basic;
  if (basic > 0) out += '-';
  std::uint64_t code = kFirstCode;
  std::uint64_t delta = 0;
  std::uint64_t bias = kFirstBias;
  while (done < points.size()) {
    std::uint64_t next = UINT32_MAX;
    for (const std::uint32_t point : points) {
      if (point >= code) next = std::min<std::uint64_t>(next, point);
    }
    delta += (next - code) * (done + 1);
    code = next;
    for (const std::uint32_t point : points) {
      if (point < code) ++delta;
      if (point != code) continue;
      AppendInteger(delta, bias, out);
      bias = Adapt(delta, done + 1, done == basic);
      delta = 0;
      ++done;
    }
    ++delta;
    ++code;
  }
  return out;
}

}  // namespace ptpkg::verify
