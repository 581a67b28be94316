// Order of evaluation: context, package, build, then what may refer to them. Layer: recipe.

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

class RecipeEvaluator {
 public:
  RecipeEvaluator(const Document& document, const EvaluationInput& input)
      : root_(document.root),
        path_(document.path),
        input_(input),
        variants_(input.variants),
        scope_(input.target_platform, variants_, input.environment),
        reader_(scope_) {
    scope_.pins().others = input.others;
    scope_.SetDataFiles(input.files);
  }

  /// Context, name and version.
  Result<void> ReadHead() {
    Recipe& recipe = evaluation_.recipe;
    recipe.recipe_dir = path_.Parent();
    recipe.recipe_file = path_;
    recipe.staging = input_.staging;
    PTPKG_CHECK(CheckSchemaVersion());
    PTPKG_CHECK(ReadContext());
    return ReadPackage();
  }

  Result<Recipe> RunHead() {
    PTPKG_CHECK(ReadHead());
    PTPKG_CHECK(ReadSkip(FindIn(root_.Find("build"), "skip")));
    return std::move(evaluation_.recipe);
  }

  Result<Evaluation> Run() {
    Recipe& recipe = evaluation_.recipe;
    PTPKG_CHECK(ReadHead());
    PTPKG_CHECK(ReadOutput());
    const Node* build = root_.Find("build");
    PTPKG_CHECK(ReadBuild(reader_, build, recipe));
    recipe.subdir = input_.target_platform;
    PTPKG_CHECK(ReadNoarch(build));
    recipe.build_keys = variants_.read();
    PTPKG_CHECK(ReadSkip(FindIn(build, "skip")));
    if (recipe.skip) return std::move(evaluation_);
    PTPKG_CHECK(ReadWhatIsBuilt(build));
    PTPKG_CHECK(ReadRunRequirements(
        reader_, root_.Find("requirements"),
        recipe.subdir == "noarch" || recipe.python_version_independent ? RunPins() : input_.run_pins,
        recipe.requirements));
    PTPKG_TRY(recipe.about, ReadAbout(reader_, root_.Find("about")));
    PTPKG_TRY(recipe.tests, ReadTests(reader_, root_.Find("tests")));
    PTPKG_CHECK(ReadPtpkg(FindIn(root_.Find("extra"), "ptpkg")));
    PTPKG_TRY(const std::vector<std::string> allowed,
              reader_.TextsOf(FindIn(build, "dynamic_linking"), "missing_dso_allowlist"));
    recipe.ptpkg.allow_unresolved.insert(recipe.ptpkg.allow_unresolved.end(), allowed.begin(), allowed.end());
    recipe.loads = scope_.loads();
    return std::move(evaluation_);
  }

 private:
  using RunPins = std::map<std::string, versions::PinBounds>;

  /// Reads the keys that only an output has.
  Result<void> ReadOutput() {
    if (input_.others == nullptr) return Ok();
    evaluation_.recipe.recipe_name = path_.Parent().Name();
    if (const Node* name = FindIn(root_.Find("recipe"), "name")) {
      PTPKG_TRY(evaluation_.recipe.recipe_name, reader_.ReadText(*name));
    }
    const Node* inherit = root_.Find("inherit");
    if (inherit == nullptr || inherit->kind == Node::Kind::kNull) return Ok();
    const Node* from = inherit;
    if (inherit->kind == Node::Kind::kMapping) {
      from = inherit->Find("from");
      if (from == nullptr)
        return Error(ErrorCode::kInvalidInput, "'inherit.from' is missing").At(inherit->span);
      PTPKG_TRY(evaluation_.recipe.inherit_run_exports, reader_.BoolOf(inherit, "run_exports", true));
    }
    PTPKG_TRY(evaluation_.inherit, reader_.ReadText(*from));
    evaluation_.inherit_span = from->span;
    return Ok();
  }

