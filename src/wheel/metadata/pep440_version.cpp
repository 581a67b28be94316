// Versions of PEP 440: parser, normal form and order. Numbers stay texts without leading zeros, and the
// longer one is larger, because a version can have more digits than any integer type (dates with times, for
// instance).
// The order of one release is: .dev without a pre-release, a, b, rc, final, post. A .dev sorts before the
// version that it leads to, which PreRank expresses for the first part and the last comparison for the
// others. Local versions compare part by part: numbers above words, and a longer one above its own beginning.

#include "wheel/metadata/pep440_version.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <utility>

#include "support/text/text.h"

namespace ptpkg::wheel {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsSeparator(char c) { return c == '-' || c == '_' || c == '.'; }
bool IsLocalChar(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z'); }
bool IsNumber(std::string_view text) { return std::all_of(text.begin(), text.end(), IsDigit); }

std::string StripZeros(std::string_view digits) {
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return std::string(digits);
}

/// Consumes `text` from the left as the pattern of PEP 440, appendix B, would. The pattern needs no
/// backtracking: an optional separator is given back only when no keyword follows it.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool done() const { return rest_.empty(); }

  bool Take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<std::string> TakeNumber() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), IsDigit);
    const auto count = static_cast<std::size_t>(end - rest_.begin());
    if (count == 0) return std::nullopt;
    std::string number = StripZeros(rest_.substr(0, count));
    rest_.remove_prefix(count);
    return number;
  }

  /// [-_.]? keyword ([-_.]? number?)
  template <std::size_t kCount>
  std::optional<std::pair<std::size_t, std::string>> TakeLabel(
      const std::array<std::string_view, kCount>& keywords) {
    std::string_view rest = rest_;
    if (!rest.empty() && IsSeparator(rest.front())) rest.remove_prefix(1);
    for (std::size_t i = 0; i < kCount; ++i) {
      if (!rest.starts_with(keywords[i])) continue;
      rest_ = rest.substr(keywords[i].size());
      if (!rest_.empty() && IsSeparator(rest_.front())) rest_.remove_prefix(1);
      return std::pair(i, TakeNumber().value_or("0"));
    }
    return std::nullopt;
  }

  /// "-N", the short form of a post release.
  std::optional<std::string> TakeImplicitPost() {
    if (rest_.size() < 2 || rest_[0] != '-' || !IsDigit(rest_[1])) return std::nullopt;
    rest_.remove_prefix(1);
    return TakeNumber();
  }

  /// Alphanumeric words with separators between; nullopt if one is empty.
  std::optional<std::vector<std::string>> TakeLocal() {
    std::vector<std::string> parts(1);
    for (; !rest_.empty(); rest_.remove_prefix(1)) {
      if (IsLocalChar(rest_.front())) {
        parts.back() += rest_.front();
      } else if (IsSeparator(rest_.front()) && !parts.back().empty()) {
        parts.emplace_back();
      } else {
        return std::nullopt;
      }
    }
    if (parts.back().empty()) return std::nullopt;
    for (std::string& part : parts) {
      if (IsNumber(part)) part = StripZeros(part);
    }
    return parts;
  }

 private:
  std::string_view rest_;
};

/// Longer spellings first where one begins another.
constexpr std::array<std::string_view, 8> kPreKeywords = {"alpha",   "a",   "beta", "b",
                                                          "preview", "pre", "c",    "rc"};
constexpr std::array<std::string_view, 8> kPreNormal = {"a", "a", "b", "b", "rc", "rc", "rc", "rc"};
constexpr std::array<std::string_view, 3> kPostKeywords = {"post", "rev", "r"};
constexpr std::array<std::string_view, 1> kDevKeywords = {"dev"};

