// Markers of the dependency specification (PEP 508), parsed by recursive descent: or, and, comparison. One
// walk parses, evaluates, writes the normal form and collects the comparisons, so that these four can't
// disagree.
// The walk evaluates both sides of "and" and "or": a syntax error behind a decided part is still an error.
// A comparison is one of versions if both sides are versions (PEP 440), and one of texts otherwise. The
// operator alone doesn't decide, because platform_release is a version on some systems only.
// Markers come from foreign METADATA, so parentheses nest at most kMaxDepth deep, and the normal form grows
// by appending.

#include "wheel/metadata/marker.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <utility>
#include <vector>

#include "support/text/text.h"
#include "wheel/metadata/core_metadata.h"

namespace ptpkg::wheel {
namespace {

constexpr int kMaxDepth = 64;  ///< Parentheses; real markers nest two or three deep.

constexpr std::array<std::string_view, 13> kVariables = {"python_version",
                                                         "python_full_version",
                                                         "os_name",
                                                         "sys_platform",
                                                         "platform_release",
                                                         "platform_system",
                                                         "platform_version",
                                                         "platform_machine",
                                                         "platform_python_implementation",
                                                         "implementation_name",
                                                         "implementation_version",
                                                         "extra",
                                                         "extras"};

/// Spellings of setuptools before PEP 508.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOldNames = {{
    {"os.name", "os_name"},
    {"sys.platform", "sys_platform"},
    {"platform.version", "platform_version"},
    {"platform.machine", "platform_machine"},
    {"platform.python_implementation", "platform_python_implementation"},
}};

// An operator comes before its own beginning, since ParseOperator takes the first that fits.
constexpr std::array<std::string_view, 8> kComparisons = {"===", "~=", "==", "!=", "<=", ">=", "<", ">"};

struct Operand {
  bool literal = false;
  std::string text;  ///< The value.
  std::string name;  ///< Name of a variable.
};

bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/// "==1.2.*": does `version` begin with the release of `prefix`?
bool MatchesPrefix(const Version& version, const Version& prefix) {
  if (version.epoch != prefix.epoch) return false;
  for (std::size_t i = 0; i < prefix.release.size(); ++i) {
    const std::string own = i < version.release.size() ? version.release[i] : "0";
    if (own != prefix.release[i]) return false;
  }
  return true;
}

/// "<1.0" leaves out the pre-releases of 1.0, the first of which is 1.0.dev0.
bool IsBelow(const Version& version, Version bound) {
  if (bound.pre_kind.empty() && !bound.dev) bound.dev = "0";
  return CompareVersions(version, bound) < 0;
}

/// ">1.0" leaves out the post-releases of 1.0. `version` has no local part.
bool IsAbove(Version version, const Version& bound) {
  if (version.post && !bound.post && !bound.dev) {
    version.post.reset();
    version.dev.reset();
  }
  return CompareVersions(version, bound) > 0;
}

/// As PEP 440 and packaging's Specifier compare. A bound without a local part means all local versions of it.
bool CompareAsVersions(Version left, std::string_view op, const Version& right) {
  if (right.local.empty()) left.local.clear();
  const auto order = CompareVersions(left, right);
  if (op == "==") return order == 0;
  if (op == "!=") return order != 0;
  if (op == "<=") return order <= 0;
  if (op == ">=") return order >= 0;
  if (op == "<") return IsBelow(left, right);
  if (op == ">") return IsAbove(std::move(left), right);
  Version prefix = right;  // "~=": at least right, and equal to all but its last number
  prefix.release.pop_back();
  return order >= 0 && MatchesPrefix(left, prefix);
}

Result<bool> CompareAsText(const std::string& left, std::string_view op, const std::string& right) {
  if (op == "==" || op == "===") return left == right;
  if (op == "!=") return left != right;
  if (op == "<") return left < right;
  if (op == ">") return left > right;
  if (op == "<=") return left <= right;
  if (op == ">=") return left >= right;
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'{}' compares versions, not '{}' with '{}'", op, left, right));
}

