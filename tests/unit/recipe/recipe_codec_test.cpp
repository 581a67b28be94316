// Every field of a recipe travels in a plan: a forgotten one would be a forgotten input of a key.

#include "recipe/recipe_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/text/json.h"

namespace ptpkg::recipe {
namespace {

using test::FailsWith;
using ::testing::HasSubstr;

/// Converts to anything: as many of it as initialise an aggregate, so many members it has.
struct Any {
  template <class T>
  // NOLINTNEXTLINE(google-explicit-constructor): an initialiser of whatever type is asked for
  operator T() const;
};

template <class T, class... Args>
consteval std::size_t CountFields() {
  if constexpr (requires { T{Args{}..., Any{}}; }) {
    return CountFields<T, Args..., Any>();
  } else {
    return sizeof...(Args);
  }
}

// A new member has to be added to recipe_codec.cpp, to Filled() below, and then here.
static_assert(CountFields<Source>() == 11);  // all but the span travel
static_assert(CountFields<GitSource>() == 9);
static_assert(CountFields<RunExports>() == 5);
static_assert(CountFields<IgnoreRunExports>() == 2);
static_assert(CountFields<Requirements>() == 6);
static_assert(CountFields<BuildScript>() == 5);
static_assert(CountFields<About>() == 8);
static_assert(CountFields<PythonTest>() == 4);
static_assert(CountFields<ScriptTest>() == 6);
static_assert(CountFields<ModulesTest>() == 2);
static_assert(CountFields<ContentsTest>() == 7);
static_assert(CountFields<LayoutRule>() == 3);
static_assert(CountFields<PtpkgExtra>() == 17);  // all but the zip, the slices and the resources travel
static_assert(CountFields<ZipPart>() == 6);
static_assert(CountFields<ZipOutput>() == 4);
static_assert(CountFields<DynamicLinking>() == 5);
static_assert(CountFields<PrefixDetection>() == 5);
static_assert(CountFields<CondaOutput>() == 23);
static_assert(CountFields<WheelOutput>() == 10);
// All but recipe_dir and recipe_file travel, and what the plan alone reads: recipe_name, inherited,
// inherit_run_exports, loads.
static_assert(CountFields<Recipe>() == 34);

/// A test of each kind.
std::vector<Test> FilledTests() {
  const std::vector<MatchSpec> specs = {{.name = "t", .version = ">=1", .build = "*_cpu"}};
  return {PythonTest{
              .imports = {"toy"}, .pip_check = false, .python_versions = {"3.10.*"}, .requirements = specs},
          ScriptTest{.script = {.lines = {"toy"}},
                     .requirements = specs,
                     .build_requirements = specs,
                     .source_files = {"a"},
                     .recipe_files = {"b"},
                     .position = 1},
          ContentsTest{.files = {"a"},
                       .missing_files = {"b"},
                       .site_packages = {"c"},
                       .bin = {"d"},
                       .lib = {"e"},
                       .include = {"f"},
                       .strict = true},
          ModulesTest{.language = "perl", .modules = {"JSON"}}};
}

std::vector<Source> FilledSources() {
  return {{.urls = {"https://example.org/a.tar.gz"},
           .path = "src",
           .sha256 = HashText("a"),
           .md5 = Md5{{1}},
           .file_name = "a.tgz",
           .target_directory = "deep",
           .patches = {"0001.patch"},
           .git = {.url = "https://example.org/a.git",
                   .tag = "v1",
                   .branch = "main",
                   .rev = "x",
                   .depth = 3,
                   .lfs = true,
                   .submodules = false,
                   .expected_commit = "e",
                   .commit = "c"},
           .filter_include = {"src/**"},
           .filter_exclude = {"*.bin"}},
          {.path = "other"}};
}

/// A recipe in which every field differs from its default.
Recipe Filled() {
  Recipe recipe;
  recipe.name = "toy";
  recipe.version = "1.0";
  recipe.build_number = 3;
  recipe.build_string = "py311_3";
  recipe.hash = "abcdef0";
  recipe.hash_input = Json{{"python", "3.11"}};
  recipe.variant = {{"python", "3.11"}};
  recipe.build_keys = {"gcc"};
  recipe.noarch_python = true;
  recipe.python_version_independent = true;
  recipe.skip = true;
  recipe.sources = FilledSources();
  recipe.script = {.lines = {"make"},
                   .file = "build.sh",
                   .interpreter = "python",
                   .env = {{"A", "b"}},
                   .secrets = {"TOKEN"}};
  recipe.python_entry_points = {"toy = toy:main"};
  recipe.files_include = {"lib/**"};
  recipe.files_exclude = {"*.a"};
  recipe.track_features = {"toy-p-0"};
  recipe.always_include_files = {"etc/**"};
  recipe.always_copy_files = {"share/**"};
  recipe.dynamic_linking = {.rpaths = {"lib/R/lib"},
                            .rpath_allowlist = {"/opt/*"},
                            .relocates = false,
                            .relocated = {"lib/*.so"},
                            .overlinking_is_error = false};
  recipe.prefix_detection = {
      .ignore_binary = true, .ignore_all = true, .ignore = {"a"}, .force_text = {"b"}, .force_binary = {"c"}};
  const auto spec = [](const std::string& name) {
    return std::vector<MatchSpec>{{.name = name, .version = ">=1", .build = "*_cpu"}};
  };
  recipe.requirements = {.build = spec("b"),
                         .host = spec("h"),
                         .run = spec("r"),
                         .run_constraints = spec("c"),
                         .run_exports = {.weak = spec("w"),
                                         .strong = spec("s"),
                                         .noarch = spec("n"),
                                         .weak_constraints = spec("wc"),
                                         .strong_constraints = spec("sc")},
                         .ignore_run_exports = {.by_name = {"x"}, .from_package = {"y"}}};
  recipe.about = {.homepage = "https://example.org",
                  .repository = "https://example.org/git",
                  .documentation = "https://example.org/doc",
                  .license = "MIT",
                  .license_family = "MIT",
                  .license_files = {"LICENSE"},
                  .summary = "a toy",
                  .description = "a long toy"};
  recipe.tests = FilledTests();
  recipe.ptpkg.formats = {"conda"};
  recipe.ptpkg.formats_given = true;
  recipe.ptpkg.layouts = {{"conda", {{.files = "*.so", .rpath = {"$ORIGIN"}, .tag = RpathTag::kRpath}}}};
  recipe.ptpkg.wheel_name = "toy-wheel";
  recipe.ptpkg.wheel_requires = {"numpy"};
  recipe.ptpkg.wheel_exclude = {"include/**"};
  recipe.ptpkg.wheel_repair = "plain";
  recipe.ptpkg.system_packages = {"libz-dev"};
  recipe.ptpkg.allow_unresolved = {"libgomp.so.1"};
  recipe.ptpkg.device_code = {"9.0"};
  recipe.ptpkg.allow_empty = true;
  recipe.ptpkg.resume = false;
  recipe.subdir = "noarch";
  recipe.staging = true;
  return recipe;
}

TEST(RecipeCodec, EveryFieldComesBack) {
  const Json encoded = EncodeRecipe(Filled());
  ASSERT_OK_AND_ASSIGN(const Recipe decoded, DecodeRecipe(encoded, "a plan"));
  EXPECT_EQ(EncodeRecipe(decoded), encoded);
  EXPECT_EQ(decoded.sources[0].sha256, HashText("a"));
  EXPECT_EQ(decoded.sources[0].md5, (Md5{{1}}));
  EXPECT_FALSE(decoded.sources[1].sha256.has_value());
  EXPECT_EQ(std::get<ContentsTest>(decoded.tests[2]).include, std::vector<std::string>{"f"});
}

/// The example with layouts for all formats.
Recipe FilledForAll() {
  Recipe recipe = Filled();
  recipe.ptpkg.layouts["wheel"] = recipe.ptpkg.layouts["conda"];
  recipe.ptpkg.layouts["zip"] = recipe.ptpkg.layouts["conda"];
  recipe.ptpkg.zip = {.name = "toy-1.0",
                      .root = "site-packages/toy",
                      .top = "toy",
                      .files = {"lib/**"},
                      .exclude = {"**/*.py"},
                      .texts = {{"version", "1.0"}}};
  return recipe;
}

TEST(RecipeCodec, EveryFieldOfAnOutputComesBack) {
  const auto expect_whole = [](const Json& encoded, const Json& empty, const auto& decoded) {
    ASSERT_THAT(decoded, test::IsOk());
    EXPECT_EQ(EncodeOutput(*decoded), encoded);
    // Else a field that stays behind would not be noticed.
    for (const auto& [name, value] : encoded.items()) EXPECT_NE(value, empty[name]) << name;
  };
  const Json conda = EncodeOutput(CondaOutputOf(FilledForAll()));
  expect_whole(conda, EncodeOutput(CondaOutput()), DecodeCondaOutput(conda, "a plan"));
  const Json wheel = EncodeOutput(WheelOutputOf(FilledForAll()));
  expect_whole(wheel, EncodeOutput(WheelOutput()), DecodeWheelOutput(wheel, "a plan"));
  const Json zip = EncodeOutput(ZipOutputOf(FilledForAll()));
  expect_whole(zip, EncodeOutput(ZipOutput()), DecodeZipOutput(zip, "a plan"));
  for (const auto& [name, value] : zip["zip"].items())
    EXPECT_NE(value, EncodeOutput(ZipOutput())["zip"][name]) << name;
}

TEST(RecipeCodec, AnOutputThatItDidNotWriteIsRefused) {
  const auto refused = FailsWith(ErrorCode::kInvalidInput, HasSubstr("a plan"));
  const Json conda = EncodeOutput(CondaOutputOf(FilledForAll()));
  for (const auto& [name, value] : conda.items()) {
    Json bad = conda;
    bad.erase(name);
    EXPECT_THAT(DecodeCondaOutput(bad, "a plan"), refused) << name;
  }
  for (const char* name : {"name", "version", "build_string", "subdir"}) {
    Json bad = conda;
    bad[name] = "../x";
    EXPECT_THAT(DecodeCondaOutput(bad, "a plan"), refused) << name;
  }
  const Json wheel = EncodeOutput(WheelOutputOf(FilledForAll()));
  for (const auto& [name, value] : wheel.items()) {
    Json bad = wheel;
    bad.erase(name);
    EXPECT_THAT(DecodeWheelOutput(bad, "a plan"), refused) << name;
  }
  Json bad = wheel;
  bad["subdir"] = "../x";
  EXPECT_THAT(DecodeWheelOutput(bad, "a plan"), refused);
  const Json zip = EncodeOutput(ZipOutputOf(FilledForAll()));
  for (const auto& [name, value] : zip.items()) {
    bad = zip;
    bad.erase(name);
    EXPECT_THAT(DecodeZipOutput(bad, "a plan"), refused) << name;
  }
  for (const char* name : {"name", "top"}) {
    bad = zip;
    bad["zip"][name] = "../x";
    EXPECT_THAT(DecodeZipOutput(bad, "a plan"), refused) << name;
  }
}

TEST(RecipeCodec, EveryFieldOfTheExampleIsNoDefault) {
  // Else the test above would not notice a field that stays behind.
  const Json filled = EncodeRecipe(Filled());
  Json empty = EncodeRecipe(Recipe());  // without "staging"
  for (const auto& [name, value] : filled.items()) EXPECT_NE(value, empty[name]) << name;
  for (const char* group : {"requirements", "about", "script", "ptpkg"}) {
    for (const auto& [name, value] : filled[group].items()) EXPECT_NE(value, empty[group][name]) << name;
  }
}

TEST(RecipeCodec, WhatItDidNotWriteIsRefused) {
  const Json good = EncodeRecipe(Filled());
  for (const auto& [name, value] : good.items()) {
    Json bad = good;
    bad.erase(name);
    if (name == "staging") continue;  // stands in no recipe of one package, so that their keys stay
    EXPECT_THAT(DecodeRecipe(bad, "a plan"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("a plan")))
        << name;
    bad[name] = 1.5;
    EXPECT_FALSE(DecodeRecipe(bad, "a plan").has_value() && name != "build_number" && name != "hash_input")
        << name;
  }
  Json bad = good;
  bad["tests"][0]["kind"] = 99;
  EXPECT_THAT(DecodeRecipe(bad, "a plan"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("unknown kind")));
  bad = good;
  bad["sources"][0]["sha256"] = "zz";
  EXPECT_FALSE(DecodeRecipe(bad, "a plan").has_value());
  bad["sources"][0].erase("sha256");
  EXPECT_THAT(DecodeRecipe(bad, "a plan"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("sha256")));
  EXPECT_THAT(DecodeSources(Json::object(), "a plan"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("its sources are not a list")));
}

TEST(RecipeCodec, WhatFilesAreCalledByIsANameOfAFile) {
  for (const char* field : {"name", "version", "build_string", "subdir"}) {
    Json bad = EncodeRecipe(Filled());
    bad[field] = "../../x";
    EXPECT_THAT(DecodeRecipe(bad, "a plan"),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a file name")))
        << field;
  }
}

TEST(NativeBuild, LeavesOutWhatDoesNotReachTheBuild) {
  Recipe recipe = Filled();
  const Json before = EncodeNativeBuild(NativeBuildOf(recipe, {"make"}));
  recipe.build_number = 9;
  recipe.build_string = "py312_9";
  recipe.hash = "0000000";
  recipe.variant = {{"python", "3.12"}};
  recipe.requirements.run.clear();
  recipe.requirements.run_exports = {};
  recipe.about.summary = "other";
  auto script = std::get<ScriptTest>(recipe.tests[1]);
  script.script.lines = {"other"};
  script.requirements.clear();
  recipe.tests = {script};
  recipe.ptpkg.wheel_name.clear();
  recipe.ptpkg.layouts.clear();
  EXPECT_EQ(EncodeNativeBuild(NativeBuildOf(recipe, {"make"})), before)
      << "one native build for both Pythons";
  script.source_files = {"other"};
  recipe.tests = {script};
  EXPECT_NE(EncodeNativeBuild(NativeBuildOf(recipe, {"make"})), before) << "the build copies these files";
  recipe.tests.clear();
  recipe.files_include = {"include/**"};
  EXPECT_NE(EncodeNativeBuild(NativeBuildOf(recipe, {"make"})), before);
}

TEST(NativeBuild, KeepsVariablesThatAreMentionedOrRequired) {
  const Recipe recipe = Filled();
  EXPECT_EQ(NativeBuildOf(recipe, {"echo $PKG_BUILDNUM"}).recipe.build_number, 3U);
  EXPECT_EQ(NativeBuildOf(recipe, {"echo ${PKG_BUILD_STRING}"}).recipe.build_string, "py311_3");
  EXPECT_EQ(NativeBuildOf(recipe, {"os.environ['PKG_HASH']"}).recipe.hash, "abcdef0");
  EXPECT_EQ(NativeBuildOf(recipe, {"make", "$PKG_HASH"}).mentioned, std::set<std::string>{"PKG_HASH"});
  const Json encoded = EncodeNativeBuild(NativeBuildOf(recipe, {"$PKG_HASH", "$PKG_BUILDNUM"}));
  ASSERT_OK_AND_ASSIGN(const NativeBuild decoded, DecodeNativeBuild(encoded, "a plan"));
  EXPECT_EQ(decoded.mentioned, (std::set<std::string>{"PKG_BUILDNUM", "PKG_HASH"}));
  Json bad = encoded;
  bad.erase("mentioned variables");
  EXPECT_THAT(DecodeNativeBuild(bad, "a plan"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'mentioned variables'")));
  EXPECT_EQ(NativeBuildOf(recipe, {"echo $python"}).recipe.variant.size(), 1U);
  EXPECT_EQ(NativeBuildOf(recipe, {"echo $python_impl"}).recipe.variant.size(), 0U);
  Recipe requiring = recipe;
  requiring.requirements.host = {{.name = "python"}};
  EXPECT_EQ(NativeBuildOf(requiring, {}).recipe.variant.size(), 1U);
  Recipe reading = recipe;
  reading.build_keys = {"python"};
  EXPECT_EQ(NativeBuildOf(reading, {}).recipe.variant.size(), 1U);
  EXPECT_THAT(NativeBuildOf(reading, {}).recipe.build_keys, ::testing::IsEmpty());
}

TEST(NativeBuild, MentionsAreWholeWords) {
  EXPECT_TRUE(MentionsVariable("a PKG_HASH", "PKG_HASH"));
  EXPECT_TRUE(MentionsVariable("PKG_HASHES PKG_HASH", "PKG_HASH"));
  EXPECT_FALSE(MentionsVariable("MY_PKG_HASH", "PKG_HASH"));
  EXPECT_FALSE(MentionsVariable("PKG_HASH_2", "PKG_HASH"));
  EXPECT_FALSE(MentionsVariable("", "PKG_HASH"));
}

}  // namespace
}  // namespace ptpkg::recipe
