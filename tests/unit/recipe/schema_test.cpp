// No key of a recipe is read and dropped: each one changes what the evaluation gives. Which stages use it:
// tests/unit/pipeline/recipe_keys_test.cpp.
#include "recipe/schema.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "recipe/evaluate.h"
#include "recipe/recipe_json.h"
#include "support/json.h"
#include "support/matchers.h"
#include "support/text.h"
#include "unit/recipe/fake_variants.h"

namespace ptpkg::recipe {
namespace {

using test::FailsWith;
using ::testing::HasSubstr;

/// One key that is carried out.
struct Row {
  const char* key;
  const char* body;  ///< A recipe that has it, without `package` unless the key is in it.
};

const std::vector<Row> kRows = {
    {"$schema", "$schema: x\n"},
    {"schema_version", "schema_version: 2\n"},
    {"context", "context: {a: b}\nabout: {summary: \"${{ a }}\"}\n"},
    {"package.name", "package: {name: other, version: \"1\"}\n"},
    {"package.version", "package: {name: toy, version: \"2\"}\n"},
    {"source.url", "source: {url: https://h/x, sha256: &}\n"},
    {"source.sha256", "source: {url: https://h/x, sha256: &}\n"},
    {"source.file_name", "source: {path: a, file_name: b}\n"},
    {"source.target_directory", "source: {path: a, target_directory: b}\n"},
    {"source.patches", "source: {path: a, patches: [b]}\n"},
    {"source.path", "source: {path: a}\n"},
    {"build.number", "build: {number: 7}\n"},
    {"build.string", "build: {string: x}\n"},
    {"build.skip", "build: {skip: true}\n"},
    {"build.noarch", "build: {noarch: generic}\n"},
    {"build.script", "build: {script: make}\n"},
    {"build.script.file", "build: {script: {file: a}}\n"},
    {"build.script.content", "build: {script: {content: a}}\n"},
    {"build.script.interpreter", "build: {script: {content: a, interpreter: b}}\n"},
    {"build.script.env", "build: {script: {content: a, env: {b: c}}}\n"},
    {"build.files", "build: {files: a}\n"},
    {"build.files.include", "build: {files: {include: a}}\n"},
    {"build.files.exclude", "build: {files: {exclude: a}}\n"},
    {"build.variant.use_keys", "build: {variant: {use_keys: [a]}}\n"},
    {"build.variant.ignore_keys", "build: {variant: {ignore_keys: [a]}}\n"},
    {"build.variant.down_prioritize_variant", "build: {variant: {down_prioritize_variant: 1}}\n"},
    {"build.python.entry_points", "build: {python: {entry_points: [\"a = b:c\"]}}\n"},
    {"build.prefix_detection.ignore_binary_files",
     "build: {prefix_detection: {ignore_binary_files: true}}\n"},
    {"build.dynamic_linking.missing_dso_allowlist", "build: {dynamic_linking: {missing_dso_allowlist: a}}\n"},
    {"requirements.build", "requirements: {build: [a]}\n"},
    {"requirements.host", "requirements: {host: [a]}\n"},
    {"requirements.run", "requirements: {run: [a]}\n"},
    {"requirements.run_constraints", "requirements: {run_constraints: [a]}\n"},
    {"requirements.run_exports", "requirements: {run_exports: a}\n"},
    {"requirements.run_exports.weak", "requirements: {run_exports: {weak: a}}\n"},
    {"requirements.run_exports.strong", "requirements: {run_exports: {strong: a}}\n"},
    {"requirements.run_exports.noarch", "requirements: {run_exports: {noarch: a}}\n"},
    {"requirements.run_exports.weak_constraints", "requirements: {run_exports: {weak_constraints: a}}\n"},
    {"requirements.run_exports.strong_constraints", "requirements: {run_exports: {strong_constraints: a}}\n"},
    {"requirements.ignore_run_exports.by_name", "requirements: {ignore_run_exports: {by_name: [a]}}\n"},
    {"requirements.ignore_run_exports.from_package",
     "requirements: {ignore_run_exports: {from_package: [a]}}\n"},
    {"tests.script", "tests: [{script: a}]\n"},
    {"tests.script.file", "tests: [{script: {file: a}}]\n"},
    {"tests.script.content", "tests: [{script: {content: a}}]\n"},
    {"tests.script.interpreter", "tests: [{script: {content: a, interpreter: b}}]\n"},
    {"tests.script.env", "tests: [{script: {content: a, env: {b: c}}}]\n"},
    {"tests.requirements.run", "tests: [{script: a, requirements: {run: [b]}}]\n"},
    {"tests.python.imports", "tests: [{python: {imports: a}}]\n"},
    {"tests.python.pip_check", "tests: [{python: {pip_check: false}}]\n"},
    {"tests.package_contents.files", "tests: [{package_contents: {files: a}}]\n"},
    {"tests.package_contents.files.exists", "tests: [{package_contents: {files: {exists: a}}}]\n"},
    {"tests.package_contents.files.not_exists", "tests: [{package_contents: {files: {not_exists: a}}}]\n"},
    {"tests.package_contents.site_packages", "tests: [{package_contents: {site_packages: a}}]\n"},
    {"tests.package_contents.bin", "tests: [{package_contents: {bin: a}}]\n"},
    {"tests.package_contents.lib", "tests: [{package_contents: {lib: a}}]\n"},
    {"tests.package_contents.include", "tests: [{package_contents: {include: a}}]\n"},
    {"tests.package_contents.strict", "tests: [{package_contents: {strict: true}}]\n"},
    {"about.homepage", "about: {homepage: a}\n"},
    {"about.repository", "about: {repository: a}\n"},
    {"about.documentation", "about: {documentation: a}\n"},
    {"about.license", "about: {license: MIT}\n"},
    {"about.license_family", "about: {license_family: a}\n"},
    {"about.license_file", "about: {license_file: a}\n"},
    {"about.summary", "about: {summary: a}\n"},
    {"about.description", "about: {description: a}\n"},
    {"extra", "extra: {anything: a}\n"},
    {"extra.ptpkg.formats", "extra: {ptpkg: {formats: wheel}}\n"},
    {"extra.ptpkg.layouts.conda.files", "extra: {ptpkg: {layouts: {conda: [{files: a, rpath: []}]}}}\n"},
    {"extra.ptpkg.layouts.conda.rpath", "extra: {ptpkg: {layouts: {conda: [{files: a, rpath: []}]}}}\n"},
    {"extra.ptpkg.layouts.conda.tag",
     "extra: {ptpkg: {layouts: {conda: [{files: a, rpath: [], tag: rpath}]}}}\n"},
    {"extra.ptpkg.layouts.wheel.files", "extra: {ptpkg: {layouts: {wheel: [{files: a, rpath: []}]}}}\n"},
    {"extra.ptpkg.layouts.wheel.rpath", "extra: {ptpkg: {layouts: {wheel: [{files: a, rpath: []}]}}}\n"},
    {"extra.ptpkg.layouts.wheel.tag",
     "extra: {ptpkg: {layouts: {wheel: [{files: a, rpath: [], tag: rpath}]}}}\n"},
    {"extra.ptpkg.wheel.name", "extra: {ptpkg: {wheel: {name: a}}}\n"},
    {"extra.ptpkg.wheel.requires", "extra: {ptpkg: {wheel: {requires: a}}}\n"},
    {"extra.ptpkg.wheel.exclude", "extra: {ptpkg: {wheel: {exclude: a}}}\n"},
    {"extra.ptpkg.system_packages", "extra: {ptpkg: {system_packages: a}}\n"},
    {"extra.ptpkg.allow_unresolved", "extra: {ptpkg: {allow_unresolved: a}}\n"},
    {"extra.ptpkg.allow_empty", "extra: {ptpkg: {allow_empty: true}}\n"},
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

TEST(SchemaKeys, EachThatIsCarriedOutHasARow) {
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
