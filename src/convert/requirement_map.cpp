// Maps Requires-Dist to dependencies of conda. Projects have other names there (data/conda_names.yaml), and
// conda has no markers.
// Each environment that the package is for is mapped on its own: its requirements on one package hold
// together. Then the environments are joined: a package needs the union of their conditions ('|'), where a
// narrower choice adds nothing. A package that only some environments need is required everywhere
// ("widened"), since leaving it out would break those. Exact pins on parts of a toolkit become a constraint
// on the package that ties the toolkit's version, because conda versions the parts on their own.

#include "convert/requirement_map.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>
#include <set>

#include "convert/conda_names_yaml.h"  // generated from data/conda_names.yaml
#include "support/text/text.h"
#include "support/text/yaml.h"
#include "wheel/metadata/pep440_version.h"
#include "wheel/metadata/requirement.h"

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

std::string NormalVersion(const std::string& op, const std::string& version) {
  if (op == "===") return version;  // compared as text
  const bool prefix = version.ends_with(".*");
  const Result<std::string> normal =
      wheel::NormalizeVersion(std::string_view(version).substr(0, version.size() - (prefix ? 2 : 0)));
  return normal ? *normal + (prefix ? ".*" : "") : version;
}

using Terms = std::set<std::string>;  // all of them hold

Terms TermsOf(const std::vector<std::pair<std::string, std::string>>& specifiers) {
  Terms terms;
  for (const auto& [op, written] : specifiers) {
    const std::string version = NormalVersion(op, written);
    if (op == "==" && version.ends_with(".*")) {
      terms.insert(version);
    } else {
      terms.insert((op == "===" ? "==" : op) + version);
    }
  }
  return terms;
}

std::string TermsText(const Terms& terms) {
  return Join(std::vector<std::string>(terms.begin(), terms.end()), ",");
}

/// The conda packages that one environment needs.
class Mapper {
 public:
  explicit Mapper(const CondaNames& names) : names_(names) {}

  void Add(const wheel::Requirement& requirement) {
    const std::string normal = wheel::NormalizeName(requirement.name);
    const auto found = names_.find(normal);
    if (found == names_.end()) {
      unknown_.insert(requirement.str());
      Need(normal, TermsOf(requirement.specifiers));
      return;
    }
    const CondaName& name = found->second;
    const auto exact = ExactVersion(requirement);
    if (!name.version_package.empty()) {
      // A toolkit's version does not exist on its parts, whose versions run apart; conda ties them to the
      // toolkit's major.minor through one package.
      Need(name.version_package, exact ? Terms{VersionPrefix(*exact, 2)} : TermsOf(requirement.specifiers));
    } else {
      Need(name.package, name.pin_prefix && exact ? Terms{*exact + ".*"} : TermsOf(requirement.specifiers));
    }
    for (const std::string& extra : requirement.extras) {
      const auto package = name.extras.find(wheel::NormalizeName(extra));
      if (package != name.extras.end()) {
        Need(package->second, {});
      } else {
        unknown_.insert(fmt::format("{}[{}]", requirement.name, extra));
      }
    }
  }

  [[nodiscard]] const std::map<std::string, Terms>& needs() const { return needs_; }
  [[nodiscard]] const std::set<std::string>& unknown() const { return unknown_; }

 private:
  void Need(const std::string& package, const Terms& terms) {
    needs_[package].insert(terms.begin(), terms.end());
  }

  static std::optional<std::string> ExactVersion(const wheel::Requirement& requirement) {
    if (requirement.specifiers.size() != 1) return std::nullopt;
    const auto& [op, version] = requirement.specifiers.front();
    if (op != "==" || version.ends_with(".*")) return std::nullopt;
    return NormalVersion(op, version);
  }

  const CondaNames& names_;
  std::map<std::string, Terms> needs_;
  std::set<std::string> unknown_;
};

/// Union of `choices`, as text. A choice that is narrower than another adds nothing to it.
std::string AnyOf(const std::set<Terms>& choices) {
  std::vector<std::string> texts;
  for (const Terms& terms : choices) {
    // A set of terms that includes another one demands more.
    const bool narrower = std::any_of(choices.begin(), choices.end(), [&](const Terms& other) {
      return other != terms && std::includes(terms.begin(), terms.end(), other.begin(), other.end());
    });
    if (!narrower) texts.push_back(TermsText(terms));
  }
  // No parentheses are needed: '|' binds weaker than the ',' between terms.
  return Join(texts, "|");
}

/// `mappers`: one an environment.
MappedRequirements Merge(const std::vector<Mapper>& mappers) {
  std::map<std::string, std::set<Terms>> choices;
  std::set<std::string> unknown;
  for (const Mapper& mapper : mappers) {
    for (const auto& [package, terms] : mapper.needs()) choices[package].insert(terms);
    unknown.insert(mapper.unknown().begin(), mapper.unknown().end());
  }
  MappedRequirements mapped;
  for (const auto& [package, allowed] : choices) {
    const std::string constraint = AnyOf(allowed);
    mapped.depends.push_back(constraint.empty() ? package : package + " " + constraint);
  }
  mapped.unknown.assign(unknown.begin(), unknown.end());
  return mapped;
}

/// True if the requirement belongs to an extra, which nobody asked for. A search for the word is enough,
/// because the answer only decides about a note.
bool IsOfAnExtra(const wheel::Requirement& requirement) {
  return requirement.marker.find("extra") != std::string::npos;
}

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
  return TermsText(TermsOf(specifiers));
}

Result<MappedRequirements> MapRequirements(const wheel::CoreMetadata& metadata,
                                           const std::vector<wheel::MarkerEnvironment>& environments,
                                           const CondaNames& names) {
  std::vector<Mapper> mappers(environments.size(), Mapper(names));
  std::vector<std::string> widened;
  std::vector<std::string> not_applicable;
  for (const std::string& text : metadata.GetAll("Requires-Dist")) {
    PTPKG_TRY(const wheel::Requirement requirement, wheel::ParseRequirement(text));
    std::size_t applies = 0;
    for (std::size_t i = 0; i < environments.size(); ++i) {
      PTPKG_TRY(const bool holds, wheel::EvaluateMarker(requirement.marker, environments[i]));
      if (!holds) continue;
      ++applies;
      mappers[i].Add(requirement);
    }
    if (applies == 0) {
      if (!IsOfAnExtra(requirement)) not_applicable.push_back(text);
      continue;
    }
    // conda has no markers: a requirement of some environments becomes one of all.
    if (applies < environments.size()) widened.push_back(text);
    // Only now: a URL behind a marker that is false everywhere does no harm.
    if (!requirement.url.empty()) {
      return Error(ErrorCode::kUnsupported,
                   fmt::format("requirement '{}' has a URL, which conda packages cannot depend on", text));
    }
  }
  MappedRequirements mapped = Merge(mappers);
  mapped.widened = std::move(widened);
  mapped.not_applicable = std::move(not_applicable);
  return mapped;
}

}  // namespace ptpkg::convert
