#include "support/text/case_collisions.h"

#include <map>

#include "support/text/text.h"

namespace ptpkg {

std::vector<std::pair<std::string, std::string>> CaseCollisions(const std::vector<std::string>& paths) {
  std::vector<std::pair<std::string, std::string>> found;
  std::map<std::string, std::string> by_lower_case;
  for (const std::string& path : paths) {
    const auto [first, added] = by_lower_case.emplace(ToLower(path), path);
    if (!added && first->second != path) found.emplace_back(first->second, path);
  }
  return found;
}

}  // namespace ptpkg
