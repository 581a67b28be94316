// A parser for PEP 508 that reads from left to right and never goes back. The parts are a name, extras, a URL
// or conditions on the version, and a marker. Two rare forms of published METADATA are accepted as well.
// These are conditions in parentheses, which PEP 508 keeps for older metadata, and a comma after the last
// condition. Conditions follow PEP 440 strictly. pip's library packaging refuses the same ones, while uv
// repairs some of them (verify/wheel/lenient_specifiers.h).

#include "wheel/metadata/requirement.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <optional>

#include "support/text/text.h"
#include "wheel/metadata/marker.h"
#include "wheel/metadata/pep440_version.h"
#include "wheel/wheel_characters.h"

namespace ptpkg::wheel {
namespace {

/// Longer ones first where one begins another.
constexpr std::array<std::string_view, 8> kOperators = {"===", "~=", "==", "!=", "<=", ">=", "<", ">"};

bool IsNameChar(char c) { return IsAlphaNumeric(c) || c == '-' || c == '_' || c == '.'; }

bool IsName(std::string_view text) {
  return !text.empty() && IsAlphaNumeric(text.front()) && IsAlphaNumeric(text.back()) &&
         std::all_of(text.begin(), text.end(), IsNameChar);
}

class RequirementParser {
 public:
  explicit RequirementParser(std::string_view text) : text_(text), rest_(Trim(text)) {}

  Result<Requirement> Parse() {
    Requirement out;
    out.name = std::string(TakeWhile(IsNameChar));
    if (!IsName(out.name)) return Fail("it does not begin with a name");
    SkipBlanks();
    if (Take('[')) PTPKG_CHECK(ParseExtras(out));
    SkipBlanks();
    if (Take('@')) {
      PTPKG_CHECK(ParseUrl(out));
    } else {
      PTPKG_CHECK(ParseSpecifiers(out));
    }
    SkipBlanks();
    if (rest_.empty()) return out;
    if (!Take(';')) return Fail(fmt::format("unexpected '{}'", rest_));
    out.marker = std::string(Trim(rest_));
    if (Result<void> marker = CheckMarker(out.marker); !marker) return Fail(marker.error().message());
    return out;
  }

 private:
  [[nodiscard]] Error Fail(const std::string& why) const {
    return {ErrorCode::kInvalidInput, fmt::format("'{}' is not a requirement: {}", text_, why)};
  }

  void SkipBlanks() { rest_ = Trim(rest_); }

  bool Take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  template <class Predicate>
  std::string_view TakeWhile(Predicate predicate) {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), predicate);
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  Result<void> ParseExtras(Requirement& out) {
    const std::size_t close = rest_.find(']');
    if (close == std::string_view::npos) return Fail("the extras are not closed by ']'");
    const std::string_view inside = rest_.substr(0, close);
    rest_.remove_prefix(close + 1);
    if (Trim(inside).empty()) return Ok();
    for (const std::string& part : Split(inside, ',')) {
      const std::string_view extra = Trim(part);
      if (!IsName(extra)) return Fail(fmt::format("'{}' is not an extra's name", extra));
      out.extras.emplace_back(extra);
    }
    return Ok();
  }

  /// A URL ends at white space; a ';' inside belongs to it.
  Result<void> ParseUrl(Requirement& out) {
    SkipBlanks();
    // That is why PEP 508 demands a blank between a URL and the ';' of a marker.
    out.url = std::string(TakeWhile([](char c) { return c != ' ' && c != '\t'; }));
    if (out.url.empty()) return Fail("no URL follows '@'");
    return Ok();
  }

  Result<void> ParseSpecifiers(Requirement& out) {
    const bool parenthesised = Take('(');
    const std::size_t end = rest_.find(parenthesised ? ')' : ';');
    if (parenthesised && end == std::string_view::npos) return Fail("the versions are not closed by ')'");
    const std::string_view inside = Trim(rest_.substr(0, end));
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + (parenthesised ? 1 : 0));
    Result<Specifiers> specifiers = wheel::ParseSpecifiers(inside);
    if (!specifiers) return Fail(specifiers.error().message());
    out.specifiers = *std::move(specifiers);
    return Ok();
  }