  /// extra.ptpkg, and over it what stands there under the output's name.
  Result<void> ReadPtpkg(const Node* section) {
    Recipe& recipe = evaluation_.recipe;
    if (section != nullptr) PTPKG_CHECK(CheckZipKeys(*section));
    const Node* own = FindIn(FindIn(section, "outputs"), recipe.name);
    const Node merged = own == nullptr ? Node() : MergeNodes(*section, *own);
    PTPKG_TRY(recipe.ptpkg,
              ReadPtpkgExtra(reader_, own == nullptr ? section : &merged, input_.check_wheel_requirement));
    // Top-level slices for all outputs do not concern an output that makes no package.
    return recipe.staging ? Ok() : CheckSlices(own == nullptr ? section : &merged, recipe.ptpkg, noarch_);
  }

  /// Reads the inputs of the files; the variant keys used here are those of the build script.
  Result<void> ReadWhatIsBuilt(const Node* build) {
    Recipe& recipe = evaluation_.recipe;
    variants_.Forget();
    PTPKG_CHECK(ReadVariantKeys(FindIn(build, "variant")));
    PTPKG_CHECK(ReadBuildString(FindIn(build, "string")));
    PTPKG_TRY(recipe.script, ReadScript(reader_, FindIn(build, "script"), "build.script"));
    evaluation_.default_script = FindIn(build, "script") == nullptr;
    PTPKG_CHECK(ReadBuildRequirements(reader_, root_.Find("requirements"), BareNames(), recipe.requirements));
    PTPKG_TRY(recipe.sources, ReadSources(reader_, root_.Find("source")));
    recipe.build_keys.insert(variants_.read().begin(), variants_.read().end());
    return Ok();
  }

  /// Variant keys that pin no requirement: a package that fits every Python is built with any.
  [[nodiscard]] std::set<std::string> BareNames() const {
    std::set<std::string> names;
    for (const std::string& key : evaluation_.ignore_keys) names.insert(NormalizedKey(key));
    if (evaluation_.recipe.noarch_python) names.insert("python");
    return names;
  }

  Result<void> CheckSchemaVersion() {
    const Node* node = root_.Find("schema_version");
    if (node == nullptr || node->raw == "1") return Ok();
    return Error(ErrorCode::kUnsupported, fmt::format("recipe format '{}' is not supported", node->raw))
        .At(node->span)
        .WithHint("the only format is schema_version: 1");
  }

  Result<void> ReadContext() {
    const Node* context = root_.Find("context");
    if (context == nullptr) return Ok();
    for (const Entry& entry : context->entries) {
      if (entry.value.kind == Node::Kind::kScalar) {
        PTPKG_TRY(Value value, reader_.ReadValue(entry.value));
        scope_.Define(entry.key, std::move(value));
        continue;
      }
      Value::List list;
      PTPKG_TRY(const std::vector<const Node*> items, reader_.ReadItems(entry.value));
      for (const Node* item : items) {
        PTPKG_TRY(Value value, reader_.ReadValue(*item));
        list.push_back(std::move(value));
      }
      scope_.Define(entry.key, Value(std::move(list)));
    }
    return Ok();
  }

  Result<const Node*> Required(const Node* section, const std::string& key) {
    const Node* node = FindIn(section, key);
    if (node != nullptr) return node;
    SourceSpan span = section != nullptr ? section->span : root_.span;
    return Error(ErrorCode::kInvalidInput, fmt::format("'package.{}' is missing", key)).At(std::move(span));
  }

  Result<void> ReadPackage() {
    Recipe& recipe = evaluation_.recipe;
    const Node* package = root_.Find("package");
    PTPKG_TRY(const Node* name, Required(package, "name"));
    PTPKG_TRY(recipe.name, reader_.ReadText(*name));
    if (auto checked = versions::CheckPackageName(recipe.name); !checked)
      return std::move(checked).error().At(name->span);
    PTPKG_TRY(const Node* version, Required(package, "version"));
    PTPKG_TRY(recipe.version, reader_.ReadText(*version));
    const Result<versions::Version> parsed = versions::Version::Parse(recipe.version);
    if (!parsed) return Error(parsed.error()).At(version->span);
    if (recipe.version.find('-') != std::string::npos) {
      return Error(ErrorCode::kInvalidInput, fmt::format("version '{}' holds a '-'", recipe.version))
          .At(version->span)
          .WithHint("'-' separates the parts of a package's file name; write '_' or '.'");
    }
    // conda reads what this refuses, but CEP 26 and CEP 33 let nobody write it.
    if (const Result<void> checked = versions::CheckVersion(recipe.version); !checked) {
      const std::string lower = ToLower(recipe.version);
      Error error = Error(checked.error()).At(version->span);
      return versions::CheckVersion(lower) ? std::move(error).WithHint(fmt::format("write '{}'", lower))
                                           : error;
    }
    scope_.pins().name = recipe.name;
    scope_.pins().version = recipe.version;
    return Ok();
  }

