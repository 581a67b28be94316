// The section `requirements` of a recipe. Layer: recipe.
//
// The order is fixed: build and host first, then run. A bare name of build or host takes the variant's value
// as its version, and that reading makes the key part of the variant. Exact versions of host are the facts of
// pin_compatible(), so run requirements are read only when these are known.
//
// Values of variant files come in conda's forms: "3.11" means every 3.11.x, and "3.11.* *_cpython" has a
// build string. A plain list of run exports is weak (CEP 14). Forms that the format leaves open follow
// rattler-build.

#include <fmt/core.h>

#include "recipe/document/sections.h"
#include "support/text/text.h"
#include "versions/package_names.h"
#include "versions/version_spec.h"

namespace ptpkg::recipe {
namespace {

bool IsBare(const MatchSpec& spec) { return spec.version.empty() && spec.build.empty(); }

/// "=15" → "15.*", as rattler-build writes it.
void SpellOutFamily(MatchSpec& spec) {
  const std::string& version = spec.version;
  if (!spec.build.empty() || version.size() < 2 || version.front() != '=' || version[1] == '=') return;
  if (version.find_first_of("<>=!~*,|()", 1) == std::string::npos) spec.version = version.substr(1) + ".*";
}

/// "3.11.* *_cpython" of a variant is a version and a build; "3.11" allows every 3.11.x.
Result<MatchSpec> SpecOfVariant(const std::string& name, const Value& value) {
  PTPKG_TRY(const std::string text, value.ToText());
  PTPKG_TRY(MatchSpec spec, MatchSpec::Parse(name + " " + text));
  const bool plain = spec.version.find_first_of("<>=!~*,|") == std::string::npos;
  if (plain && !spec.version.empty() && spec.build.empty()) spec.version += ".*";
  return spec;
}

class RequirementsReader {
 public:
  explicit RequirementsReader(Reader& reader, const std::set<std::string>& bare = {})
      : reader_(reader), bare_(bare) {}

  Result<std::vector<MatchSpec>> List(const Node* node) { return ReadSpecs(reader_, node); }

  /// A list of build or host, in which the variant decides the version of bare names.
  Result<std::vector<MatchSpec>> VariantList(const Node* node) {
    PTPKG_TRY(std::vector<MatchSpec> specs, List(node));
    for (MatchSpec& spec : specs) {
      // A written version wins, and the key is then not read here.
      if (!IsBare(spec) || bare_.contains(NormalizedKey(spec.name))) continue;
      const std::optional<Value> value = reader_.scope().variants().Read(spec.name);
      if (!value) continue;
      Result<MatchSpec> with_version = SpecOfVariant(spec.name, *value);
      if (!with_version) {
        return std::move(with_version)
            .error()
            .At(node->span)
            .WithContext(fmt::format("while applying the variant's value of '{}'", spec.name));
      }
      spec = *std::move(with_version);
    }
    return specs;
  }

  /// A plain list is weak (CEP 14).
  Result<RunExports> Exports(const Node* node) {
    RunExports exports;
    if (node == nullptr || node->kind != Node::Kind::kMapping) {
      PTPKG_TRY(exports.weak, List(node));
      return exports;
    }
    PTPKG_TRY(exports.weak, List(node->Find("weak")));
    PTPKG_TRY(exports.strong, List(node->Find("strong")));
    PTPKG_TRY(exports.noarch, List(node->Find("noarch")));
    PTPKG_TRY(exports.weak_constraints, List(node->Find("weak_constraints")));
    PTPKG_TRY(exports.strong_constraints, List(node->Find("strong_constraints")));
    return exports;
  }

  Result<std::vector<std::string>> Names(const Node* node) {
    std::vector<std::string> names;
    if (node == nullptr) return names;
    PTPKG_TRY(const std::vector<Reader::PlacedText> texts, reader_.ReadPlacedTexts(*node));
    for (const Reader::PlacedText& text : texts) {
      if (const Result<void> checked = versions::CheckSpecName(text.text); !checked) {
        return Error(checked.error()).At(text.node->span);
      }
      names.push_back(text.text);
    }
    return names;
  }