  std::string_view text_;
  std::string_view rest_;
};

/// PEP 440's objection to the version behind `op`; "" if there is none.
std::string VersionProblem(std::string_view op, std::string_view version) {
  // "===" compares text, so that any word is allowed.
  const bool spaced = version.find_first_of(" \t") != std::string_view::npos;
  if (op == "===") return version.empty() || spaced ? fmt::format("'{}' is not one word", version) : "";
  const bool equality = op == "==" || op == "!=";
  const bool any_end = equality && version.ends_with(".*");
  const auto parsed = ParseVersion(any_end ? version.substr(0, version.size() - 2) : version);
  if (!parsed || spaced) return fmt::format("'{}' is not a version", version);
  if (any_end && (!parsed->pre_kind.empty() || parsed->post || parsed->dev || !parsed->local.empty())) {
    return fmt::format("in '{}' the '.*' follows more than numbers", version);
  }
  if (!equality && !parsed->local.empty()) {
    return fmt::format("'{}{}' names a local version, which only '==' and '!=' compare", op, version);
  }
  if (op == "~=" && parsed->release.size() < 2) {
    return fmt::format("'~={}' needs a version with at least two numbers", version);
  }
  return {};
}

Result<std::pair<std::string, std::string>> ParseSpecifier(std::string_view text) {
  const auto* const op = std::find_if(kOperators.begin(), kOperators.end(), [&](std::string_view candidate) {
    return text.starts_with(candidate);
  });
  if (op == kOperators.end()) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' does not begin with a comparison", text));
  }
  const std::string_view version = Trim(text.substr(op->size()));
  std::string problem = VersionProblem(*op, version);
  if (!problem.empty()) return Error(ErrorCode::kInvalidInput, std::move(problem));
  return std::pair(std::string(*op), std::string(version));
}

}  // namespace

Result<Specifiers> ParseSpecifiers(std::string_view text) {
  std::string_view list = Trim(text);
  if (list.ends_with(',') && list.size() > 1) list.remove_suffix(1);
  Specifiers out;
  if (list.empty()) return out;
  for (const std::string& part : Split(list, ',')) {
    PTPKG_TRY(auto specifier, ParseSpecifier(Trim(part)));
    out.push_back(std::move(specifier));
  }
  return out;
}

Specifiers NormalSpecifiers(Specifiers specifiers) {
  for (auto& [op, version] : specifiers) {
    const bool any_end = version.ends_with(".*");
    const auto normal = NormalizeVersion(any_end ? version.substr(0, version.size() - 2) : version);
    // "===" compares texts, so the spelling of its version counts.
    if (op != "===" && normal) version = *normal + (any_end ? ".*" : "");
  }
  std::sort(specifiers.begin(), specifiers.end());
  specifiers.erase(std::unique(specifiers.begin(), specifiers.end()), specifiers.end());
  return specifiers;
}

std::string Requirement::str() const {
  std::string out = name;
  if (!extras.empty()) out += "[" + Join(extras, ",") + "]";
  if (!url.empty()) out += " @ " + url;
  for (std::size_t i = 0; i < specifiers.size(); ++i) {
    out += (i == 0 ? "" : ",") + specifiers[i].first + specifiers[i].second;
  }
  if (!marker.empty()) out += " ; " + marker;
  return out;
}

bool Requirement::IsOfAnExtra() const {
  // A scan for the word outside of quotes. "extra" within quotes is a value, not the variable.
  char quote = '\0';
  std::string word;
  for (const char c : marker + " ") {
    if (quote != '\0' || c == '"' || c == '\'') {
      if (quote == '\0') {
        quote = c;
      } else if (c == quote) {
        quote = '\0';
      }
      word.clear();
    } else if (IsNameChar(c)) {
      word += c;
    } else {
      if (word == "extra") return true;
      word.clear();
    }
  }
  return false;
}

Result<Requirement> ParseRequirement(std::string_view text) { return RequirementParser(text).Parse(); }

}  // namespace ptpkg::wheel
