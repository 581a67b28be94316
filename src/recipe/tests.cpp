// The section `tests` of a recipe. Layer: recipe.
//
// One item may hold tests of several kinds, and then means several tests. Some keys stand next to the kind
// that they belong to (`files`, `pip_check`, `strict`), so an item is checked as a whole: a key whose kind is
// missing would have no effect, and a value in both places would be ambiguous.
//
// A script may be empty in some variant by its conditions, and is then no test. A script that is always empty
// is a mistake. The position of a script test is part of its files' path in the package, so positions must
// not change afterwards.

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <optional>

#include "recipe/document/sections.h"

namespace ptpkg::recipe {
namespace {

constexpr std::array<std::string_view, 6> kKinds = {"python", "script", "package_contents",
                                                    "perl",   "r",      "ruby"};

Error InvalidTest(std::string message, const SourceSpan& span) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span);
}

/// The keys of `item` that say what kind of test it is: several are several tests.
Result<std::vector<std::string_view>> KindsOf(const Node& item) {
  std::vector<std::string_view> kinds;
  // In the order of the item, which decides the positions of the tests.
  for (const Entry& entry : item.entries) {
    const auto* const kind = std::find(kKinds.begin(), kKinds.end(), entry.key);
    if (kind != kKinds.end()) kinds.push_back(*kind);
  }
  if (!kinds.empty()) return kinds;
  return InvalidTest("a test needs one of 'python', 'script', 'package_contents', 'perl', 'r' and 'ruby'",
                     item.span);
}

/// Keys that belong to one kind of test, and may be written next to it.
struct NeighborKey {
  const char* key;
  std::string_view kind;
  bool inside;  ///< It may stand inside the test instead.
};
constexpr std::array<NeighborKey, 3> kNeighborKeys = {
    {{"files", "script", false}, {"pip_check", "python", true}, {"strict", "package_contents", true}}};

Result<void> CheckNeighborKeys(const Node& item, const std::vector<std::string_view>& kinds) {
  const auto has = [&](std::string_view kind) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  const Node* requirements = item.Find("requirements");
  const Node* needless = requirements == nullptr || has("script") ? nullptr
                         : has("python")                          ? requirements->Find("build")
                                                                  : requirements;
  if (needless != nullptr) {
    return InvalidTest(has("python") ? "'requirements.build' is only allowed beside 'script'"
                                     : "'requirements' is only allowed beside 'script' and 'python'",
                       needless->span);
  }
  for (const NeighborKey& neighbor : kNeighborKeys) {
    const Node* node = item.Find(neighbor.key);
    if (node == nullptr) continue;
    if (!has(neighbor.kind)) {
      return InvalidTest(fmt::format("'{}' is only allowed beside '{}'", neighbor.key, neighbor.kind),
                         node->span);
    }
    if (neighbor.inside && item.Find(neighbor.kind)->Find(neighbor.key) != nullptr) {
      return InvalidTest(fmt::format("'{}' stands both in '{}' and beside it", neighbor.key, neighbor.kind),
                         node->span);
    }
  }
  return Ok();
}

Result<PythonTest> ReadPythonTest(Reader& reader, const Node& node) {
  PythonTest test;
  PTPKG_TRY(test.imports, reader.TextsOf(&node, "imports"));
  PTPKG_TRY(test.pip_check, reader.BoolOf(&node, "pip_check", true));
  PTPKG_TRY(test.python_versions, reader.TextsOf(&node, "python_version"));
  for (const std::string& version : test.python_versions) {
    const Result<MatchSpec> spec = MatchSpec::Parse("python " + version);
    if (!spec) return Error(spec.error()).At(node.Find("python_version")->span);
  }
  return test;
}

Result<ModulesTest> ReadModulesTest(Reader& reader, std::string_view language, const Node& node) {
  ModulesTest test{.language = std::string(language)};
  for (const Entry& entry : node.entries) {  // CheckKeys knows the one key of each language
    PTPKG_TRY(test.modules, reader.ReadTexts(entry.value));
  }
  if (test.modules.empty()) {
    return InvalidTest(fmt::format("the '{}' test names no module", language), node.span);
  }
  return test;
}

