// about of a recipe. Layer: recipe.

#include <fmt/core.h>

#include "recipe/document/sections.h"
#include "support/path.h"
#include "versions/spdx.h"

namespace ptpkg::recipe {
namespace {

/// Globs. Globs after "${PREFIX}/" are looked for once the script has run.
Result<std::vector<std::string>> ReadLicenseFiles(Reader& reader, const Node* node) {
  if (node == nullptr) return std::vector<std::string>();
  PTPKG_TRY(std::vector<std::string> files, reader.ReadTextsOfScripts(*node));
  for (const std::string& file : files) {
    if (file.find("${") == std::string::npos || file.starts_with(kPrefixOfLicense)) continue;
    return Error(ErrorCode::kUnsupported, fmt::format("the licence file '{}' is in no known directory", file))
        .At(node->span)
        .WithHint("licence files are relative to the sources or the recipe, or begin with '${{ PREFIX }}/'");
  }
  return files;
}

}  // namespace

Result<About> ReadAbout(Reader& reader, const Node* section) {
  About about;
  PTPKG_TRY(about.homepage, reader.TextOf(section, "homepage"));
  PTPKG_TRY(about.repository, reader.TextOf(section, "repository"));
  PTPKG_TRY(about.documentation, reader.TextOf(section, "documentation"));
  PTPKG_TRY(about.license, reader.TextOf(section, "license"));
  if (!about.license.empty()) {
    Result<void> known = versions::CheckLicense(about.license);
    if (!known) return std::move(known).error().At(section->Find("license")->span);
  }
  PTPKG_TRY(about.license_family, reader.TextOf(section, "license_family"));
  PTPKG_TRY(about.license_files, ReadLicenseFiles(reader, FindIn(section, "license_file")));
  PTPKG_TRY(about.summary, reader.TextOf(section, "summary"));
  PTPKG_TRY(about.description, reader.TextOf(section, "description"));
  return about;
}

}  // namespace ptpkg::recipe
