// about of a recipe. Layer: recipe.

#include "recipe/document/sections.h"
#include "versions/spdx.h"

namespace ptpkg::recipe {

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
  PTPKG_TRY(about.license_files, reader.TextsOf(section, "license_file"));
  PTPKG_TRY(about.summary, reader.TextOf(section, "summary"));
  PTPKG_TRY(about.description, reader.TextOf(section, "description"));
  return about;
}

}  // namespace ptpkg::recipe
