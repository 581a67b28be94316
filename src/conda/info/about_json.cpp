// info/about.json. Layer: conda.
#include "conda/info/about_json.h"

#include <algorithm>

#include "support/text/display_text.h"
#include "support/text/json.h"

namespace ptpkg::conda {

std::string WithoutCredentials(std::string_view written) {
  std::string url = DropCredentials(written);
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return url;
  const std::size_t begin = scheme + 3;
  const std::string_view rest = std::string_view(url).substr(begin);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  std::string_view path = rest.substr(slash);
  // The last '@' counts, because a password can contain one.
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos)
    authority.remove_prefix(at + 1);
  // Private channels of anaconda.org have the token in the path. conda-build and rattler-build remove it,
  // too.
  if (path.starts_with("/t/")) {
    const std::size_t end = path.find('/', 3);
    path = end == std::string_view::npos ? std::string_view() : path.substr(end);
  }
  return url.substr(0, begin) + std::string(authority) + std::string(path);
}

Json MakeAboutJson(const PackageMetadata& metadata) {
  Json about = Json::object();
  for (const auto& [key, value] : metadata.about) {
    if (!value.empty()) about[key] = WithoutCredentials(value);
  }
  if (!metadata.license.empty()) about["license"] = metadata.license;
  if (!metadata.license_family.empty()) about["license_family"] = metadata.license_family;
  return about;
}

}  // namespace ptpkg::conda
