// Positional match specs. Layer: conda.
#include "conda/match_spec.h"

#include <algorithm>
#include <fmt/format.h>

#include "conda/names.h"
#include "support/text.h"

namespace ptpkg::conda {
namespace {

std::vector<std::string> Fields(std::string_view text) {
  std::vector<std::string> fields;
  for (std::string& part : Split(ReplaceAll(text, "\t", " "), ' ')) {
    if (!part.empty()) fields.push_back(std::move(part));
  }
  return fields;
}

bool OnlyCharacters(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    const bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return alnum || others.find(c) != std::string_view::npos;
  });
}

Result<void> CheckSpecName(std::string_view name) {
  // A virtual package has two leading underscores, which CEP 26 forbids everywhere else.
  if (name.starts_with("__")) return CheckPackageName(name.substr(2));
  return CheckPackageName(name);
}

}  // namespace

Result<std::string> NormalizeMatchSpec(std::string_view text) {
  const std::vector<std::string> fields = Fields(text);
  const auto broken = [&](std::string_view rule) {
    return Error(ErrorCode::kInvalidInput, fmt::format("dependency '{}' {}", text, rule))
        .WithHint("write it as 'name', 'name version' or 'name version build'");
  };
  if (fields.empty()) return broken("is empty");
  if (fields.size() > 3) return broken("has more than three fields");
  if (auto name = CheckSpecName(fields[0]); !name)
    return broken("is no match spec: " + name.error().message());
  if (fields.size() > 1 && !OnlyCharacters(fields[1], "._+!*<>=~,|^$()-")) {
    return broken("has a character that no version expression has");
  }
  if (fields.size() > 2 && !OnlyCharacters(fields[2], "._+*^$-")) {
    return broken("has a character that no build expression has");
  }
  return Join(fields, " ");
}

Result<std::vector<std::string>> NormalizeMatchSpecs(const std::vector<std::string>& specs) {
  std::vector<std::string> result;
  result.reserve(specs.size());
  for (const std::string& spec : specs) {
    PTPKG_TRY(std::string normal, NormalizeMatchSpec(spec));
    result.push_back(std::move(normal));
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::string_view MatchSpecName(std::string_view spec) { return spec.substr(0, spec.find(' ')); }

}  // namespace ptpkg::conda
