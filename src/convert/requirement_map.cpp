#include "convert/requirement_map.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "convert/conda_names_yaml.h"  // generated from data/conda_names.yaml
#include "support/text.h"
#include "support/yaml.h"
#include "wheel/requirement.h"

namespace ptpkg::convert {

namespace {

Error BadTable(const SourceSpan& span, std::string message) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span);
}

Result<CondaName> ParseName(const YamlNode& node) {
  CondaName name;
  if (node.kind == YamlNode::Kind::kScalar) {
    name.package = node.scalar;
    return name;
  }
  if (node.kind != YamlNode::Kind::kMapping) return BadTable(node.span, "a name must be text or a mapping");
  for (const YamlEntry& entry : node.entries) {
    if (entry.key == "extras" && entry.value.kind == YamlNode::Kind::kMapping) {
      for (const YamlEntry& extra : entry.value.entries) name.extras.emplace(extra.key, extra.value.scalar);
    } else if (entry.key == "package") {
      name.package = entry.value.scalar;
    } else if (entry.key == "version_package") {
      name.version_package = entry.value.scalar;
    } else if (entry.key == "pin" && entry.value.scalar == "prefix") {
      name.pin_prefix = true;
    } else {
      return BadTable(entry.key_span, fmt::format("'{}' is not a key of a name", entry.key));
    }
  }
  if (name.package.empty()) return BadTable(node.span, "'package' is missing");
  return name;
}

/// "13.2.*" of "==13.2.2": as much of a version as `count` components.
std::string VersionPrefix(std::string_view version, std::size_t count) {
  std::vector<std::string> parts = Split(version, '.');
  parts.resize(std::min(parts.size(), count));
  return Join(parts, ".") + ".*";
}

std::string Spec(const std::string& package, const std::string& constraint) {
  return constraint.empty() ? package : package + " " + constraint;
}

class Mapper {
 public:
  explicit Mapper(const CondaNames& names) : names_(names) {}

  void Add(const wheel::Requirement& requirement) {
    const std::string normal = wheel::NormalizeName(requirement.name);
    const auto found = names_.find(normal);
    if (found == names_.end()) {
      unknown_.insert(requirement.str());
      depends_.insert(Spec(normal, CondaConstraint(requirement.specifiers)));
      return;
    }
    const CondaName& name = found->second;
    if (name.version_package.empty()) {
      depends_.insert(Spec(name.package, Constraint(requirement, name)));
    } else {
      AddToolkit(requirement, name);
    }
    for (const std::string& extra : requirement.extras) {
      const auto package = name.extras.find(wheel::NormalizeName(extra));
      if (package != name.extras.end()) {
        depends_.insert(package->second);
      } else {
        unknown_.insert(fmt::format("{}[{}]", requirement.name, extra));
      }
    }
  }

  MappedRequirements Finish() && {
    MappedRequirements mapped;
    mapped.depends.assign(depends_.begin(), depends_.end());
    mapped.unknown.assign(unknown_.begin(), unknown_.end());
    return mapped;
  }

 private:
  static std::string Constraint(const wheel::Requirement& requirement, const CondaName& name) {
    const bool exact = requirement.specifiers.size() == 1 && requirement.specifiers[0].first == "==";
    if (name.pin_prefix && exact && !requirement.specifiers[0].second.ends_with(".*")) {
      return requirement.specifiers[0].second + ".*";
    }
    return CondaConstraint(requirement.specifiers);
  }

  /// A toolkit's version does not exist on its parts, whose versions run apart; conda ties them to the
  /// toolkit's major.minor through one package.
  void AddToolkit(const wheel::Requirement& requirement, const CondaName& name) {
    const bool exact = requirement.specifiers.size() == 1 && requirement.specifiers[0].first == "==";
    depends_.insert(Spec(name.version_package, exact ? VersionPrefix(requirement.specifiers[0].second, 2)
                                                     : CondaConstraint(requirement.specifiers)));
  }

  const CondaNames& names_;
  std::set<std::string> depends_;
  std::set<std::string> unknown_;
};

}  // namespace

Result<CondaNames> ParseCondaNames(std::string_view yaml, const std::string& file) {
  PTPKG_TRY(const YamlNode root, ParseYaml(yaml, file));
  if (root.kind != YamlNode::Kind::kMapping) return BadTable(root.span, "the table must be a mapping");
  CondaNames names;
  for (const YamlEntry& entry : root.entries) {
    if (wheel::NormalizeName(entry.key) != entry.key) {
      return BadTable(entry.key_span, fmt::format("'{}' is not in normal form (PEP 503)", entry.key));
    }
    PTPKG_TRY(CondaName name, ParseName(entry.value));
    names.emplace(entry.key, std::move(name));
  }
  return names;
}

Result<CondaNames> BuiltInCondaNames() { return ParseCondaNames(kCondaNamesYaml, "conda_names.yaml"); }

std::string CondaConstraint(const std::vector<std::pair<std::string, std::string>>& specifiers) {
  std::vector<std::string> terms;
  for (const auto& [op, version] : specifiers) {
    if (op == "==" && version.ends_with(".*")) {
      terms.push_back(version);
    } else {
      terms.push_back((op == "===" ? "==" : op) + version);
    }
  }
  std::sort(terms.begin(), terms.end());
  return Join(terms, ",");
}

Result<MappedRequirements> MapRequirements(const wheel::CoreMetadata& metadata,
                                           const wheel::MarkerEnvironment& environment,
                                           const CondaNames& names) {
  Mapper mapper(names);
  std::vector<std::string> not_applicable;
  for (const std::string& text : metadata.GetAll("Requires-Dist")) {
    PTPKG_TRY(const wheel::Requirement requirement, wheel::ParseRequirement(text));
    PTPKG_TRY(const bool applies, wheel::EvaluateMarker(requirement.marker, environment));
    if (!applies) {
      not_applicable.push_back(text);
      continue;
    }
    if (!requirement.url.empty()) {
      return Error(ErrorCode::kUnsupported,
                   fmt::format("requirement '{}' names a URL, which conda packages cannot depend on", text));
    }
    mapper.Add(requirement);
  }
  MappedRequirements mapped = std::move(mapper).Finish();
  mapped.not_applicable = std::move(not_applicable);
  return mapped;
}

}  // namespace ptpkg::convert
