// Order of evaluation: context, package, build, then what may refer to them. Layer: recipe.
// Each step makes facts that only later ones can use. The build string needs the build number,
// pin_subpackage() the build string, and pin_compatible() the versions of host. A function that is used too
// early is an error with a hint, never an empty text.
// Which keys are read matters as much as their values, since read keys make the variant and its hash. So
// nothing is evaluated that the recipe does not need.

#include "recipe/expression/evaluate_recipe.h"

#include <algorithm>
#include <fmt/core.h>

#include "recipe/document/sections.h"
#include "recipe/document/typed_reader.h"
#include "recipe/outputs.h"
#include "support/text/text.h"
#include "versions/build_string.h"
#include "versions/conda_version.h"
#include "versions/package_names.h"

namespace ptpkg::recipe {
namespace {

/// The values of a variant; notes the keys that are read.
class RecordedValues final : public VariantValues {
 public:
  explicit RecordedValues(VariantValues& values) : values_(values) {}

  std::optional<Value> Read(const std::string& key) override {
    std::optional<Value> value = values_.Read(key);
    if (value) read_.insert(NormalizedKey(key));
    return value;
  }
  void NoteBuiltin(const std::string& key, const Value& value) override {
    read_.insert(key);
    values_.NoteBuiltin(key, value);
  }
  [[nodiscard]] std::vector<std::string> Keys() const override { return values_.Keys(); }
  [[nodiscard]] const std::set<std::string>& read() const { return read_; }
  void Forget() { read_.clear(); }