Result<bool> Compare(const Operand& left, std::string_view op, const Operand& right) {
  std::string left_text = left.text;
  std::string right_text = right.text;
  // Names of extras compare in their normal form (PEP 685).
  if (left.name == "extra" || right.name == "extra") {
    left_text = NormalizeName(left_text);
    right_text = NormalizeName(right_text);
  }
  // PEP 508 takes "in" from Python, where it searches for a substring. packaging does so for versions, too.
  if (op == "in") return right_text.find(left_text) != std::string::npos;
  if (op == "not in") return right_text.find(left_text) == std::string::npos;
  const bool wildcard = (op == "==" || op == "!=") && right_text.ends_with(".*");
  const Result<Version> left_version = ParseVersion(left_text);
  const Result<Version> right_version =
      ParseVersion(wildcard ? std::string_view(right_text).substr(0, right_text.size() - 2) : right_text);
  if (left_version && right_version && op != "===") {
    if (wildcard) return MatchesPrefix(*left_version, *right_version) == (op == "==");
    // "~=2" has no series to compare with, so CompareAsText refuses it like any other text.
    if (op != "~=" || right_version->release.size() > 1)
      return CompareAsVersions(*left_version, op, *right_version);
  }
  return CompareAsText(left_text, op, right_text);
}

/// In double quotes where it can be; names of extras normalised, as they compare.
std::string NormalText(const Operand& operand, bool of_extra) {
  if (!operand.literal) return operand.name;
  const std::string value = of_extra ? NormalizeName(operand.text) : operand.text;
  const char quote = value.find('"') == std::string::npos ? '"' : '\'';
  return fmt::format("{}{}{}", quote, value, quote);
}

struct ParsedMarker {
  bool holds = true;
  std::string text;    ///< Normal form, without parentheses around it.
  bool is_or = false;  ///< Needs them beside "and".

  /// Appends, because markers of hostile wheels are long.
  void And(const ParsedMarker& right) {
    holds = holds && right.holds;
    if (is_or) text = "(" + text + ")";
    is_or = false;
    text.append(right.is_or ? " and (" : " and ").append(right.text).append(right.is_or ? ")" : "");
  }
  void Or(const ParsedMarker& right) {
    holds = holds || right.holds;
    is_or = true;
    text.append(" or ").append(right.text);
  }
};

/// Parses and evaluates in one walk. Without an environment every variable is "" and comparisons
/// are not made.
class MarkerParser {
 public:
  /// The parsed comparisons.
  [[nodiscard]] std::vector<MarkerComparison> TakeComparisons() && { return std::move(comparisons_); }

  MarkerParser(std::string_view text, const MarkerEnvironment* environment)
      : text_(text), rest_(text), environment_(environment) {}

  Result<ParsedMarker> Parse() {
    PTPKG_TRY(ParsedMarker marker, ParseOr(0));
    if (!Trim(rest_).empty()) return Fail(fmt::format("unexpected '{}'", Trim(rest_)));
    return marker;
  }

 private:
  [[nodiscard]] Error Fail(const std::string& why) const {
    return {ErrorCode::kInvalidInput, fmt::format("'{}' is not a marker: {}", text_, why)};
  }

  bool TakeWord(std::string_view word) {
    const std::string_view rest = Trim(rest_);
    if (!rest.starts_with(word) || (rest.size() > word.size() && IsWordChar(rest[word.size()]))) return false;
    rest_ = rest.substr(word.size());
    return true;
  }

  bool TakeChar(char c) {
    const std::string_view rest = Trim(rest_);
    if (rest.empty() || rest.front() != c) return false;
    rest_ = rest.substr(1);
    return true;
  }

  Result<ParsedMarker> ParseOr(int depth) {
    PTPKG_TRY(ParsedMarker marker, ParseAnd(depth));
    while (TakeWord("or")) {
      PTPKG_TRY(const ParsedMarker right, ParseAnd(depth));
      marker.Or(right);
    }
    return marker;
  }

  Result<ParsedMarker> ParseAnd(int depth) {
    PTPKG_TRY(ParsedMarker marker, ParseTerm(depth));
    while (TakeWord("and")) {
      PTPKG_TRY(const ParsedMarker right, ParseTerm(depth));
      marker.And(right);
    }
    return marker;
  }

