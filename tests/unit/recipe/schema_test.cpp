// No key of a recipe is read and dropped: each one changes what the evaluation gives, and what it gives is
// used.
#include "recipe/schema.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "recipe/evaluate.h"
#include "recipe/recipe_json.h"
#include "support/json.h"
#include "support/matchers.h"
#include "support/paths.h"
#include "support/text.h"
#include "unit/recipe/fake_variants.h"

namespace ptpkg::recipe {
namespace {

using test::FailsWith;
using ::testing::HasSubstr;

/// One key that is carried out.
struct Row {
  const char* key;
  const char* body;   ///< A recipe that has it, without `package` unless the key is in it.
  const char* place;  ///< Folder or file of src/ whose code …
  const char* token;  ///< … holds this text, because it uses the key.
};

constexpr const char* kBuild = "build/build.cpp";
constexpr const char* kTests = "build/package_test.cpp";
constexpr const char* kContents = "build/package_contents.cpp";
constexpr const char* kMetadata = "convert/package_metadata.cpp";
constexpr const char* kExports = "requirements.run_exports";

const std::vector<Row> kRows = {
    {"$schema", "$schema: x\n", "recipe/schema.cpp", "$schema"},  // for editors
    {"schema_version", "schema_version: 2\n", "recipe/evaluate.cpp", "schema_version"},
    {"context", "context: {a: b}\nabout: {summary: \"${{ a }}\"}\n", "recipe/evaluate.cpp", "\"context\""},
    {"package.name", "package: {name: other, version: \"1\"}\n", kMetadata, "recipe.name"},
    {"package.version", "package: {name: toy, version: \"2\"}\n", kMetadata, "recipe.version"},
    {"source.url", "source: {url: https://h/x, sha256: &}\n", "source", "source.urls"},
    {"source.sha256", "source: {url: https://h/x, sha256: &}\n", "source", "source.sha256"},
    {"source.file_name", "source: {path: a, file_name: b}\n", "source", "source.file_name"},
    {"source.target_directory", "source: {path: a, target_directory: b}\n", "source",
     "source.target_directory"},
    {"source.patches", "source: {path: a, patches: [b]}\n", "source", "source.patches"},
    {"source.path", "source: {path: a}\n", "source", "source.path"},
    {"build.number", "build: {number: 7}\n", kMetadata, "recipe.build_number"},
    {"build.string", "build: {string: x}\n", kMetadata, "recipe.build_string"},
    {"build.skip", "build: {skip: true}\n", "pipeline", "recipe.skip"},
    {"build.noarch", "build: {noarch: generic}\n", kMetadata, "recipe.subdir"},
    {"build.script", "build: {script: make}\n", "build/script.cpp", "script.lines"},
    {"build.script.file", "build: {script: {file: a}}\n", "build/script.cpp", "script.file"},
    {"build.script.content", "build: {script: {content: a}}\n", "build/script.cpp", "script.lines"},
    {"build.script.interpreter", "build: {script: {content: a, interpreter: b}}\n", kBuild,
     "script.interpreter"},
    {"build.script.env", "build: {script: {content: a, env: {b: c}}}\n", "build/environment.cpp",
     "script.env"},
    {"build.files", "build: {files: a}\n", "build/post_process.cpp", "recipe.files_include"},
    {"build.files.include", "build: {files: {include: a}}\n", "build/post_process.cpp",
     "recipe.files_include"},
    {"build.files.exclude", "build: {files: {exclude: a}}\n", "build/post_process.cpp",
     "recipe.files_exclude"},
    {"build.variant.use_keys", "build: {variant: {use_keys: [a]}}\n", "variant/render.cpp", "values.used()"},
    {"build.variant.ignore_keys", "build: {variant: {ignore_keys: [a]}}\n", "variant/render.cpp",
     "ignore_keys"},
    {"build.variant.down_prioritize_variant", "build: {variant: {down_prioritize_variant: 1}}\n", kMetadata,
     "recipe.track_features"},
    {"build.python.entry_points", "build: {python: {entry_points: [\"a = b:c\"]}}\n", kMetadata,
     "recipe.python_entry_points"},
    {"build.prefix_detection.ignore_binary_files", "build: {prefix_detection: {ignore_binary_files: true}}\n",
     "pipeline", "prefix_detection_ignore_binary"},
    {"build.dynamic_linking.missing_dso_allowlist", "build: {dynamic_linking: {missing_dso_allowlist: a}}\n",
     "pipeline", "ptpkg.allow_unresolved"},
    {"requirements.build", "requirements: {build: [a]}\n", "build/tools.cpp", "requirements.build"},
    {"requirements.host", "requirements: {host: [a]}\n", "build/tools.cpp", "requirements.host"},
    {"requirements.run", "requirements: {run: [a]}\n", kMetadata, "requirements.run)"},
    {"requirements.run_constraints", "requirements: {run_constraints: [a]}\n", kMetadata, "run_constraints"},
    {"requirements.run_exports", "requirements: {run_exports: a}\n", kMetadata, kExports},
    {"requirements.run_exports.weak", "requirements: {run_exports: {weak: a}}\n", kMetadata, "exports.weak}"},
    {"requirements.run_exports.strong", "requirements: {run_exports: {strong: a}}\n", kMetadata,
     "exports.strong}"},
    {"requirements.run_exports.noarch", "requirements: {run_exports: {noarch: a}}\n", kMetadata,
     "exports.noarch}"},
    {"requirements.run_exports.weak_constraints", "requirements: {run_exports: {weak_constraints: a}}\n",
     kMetadata, "exports.weak_constraints}"},
    {"requirements.run_exports.strong_constraints", "requirements: {run_exports: {strong_constraints: a}}\n",
     kMetadata, "exports.strong_constraints}"},
    {"requirements.ignore_run_exports.by_name", "requirements: {ignore_run_exports: {by_name: [a]}}\n",
     "pipeline", "ignore_run_exports.by_name"},
    {"requirements.ignore_run_exports.from_package",
     "requirements: {ignore_run_exports: {from_package: [a]}}\n", "pipeline",
     "ignore_run_exports.from_package"},
    {"tests.script", "tests: [{script: a}]\n", kTests, "recipe::ScriptTest"},
    {"tests.script.file", "tests: [{script: {file: a}}]\n", kTests, "ScriptText("},
    {"tests.script.content", "tests: [{script: {content: a}}]\n", kTests, "ScriptText("},
    {"tests.script.interpreter", "tests: [{script: {content: a, interpreter: b}}]\n", kTests,
     "script.interpreter"},
    {"tests.script.env", "tests: [{script: {content: a, env: {b: c}}}]\n", kTests, "script.env"},
    {"tests.requirements.run", "tests: [{script: a, requirements: {run: [b]}}]\n", kTests,
     "script->requirements"},
    {"tests.python.imports", "tests: [{python: {imports: a}}]\n", kTests, "test.imports"},
    {"tests.python.pip_check", "tests: [{python: {pip_check: false}}]\n", kTests, "test.pip_check"},
    {"tests.package_contents.files", "tests: [{package_contents: {files: a}}]\n", kContents, "test.files"},
    {"tests.package_contents.files.exists", "tests: [{package_contents: {files: {exists: a}}}]\n", kContents,
     "test.files"},
    {"tests.package_contents.files.not_exists", "tests: [{package_contents: {files: {not_exists: a}}}]\n",
     kContents, "test.missing_files"},
    {"tests.package_contents.site_packages", "tests: [{package_contents: {site_packages: a}}]\n", kContents,
     "test.site_packages"},
    {"tests.package_contents.bin", "tests: [{package_contents: {bin: a}}]\n", kContents, "test.bin"},
    {"tests.package_contents.lib", "tests: [{package_contents: {lib: a}}]\n", kContents, "test.lib"},
    {"tests.package_contents.include", "tests: [{package_contents: {include: a}}]\n", kContents,
     "test.include"},
    {"tests.package_contents.strict", "tests: [{package_contents: {strict: true}}]\n", kContents,
     "test.strict"},
    {"about.homepage", "about: {homepage: a}\n", kMetadata, "about.homepage"},
    {"about.repository", "about: {repository: a}\n", kMetadata, "about.repository"},
    {"about.documentation", "about: {documentation: a}\n", kMetadata, "about.documentation"},
    {"about.license", "about: {license: MIT}\n", kMetadata, "about.license;"},
    {"about.license_family", "about: {license_family: a}\n", kMetadata, "about.license_family"},
    {"about.license_file", "about: {license_file: a}\n", "build/license_files.cpp", "about.license_files"},
    {"about.summary", "about: {summary: a}\n", kMetadata, "about.summary"},
    {"about.description", "about: {description: a}\n", kMetadata, "about.description"},
    {"extra", "extra: {anything: a}\n", "recipe/evaluate.cpp", "\"extra\""},  // for people and other programs
    {"extra.ptpkg.formats", "extra: {ptpkg: {formats: wheel}}\n", "pipeline", "ptpkg.formats"},
    {"extra.ptpkg.layouts.conda.files", "extra: {ptpkg: {layouts: {conda: [{files: a, rpath: []}]}}}\n",
     "convert/layout_rules.cpp", "rule.files"},
    {"extra.ptpkg.layouts.conda.rpath", "extra: {ptpkg: {layouts: {conda: [{files: a, rpath: []}]}}}\n",
     "convert/layout_rules.cpp", "rule.rpath"},
    {"extra.ptpkg.layouts.conda.tag",
     "extra: {ptpkg: {layouts: {conda: [{files: a, rpath: [], tag: rpath}]}}}\n", "convert/layout_rules.cpp",
     "rule.tag"},
    {"extra.ptpkg.layouts.wheel.files", "extra: {ptpkg: {layouts: {wheel: [{files: a, rpath: []}]}}}\n",
     "convert/layout_rules.cpp", "rule.files"},
    {"extra.ptpkg.layouts.wheel.rpath", "extra: {ptpkg: {layouts: {wheel: [{files: a, rpath: []}]}}}\n",
     "convert/layout_rules.cpp", "rule.rpath"},
    {"extra.ptpkg.layouts.wheel.tag",
     "extra: {ptpkg: {layouts: {wheel: [{files: a, rpath: [], tag: rpath}]}}}\n", "convert/layout_rules.cpp",
     "rule.tag"},
    {"extra.ptpkg.wheel.name", "extra: {ptpkg: {wheel: {name: a}}}\n", kMetadata, "ptpkg.wheel_name"},
    {"extra.ptpkg.wheel.requires", "extra: {ptpkg: {wheel: {requires: a}}}\n", kMetadata,
     "ptpkg.wheel_requires"},
    {"extra.ptpkg.wheel.exclude", "extra: {ptpkg: {wheel: {exclude: a}}}\n", "pipeline",
     "ptpkg.wheel_exclude"},
    {"extra.ptpkg.system_packages", "extra: {ptpkg: {system_packages: a}}\n", "build/tools.cpp",
     "ptpkg.system_packages"},
    {"extra.ptpkg.allow_unresolved", "extra: {ptpkg: {allow_unresolved: a}}\n", "pipeline",
     "ptpkg.allow_unresolved"},
    {"extra.ptpkg.allow_empty", "extra: {ptpkg: {allow_empty: true}}\n", kBuild, "ptpkg.allow_empty"},
};

/// Everything that a recipe says, as one text; an error counts too.
std::string Say(const std::string& body) {
  std::string text = body.starts_with("package:") ? body : "package: {name: toy, version: \"1\"}\n" + body;
  test::FakeVariants variants({{"a", Value("1")}});
  const std::map<std::string, std::string> environment;
  const auto document =
      ParseDocument(ReplaceAll(text, "&", std::string(64, 'a')), AbsPath::Literal("/r/recipe.yaml"));
  if (!document) return FormatError(document.error());
  const auto evaluation = Evaluate(*document, {"linux-64", variants, environment, "1234567", "", {}});
  if (!evaluation) return FormatError(evaluation.error());
  std::string used;
  for (const std::string& key : variants.read) used += key + " ";
  return fmt::format("{}{} used: {} ignored: {}", RecipeToJson(evaluation->recipe).dump(),
                     evaluation->recipe.skip, used, Join(evaluation->ignore_keys, " "));
}

/// All code below src/<place>.
std::string CodeOf(const std::string& place) {
  const std::unique_ptr<Fs> fs = MakeOsFs();
  const AbsPath path = test::Repository() / "src" / place;
  if (place.ends_with(".cpp")) return *ReadFile(*fs, path);
  std::string code;
  const std::vector<std::string> names = *fs->ListDir(path);
  for (const std::string& name : names) {
    if (name.ends_with(".cpp")) code += *ReadFile(*fs, path / name);
  }
  return code;
}

TEST(SchemaKeys, EachThatIsCarriedOutHasAConsumer) {
  std::vector<std::string> keys;
  for (const SchemaKey& key : SchemaKeys()) {
    if (key.carried_out) keys.push_back(key.path);
  }
  std::vector<std::string> rows;
  for (const Row& row : kRows) rows.emplace_back(row.key);
  EXPECT_THAT(rows, ::testing::UnorderedElementsAreArray(keys));
}

TEST(SchemaKeys, EachChangesWhatTheEvaluationGives) {
  const std::string nothing = Say("");
  for (const Row& row : kRows) {
    const std::string_view key = row.key;
    if (key == "$schema" || key == "extra") continue;  // say nothing to ptpkg
    EXPECT_NE(Say(row.body), nothing) << key;
    EXPECT_EQ(Say(row.body).find("unknown key"), std::string::npos) << key;
    if (key != "schema_version") {
      EXPECT_EQ(Say(row.body).find("error:"), std::string::npos) << Say(row.body);
    }
  }
}

TEST(SchemaKeys, WhatTheEvaluationGivesIsUsed) {
  for (const Row& row : kRows) {
    EXPECT_NE(CodeOf(row.place).find(row.token), std::string::npos)
        << row.key << ": src/" << row.place << " does not hold '" << row.token << "'";
  }
}

TEST(SchemaKeys, TheOthersAreRefusedByNameWithAHint) {
  std::size_t refused = 0;
  for (const SchemaKey& key : SchemaKeys()) {
    if (key.carried_out) continue;
    ++refused;
    const std::vector<std::string> parts = Split(key.path, '.');
    std::string body = "x";
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      const bool list = *part == "tests";
      body = fmt::format("{{{}: {}{}{}}}", *part, list ? "[" : "", body, list ? "]" : "");
    }
    const auto document = ParseDocument(body, AbsPath::Literal("/r/recipe.yaml"));
    EXPECT_THAT(document, FailsWith(ErrorCode::kUnsupported, HasSubstr("'" + key.path + "'"))) << body;
    if (!document) {
      EXPECT_NE(document.error().hint(), "") << key.path;
    }
  }
  EXPECT_GT(refused, 30U);
}

}  // namespace
}  // namespace ptpkg::recipe
