#pragma once
// Validates and matches conda build strings. Layer: versions. Sources: CEP 26; conda models/match_spec.py
// GlobStrMatch, docs/formats/build-string.md.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "support/result.h"

namespace ptpkg::versions {

/// Errors: kInvalidInput naming the text and the rule that it breaks.
Result<void> CheckBuildString(std::string_view build);

/// The build field of a match spec: a text, a text in which each '*' stands for any text, or a regular
/// expression "^…$". Case counts.
class BuildPattern {
 public:
  /// "" admits every build. Errors: kInvalidInput for a malformed regular expression, and for characters
  /// outside of one that no build string has. Also kUnsupported for a regular expression longer than 256
  /// characters, or with a back-reference or a counted repeat "{n}", because its cost has no bound.
  static Result<BuildPattern> Parse(std::string_view text);

  [[nodiscard]] bool Matches(std::string_view build) const;
  /// The one build that is admitted, nullopt for a pattern.
  [[nodiscard]] std::optional<std::string> Literal() const;

 private:
  class Regex;
  std::string text_;
  std::shared_ptr<const Regex> regex_;  // shared by copies: compiled once, never changed
};

/// True if `text` matches `pattern`, in which each '*' stands for any text. Linear in both.
[[nodiscard]] bool WildcardMatches(std::string_view text, std::string_view pattern);

/// The first `count` segments of a version without dots, as build strings show it: ("3.11.2", 2) → "311".
/// Text after a blank is left out, since a variant may hold "3.11.* *_cpython".
std::string VersionDigits(std::string_view version, std::size_t count);

}  // namespace ptpkg::versions
