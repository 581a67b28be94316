// Some projects choose build string and layout by the backend they were built for, CUDA of some version or
// the CPU. METADATA has no field for that. The backend shows in the requirements: a wheel for CUDA pins the
// exact versions of NVIDIA's packages. data/projects.yaml maps such pins to text, and the first row that
// matches decides.

#include "convert/projects.h"

#include <algorithm>
#include <fmt/core.h>
#include <vector>

#include "convert/projects_yaml.h"  // generated from data/projects.yaml
#include "support/text/text.h"
#include "support/text/yaml.h"
#include "wheel/metadata/requirement.h"

namespace ptpkg::convert {

namespace {

using Requirements = std::vector<wheel::Requirement>;

Requirements RequirementsOf(const wheel::CoreMetadata& metadata) {
  Requirements requirements;
  for (const std::string& text : metadata.GetAll("Requires-Dist")) {
    auto requirement = wheel::ParseRequirement(text);
    if (!requirement) continue;  // reported where requirements are mapped
    requirement->name = wheel::NormalizeName(requirement->name);
    requirements.push_back(*std::move(requirement));
  }
  return requirements;
}

bool Names(const YamlNode& globs, const std::string& name) {
  return std::any_of(globs.items.begin(), globs.items.end(),
                     [&](const YamlNode& glob) { return GlobMatch(glob.scalar, name); });
}

std::string TextOf(const YamlNode& mapping, std::string_view key) {
  const YamlNode* value = mapping.Find(key);
  return value == nullptr ? "" : value->scalar;
}

/// The row's text with the exact version that a requirement on one of its names pins; "" if none does.
std::string PinnedText(const YamlNode& row, const Requirements& requirements) {
  const YamlNode* globs = row.Find("requires");
  PTPKG_ASSERT(globs != nullptr);
  for (const wheel::Requirement& requirement : requirements) {
    // A range has no version that the build string could show.
    const bool pins = requirement.specifiers.size() == 1 && requirement.specifiers[0].first == "==";
    if (!pins || !Names(*globs, requirement.name)) continue;
    return ReplaceAll(TextOf(row, "text"), "{version}", requirement.specifiers[0].second);
  }
  return "";
}

std::string BackendOf(const YamlNode& conda, const Requirements& requirements) {
  if (const YamlNode* rows = conda.Find("backends"); rows != nullptr) {
    for (const YamlNode& row : rows->items) {
      std::string backend = PinnedText(row, requirements);
      if (backend.empty()) continue;
      if (const YamlNode* parts = row.Find("parts"); parts != nullptr) {
        for (const YamlNode& part : parts->items) backend += PinnedText(part, requirements);
      }
      return backend;
    }
  }
  return TextOf(conda, "no_backend");
}

std::string WheelLayoutOf(const YamlNode& wheel, const Requirements& requirements) {
  const YamlNode* rows = wheel.Find("layouts");
  if (rows == nullptr) return "";
  for (const YamlNode& row : rows->items) {
    const YamlNode* globs = row.Find("requires");
    PTPKG_ASSERT(globs != nullptr);
    // The last row has no globs, for wheels without any of these requirements.
    const bool fits = globs->items.empty() || std::any_of(requirements.begin(), requirements.end(),
                                                          [&](const wheel::Requirement& requirement) {
                                                            return Names(*globs, requirement.name);
                                                          });
    if (fits) return TextOf(row, "layout");
  }
  return "";
}

}  // namespace

ProjectCustom CustomOf(const wheel::CoreMetadata& metadata, const PackageNumbers& numbers) {
  const Result<YamlNode> table = ParseYaml(kProjectsYaml, "projects.yaml");
  PTPKG_ASSERT(table.has_value());  // built in; tests read it
  ProjectCustom custom;
  const YamlNode* project = table->Find(wheel::NormalizeName(metadata.Get("Name")));
  if (project == nullptr) return custom;
  const Requirements requirements = RequirementsOf(metadata);
  if (const YamlNode* conda = project->Find("conda"); conda != nullptr) {
    custom.conda_layout = TextOf(*conda, "layout");
    std::string text = ReplaceAll(TextOf(*conda, "build_string"), "{python}", numbers.python);
    text = ReplaceAll(text, "{backend}", BackendOf(*conda, requirements));
    custom.conda_build_string = ReplaceAll(text, "{number}", std::to_string(numbers.build_number));
  }
  if (const YamlNode* wheel = project->Find("wheel"); wheel != nullptr) {
    custom.wheel_layout = WheelLayoutOf(*wheel, requirements);
  }
  return custom;
}

}  // namespace ptpkg::convert