  Result<ParsedMarker> ParseTerm(int depth) {
    if (TakeChar('(')) {
      if (depth == kMaxDepth) {
        return Fail(
            fmt::format("its parentheses nest deeper than the {} levels that ptpkg reads", kMaxDepth));
      }
      PTPKG_TRY(ParsedMarker marker, ParseOr(depth + 1));
      if (!TakeChar(')')) return Fail("')' is missing");
      return marker;
    }
    PTPKG_TRY(const Operand left, ParseOperand());
    PTPKG_TRY(const std::string op, ParseOperator());
    PTPKG_TRY(const Operand right, ParseOperand());
    if (left.literal && right.literal) return Fail("it compares two constants");
    // If both sides are variables, the comparison counts as one of `extra` when that is on the right:
    // ExtrasOf must not miss it.
    const bool first = !left.literal && (right.literal || right.name != "extra");
    comparisons_.push_back({first ? left.name : right.name, op, first ? right.text : left.text, first});
    const bool of_extra = left.name == "extra" || right.name == "extra";
    const auto text = [&](const Operand& operand) { return NormalText(operand, of_extra); };
    ParsedMarker marker{true, fmt::format("{} {} {}", text(left), op, text(right)), false};
    if (environment_ != nullptr) {
      PTPKG_TRY(marker.holds, Compare(left, op, right));
    }
    return marker;
  }

  Result<std::string> ParseOperator() {
    rest_ = Trim(rest_);
    for (const std::string_view op : kComparisons) {
      if (!rest_.starts_with(op)) continue;
      rest_.remove_prefix(op.size());
      return std::string(op);
    }
    if (TakeWord("in")) return std::string("in");
    if (TakeWord("not") && TakeWord("in")) return std::string("not in");
    return Fail(fmt::format("expected a comparison before '{}'", rest_));
  }

  Result<Operand> ParseOperand() {
    rest_ = Trim(rest_);
    if (rest_.empty()) return Fail("it ends too early");
    const char quote = rest_.front();
    if (quote == '\'' || quote == '"') {
      const std::size_t end = rest_.find(quote, 1);
      if (end == std::string_view::npos) return Fail("a quote is not closed");
      Operand out{true, std::string(rest_.substr(1, end - 1)), ""};
      rest_.remove_prefix(end + 1);
      return out;
    }
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), IsWordChar);
    const std::string_view word = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    if (word.empty()) return Fail(fmt::format("expected a name or a quoted text before '{}'", rest_));
    rest_.remove_prefix(word.size());
    return Variable(word);
  }

  [[nodiscard]] Result<Operand> Variable(std::string_view word) const {
    const auto* const old = std::find_if(kOldNames.begin(), kOldNames.end(),
                                         [&](const auto& pair) { return pair.first == word; });
    Operand out{false, "", std::string(old == kOldNames.end() ? word : old->second)};
    // An undocumented name of setuptools that packaging accepts.
    if (out.name == "python_implementation") out.name = "platform_python_implementation";
    if (std::find(kVariables.begin(), kVariables.end(), out.name) == kVariables.end()) {
      return Fail(fmt::format("'{}' is not a marker variable", word));
    }
    if (environment_ == nullptr) return out;
    if (const auto it = environment_->find(out.name); it != environment_->end()) {
      out.text = it->second;
    } else if (out.name != "extra") {
      return Fail(fmt::format("the value of '{}' is not known", out.name));
    }
    return out;
  }

  std::string_view text_;
  std::string_view rest_;
  const MarkerEnvironment* environment_;
  std::vector<MarkerComparison> comparisons_;
};

}  // namespace

Result<std::vector<MarkerComparison>> ComparisonsOf(std::string_view marker) {
  if (Trim(marker).empty()) return std::vector<MarkerComparison>();
  MarkerParser parser(marker, nullptr);
  PTPKG_CHECK(parser.Parse());
  return std::move(parser).TakeComparisons();
}

Result<std::set<ExtraCondition>> ExtrasOf(std::string_view marker) {
  PTPKG_TRY(const std::vector<MarkerComparison> comparisons, ComparisonsOf(marker));
  std::set<ExtraCondition> extras;
  for (const MarkerComparison& one : comparisons) {
    if (one.variable == "extra") extras.insert({one.op, NormalizeName(one.value)});
  }
  return extras;
}

Result<void> CheckMarker(std::string_view marker) {
  PTPKG_CHECK(MarkerParser(marker, nullptr).Parse());
  return Ok();
}

Result<std::string> NormalMarker(std::string_view marker) {
  if (Trim(marker).empty()) return std::string();
  PTPKG_TRY(ParsedMarker parsed, MarkerParser(marker, nullptr).Parse());
  return std::move(parsed.text);
}

Result<bool> EvaluateMarker(std::string_view marker, const MarkerEnvironment& environment) {
  if (Trim(marker).empty()) return true;
  PTPKG_TRY(const ParsedMarker parsed, MarkerParser(marker, &environment).Parse());
  return parsed.holds;
}

}  // namespace ptpkg::wheel