 private:
  VariantValues& values_;
  std::set<std::string> read_;
};

using RunPins = std::map<std::string, versions::PinBounds>;

/// Name and version of a package.
struct PackageVersion {
  std::string name;
  std::string version;
};

enum class Noarch : std::uint8_t { kNo, kGeneric, kPython };

Result<void> CheckSchemaVersion(const Node& root) {
  const Node* node = root.Find("schema_version");
  if (node == nullptr || node->raw == "1") return Ok();
  return Error(ErrorCode::kUnsupported, fmt::format("recipe format '{}' is not supported", node->raw))
      .At(node->span)
      .WithHint("the only format is schema_version: 1");
}

Result<void> ReadContext(const Node& root, Reader& reader) {
  const Node* context = root.Find("context");
  if (context == nullptr) return Ok();
  for (const Entry& entry : context->entries) {
    if (entry.value.kind == Node::Kind::kScalar) {
      PTPKG_TRY(Value value, reader.ReadValue(entry.value));
      reader.scope().Define(entry.key, std::move(value));
      continue;
    }
    Value::List list;
    PTPKG_TRY(const std::vector<const Node*> items, reader.ReadItems(entry.value));
    for (const Node* item : items) {
      PTPKG_TRY(Value value, reader.ReadValue(*item));
      list.push_back(std::move(value));
    }
    reader.scope().Define(entry.key, Value(std::move(list)));
  }
  return Ok();
}

Result<const Node*> Required(const Node& root, const Node* section, const std::string& key) {
  const Node* node = FindIn(section, key);
  if (node != nullptr) return node;
  SourceSpan span = section != nullptr ? section->span : root.span;
  return Error(ErrorCode::kInvalidInput, fmt::format("'package.{}' is missing", key)).At(std::move(span));
}

Result<PackageVersion> ReadPackage(const Node& root, Reader& reader) {
  PackageVersion read;
  const Node* package = root.Find("package");
  PTPKG_TRY(const Node* name, Required(root, package, "name"));
  PTPKG_TRY(read.name, reader.ReadText(*name));
  if (auto checked = versions::CheckPackageName(read.name); !checked)
    return std::move(checked).error().At(name->span);
  PTPKG_TRY(const Node* version, Required(root, package, "version"));
  PTPKG_TRY(read.version, reader.ReadText(*version));
  const Result<versions::Version> parsed = versions::Version::Parse(read.version);
  if (!parsed) return Error(parsed.error()).At(version->span);
  if (read.version.find('-') != std::string::npos) {
    return Error(ErrorCode::kInvalidInput, fmt::format("version '{}' holds a '-'", read.version))
        .At(version->span)
        .WithHint("'-' separates the parts of a package's file name; write '_' or '.'");
  }
  // conda reads what this refuses, but CEP 26 and CEP 33 let nobody write it.
  if (const Result<void> checked = versions::CheckVersion(read.version); !checked) {
    const std::string lower = ToLower(read.version);
    Error error = Error(checked.error()).At(version->span);
    return versions::CheckVersion(lower) ? std::move(error).WithHint(fmt::format("write '{}'", lower))
                                         : error;
  }
  return read;
}

Result<Noarch> ReadNoarch(const Node* build, Reader& reader) {
  const Node* node = FindIn(build, "noarch");
  if (node == nullptr) return Noarch::kNo;
  PTPKG_TRY(const std::string kind, reader.ReadText(*node));
  // An expression can decide that only some variants are noarch.
  if (kind.empty()) return Noarch::kNo;
  if (kind != "python" && kind != "generic") {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a kind of noarch package", kind))
        .At(node->span)
        .WithHint("the kinds are 'python' and 'generic'");
  }
  return kind == "python" ? Noarch::kPython : Noarch::kGeneric;
}

Result<bool> ReadSkip(const Node* node, Reader& reader) {
  if (node == nullptr) return false;
  bool skip = false;
  PTPKG_TRY(const std::vector<const Node*> conditions, reader.ReadItems(*node));
  for (const Node* condition : conditions) {
    PTPKG_TRY(const Expression expression, ParseBareExpression(*condition));
    PTPKG_TRY(const Value value, expression.Evaluate(reader.scope()));
    // No early end: the keys of all conditions belong to the variant, whichever of them holds.
    skip = skip || value.Truthy();
  }
  return skip;
}

Result<std::vector<std::string>> ReadVariantKeys(const Node* section, Reader& reader) {
  PTPKG_TRY(std::vector<std::string> ignored, reader.TextsOf(section, "ignore_keys"));
  const Node* use = FindIn(section, "use_keys");
  if (use == nullptr) return ignored;
  VariantValues& variants = reader.scope().variants();
  PTPKG_TRY(const std::vector<Reader::PlacedText> keys, reader.ReadPlacedTexts(*use));
  for (const Reader::PlacedText& key : keys) {
    if (variants.Read(key.text)) continue;
    // A key of another channel's variant files has no value here; a typing error is refused.
    const std::optional<std::string> nearest = NearestMatch(key.text, variants.Keys());
    if (!nearest) continue;
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("unknown variant key '{}': it is in no variant file", key.text))
        .At(key.node->span)
        .WithHint(fmt::format("did you mean '{}'?", *nearest));
  }
  return ignored;
}

/// The build string, and the names of detected() in it.
struct BuildString {
  std::string text;
  std::set<std::string> detects = {};
};

/// `node`: build.string; nullptr: the default. `span` is for an error in the default.
Result<BuildString> ReadBuildString(const Node* node, const SourceSpan& span, const EvaluationInput& input,
                                    std::uint64_t build_number, Reader& reader) {
  BuildString read{.text = fmt::format("{}h{}_{}", input.string_prefix, input.hash, build_number)};
  if (node != nullptr) {
    Scope& scope = reader.scope();
    auto context = scope.Defined();  // often has a build_number too
    scope.Define("hash", Value(input.hash));
    scope.Define("build_number", Value(static_cast<std::int64_t>(build_number)));
    scope.SetDetectedVersions(&input.detected);
    Result<std::string> text = reader.ReadText(*node);
    scope.SetDetectedVersions(nullptr);
    scope.Restore(std::move(context));
    PTPKG_TRY(read.text, std::move(text));
    read.detects = scope.detects();
  }
  if (const Result<void> checked = versions::CheckBuildString(read.text); !checked) {
    return Error(checked.error())
        .At(node != nullptr ? node->span : span)
        .WithHint("build strings are at most 64 letters, digits, '_', '.' and '+'");
  }
  return read;
}

/// Reads the keys that only an output has.
Result<void> ReadOutput(const Document& document, Reader& reader, Evaluation& evaluation) {
  const Node& root = document.root;
  evaluation.recipe.recipe_name = document.path.Parent().Name();
  if (const Node* name = FindIn(root.Find("recipe"), "name")) {
    PTPKG_TRY(evaluation.recipe.recipe_name, reader.ReadText(*name));
  }
  const Node* inherit = root.Find("inherit");
  if (inherit == nullptr || inherit->kind == Node::Kind::kNull) return Ok();
  const Node* from = inherit;
  if (inherit->kind == Node::Kind::kMapping) {
    from = inherit->Find("from");
    if (from == nullptr) {
      return Error(ErrorCode::kInvalidInput, "'inherit.from' is missing").At(inherit->span);
    }
    PTPKG_TRY(evaluation.recipe.inherit_run_exports, reader.BoolOf(inherit, "run_exports", true));
  }
  PTPKG_TRY(evaluation.inherit, reader.ReadText(*from));
  evaluation.inherit_span = from->span;
  return Ok();
}

/// Variant keys that pin no requirement: a package that fits every Python is built with any.
std::set<std::string> BareNames(const Evaluation& evaluation) {
  // An ignored key is not in the hash, so its values must not show in the requirements either.
  std::set<std::string> names;
  for (const std::string& key : evaluation.ignore_keys) names.insert(NormalizedKey(key));
  if (evaluation.recipe.noarch_python) names.insert("python");
  return names;
}

/// Reads the inputs of the files. The build number is known.
Result<void> ReadBuildInputs(const Node& root, const EvaluationInput& input, Reader& reader,
                             Evaluation& evaluation) {
  Recipe& recipe = evaluation.recipe;
  const Node* build = root.Find("build");
  PTPKG_TRY(evaluation.ignore_keys, ReadVariantKeys(FindIn(build, "variant"), reader));
  PTPKG_TRY(BuildString string,
            ReadBuildString(FindIn(build, "string"), root.span, input, recipe.build_number, reader));
  recipe.build_string = std::move(string.text);
  recipe.detects = std::move(string.detects);
  reader.scope().pins().build_string = recipe.build_string;
  PTPKG_TRY(recipe.script, ReadScript(reader, FindIn(build, "script"), "build.script"));
  evaluation.default_script = FindIn(build, "script") == nullptr;
  PTPKG_CHECK(
      ReadBuildRequirements(reader, root.Find("requirements"), BareNames(evaluation), recipe.requirements));
  PTPKG_TRY(recipe.sources, ReadSources(reader, root.Find("source")));
  return Ok();
}

/// extra.ptpkg, and over it the section under the output's name.
Result<PtpkgExtra> ReadPtpkg(const Node* section, const EvaluationInput& input, const Recipe& recipe,
                             Noarch noarch, Reader& reader) {
  if (section != nullptr) PTPKG_CHECK(CheckZipKeys(*section));
  const Node* own = FindIn(FindIn(section, "outputs"), recipe.name);
  // Merged as written and not as values, so that a condition or expression of the top level is evaluated only
  // if the output keeps it.
  const Node merged = own == nullptr ? Node() : MergeNodes(*section, *own);
  const Node* used = own == nullptr ? section : &merged;
  PTPKG_TRY(PtpkgExtra extra, ReadPtpkgExtra(reader, used, input.check_wheel_requirement));
  // Top-level slices for all outputs do not concern an output that makes no package.
  if (!recipe.staging) PTPKG_CHECK(CheckSlices(used, extra, noarch != Noarch::kNo));
  return extra;
}

/// Context, name and version.
Result<Recipe> ReadHead(const Document& document, const EvaluationInput& input, Reader& reader) {
  Recipe recipe;
  recipe.recipe_dir = document.path.Parent();
  recipe.recipe_file = document.path;
  recipe.staging = input.staging;
  PTPKG_CHECK(CheckSchemaVersion(document.root));
  PTPKG_CHECK(ReadContext(document.root, reader));
  PTPKG_TRY(PackageVersion package, ReadPackage(document.root, reader));
  recipe.name = std::move(package.name);
  recipe.version = std::move(package.version);
  reader.scope().pins().name = recipe.name;
  reader.scope().pins().version = recipe.version;
  return recipe;
}

Scope ScopeOf(const EvaluationInput& input, VariantValues& variants) {
  Scope scope(input.target_platform, variants, input.environment);
  scope.pins().others = input.others;
  scope.SetDataFiles(input.files);
  return scope;
}

}  // namespace

