// tests of a recipe. Layer: recipe.

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "recipe/document/sections.h"

namespace ptpkg::recipe {
namespace {

constexpr std::array<std::string_view, 6> kKinds = {"python", "script", "package_contents",
                                                    "perl",   "r",      "ruby"};

Error InvalidTest(std::string message, const SourceSpan& span) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span);
}

/// The one key of `item` that says what kind of test it is.
Result<std::string_view> KindOf(const Node& item) {
  const auto given = [&](std::string_view key) { return item.Find(key) != nullptr; };
  if (std::count_if(kKinds.begin(), kKinds.end(), given) != 1) {
    return InvalidTest(
        "a test needs exactly one of 'python', 'script', 'package_contents', 'perl', 'r' and 'ruby'",
        item.span);
  }
  return *std::find_if(kKinds.begin(), kKinds.end(), given);
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

Result<ScriptTest> ReadScriptTest(Reader& reader, const Node& item, std::size_t position) {
  ScriptTest test;
  test.position = position;
  const Node& script = *item.Find("script");
  PTPKG_TRY(test.script, ReadScript(reader, &script, "tests.script"));
  if (test.script.file.empty() && test.script.lines.empty()) {
    return InvalidTest("the script of a test is empty", script.span);
  }
  PTPKG_TRY(test.requirements, ReadSpecs(reader, FindIn(item.Find("requirements"), "run")));
  PTPKG_TRY(test.build_requirements, ReadSpecs(reader, FindIn(item.Find("requirements"), "build")));
  PTPKG_TRY(test.source_files, reader.TextsOf(item.Find("files"), "source"));
  PTPKG_TRY(test.recipe_files, reader.TextsOf(item.Find("files"), "recipe"));
  return test;
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

}  // namespace

Result<std::vector<Test>> ReadTests(Reader& reader, const Node* section) {
  std::vector<Test> tests;
  if (section == nullptr) return tests;
  PTPKG_TRY(const std::vector<const Node*> items, reader.ReadItems(*section));
  for (const Node* item : items) {
    PTPKG_TRY(const std::string_view kind, KindOf(*item));
    for (const char* key : {"requirements", "files"}) {
      if (kind == "script" || item->Find(key) == nullptr) continue;
      return InvalidTest(fmt::format("'{}' is only allowed beside 'script'", key), item->Find(key)->span);
    }
    if (kind == "python") {
      PTPKG_TRY(tests.emplace_back(), ReadPythonTest(reader, *item->Find("python")));
    } else if (kind == "script") {
      const std::size_t position = tests.size();
      PTPKG_TRY(tests.emplace_back(), ReadScriptTest(reader, *item, position));
    } else if (kind != "package_contents") {
      PTPKG_TRY(tests.emplace_back(), ReadModulesTest(reader, kind, *item->Find(kind)));
    } else {
      PTPKG_TRY(tests.emplace_back(), ReadContentsTest(reader, *item->Find("package_contents")));
    }
  }
  return tests;
}

}  // namespace ptpkg::recipe