/// True if conditions decide what the script has: it may be empty in this variant.
bool IsConditional(const Node& script) {
  const Node* commands = script.kind == Node::Kind::kMapping ? script.Find("content") : &script;
  return commands != nullptr && (!commands->items.empty() || !commands->text.IsLiteral());
}

/// nullopt: no command of the script is for this variant, so there is nothing to test.
Result<std::optional<ScriptTest>> ReadScriptTest(Reader& reader, const Node& item, std::size_t position) {
  ScriptTest test;
  test.position = position;
  const Node& script = *item.Find("script");
  PTPKG_TRY(test.script, ReadScript(reader, &script, "tests.script"));
  if (test.script.file.empty() && test.script.lines.empty()) {
    if (IsConditional(script)) return std::optional<ScriptTest>();
    return InvalidTest("the script of a test is empty", script.span);
  }
  PTPKG_TRY(test.requirements, ReadSpecs(reader, FindIn(item.Find("requirements"), "run")));
  PTPKG_TRY(test.build_requirements, ReadSpecs(reader, FindIn(item.Find("requirements"), "build")));
  PTPKG_TRY(test.source_files, reader.TextsOf(item.Find("files"), "source"));
  PTPKG_TRY(test.recipe_files, reader.TextsOf(item.Find("files"), "recipe"));
  return std::optional(std::move(test));
}

Result<ContentsTest> ReadContentsTest(Reader& reader, const Node& node) {
  ContentsTest test;
  const Node* files = node.Find("files");
  if (files != nullptr && files->kind != Node::Kind::kMapping) {
    PTPKG_TRY(test.files, reader.ReadTexts(*files));
  } else {
    PTPKG_TRY(test.files, reader.TextsOf(files, "exists"));
    PTPKG_TRY(test.missing_files, reader.TextsOf(files, "not_exists"));
  }
  PTPKG_TRY(test.site_packages, reader.TextsOf(&node, "site_packages"));
  PTPKG_TRY(test.bin, reader.TextsOf(&node, "bin"));
  PTPKG_TRY(test.lib, reader.TextsOf(&node, "lib"));
  PTPKG_TRY(test.include, reader.TextsOf(&node, "include"));
  PTPKG_TRY(test.strict, reader.BoolOf(&node, "strict", false));
  return test;
}

Result<void> ReadTest(Reader& reader, const Node& item, std::string_view kind, std::vector<Test>& tests) {
  const Node& node = *item.Find(kind);
  if (kind == "python") {
    PTPKG_TRY(PythonTest test, ReadPythonTest(reader, node));
    PTPKG_TRY(test.pip_check, reader.BoolOf(&item, "pip_check", test.pip_check));
    PTPKG_TRY(test.requirements, ReadSpecs(reader, FindIn(item.Find("requirements"), "run")));
    tests.emplace_back(std::move(test));
  } else if (kind == "script") {
    PTPKG_TRY(std::optional<ScriptTest> test, ReadScriptTest(reader, item, tests.size()));
    if (test) tests.emplace_back(*std::move(test));
  } else if (kind == "package_contents") {
    PTPKG_TRY(ContentsTest test, ReadContentsTest(reader, node));
    PTPKG_TRY(test.strict, reader.BoolOf(&item, "strict", test.strict));
    tests.emplace_back(std::move(test));
  } else {
    PTPKG_TRY(tests.emplace_back(), ReadModulesTest(reader, kind, node));
  }
  return Ok();
}

}  // namespace

Result<std::vector<Test>> ReadTests(Reader& reader, const Node* section) {
  std::vector<Test> tests;
  if (section == nullptr) return tests;
  PTPKG_TRY(const std::vector<const Node*> items, reader.ReadItems(*section));
  for (const Node* item : items) {
    PTPKG_TRY(const std::vector<std::string_view> kinds, KindsOf(*item));
    PTPKG_CHECK(CheckNeighborKeys(*item, kinds));
    for (const std::string_view kind : kinds) PTPKG_CHECK(ReadTest(reader, *item, kind, tests));
  }
  return tests;
}

}  // namespace ptpkg::recipe
