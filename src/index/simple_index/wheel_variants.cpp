// Merges the variant documents of a version's wheels into one file for the index (PEP 825). A wheel whose
// document contradicts the merged one is not added, and the merged document stays unchanged: hence the copy
// in Add. A page lists the file only if it lists a variant wheel of that version.

#include "index/simple_index/wheel_variants.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "index/simple_index/simple_index_pages.h"
#include "support/net/url.h"
#include "support/text/json.h"

namespace ptpkg::index {
namespace {

constexpr std::string_view kVariantsSuffix = "-variants.json";

/// The stems of the variant wheels that a page lists.
std::set<std::string> VariantStems(const Json& files) {
  std::set<std::string> stems;
  for (const Json& file : files) {
    const auto text = JsonStringOr(file.is_object() ? file : Json::object(), "filename", "", "");
    const auto name = text ? wheel::FileName::Parse(*text) : Result<wheel::FileName>(text.error());
    if (name && !name->variant.empty()) stems.insert(name->Stem());
  }
  return stems;
}

}  // namespace

Result<void> WheelVariants::Add(const wheel::WheelInfo& info) {
  if (info.file_name.variant.empty()) return Ok();
  const std::string where = info.file_name.str();
  PTPKG_TRY(const wheel::VariantDocument one,
            wheel::ParseWheelVariant(info.variant_text, info.file_name.variant, where));
  OfVersion& all = versions_[info.file_name.Stem()];
  wheel::VariantDocument merged = all.document;
  PTPKG_CHECK(wheel::MergeVariants(merged, one, where));
  all = {.project = wheel::NormalizeName(info.file_name.name), .document = std::move(merged)};
  return Ok();
}

std::vector<VariantsFile> WheelVariants::Files() const {
  std::vector<VariantsFile> files;
  for (const auto& [stem, version] : versions_) {
    if (version.document.variants.empty()) continue;  // its only wheel was not added
    files.push_back({.file_name = wheel::VariantsFileName(stem),
                     .stem = stem,
                     .project = version.project,
                     .text = wheel::FormatVariantDocument(version.document)});
  }
  return files;
}

Result<void> AddVariantsToPage(Json& page, const std::vector<VariantsFile>& files) {
  if (!page.is_object() || !page.contains("files") || !page["files"].is_array()) {
    return Error(ErrorCode::kInvalidInput, "'files' of the index is not a list");
  }
  const std::set<std::string> stems = VariantStems(page["files"]);
  for (const VariantsFile& file : files) {
    if (!stems.contains(file.stem)) continue;
    page["files"].push_back({{"filename", file.file_name},
                             {"url", "../../" + PercentEncode(file.file_name)},
                             {"hashes", {{"sha256", HashText(file.text).Hex()}}},
                             {"size", file.text.size()}});
  }
  return Ok();
}

bool IsVariantsFileName(const std::string& name) {
  return name.size() > kVariantsSuffix.size() && name.ends_with(kVariantsSuffix) && !name.starts_with('.');
}

}  // namespace ptpkg::index