  Result<void> ReadNoarch(const Node* build) {
    const Node* node = FindIn(build, "noarch");
    if (node == nullptr) return Ok();
    PTPKG_TRY(const std::string kind, reader_.ReadText(*node));
    if (kind.empty()) return Ok();
    if (kind != "python" && kind != "generic") {
      return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a kind of noarch package", kind))
          .At(node->span)
          .WithHint("the kinds are 'python' and 'generic'");
    }
    noarch_ = true;
    evaluation_.recipe.noarch_python = kind == "python";
    evaluation_.recipe.subdir = "noarch";
    return Ok();
  }

  Result<void> ReadSkip(const Node* node) {
    if (node == nullptr) return Ok();
    PTPKG_TRY(const std::vector<const Node*> conditions, reader_.ReadItems(*node));
    for (const Node* condition : conditions) {
      PTPKG_TRY(const Expression expression, ParseBareExpression(*condition));
      PTPKG_TRY(const Value value, expression.Evaluate(scope_));
      evaluation_.recipe.skip = evaluation_.recipe.skip || value.Truthy();
    }
    return Ok();
  }

  Result<void> ReadVariantKeys(const Node* section) {
    PTPKG_TRY(evaluation_.ignore_keys, reader_.TextsOf(section, "ignore_keys"));
    const Node* use = FindIn(section, "use_keys");
    if (use == nullptr) return Ok();
    PTPKG_TRY(const std::vector<Reader::PlacedText> keys, reader_.ReadPlacedTexts(*use));
    for (const Reader::PlacedText& key : keys) {
      if (variants_.Read(key.text)) continue;
      // A key of another channel's variant files has no value here; a typing error is refused.
      const std::optional<std::string> nearest = NearestMatch(key.text, variants_.Keys());
      if (!nearest) continue;
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("unknown variant key '{}': it is in no variant file", key.text))
          .At(key.node->span)
          .WithHint(fmt::format("did you mean '{}'?", *nearest));
    }
    return Ok();
  }

  Result<void> ReadBuildString(const Node* node) {
    Recipe& recipe = evaluation_.recipe;
    recipe.build_string = fmt::format("{}h{}_{}", input_.string_prefix, input_.hash, recipe.build_number);
    if (node != nullptr) {
      auto context = scope_.Defined();  // often has a build_number too
      scope_.Define("hash", Value(input_.hash));
      scope_.Define("build_number", Value(static_cast<std::int64_t>(recipe.build_number)));
      scope_.SetDetectedVersions(&input_.detected);
      Result<std::string> text = reader_.ReadText(*node);
      scope_.SetDetectedVersions(nullptr);
      scope_.Restore(std::move(context));
      PTPKG_CHECK(text ? Ok() : Result<void>(text.error()));
      recipe.build_string = *text;
      recipe.detects = scope_.detects();
    }
    if (const Result<void> checked = versions::CheckBuildString(recipe.build_string); !checked) {
      return Error(checked.error())
          .At(node != nullptr ? node->span : root_.span)
          .WithHint("build strings are at most 64 letters, digits, '_', '.' and '+'");
    }
    scope_.pins().build_string = recipe.build_string;
    return Ok();
  }

  const Node& root_;
  const AbsPath& path_;
  const EvaluationInput& input_;
  RecordedValues variants_;
  Scope scope_;
  Reader reader_;
  bool noarch_ = false;
  Evaluation evaluation_;
};

}  // namespace

Result<Evaluation> Evaluate(const Document& document, const EvaluationInput& input) {
  return RecipeEvaluator(document, input).Run();
}

Result<Recipe> EvaluateHead(const Document& document, const EvaluationInput& input) {
  return RecipeEvaluator(document, input).RunHead();
}

}  // namespace ptpkg::recipe
