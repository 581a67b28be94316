#include "support/text/plural.h"

#include <algorithm>
#include <fmt/core.h>

namespace ptpkg {

std::string Plural(std::uint64_t count, std::string_view noun) {
  if (count == 1) return fmt::format("1 {}", noun);
  if (noun.ends_with('y')) return fmt::format("{} {}ies", count, noun.substr(0, noun.size() - 1));
  return fmt::format("{} {}s", count, noun);
}

std::string FirstNames(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  }
  return names.size() <= most ? text : fmt::format("{} and {} more", text, names.size() - most);
}

}  // namespace ptpkg
