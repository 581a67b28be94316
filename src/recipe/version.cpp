// conda's version order and constraints. Layer: recipe.

#include "recipe/version.h"

#include <algorithm>
#include <fmt/format.h>

#include "recipe/value.h"
#include "support/text.h"

namespace ptpkg::recipe {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsVersionCharacter(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || c == '.' || c == '_' || c == '-' || c == '+' || c == '!';
}

Error BadVersion(std::string_view text, std::string_view why) {
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a version: {}", text, why));
}

/// "dev" < any word < numbers < "post", as conda ranks them.
int Rank(std::string_view word) {
  if (word.empty()) return 2;
  if (word == "dev") return 0;
  return word == "post" ? 3 : 1;
}

}  // namespace

std::strong_ordering Version::Atom::Order(const Atom& other) const {
  const int rank = Rank(word);
  const int other_rank = Rank(other.word);
  if (rank != other_rank) return rank <=> other_rank;
  if (rank == 2) return number <=> other.number;
  return word.compare(other.word) <=> 0;
}

Result<std::vector<Version::Segment>> Version::ParseSegments(std::string_view text) {
  std::vector<Segment> segments;
  std::string normal(text);
  std::replace(normal.begin(), normal.end(), '_', '.');
  std::replace(normal.begin(), normal.end(), '-', '.');
  for (const std::string& part : Split(normal, '.')) {
    if (part.empty()) return BadVersion(text, "a segment between dots is empty");
    Segment segment;
    // A segment that begins with a word counts as if a 0 stood before it: "1.a" is "1.0a".
    if (!IsDigit(part.front())) segment.push_back({});
    for (std::size_t i = 0; i < part.size();) {
      std::size_t end = i;
      while (end < part.size() && IsDigit(part[end]) == IsDigit(part[i])) ++end;
      const std::string run = part.substr(i, end - i);
      if (IsDigit(part[i])) {
        if (run.size() > 18) return BadVersion(text, "a number has more than 18 digits");
        segment.push_back({ParseInteger(run).value_or(0), ""});
      } else {
        segment.push_back({0, run});
      }
      i = end;
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

Result<Version> Version::Parse(std::string_view text) {
  Version version;
  version.text_ = std::string(text);
  const std::string lower = ToLower(text);
  if (lower.empty()) return BadVersion(text, "it is empty");
  if (!std::all_of(lower.begin(), lower.end(), IsVersionCharacter)) {
    return BadVersion(text, "only letters, digits and . _ - + ! are allowed");
  }
  std::string_view rest = lower;
  if (const std::size_t mark = rest.find('!'); mark != std::string_view::npos) {
    const std::optional<std::int64_t> epoch = ParseInteger(rest.substr(0, mark));
    if (!epoch || rest.find('!', mark + 1) != std::string_view::npos) {
      return BadVersion(text, "one number stands before a single '!'");
    }
    version.epoch_ = *epoch;
    rest.remove_prefix(mark + 1);
  }
  const std::size_t plus = rest.find('+');
  if (plus != std::string_view::npos) {
    if (rest.find('+', plus + 1) != std::string_view::npos) return BadVersion(text, "it has two '+'");
    PTPKG_TRY(version.local_, ParseSegments(rest.substr(plus + 1)));
  }
  PTPKG_TRY(version.segments_, ParseSegments(rest.substr(0, plus)));
  return version;
}

std::strong_ordering Version::Compare(const std::vector<Segment>& left, const std::vector<Segment>& right) {
  static const Segment kZero = {Atom{}};
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const Segment& a = i < left.size() ? left[i] : kZero;
    const Segment& b = i < right.size() ? right[i] : kZero;
    for (std::size_t j = 0; j < std::max(a.size(), b.size()); ++j) {
      const Atom& x = j < a.size() ? a[j] : kZero.front();
      const Atom& y = j < b.size() ? b[j] : kZero.front();
      if (const auto order = x <=> y; order != 0) return order;
    }
  }
  return std::strong_ordering::equal;
}

std::strong_ordering operator<=>(const Version& left, const Version& right) {
  if (left.epoch_ != right.epoch_) return left.epoch_ <=> right.epoch_;
  if (const auto order = Version::Compare(left.segments_, right.segments_); order != 0) return order;
  return Version::Compare(left.local_, right.local_);
}

bool Version::StartsWith(const Version& prefix) const {
  if (epoch_ != prefix.epoch_) return false;
  std::vector<Segment> head = segments_;
  head.resize(prefix.segments_.size(), Segment{Atom{}});
  return Compare(head, prefix.segments_) == 0 &&
         (prefix.local_.empty() || Compare(local_, prefix.local_) == 0);
}

namespace {

Result<bool> MatchesClause(const Version& version, std::string_view clause) {
  static constexpr std::string_view kOperators[] = {"==", "!=", ">=", "<=", "~=", "=", "<", ">"};
  const std::string_view whole = clause;
  std::string_view op;
  for (const std::string_view candidate : kOperators) {
    if (clause.starts_with(candidate)) {
      op = candidate;
      clause.remove_prefix(candidate.size());
      break;
    }
  }
  if (op.empty() && clause == "*") return true;
  bool prefix = op == "=";
  for (const std::string_view ending : {std::string_view(".*"), std::string_view("*")}) {
    if (clause.ends_with(ending)) {
      clause.remove_suffix(ending.size());
      prefix = true;
      break;
    }
  }
  Result<Version> bound = Version::Parse(Trim(clause));
  if (!bound) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a version constraint", whole))
        .WithHint("write for example '>=3.8,<4', '3.11.*' or '==1.2'");
  }
  if (op == "!=") return prefix ? !version.StartsWith(*bound) : version != *bound;
  if (op == ">=") return version >= *bound;
  if (op == "<=") return version <= *bound;
  if (op == ">") return version > *bound;
  if (op == "<") return version < *bound;
  if (op == "~=") {
    const std::string text = bound->str();
    const std::size_t last_dot = text.rfind('.');
    if (last_dot == std::string::npos) return version >= *bound;
    PTPKG_TRY(const Version head, Version::Parse(text.substr(0, last_dot)));
    return version >= *bound && version.StartsWith(head);
  }
  return prefix ? version.StartsWith(*bound) : version == *bound;
}

}  // namespace

Result<bool> MatchesConstraint(const Version& version, std::string_view constraint) {
  bool any = false;
  for (const std::string& alternative : Split(constraint, '|')) {
    bool all = true;
    for (const std::string& clause : Split(alternative, ',')) {
      PTPKG_TRY(const bool matches, MatchesClause(version, Trim(clause)));
      all = all && matches;
    }
    any = any || all;
  }
  return any;
}

}  // namespace ptpkg::recipe
