// Version constraints of conda (CEP 29): '|' binds weaker than ',', parentheses group, and a clause is an
// operator with a version. The parser builds a tree once, and Matches walks it for each candidate.
// The corners follow conda, because solvers of users do: a star after other operators than '=' and '!=' is
// dropped (">=1.2.*" is ">=1.2"), a star inside the version matches the text, and "~=1.2.3" means at least
// 1.2.3 and beginning with 1.2.
// Regular expressions (^…$) are refused. AddBounds also has no bounds for a star inside the version, so
// callers ask HasWildcard.
// Parentheses nest at most kMaxDepth deep, since constraints come from foreign packages.

#include "versions/version_spec.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <utility>

#include "support/text/text.h"
#include "versions/build_string.h"

namespace ptpkg::versions {

/// Recursive descent: any = all ('|' all)*, all = one (',' one)*, one = '(' any ')' or a clause.
class VersionSpecParser {
 public:
  explicit VersionSpecParser(std::string_view text) : whole_(text), rest_(text) {}

  Result<VersionSpec> Run() {
    if (whole_.find_first_of("^$") != std::string_view::npos) {
      return Error(ErrorCode::kUnsupported,
                   fmt::format("version constraint '{}' is a regular expression", whole_))
          .WithHint("write it with '*', ',' and '|'");
    }
    PTPKG_TRY(VersionSpec spec, ReadAny(0));
    if (!rest_.empty()) return Bad("a ')' has no '('");
    return spec;
  }

 private:
  using Kind = VersionSpec::Kind;
  static constexpr int kMaxDepth = 16;

  [[nodiscard]] Error Bad(std::string_view why) const {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a version constraint: {}", whole_, why))
        .WithHint("write for example '>=3.8,<4', '3.11.*' or '==1.2'");
  }

