// The rules are data, built into the program, so that a new backend or library is a line of YAML. All keys
// are required, with two exceptions (of_machine, data_folders). A list that is missing by mistake would copy
// libraries that must stay outside, and nobody would notice.

#include "repair/graft_rules.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "convert/layouts.h"
#include "repair/graft_rules_yaml.h"  // generated from data/graft_rules.yaml
#include "support/text/globs.h"
#include "support/text/text.h"
#include "support/text/yaml.h"
#include "verify/elf/elf_tables.h"

namespace ptpkg::repair {
namespace {

// In the order of Rename: the index is the value.
constexpr std::array<std::string_view, 3> kRenames = {"hash", "none", "bare"};

/// The text of `key`, which must be there.
Result<std::string> TextOf(const YamlNode& node, std::string_view key) {
  const YamlNode* found = node.Find(key);
  if (found != nullptr && found->kind == YamlNode::Kind::kScalar) return found->scalar;
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is missing or not text", key)).At(node.span);
}

Result<std::vector<std::string>> GlobsOf(const YamlNode& node, std::string_view key) {
  PTPKG_TRY(const std::string text, TextOf(node, key));
  std::vector<std::string> globs = Split(text, ' ');
  std::erase(globs, "");
  return globs;
}

Result<Backend> ParseBackend(const std::string& name, const YamlNode& node) {
  Backend backend{.name = name};
  PTPKG_TRY(const std::string layout, TextOf(node, "layout"));
  PTPKG_TRY(backend.layout, convert::BuiltInLayout(layout));
  PTPKG_TRY(backend.folder, TextOf(node, "folder"));
  PTPKG_TRY(backend.platform, TextOf(node, "platform"));
  PTPKG_TRY(const std::string rename, TextOf(node, "rename"));
  PTPKG_TRY(backend.rename, ParseRename(rename));
  PTPKG_TRY(backend.never_rename, GlobsOf(node, "never_rename"));
  PTPKG_TRY(backend.never_graft, GlobsOf(node, "never_graft"));
  if (const YamlNode* folders = node.Find("data_folders"); folders != nullptr) {
    for (const YamlEntry& entry : folders->entries) {
      const auto folder = RelPath::Parse(entry.value.scalar);
      if (!folder) return Error(folder.error()).At(entry.value.span);
      backend.data_folders[entry.key] = folder->str();
    }
  }
  return backend;
}

}  // namespace

Result<Rename> ParseRename(std::string_view name) {
  const auto* const found = std::find(kRenames.begin(), kRenames.end(), name);
  if (found != kRenames.end()) return static_cast<Rename>(found - kRenames.begin());
  return Error(ErrorCode::kUsage, fmt::format("unknown --rename value '{}'", name))
      .WithHint(fmt::format("one of {}", Join(RenameNames(), ", ")));
}

std::vector<std::string> RenameNames() { return {kRenames.begin(), kRenames.end()}; }

Result<GraftRules> GraftRules::Parse(std::string_view text, const std::string& name) {
  PTPKG_TRY(const YamlNode root, ParseYaml(text, name));
  GraftRules rules;
  const YamlNode* backends = root.Find("backends");
  if (backends == nullptr)
    return Error(ErrorCode::kInvalidInput, "a table of libraries has 'backends'").At(root.span);
  PTPKG_TRY(rules.never_graft_, GlobsOf(root, "never_graft"));
  if (const YamlNode* machine = root.Find("of_machine"); machine != nullptr) {
    for (const YamlEntry& entry : machine->entries) {
      PTPKG_TRY(rules.of_machine_[entry.key], GlobsOf(*machine, entry.key));
    }
  }
  PTPKG_TRY(rules.dropped_, GlobsOf(root, "dropped"));
  PTPKG_TRY(rules.never_rename_, GlobsOf(root, "never_rename"));
  for (const YamlEntry& entry : backends->entries) {
    PTPKG_TRY(Backend backend, ParseBackend(entry.key, entry.value));
    rules.backends_.push_back(std::move(backend));
  }
  return rules;
}

Result<GraftRules> GraftRules::BuiltIn() { return Parse(kGraftRulesYaml, "graft_rules.yaml"); }

bool GraftRules::IsNeverGrafted(std::string_view library) const {
  // A copied driver library fits one version of the kernel driver, and hides the machine's own.
  return MatchesAnyGlob(never_graft_, library) || MatchesAnyGlob(verify::DriverLibraries(), library);
}

std::string GraftRules::MachineLibraryReason(std::string_view library) const {
  for (const auto& [why, globs] : of_machine_) {
    if (MatchesAnyGlob(globs, library)) return why;
  }
  return {};
}

bool GraftRules::IsProvidedByInterpreter(std::string_view library) const {
  return MatchesAnyGlob(dropped_, library);
}

bool GraftRules::IsNeverRenamed(std::string_view library) const {
  return MatchesAnyGlob(never_rename_, library);
}

std::vector<std::string> GraftRules::BackendNames() const {
  std::vector<std::string> names;
  for (const Backend& backend : backends_) names.push_back(backend.name);
  return names;
}

Result<Backend> GraftRules::FindBackend(std::string_view name) const {
  const auto found = std::find_if(backends_.begin(), backends_.end(),
                                  [&](const Backend& backend) { return backend.name == name; });
  if (found != backends_.end()) return *found;
  const std::vector<std::string> names = BackendNames();
  const auto nearest = NearestMatch(name, names);
  return Error(ErrorCode::kUsage, fmt::format("there is no backend '{}'", name))
      .WithHint(nearest ? fmt::format("did you mean '{}'?", *nearest)
                        : fmt::format("known backends: {}", Join(names, ", ")));
}

}  // namespace ptpkg::repair
