#include "versions/build_string.h"

#include <algorithm>
#include <fmt/core.h>
#include <regex>
#include <vector>

#include "support/text/text.h"
#include "versions/package_names.h"

namespace ptpkg::versions {
namespace {

constexpr std::size_t kMaxRegex = 256;
// CEP 26 allows 64; longer ones are foreign, and no regular expression is asked about them.
constexpr std::size_t kMaxBuildForRegex = 1024;

/// A digit from 1 to 9 after a backslash that no escape before it has taken: `\\` takes one character, `\cX`
/// two.
bool HasBackReference(std::string_view regex) {
  for (std::size_t i = 0; i + 1 < regex.size(); ++i) {
    if (regex[i] != '\\') continue;
    ++i;
    if (regex[i] >= '1' && regex[i] <= '9') return true;
    if (regex[i] == 'c') ++i;
  }
  return false;
}

bool IsAlnum(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

}  // namespace

/// libstdc++'s second engine tries all alternatives side by side: no expression takes exponential time. It
/// cannot do back-references.
class BuildPattern::Regex {
 public:
  // Shared by the copies of a pattern.
  static Result<std::shared_ptr<const Regex>> Compile(std::string_view text) {
    const auto refuse = [&](std::string_view why) {
      return Error(ErrorCode::kUnsupported, fmt::format("build pattern '{}' {}", text, why));
    };
    if (text.size() > kMaxRegex) return refuse(fmt::format("is longer than {} characters", kMaxRegex));
    if (text.find('{') != std::string_view::npos) return refuse("has a counted repeat");
    // Before libstdc++ reads its number, of which it lets any overflow.
    if (HasBackReference(text)) return refuse("has a back-reference");
    auto made = std::make_shared<Regex>();  // shared as the member says
    try {
      made->regex_.assign(text.begin(), text.end(),
                          std::regex_constants::ECMAScript | std::regex_constants::__polynomial);
    } catch (const std::regex_error&) {
      return Error(ErrorCode::kInvalidInput, fmt::format("build pattern '{}' is malformed", text));
    }
    return std::shared_ptr<const Regex>(std::move(made));  // shared by the copies of a pattern
  }

  [[nodiscard]] bool Matches(std::string_view build) const {
    return build.size() <= kMaxBuildForRegex && std::regex_match(build.begin(), build.end(), regex_);
  }

 private:
  std::regex regex_;
};

Result<void> CheckBuildString(std::string_view build) {
  PTPKG_CHECK(CheckLength("build string", build));
  const bool known = std::all_of(build.begin(), build.end(),
                                 [](char c) { return IsAlnum(c) || c == '.' || c == '_' || c == '+'; });
  if (known) return Ok();
  return Error(ErrorCode::kInvalidInput,
               fmt::format("build string '{}' may hold only letters, digits, '.', '_' and '+'", build));
}

Result<BuildPattern> BuildPattern::Parse(std::string_view text) {
  BuildPattern pattern;
  pattern.text_ = std::string(text);
  // Only both anchors make a regular expression, as in conda. All other texts are literals or have stars.
  if (text.size() > 1 && text.starts_with('^') && text.ends_with('$')) {
    PTPKG_TRY(pattern.regex_, Regex::Compile(text));
    return pattern;
  }
  const bool known = std::all_of(text.begin(), text.end(), [](char c) {
    return IsAlnum(c) || c == '.' || c == '_' || c == '+' || c == '-' || c == '*';
  });
  if (known) return pattern;
  return Error(ErrorCode::kInvalidInput,
               fmt::format("build '{}' has a character that is not allowed in build expressions", text));
}

bool BuildPattern::Matches(std::string_view build) const {
  if (text_.empty()) return true;
  return regex_ != nullptr ? regex_->Matches(build) : WildcardMatches(build, text_);
}

std::optional<std::string> BuildPattern::Literal() const {
  const bool pattern = text_.empty() || regex_ != nullptr || text_.find('*') != std::string::npos;
  return pattern ? std::nullopt : std::optional(text_);
}

bool WildcardMatches(std::string_view text, std::string_view pattern) {
  const std::vector<std::string> parts = Split(pattern, '*');
  if (parts.size() == 1) return text == pattern;
  if (!text.starts_with(parts.front())) return false;
  std::string_view rest = text.substr(parts.front().size());
  // The leftmost occurrence of a part leaves the most text to the parts behind it, so no other one is ever
  // tried.
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    const std::size_t at = rest.find(parts[i]);
    if (at == std::string_view::npos) return false;
    rest.remove_prefix(at + parts[i].size());
  }
  return rest.ends_with(parts.back());
}

std::string VersionDigits(std::string_view version, std::size_t count) {
  std::string digits;
  const std::vector<std::string> segments = Split(version.substr(0, version.find(' ')), '.');
  for (std::size_t i = 0; i < std::min(count, segments.size()); ++i) digits += segments[i];
  return digits;
}

}  // namespace ptpkg::versions
