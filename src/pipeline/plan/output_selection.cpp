#include "pipeline/plan/output_selection.h"

#include <algorithm>
#include <fmt/core.h>

#include "builder/test/package_test.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

bool Offers(const recipe::Recipe& recipe, ArtifactFormat format) {
  const auto& offered = recipe.ptpkg.formats;
  return std::find(offered.begin(), offered.end(), ArtifactFormatName(format)) != offered.end();
}

}  // namespace

std::vector<std::string> OutputSelection::Packed() const {
  // Tests and other recipes need a conda package, also where none is published.
  return conda.empty() && (for_others || for_tests) ? std::vector<std::string>{"conda"} : conda;
}

Result<OutputSelection> SelectOutputs(const BuildRequest& request, const recipe::Recipe& recipe,
                                      bool required_by_other) {
  OutputSelection wanted{.for_others = required_by_other,
                         .for_tests = builder::HasTests(recipe) && request.test};
  const auto takes = [&](ArtifactFormat format) {
    return Offers(recipe, format) && (request.formats.empty() || request.formats.contains(format));
  };
  if (takes(ArtifactFormat::kConda)) wanted.conda.emplace_back("conda");
  if (takes(ArtifactFormat::kTarBz2)) wanted.conda.emplace_back("tar.bz2");
  wanted.wheel = takes(ArtifactFormat::kWheel);
  wanted.zip = takes(ArtifactFormat::kZip);
  wanted.wheel_named = recipe.ptpkg.formats_given || !request.formats.empty();
  if (wanted.Publishes() || required_by_other) return wanted;
  std::vector<std::string> asked;
  for (const ArtifactFormat format : request.formats) asked.emplace_back(ArtifactFormatName(format));
  return Error(ErrorCode::kUsage,
               fmt::format("'{}' does not make {}: its recipe lists the formats {}", recipe.name,
                           Join(asked, " or "), Join(recipe.ptpkg.formats, ", ")))
      .WithHint("add the format to extra.ptpkg.formats of the recipe, or remove --format");
}

bool MakesRequestedFormat(const BuildRequest& request, const recipe::Recipe& recipe) {
  const auto& asked = request.formats;
  return asked.empty() || std::any_of(asked.begin(), asked.end(),
                                      [&](ArtifactFormat format) { return Offers(recipe, format); });
}

}  // namespace ptpkg::pipeline
