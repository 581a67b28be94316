// Two questions about match specs. With a list of packages, FindCollision asks each pair of specs about each
// package. Without a list, CanBeSatisfied tries witnesses: versions at, below and above each bound of the
// clauses. Between two neighbouring bounds each clause gives all versions the same answer, so one witness
// there decides for all of them.

#include "versions/constraint.h"

#include <algorithm>
#include <array>

#include "versions/conda_characters.h"

namespace ptpkg::versions {
namespace {

/// A version above all that begin with `text`, and as near: "1.3" of "1.2", "1.2" of "1.2rc" (a number sorts
/// after words), "1.0" of "1.rc".
std::string NextFamily(std::string text) {
  while (!text.empty() && !IsDigit(text.back()) && text.back() != '.' && text.back() != '+' &&
         text.back() != '!')
    text.pop_back();
  if (text.empty() || !IsDigit(text.back())) return text + "0";
  std::size_t at = text.size();
  // Digits are counted up as text, since a date or a hash in a version can exceed any integer type. "1.9"
  // becomes "1.10".
  while (at > 0 && text[at - 1] == '9') text[--at] = '0';
  if (at > 0 && IsDigit(text[at - 1])) {
    ++text[at - 1];
  } else {
    text.insert(at, 1, '1');
  }
  return text;
}

/// Versions of which at least one lies in each stretch of the order that the clauses with these bounds cannot
/// tell apart: at each bound, right below and above it (a local part decides between versions that are equal
/// otherwise), at the upper end of its family "1.2.*", and after it.
std::vector<Version> Witnesses(const std::vector<Version>& bounds) {
  std::vector<Version> witnesses = {Version()};
  for (const Version& bound : bounds) {
    const std::string& text = bound.str();
    const std::string local = text.find('+') == std::string::npos ? "+" : ".";
    witnesses.push_back(bound);
    // "<3.13.0a0" means "before all of 3.13", although "3.13dev" sorts below it.
    if (!text.ends_with("a0")) witnesses.push_back(Version::AnyText(text + local + "dev"));
    for (const std::string& near : {text + local + "0.0.0.1", text + "post", NextFamily(text)}) {
      witnesses.push_back(Version::AnyText(near));
    }
  }
  return witnesses;
}

/// Only literals decide. Two patterns might admit no common text, but that takes an intersection of automata,
/// so they count as satisfiable.
bool BuildsCanBeSatisfied(std::span<const Constraint> constraints) {
  return std::all_of(constraints.begin(), constraints.end(), [&](const Constraint& one) {
    const std::optional<std::string> literal = one.build().Literal();
    return !literal || std::all_of(constraints.begin(), constraints.end(),
                                   [&](const Constraint& other) { return other.build().Matches(*literal); });
  });
}

}  // namespace

Result<Constraint> Constraint::Of(const MatchSpec& spec) {
  Constraint constraint;
  PTPKG_TRY(constraint.build_, BuildPattern::Parse(spec.build));
  std::string_view version = spec.version;
  if (version.empty()) return constraint;
  const bool equals = version.front() == '=';
  const bool doubled = version.starts_with("==") && version.find_first_of("=<>!~", 2) != 2;
  if (doubled && spec.build.empty()) {
    version.remove_prefix(2);
  } else if (equals && !spec.build.empty() && version.find_first_of("=,|*", 1) == std::string_view::npos) {
    version.remove_prefix(1);
  }
  PTPKG_TRY(constraint.version_, VersionSpec::Parse(version));
  return constraint;
}

std::optional<Collision> FindCollision(std::span<const Constraint> constraints,
                                       std::span<const Choice> choices) {
  for (std::size_t second = 0; second < constraints.size(); ++second) {
    // `first` == `second` first: an impossible constraint collides with every other one.
    for (std::size_t step = 0; step <= second; ++step) {
      const std::size_t first = step == 0 ? second : step - 1;
      const bool meet = std::any_of(choices.begin(), choices.end(), [&](const Choice& choice) {
        return constraints[first].Admits(choice) && constraints[second].Admits(choice);
      });
      if (!meet) return Collision{first, second};
    }
  }
  return std::nullopt;
}

bool CanBeSatisfied(std::span<const Constraint> constraints) {
  if (!BuildsCanBeSatisfied(constraints)) return false;
  std::vector<Version> bounds;
  for (const Constraint& constraint : constraints) constraint.version().AddBounds(bounds);
  const std::vector<Version> witnesses = Witnesses(bounds);
  return std::any_of(witnesses.begin(), witnesses.end(), [&](const Version& witness) {
    return std::all_of(constraints.begin(), constraints.end(), [&](const Constraint& constraint) {
      // A clause with a star inside compares text. It has no bound and thus no witness, so it excludes
      // nothing here.
      return constraint.version().HasWildcard() || constraint.version().Matches(witness);
    });
  });
}

std::optional<Collision> FindCollision(std::span<const Constraint> constraints) {
  for (std::size_t second = 0; second < constraints.size(); ++second) {
    if (!CanBeSatisfied(constraints.subspan(second, 1))) return Collision{second, second};
    for (std::size_t first = 0; first < second; ++first) {
      if (!CanBeSatisfied(std::array{constraints[first], constraints[second]}))
        return Collision{first, second};
    }
  }
  return std::nullopt;
}

}  // namespace ptpkg::versions
