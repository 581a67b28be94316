// Version and build constraints. Layer: conda.
#include "conda/version_spec.h"

#include <array>
#include <fmt/format.h>

#include "conda/version_order.h"
#include "support/text.h"

namespace ptpkg::conda {
namespace {

/// Equal up to the segments that `prefix` has: "1.2" is a prefix of "1.2.5" and of "1.2", not of "1.25".
bool HasVersionPrefix(std::string_view version, std::string_view prefix) {
  if (CompareVersions(version, prefix) == std::strong_ordering::equal) return true;
  if (!version.starts_with(prefix)) return false;
  const char next = version[prefix.size()];
  const bool prefix_digit = prefix.back() >= '0' && prefix.back() <= '9';
  const bool next_digit = next >= '0' && next <= '9';
  return next == '.' || next == '_' || next == '+' || prefix_digit != next_digit;
}

/// "1.2.*" and "1.2*" → "1.2"; other text unchanged.
std::string_view WithoutStar(std::string_view text) {
  if (text.ends_with("*")) text.remove_suffix(1);
  if (text.ends_with(".")) text.remove_suffix(1);
  return text;
}

/// "~=1.4.5": at least 1.4.5, and within 1.4.
bool IsCompatible(std::string_view version, std::string_view bound) {
  const std::size_t dot = bound.rfind('.');
  return CompareVersions(version, bound) >= 0 &&
         (dot == std::string_view::npos || HasVersionPrefix(version, bound.substr(0, dot)));
}

bool Holds(std::string_view version, std::string_view op, std::string_view bound) {
  const std::string_view plain = WithoutStar(bound);
  const bool star = bound.ends_with('*');
  if (star && plain.empty()) return op != "!=";
  if (op == "=" || (star && (op.empty() || op == "=="))) return HasVersionPrefix(version, plain);
  if (op == "!=" && star) return !HasVersionPrefix(version, plain);
  if (op == "~=") return IsCompatible(version, plain);
  const auto order = CompareVersions(version, plain);
  if (op.empty() || op == "==") return order == 0;
  if (op == "!=") return order != 0;
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  return op == ">" ? order > 0 : order >= 0;
}

Result<bool> ConstraintHolds(std::string_view version, std::string_view constraint, std::string_view spec) {
  constexpr std::array<std::string_view, 8> kOperators{"==", "!=", "<=", ">=", "~=", "<", ">", "="};
  std::string_view op;
  for (const std::string_view candidate : kOperators) {
    if (constraint.starts_with(candidate)) {
      op = candidate;
      break;
    }
  }
  const std::string_view bound = Trim(constraint.substr(op.size()));
  if (bound.empty()) {
    return Error(ErrorCode::kInvalidInput, fmt::format("version constraint '{}' is incomplete", spec));
  }
  return Holds(version, op, bound);
}

}  // namespace

Result<bool> VersionMatches(std::string_view version, std::string_view spec) {
  if (Trim(spec).empty()) return true;
  if (spec.find_first_of("^$()") != std::string_view::npos) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("version constraint '{}' is a regular expression or has parentheses", spec));
  }
  bool any = false;
  for (const std::string& alternative : Split(spec, '|')) {
    bool all = true;
    for (const std::string& constraint : Split(alternative, ',')) {
      PTPKG_TRY(const bool holds, ConstraintHolds(version, Trim(constraint), spec));
      all = all && holds;
    }
    any = any || all;
  }
  return any;
}

bool BuildMatches(std::string_view build, std::string_view pattern) {
  if (pattern.empty()) return true;
  const std::vector<std::string> parts = Split(pattern, '*');
  if (parts.size() == 1) return build == pattern;
  if (!build.starts_with(parts.front())) return false;
  std::string_view rest = build.substr(parts.front().size());
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    const std::size_t at = rest.find(parts[i]);
    if (at == std::string_view::npos) return false;
    rest.remove_prefix(at + parts[i].size());
  }
  return rest.ends_with(parts.back());
}

}  // namespace ptpkg::conda