  void SkipBlanks() { rest_ = rest_.substr(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

  bool Take(char wanted) {
    SkipBlanks();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// A group of one is that one.
  static VersionSpec Unwrapped(VersionSpec group) {
    if (group.parts_.size() != 1) return group;
    VersionSpec only = std::move(group.parts_.front());
    return only;
  }

  Result<VersionSpec> ReadAny(int depth) {
    VersionSpec any;
    any.kind_ = Kind::kAny;
    do {
      VersionSpec all;
      do {
        PTPKG_TRY(VersionSpec one, ReadOne(depth));
        all.parts_.push_back(std::move(one));
      } while (Take(','));
      any.parts_.push_back(Unwrapped(std::move(all)));
    } while (Take('|'));
    SkipBlanks();
    return Unwrapped(std::move(any));
  }

  Result<VersionSpec> ReadOne(int depth) {
    if (!Take('(')) {
      const std::size_t end = std::min(rest_.find_first_of("(),|"), rest_.size());
      const std::string_view clause = Trim(rest_.substr(0, end));
      rest_.remove_prefix(end);
      return ReadClause(clause);
    }
    if (depth == kMaxDepth) return Bad(fmt::format("parentheses are nested more than {} deep", kMaxDepth));
    PTPKG_TRY(VersionSpec inner, ReadAny(depth + 1));
    if (!Take(')')) return Bad("a '(' has no ')'");
    return inner;
  }

  struct Operator {
    std::string_view text;
    Kind kind;
  };

  /// The longer ones first, so that "==" is not taken for "=".
  static Operator TakeOperator(std::string_view& clause) {
    static constexpr std::array<Operator, 8> kOperators{{{"==", Kind::kEqual},
                                                         {"!=", Kind::kNotEqual},
                                                         {"<=", Kind::kLessEqual},
                                                         {">=", Kind::kGreaterEqual},
                                                         {"~=", Kind::kCompatible},
                                                         {"<", Kind::kLess},
                                                         {">", Kind::kGreater},
                                                         {"=", Kind::kStartsWith}}};
    for (const Operator& candidate : kOperators) {
      if (!clause.starts_with(candidate.text)) continue;
      clause = Trim(clause.substr(candidate.text.size()));
      return candidate;
    }
    return {"", Kind::kEqual};
  }

  Result<VersionSpec> ReadClause(std::string_view clause) {
    const Operator op = TakeOperator(clause);
    if (clause.empty()) return Bad("a version is missing");
    if (clause == "*") return ReadStar(op);
    VersionSpec spec;
    spec.kind_ = op.kind;
    const std::string_view stem = clause.substr(0, clause.find_last_not_of('*') + 1);
    if (stem.find('*') != std::string_view::npos || clause.size() > stem.size() + 1) {
      return ReadWildcard(op, clause);
    }
    const bool star = stem.size() < clause.size();
    PTPKG_TRY(spec.bound_, Bound(star && stem.ends_with('.') ? stem.substr(0, stem.size() - 1) : stem));
    // conda drops the star after the other operators: ">=1.2.*" is ">=1.2".
    if (star && op.text.empty()) spec.kind_ = Kind::kStartsWith;
    if (star && op.kind == Kind::kNotEqual) spec.kind_ = Kind::kNotStartsWith;
    if (op.kind == Kind::kCompatible) {
      if (star) return Bad("'~=' and '*' exclude each other");
      const std::string& text = spec.bound_.str();
      const std::size_t dot = text.rfind('.');
      if (dot == std::string::npos) return Bad("'~=' needs a version with a dot");
      PTPKG_TRY(spec.head_, Bound(std::string_view(text).substr(0, dot)));
    }
    return spec;
  }

  Result<VersionSpec> ReadStar(const Operator& op) {
    const bool all = op.text.empty() || op.kind == Kind::kEqual || op.kind == Kind::kStartsWith ||
                     op.kind == Kind::kGreaterEqual || op.kind == Kind::kLessEqual;
    if (!all) return Bad(fmt::format("'{}' needs a version, not '*'", op.text));
    return VersionSpec();
  }

  /// A star inside the version: conda matches the text.
  Result<VersionSpec> ReadWildcard(const Operator& op, std::string_view clause) {
    if (!op.text.empty()) return Bad(fmt::format("after '{}', '*' is only allowed at the end", op.text));
    // The text between the stars must consist of a version's characters.
    VersionSpec spec;
    PTPKG_TRY(spec.bound_, Bound(ReplaceAll(clause, "*", "0")));
    spec.kind_ = Kind::kWildcard;
    spec.wildcard_ = std::string(clause);
    return spec;
  }

  Result<Version> Bound(std::string_view text) {
    Result<Version> version = Version::Parse(text);
    if (version) return version;
    std::string why = version.error().message();
    // Version's message quotes the text, and so does ours: one quotation is enough if both are the same.
    if (text == whole_) why.erase(0, why.rfind(": ") + 2);
    return Bad(why);
  }

  std::string_view whole_;
  std::string_view rest_;
};

Result<VersionSpec> VersionSpec::Parse(std::string_view text) { return VersionSpecParser(text).Run(); }

bool VersionSpec::Matches(const Version& version) const {
  const auto holds = [&](const VersionSpec& part) { return part.Matches(version); };
  switch (kind_) {
    case Kind::kAll:
      return std::all_of(parts_.begin(), parts_.end(), holds);
    case Kind::kAny:
      return std::any_of(parts_.begin(), parts_.end(), holds);
    case Kind::kEqual:
      return version == bound_;
    case Kind::kNotEqual:
      return version != bound_;
    case Kind::kLess:
      return version < bound_;
    case Kind::kLessEqual:
      return version <= bound_;
    case Kind::kGreater:
      return version > bound_;
    case Kind::kGreaterEqual:
      return version >= bound_;
    case Kind::kStartsWith:
      return version.StartsWith(bound_);
    case Kind::kNotStartsWith:
      return !version.StartsWith(bound_);
    case Kind::kCompatible:
      return version >= bound_ && version.StartsWith(head_);
    case Kind::kWildcard:
      return WildcardMatches(version.str(), wildcard_);
  }
  return false;
}

void VersionSpec::AddBounds(std::vector<Version>& bounds) const {
  for (const VersionSpec& part : parts_) part.AddBounds(bounds);
  if (kind_ == Kind::kAll || kind_ == Kind::kAny || kind_ == Kind::kWildcard) return;
  bounds.push_back(bound_);
  if (kind_ == Kind::kCompatible) bounds.push_back(head_);
}

bool VersionSpec::HasWildcard() const {
  return kind_ == Kind::kWildcard || std::any_of(parts_.begin(), parts_.end(),
                                                 [](const VersionSpec& part) { return part.HasWildcard(); });
}

Result<bool> VersionMatches(std::string_view version, std::string_view spec) {
  if (Trim(spec).empty()) return true;
  PTPKG_TRY(const VersionSpec parsed, VersionSpec::Parse(spec));
  PTPKG_TRY(const Version candidate, Version::Parse(version));
  return parsed.Matches(candidate);
}

std::string SingleVersion(std::string_view spec) {
  for (const std::string_view op : {std::string_view("=="), std::string_view("=")}) {
    if (spec.starts_with(op)) {
      spec.remove_prefix(op.size());
      break;
    }
  }
  if (spec.ends_with(".*")) spec.remove_suffix(2);
  return Version::Parse(spec) ? std::string(spec) : "";
}

}  // namespace ptpkg::versions