Result<Evaluation> Evaluate(const Document& document, const EvaluationInput& input) {
  RecordedValues variants(input.variants);
  Scope scope = ScopeOf(input, variants);
  Reader reader(scope);
  const Node& root = document.root;
  const Node* build = root.Find("build");
  Evaluation evaluation;
  Recipe& recipe = evaluation.recipe;
  PTPKG_TRY(recipe, ReadHead(document, input, reader));
  if (input.others != nullptr) PTPKG_CHECK(ReadOutput(document, reader, evaluation));
  PTPKG_CHECK(ReadBuild(reader, build, recipe));
  PTPKG_TRY(const Noarch noarch, ReadNoarch(build, reader));
  recipe.noarch_python = noarch == Noarch::kPython;
  recipe.subdir = noarch == Noarch::kNo ? input.target_platform : "noarch";
  // Keys that were read so far can reach the script through the context, the name or the version. Keys that
  // only run requirements, `about` and tests read are not collected: they don't change the files
  // (recipe/native_build.h).
  recipe.build_keys = variants.read();
  PTPKG_TRY(recipe.skip, ReadSkip(FindIn(build, "skip"), reader));
  if (recipe.skip) return evaluation;

  // Keys that only the conditions of build.skip read are no keys of the build script.
  variants.Forget();
  PTPKG_CHECK(ReadBuildInputs(root, input, reader, evaluation));
  recipe.build_keys.insert(variants.read().begin(), variants.read().end());
  // A package that runs with any Python must not be bound to the one in its host environment.
  const bool bounds_runtime = recipe.subdir != "noarch" && !recipe.python_version_independent;
  PTPKG_CHECK(ReadRunRequirements(reader, root.Find("requirements"),
                                  bounds_runtime ? input.run_pins : RunPins(), recipe.requirements));
  PTPKG_TRY(recipe.about, ReadAbout(reader, root.Find("about")));
  PTPKG_TRY(recipe.tests, ReadTests(reader, root.Find("tests")));
  PTPKG_TRY(recipe.ptpkg, ReadPtpkg(FindIn(root.Find("extra"), "ptpkg"), input, recipe, noarch, reader));
  // rattler-build's key for the same exception; both lists hold.
  PTPKG_TRY(const std::vector<std::string> allowed,
            reader.TextsOf(FindIn(build, "dynamic_linking"), "missing_dso_allowlist"));
  recipe.ptpkg.allow_unresolved.insert(recipe.ptpkg.allow_unresolved.end(), allowed.begin(), allowed.end());
  recipe.loads = scope.loads();
  return evaluation;
}

Result<Recipe> EvaluateHead(const Document& document, const EvaluationInput& input) {
  RecordedValues variants(input.variants);
  Scope scope = ScopeOf(input, variants);
  Reader reader(scope);
  PTPKG_TRY(Recipe recipe, ReadHead(document, input, reader));
  // Nothing else is read: each further key would open an axis for the output that asks.
  PTPKG_TRY(recipe.skip, ReadSkip(FindIn(document.root.Find("build"), "skip"), reader));
  return recipe;
}

}  // namespace ptpkg::recipe
