#include "publish/join_errors.h"

#include <algorithm>
#include <fmt/core.h>
#include <span>
#include <string>

#include "support/text/text.h"

namespace ptpkg::publish {

Error JoinErrors(const std::vector<Error>& errors, std::string_view what) {
  constexpr std::size_t kShown = 5;
  if (errors.size() == 1) return errors.front();
  std::vector<std::string> texts;
  for (const Error& error : errors) texts.push_back(error.message());
  const std::size_t shown = std::min(texts.size(), kShown);
  std::string message = fmt::format("{}: {}", what, Join(std::span(texts).first(shown), "; "));
  if (texts.size() > shown) message += fmt::format("; and {} more", texts.size() - shown);
  return Error(errors.front().code(), message).WithHint(errors.front().hint());
}

}  // namespace ptpkg::publish
