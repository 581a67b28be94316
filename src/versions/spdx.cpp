// Checks licence expressions (SPDX specification, annex on licence expressions) with a machine of four
// states, which alternates operands and operators and counts parentheses. No tree is needed, because nothing
// evaluates the expression. Identifiers are compared without case, operators are not: the licence list allows
// the first, the grammar demands capitals for the second.

#include "versions/spdx.h"

#include <fmt/core.h>
#include <map>
#include <vector>

#include "support/text/text.h"
#include "versions/spdx_text.h"  // generated from data/spdx.txt

namespace ptpkg::versions {
namespace {

/// The licence list by lower-case identifier.
struct Table {
  std::map<std::string, std::string> licenses;
  std::map<std::string, std::string> exceptions;
  std::map<std::string, std::string> aliases;
};

// The format is described at the top of data/spdx.txt. An alias is only suggested, never accepted.
Table ParseTable() {
  Table table;
  for (const std::string& line : SplitLines(kSpdxText)) {
    const std::size_t blank = line.find(' ');
    if (line.empty() || line.front() == '#' || blank == std::string::npos) continue;
    const std::string kind = line.substr(0, blank);
    const std::string value = line.substr(blank + 1);
    if (kind == "license") table.licenses.emplace(ToLower(value), value);
    if (kind == "exception") table.exceptions.emplace(ToLower(value), value);
    const std::size_t equals = value.find(" = ");
    if (kind == "alias" && equals != std::string::npos) {
      table.aliases.emplace(ToLower(value.substr(0, equals)), value.substr(equals + 3));
    }
  }
  return table;
}

const Table& SpdxTable() {
  static const Table table = ParseTable();
  return table;
}

Error InvalidExpression(std::string message, std::string hint) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).WithHint(std::move(hint));
}

constexpr std::string_view kWhatToWrite =
    "write an identifier of the SPDX licence list, or LicenseRef-NAME for a licence that is not in it";

/// The identifier of `known` (by lower-case name) that `word` may be a slip of, as a hint.
std::string Suggestion(std::string_view word, const std::map<std::string, std::string>& known) {
  std::vector<std::string> names;
  for (const auto& [name, id] : known) names.push_back(name);
  const std::optional<std::string> nearest = NearestMatch(ToLower(word), names);
  if (!nearest) return std::string(kWhatToWrite);
  return fmt::format("did you mean '{}'?", known.at(*nearest));
}

bool IsReference(std::string_view word) {
  constexpr std::string_view kDocument = "DocumentRef-";
  constexpr std::string_view kLicense = "LicenseRef-";
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.";
  const auto named = [&](std::string_view name) {
    return !name.empty() && name.find_first_not_of(kAllowed) == std::string_view::npos;
  };
  if (word.starts_with(kDocument)) {
    const std::size_t colon = word.find(':');
    if (colon == std::string_view::npos) return false;
    if (!named(word.substr(kDocument.size(), colon - kDocument.size()))) return false;
    word.remove_prefix(colon + 1);
  }
  return word.starts_with(kLicense) && named(word.substr(kLicense.size()));
}

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == '(' || c == ')') {
      words.emplace_back(1, c);
      words.emplace_back();
    } else if (c == ' ' || c == '\t' || c == '\n') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  std::erase(words, "");
  return words;
}

/// Reads the words from left to right: an operand and an operator in turn.
class ExpressionChecker {
 public:
  explicit ExpressionChecker(std::string_view text) : text_(text), words_(Words(text)) {}

  Result<void> Run() {
    for (const std::string& word : words_) PTPKG_CHECK(Take(word));
    if (state_ == State::kOperand) return Incomplete("ends where a licence is expected");
    if (state_ == State::kException) return Incomplete("ends where an exception is expected");
    if (depth_ != 0) return Incomplete("has no closing ')'");
    return Ok();
  }

 private:
  enum class State : std::uint8_t {
    kOperand,       ///< A licence or "(".
    kException,     ///< Behind WITH.
    kAfterLicense,  ///< AND, OR, WITH or ")".
    kAfterOperand,  ///< AND, OR or ")".
  };

  [[nodiscard]] Error Incomplete(std::string_view what) const {
    return InvalidExpression(fmt::format("the licence expression '{}' {}", text_, what),
                             std::string(kWhatToWrite));
  }

  Result<void> Take(const std::string& word) {
    if (state_ == State::kException) return Exception(word);
    if (state_ == State::kOperand) return Operand(word);
    return Operator(word);
  }

  Result<void> Operand(const std::string& word) {
    if (word == "(") {
      ++depth_;
      return Ok();
    }
    std::string_view id = word;
    if (id.size() > 1 && id.ends_with('+')) id.remove_suffix(1);
    const bool reference = IsReference(id);
    if (reference && id != word) {
      return InvalidExpression(
          fmt::format("'{}' is not in the SPDX licence list, so it cannot have a '+'", word),
          fmt::format("write '{}': the licence text says which versions apply", id));
    }
    if (!reference && !SpdxTable().licenses.contains(ToLower(id))) {
      return InvalidExpression(fmt::format("'{}' is not in the SPDX licence list", word),
                               Suggestion(id, SpdxTable().licenses));
    }
    state_ = State::kAfterLicense;
    return Ok();
  }

  Result<void> Operator(const std::string& word) {
    if (word == ")" && depth_ > 0) {
      // The grammar allows WITH after one licence only, so it can't follow a group.
      --depth_;
      state_ = State::kAfterOperand;
      return Ok();
    }
    if (word == "AND" || word == "OR") {
      state_ = State::kOperand;
      return Ok();
    }
    if (word == "WITH" && state_ == State::kAfterLicense) {
      state_ = State::kException;
      return Ok();
    }
    return InvalidExpression(
        fmt::format("unexpected '{}' in the licence expression '{}': expected an operator", word, text_),
        "join licences with AND, OR and WITH, in capitals");
  }

  Result<void> Exception(const std::string& word) {
    if (!SpdxTable().exceptions.contains(ToLower(word))) {
      return InvalidExpression(fmt::format("'{}' is not an exception of the SPDX licence list", word),
                               Suggestion(word, SpdxTable().exceptions));
    }
    state_ = State::kAfterOperand;
    return Ok();
  }

  std::string_view text_;
  std::vector<std::string> words_;
  State state_ = State::kOperand;
  std::size_t depth_ = 0;
};

}  // namespace

Result<void> CheckLicense(std::string_view expression) {
  const auto alias = SpdxTable().aliases.find(ToLower(Trim(expression)));
  if (alias != SpdxTable().aliases.end()) {
    return InvalidExpression(fmt::format("'{}' is not in the SPDX licence list", expression),
                             fmt::format("did you mean '{}'?", alias->second));
  }
  return ExpressionChecker(expression).Run();
}

}  // namespace ptpkg::versions