std::optional<Version> Parse(std::string_view text) {
  Cursor cursor(text);
  cursor.Take('v');
  Version version;
  std::optional<std::string> number = cursor.TakeNumber();
  if (number && cursor.Take('!')) {
    version.epoch = *number;
    number = cursor.TakeNumber();
  }
  if (!number) return std::nullopt;
  version.release.push_back(*number);
  // ".dev1" and ".post1" also begin with a '.'. It belongs to the release only if a number follows.
  for (Cursor ahead = cursor; ahead.Take('.');) {
    number = ahead.TakeNumber();
    if (!number) break;
    version.release.push_back(*number);
    cursor = ahead;
  }
  if (const auto pre = cursor.TakeLabel(kPreKeywords)) {
    version.pre_kind = kPreNormal.at(pre->first);
    version.pre = pre->second;
  }
  // "1.0-1" is short for "1.0.post1".
  version.post = cursor.TakeImplicitPost();
  if (!version.post) {
    if (const auto post = cursor.TakeLabel(kPostKeywords)) version.post = post->second;
  }
  if (const auto dev = cursor.TakeLabel(kDevKeywords)) version.dev = dev->second;
  if (cursor.Take('+')) {
    std::optional<std::vector<std::string>> local = cursor.TakeLocal();
    if (!local) return std::nullopt;
    version.local = *std::move(local);
  }
  if (!cursor.done()) return std::nullopt;
  return version;
}

std::strong_ordering CompareNumbers(const std::string& left, const std::string& right) {
  if (left.size() != right.size()) return left.size() <=> right.size();
  return left.compare(right) <=> 0;
}

std::strong_ordering CompareReleases(const std::vector<std::string>& left,
                                     const std::vector<std::string>& right) {
  // Missing numbers are zeros: 1.0 equals 1.0.0.
  const std::string zero = "0";
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const auto order = CompareNumbers(i < left.size() ? left[i] : zero, i < right.size() ? right[i] : zero);
    if (order != 0) return order;
  }
  return std::strong_ordering::equal;
}

/// Sorts 1.0.dev1 before 1.0a1 before 1.0b1 before 1.0rc1 before 1.0.
int PreRank(const Version& version) {
  if (version.pre_kind == "a") return 1;
  if (version.pre_kind == "b") return 2;
  if (version.pre_kind == "rc") return 3;
  return !version.post && version.dev ? 0 : 4;
}

std::strong_ordering CompareLocals(const std::vector<std::string>& left,
                                   const std::vector<std::string>& right) {
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    const bool left_number = IsNumber(left[i]);
    const bool right_number = IsNumber(right[i]);
    // PEP 440: numbers are above words, and words compare byte by byte (both are in lower case).
    if (left_number != right_number) return left_number <=> right_number;
    const auto order = left_number ? CompareNumbers(left[i], right[i]) : (left[i].compare(right[i]) <=> 0);
    if (order != 0) return order;
  }
  return left.size() <=> right.size();
}

}  // namespace

std::string Version::str() const {
  std::string out = epoch == "0" ? "" : epoch + "!";
  out += Join(release, ".");
  out += pre_kind + pre;
  if (post) out += ".post" + *post;
  if (dev) out += ".dev" + *dev;
  if (!local.empty()) out += "+" + Join(local, ".");
  return out;
}

Result<Version> ParseVersion(std::string_view text) {
  std::optional<Version> version = Parse(ToLower(Trim(text)));
  if (version) return *std::move(version);
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a version", text))
      .WithHint("write it as PEP 440 says, for example 2.13.0, 2.13.0rc1 or 2.13.0+cu130");
}

std::strong_ordering CompareVersions(const Version& left, const Version& right) {
  if (const auto order = CompareNumbers(left.epoch, right.epoch); order != 0) return order;
  if (const auto order = CompareReleases(left.release, right.release); order != 0) return order;
  if (const auto order = PreRank(left) <=> PreRank(right); order != 0) return order;
  if (const auto order = CompareNumbers(left.pre, right.pre); order != 0) return order;
  if (left.post.has_value() != right.post.has_value())
    return left.post.has_value() <=> right.post.has_value();
  if (left.post) {
    if (const auto order = CompareNumbers(*left.post, *right.post); order != 0) return order;
  }
  if (left.dev.has_value() != right.dev.has_value()) return right.dev.has_value() <=> left.dev.has_value();
  if (left.dev) {
    if (const auto order = CompareNumbers(*left.dev, *right.dev); order != 0) return order;
  }
  return CompareLocals(left.local, right.local);
}

bool SameVersion(std::string_view left, std::string_view right) {
  const Result<Version> one = ParseVersion(left);
  const Result<Version> other = ParseVersion(right);
  return one && other && CompareVersions(*one, *other) == 0;
}

Result<std::string> NormalizeVersion(std::string_view version) {
  PTPKG_TRY(const Version parsed, ParseVersion(version));
  return parsed.str();
}

}  // namespace ptpkg::wheel
