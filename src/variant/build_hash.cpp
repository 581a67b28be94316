// Build hashes. Layer: variant.

#include "variant/build_hash.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/assert.h"
#include "support/digest/hash.h"
#include "support/text/json.h"
#include "support/text/text.h"
#include "versions/build_string.h"

namespace ptpkg::variant {
namespace {

struct PrefixRule {
  std::string_view prefix;
  std::string_view key;
  std::size_t segments;
};

// Two names for R: the last one that a variant has wins, as in rattler-build.
constexpr PrefixRule kRules[] = {
    {"np", "numpy", 2}, {"py", "python", 2}, {"pl", "perl", 3},
    {"lua", "lua", 2},  {"r", "r", 2},       {"r", "r_base", 2},
};

}  // namespace

std::string BuildHash(const Json& input) {
  PTPKG_ASSERT(input.is_object());
  // conda-build's length. The blanks that json.dumps writes after ',' and ':' are part of what is hashed.
  constexpr std::size_t kDigits = 7;
  return Sha1OfText(DumpJsonPython(input)).Hex().substr(0, kDigits);
}

std::string BuildStringPrefix(const std::map<std::string, recipe::Value>& used, bool noarch_python) {
  if (noarch_python) return "py";
  std::string result;
  for (const PrefixRule& rule : kRules) {
    const auto found = used.find(std::string(rule.key));
    if (found == used.end()) continue;
    if (rule.key == "r" && used.contains("r_base")) continue;
    const Result<std::string> version = found->second.ToText();
    PTPKG_ASSERT(version.has_value());  // Variant values are never lists.
    result += fmt::format("{}{}", rule.prefix, versions::VersionDigits(*version, rule.segments));
  }
  return result;
}

}  // namespace ptpkg::variant