 private:
  Reader& reader_;
  std::set<std::string> bare_;
};

/// Versions of host that are known without a solver.
std::map<std::string, std::string> KnownVersions(const std::vector<MatchSpec>& specs) {
  std::map<std::string, std::string> versions;
  for (const MatchSpec& spec : specs) {
    std::string version = versions::SingleVersion(spec.version);
    if (!version.empty()) versions.emplace(spec.name, std::move(version));
  }
  return versions;
}

Result<void> ApplyRunPins(std::vector<MatchSpec>& run, const std::map<std::string, std::string>& host,
                          const std::map<std::string, versions::PinBounds>& run_pins) {
  for (MatchSpec& spec : run) {
    const auto bounds = run_pins.find(spec.name);
    const auto version = host.find(spec.name);
    // pin_run_as_build of conda-build: a version that the recipe writes itself wins.
    if (!IsBare(spec) || bounds == run_pins.end() || version == host.end()) continue;
    PTPKG_TRY(spec.version, versions::PinConstraint(version->second, bounds->second));
  }
  return Ok();
}

}  // namespace

namespace {

/// "django >=4" of "Django >=4": names of conda packages have no capitals, and rattler-build folds them too.
std::string WithLowerName(const std::string& spec) {
  const std::string_view name = versions::MatchSpecName(spec);
  if (name.empty()) return spec;
  std::string lower = spec;
  const auto begin = static_cast<std::size_t>(name.data() - spec.data());
  lower.replace(begin, name.size(), ToLower(name));
  return lower;
}

}  // namespace

Result<std::vector<MatchSpec>> ReadSpecs(Reader& reader, const Node* node) {
  std::vector<MatchSpec> specs;
  if (node == nullptr) return specs;
  PTPKG_TRY(const std::vector<Reader::PlacedText> texts, reader.ReadPlacedTexts(*node));
  for (const Reader::PlacedText& text : texts) {
    Result<MatchSpec> spec = MatchSpec::Parse(WithLowerName(text.text));
    if (!spec) return std::move(spec).error().At(text.node->span);
    SpellOutFamily(*spec);
    specs.push_back(*std::move(spec));
  }
  return specs;
}

Result<void> ReadBuildRequirements(Reader& reader, const Node* section, const std::set<std::string>& bare,
                                   Requirements& requirements) {
  RequirementsReader lists(reader, bare);
  PTPKG_TRY(requirements.build, lists.VariantList(FindIn(section, "build")));
  PTPKG_TRY(requirements.host, lists.VariantList(FindIn(section, "host")));
  PinFacts& pins = reader.scope().pins();
  pins.host = KnownVersions(requirements.host);
  pins.host_known = true;
  return Ok();
}

Result<void> ReadRunRequirements(Reader& reader, const Node* section,
                                 const std::map<std::string, versions::PinBounds>& run_pins,
                                 Requirements& requirements) {
  RequirementsReader lists(reader);
  PTPKG_TRY(requirements.run, lists.List(FindIn(section, "run")));
  PTPKG_CHECK(ApplyRunPins(requirements.run, reader.scope().pins().host, run_pins));
  PTPKG_TRY(requirements.run_constraints, lists.List(FindIn(section, "run_constraints")));
  PTPKG_TRY(requirements.run_exports, lists.Exports(FindIn(section, "run_exports")));
  const Node* ignore = FindIn(section, "ignore_run_exports");
  PTPKG_TRY(requirements.ignore_run_exports.by_name, lists.Names(FindIn(ignore, "by_name")));
  PTPKG_TRY(requirements.ignore_run_exports.from_package, lists.Names(FindIn(ignore, "from_package")));
  return Ok();
}

}  // namespace ptpkg::recipe
