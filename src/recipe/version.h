#pragma once
// Versions and version constraints in conda's order. Layer: recipe.
// Matches: VersionOrder and VersionSpec of conda (conda/models/version.py).

#include <compare>
#include <string>
#include <vector>

#include "support/result.h"

namespace ptpkg::recipe {

/// A version such as "1!2.10.0rc1+cu121". Comparison is conda's: segments between dots are split into
/// numbers and words, "dev" sorts before any other word, words before numbers, "post" last; missing
/// segments count as 0; case is ignored.
class Version {
 public:
  /// Errors: kInvalidInput for an empty text, a character outside [A-Za-z0-9._+!-], more than one '!'
  /// or '+', an empty segment, or a number of more than 18 digits.
  static Result<Version> Parse(std::string_view text);

  [[nodiscard]] const std::string& str() const { return text_; }
  /// True if the segments of `prefix` are the first ones of this version ("3.11.4" starts with "3.11").
  [[nodiscard]] bool StartsWith(const Version& prefix) const;

  friend std::strong_ordering operator<=>(const Version& left, const Version& right);
  friend bool operator==(const Version& left, const Version& right) { return (left <=> right) == 0; }

 private:
  /// A number (`word` empty) or a word. Words order before numbers.
  struct Atom {
    std::int64_t number = 0;
    std::string word;
    [[nodiscard]] std::strong_ordering Order(const Atom& other) const;
    friend std::strong_ordering operator<=>(const Atom& left, const Atom& right) { return left.Order(right); }
    friend bool operator==(const Atom& left, const Atom& right) { return (left <=> right) == 0; }
  };
  using Segment = std::vector<Atom>;

  static Result<std::vector<Segment>> ParseSegments(std::string_view text);
  static std::strong_ordering Compare(const std::vector<Segment>& left, const std::vector<Segment>& right);

  std::string text_;
  std::int64_t epoch_ = 0;
  std::vector<Segment> segments_;
  std::vector<Segment> local_;
};

/// Whether `version` satisfies `constraint`: clauses "==1.2", "!=1.2.*", ">=1,<2", "~=1.4", "=1.2",
/// "1.2.*", "1.2", "*", joined by ',' (and, binds tighter) and '|' (or).
/// Errors: kInvalidInput for anything else.
Result<bool> MatchesConstraint(const Version& version, std::string_view constraint);

}  // namespace ptpkg::recipe
