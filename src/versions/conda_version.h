#pragma once
// Compares conda versions. Layer: versions. Source: CEP 33 "Version literals and their ordering"; equal to
// conda's VersionOrder (conda/models/version.py).

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::versions {

/// A version such as "1!2.10.0rc1+cu121". Segments between '.', '_' and '-' are cut into numbers and words.
/// "dev" sorts before any other word, words sort before numbers, and "post" sorts last. A missing number is
/// 0, and a 0 is put before a word that begins a segment ("1.a" is "1.0a"). Case is ignored, and numbers have
/// any length.
class Version {
 public:
  /// The version "0".
  Version() : Version(AnyText("0")) {}

  /// White space around `text` is dropped. One '_' at the end is not a segment: "1.0.1_" sorts before
  /// "1.0.1a". Errors: kInvalidInput for an empty text or segment, a character outside [A-Za-z0-9._+!-], both
  /// '-' and '_', an epoch that is not a number, and a second '!' or '+'.
  static Result<Version> Parse(std::string_view text);
  /// For versions from others that must be ordered whatever they hold: never fails.
  static Version AnyText(std::string_view text);

  /// The version as written.
  [[nodiscard]] const std::string& str() const { return text_; }
  /// conda's "=": all segments of `prefix` before its last one are equal here. The numbers and words of the
  /// last segment are equal too, except that its last word can be longer here. "3.11.4" and "3.11rc1" start
  /// with "3.11", "3.110" does not. If `prefix` has a local part, the version before it must be equal.
  [[nodiscard]] bool StartsWith(const Version& prefix) const;

  friend std::strong_ordering operator<=>(const Version& left, const Version& right);
  friend bool operator==(const Version& left, const Version& right) { return (left <=> right) == 0; }

 private:
  /// A run of digits or of other characters. Digits are kept without leading zeros, so that no length
  /// overflows: "" is 0.
  struct Atom {
    enum class Rank : std::uint8_t { kDev, kWord, kNumber, kPost };
    Rank rank = Rank::kNumber;
    std::string text = {};
  };
  using Segment = std::vector<Atom>;
  using Part = std::vector<Segment>;
  struct Unparsed {};

  explicit Version(Unparsed /*tag*/) {}
  static Segment ParseSegment(std::string_view text);
  static Part ParsePart(std::string_view text);
  static std::strong_ordering Compare(const Atom& left, const Atom& right);
  static std::strong_ordering Compare(const Segment& left, const Segment& right, std::size_t atoms);
  static std::strong_ordering Compare(const Part& left, const Part& right, std::size_t segments);

  std::string text_;
  Part main_;   ///< The epoch first.
  Part local_;  ///< Empty without "+".
};

/// The order of Version::AnyText(left) and Version::AnyText(right).
[[nodiscard]] std::strong_ordering CompareVersions(std::string_view left, std::string_view right);

}  // namespace ptpkg::versions
