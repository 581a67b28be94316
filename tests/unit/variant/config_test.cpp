// Variant files: values, merging, zip_keys, pins, and every refusal.

#include "variant/config.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/text/json.h"

namespace ptpkg::variant {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::HasHint;
using ::testing::HasSubstr;

class VariantConfigTest : public ::testing::Test {
 protected:
  Result<VariantConfig> Load(const std::vector<std::string>& texts,
                             const std::string& platform = "linux-64") {
    std::vector<AbsPath> files;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      files.push_back(AbsPath::Literal("/v" + std::to_string(i) + ".yaml"));
      fs_.AddFile(files.back().str(), texts[i]);
    }
    return LoadVariantConfig(fs_, files, platform, environment_);
  }
  /// "a=1,2 b+c=…" for all axes.
  static std::string Show(const Result<VariantConfig>& config) {
    if (!config) return "error: " + config.error().message();
    std::string text;
    for (const Axis& axis : config->axes) {
      if (!text.empty()) text += ' ';
      for (const Axis::Column& column : axis.columns) {
        if (&column != &axis.columns.front()) text += '+';
        text += column.key + "=";
        for (const recipe::Value& value : column.values) {
          if (&value != &column.values.front()) text += ',';
          text += value.ToJson().dump();
        }
      }
    }
    return text;
  }

  /// The same of a conda_build_config.yaml.
  Result<VariantConfig> LoadCondaBuild(const std::string& text, const std::string& platform = "linux-64") {
    fs_.AddFile("/conda_build_config.yaml", text);
    return LoadVariantConfig(fs_, {AbsPath::Literal("/conda_build_config.yaml")}, platform, environment_);
  }

  test::MemFs fs_;
  std::map<std::string, std::string> environment_ = {{"CUDA", "True"}, {"BUILD_PLATFORM", "linux-64"}};
};

TEST_F(VariantConfigTest, KeepsOrderAndTypes) {
  EXPECT_EQ(Show(Load({"python: [\"3.11\", 3.12]\nblas-impl: [mkl]\nabi.tag: [1, true, \"1\"]\n"})),
            R"(python="3.11","3.12" blas_impl="mkl" abi_tag=1,true,"1")");
  EXPECT_EQ(Show(Load({""})), "");
  EXPECT_EQ(Show(Load({})), "");
}

TEST_F(VariantConfigTest, LaterFilesReplaceKeysAndZips) {
  EXPECT_EQ(Show(Load({"a: [1, 2]\nb: [1, 2]\nc: [1]\nzip_keys: [a, b]\n", "b: [3, 4]\n"})),
            "a=1,2+b=3,4 c=1");
  EXPECT_EQ(Show(Load({"a: [1, 2]\nb: [1, 2]\nzip_keys: [a, b]\n", "zip_keys: []\nc: [1]\n"})),
            "a=1,2 b=1,2 c=1");
}

TEST_F(VariantConfigTest, ZipsMoveTogetherInEitherForm) {
  EXPECT_EQ(Show(Load({"a: [1, 2]\nx: [9]\nb-b: [3, 4]\nzip_keys: [[a, b-b]]\n"})), "a=1,2+b_b=3,4 x=9");
  EXPECT_EQ(Show(Load({"a: [1]\nb: [2]\nc: [3]\nd: [4]\nzip_keys: [[b, a], [d, c]]\n"})), "b=2+a=1 d=4+c=3");
}

TEST_F(VariantConfigTest, SettingsStandForTheValuesOfAKey) {
  const auto load = [&](const std::string& text, const std::map<std::string, std::string>& values) {
    fs_.AddFile("/s.yaml", text);
    KeySettings settings;
    for (const auto& [key, value] : values) settings[key] = {.value = value, .origins = {"X=" + value}};
    return LoadVariantConfig(fs_, {AbsPath::Literal("/s.yaml")}, "linux-64", environment_, settings);
  };
  const std::string zip = "a: [1, 2, 2]\nb: [3, 4, 5]\nc: [8, 9]\nzip_keys: [[a, b]]\n";
  EXPECT_EQ(Show(load(zip, {{"c", "9"}, {"d", "x"}})), "a=1,2,2+b=3,4,5 c=9 d=\"x\"");
  EXPECT_EQ(Show(load(zip, {{"c", "7"}})), "a=1,2,2+b=3,4,5 c=\"7\"");
  EXPECT_EQ(Show(load(zip, {{"a", "2"}})), "a=2,2+b=4,5 c=8,9");
  EXPECT_EQ(Show(load(zip, {{"a", "2"}, {"b", "5"}})), "a=2+b=5 c=8,9");
  EXPECT_EQ(Show(load(zip, {{"a", "1"}, {"b", "5"}})), "a=1+b=\"5\" c=8,9") << "one row is left";
  EXPECT_EQ(Show(load(zip, {{"a", "6"}, {"b", "3"}})), "a=\"6\"+b=3 c=8,9");
  EXPECT_EQ(Show(load(zip, {{"a", "6"}, {"b", "7"}})), "a=\"6\"+b=\"7\" c=8,9");
  const auto refused = load(zip, {{"a", "6"}});
  EXPECT_THAT(refused, FailsWith(ErrorCode::kUsage,
                                 "X=6: the variants list no '6' of 'a', and pair its values with 'b'"));
  EXPECT_THAT(refused, HasHint("listed are 1, 2; for another one set 'b', too"));
}

TEST_F(VariantConfigTest, ConditionsSeeThePlatform) {
  const std::string text = "a:\n  - if: linux\n    then: [1, 2]\n    else: 3\nb:\n  - if: win\n    then: x\n";
  EXPECT_EQ(Show(Load({text})), "a=1,2");
  EXPECT_EQ(Show(Load({text}, "win-64")), R"(a=3 b="x")");
  EXPECT_EQ(Show(Load({"a:\n  - ${{ 'x' if win }}\n  - ${{ target_platform }}\n"})), R"(a="linux-64")");
}

TEST_F(VariantConfigTest, RunPins) {
  ASSERT_OK_AND_ASSIGN(
      const VariantConfig config,
      Load({"pin_run_as_build:\n  numpy: {min_pin: x.x, max_pin: x}\n  r-base: {max_pin: x.x}\n"}));
  EXPECT_EQ(config.run_pins.at("python").lower, "x.x");
  EXPECT_EQ(config.run_pins.at("numpy").lower, "x.x");
  EXPECT_EQ(config.run_pins.at("numpy").upper, "x");
  EXPECT_EQ(config.run_pins.at("r-base").lower, "");
}

TEST_F(VariantConfigTest, RefusesWithAPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"[a]\n", "a variant file is a mapping, found a list"},
      {"a: 1\n", "expected a list of values for 'a', found text"},
      {"a: {b: 1}\n", "expected a list of values for 'a', found a mapping"},
      {"a: []\n", "'a' has no values"},
      {"a: [[1]]\n", "expected text as a value of 'a', found a list"},
      {"a: [\"${{ [1] }}\"]\n", "a value of 'a' cannot be a list"},
      {"a: [\"${{ python }}\"]\n", "undefined name 'python'"},
      {"zip_keys: a\n", "expected a list for 'zip_keys', found text"},
      {"a: [1]\nb: [1]\nzip_keys: [[a, b], c]\n", "expected a list of keys in 'zip_keys', found text"},
      {"a: [1]\nzip_keys: [[a, {b: 1}]]\n", "expected a key in 'zip_keys', found a mapping"},
      {"a: [1]\nzip_keys: [[a]]\n", "a group in 'zip_keys' needs at least two keys"},
      {"a: [1]\nzip_keys: [a, b]\n", "'zip_keys' names 'b', which has no values"},
      {"a: [1]\nb: [1]\nc: [1]\nzip_keys: [[a, b], [b, c]]\n", "'zip_keys' names 'b' twice"},
      {"a: [1, 2]\nb: [1]\nzip_keys: [a, b]\n", "'a' has 2 values and 'b' has 1, but 'zip_keys' pairs them"},
      {"pin_run_as_build: [a]\n", "expected a mapping for 'pin_run_as_build', found a list"},
      {"pin_run_as_build: {a: x.x}\n", "expected a mapping for 'a', found text"},
      {"pin_run_as_build: {a: {pin: x.x}}\n", "'pin' is not a bound of 'pin_run_as_build'"},
      {"pin_run_as_build: {a: {min_pin: x.y}}\n", "'x.y' is not a bound of a pin"},
  };
  for (const auto& [text, message] : cases) {
    SCOPED_TRACE(text);
    const Result<VariantConfig> config = Load({text});
    ASSERT_THAT(config, FailsWith(ErrorCode::kInvalidInput, message));
    EXPECT_TRUE(config.error().span().has_value());
  }
}

TEST_F(VariantConfigTest, RefusesFilesItCannotRead) {
  EXPECT_THAT(LoadVariantConfig(fs_, {AbsPath::Literal("/none.yaml")}, "linux-64", environment_),
              FailsWith(ErrorCode::kNotFound, HasSubstr("/none.yaml")));
}

TEST_F(VariantConfigTest, ThePlatformOfAChannelsFileIsNoAxis) {
  EXPECT_EQ(Show(Load({"target_platform: [linux-64]\na: [1]\n"})), "a=1");
  EXPECT_EQ(Show(Load({"target_platform: [osx-64, linux-64]\na: [1]\n"})), "a=1");
  const Result<VariantConfig> other = Load({"a: [1]\ntarget_platform: [osx-64, win-64]\n"});
  EXPECT_THAT(other, FailsWith(ErrorCode::kUnsupported,
                               "this file is for osx-64, win-64, and packages are built for linux-64"));
  EXPECT_EQ(other.error().span()->line, 2);
}

TEST_F(VariantConfigTest, AWrittenNullIsText) {
  EXPECT_EQ(Show(Load({"a: [null, ~, x]\n"})), R"(a="null","~","x")");
  EXPECT_EQ(Show(Load({"a:\n  -\n  - x\n"})), R"(a="","x")");
}

TEST_F(VariantConfigTest, ExtendedKeysAddTheirValues) {
  EXPECT_EQ(Show(Load({"a: [1]\nextend_keys: [a]\n", "a: [2, 1]\n"})), "a=1,2");
  EXPECT_EQ(Show(Load({"a: [1]\n", "a: [2]\nextend_keys: [a]\n"})), "a=1,2");
}

TEST_F(VariantConfigTest, SelectorsOfCondaBuildChooseLines) {
  const std::string text =
      "c_compiler:\n"
      "  - gcc    # [linux]\n"
      "  - clang  # [osx] of Apple\n"
      "  - vs     # [win]\n"
      "version:   # [unix]\n"
      "  - 15     # [linux and x86_64]\n"
      "  - 1.10   # [linux64 and not (osx or win)]\n"
      "  - 9      # [os.environ.get(\"NOT_SET\", \"False\") == \"True\"]\n"
      "  - 14     # [os.environ.get(\"CUDA\", \"False\") == \"True\" and x86]\n"
      "  - 13     # [os.environ.get(\"BUILD_PLATFORM\", \"\").startswith(\"linux-\")]\n"
      "  - 12     # [os.environ.get(\"CUDA\") in (\"True\", \"yes\")]\n"
      "  - 11     # [a_key_of_variants and linux]\n"
      "hash: ['a#b', b] # no selector\n"
      "only_win:  # [win]\n"
      "  - 1      # [win]\n";
  EXPECT_EQ(Show(LoadCondaBuild(text)),
            R"(c_compiler="gcc" version="15","1.10","14","13","12" hash="a#b","b")");
  EXPECT_EQ(Show(LoadCondaBuild(text, "win-64")).substr(0, 15), R"(c_compiler="vs")");
}

TEST_F(VariantConfigTest, CondaBuildsFormIsLenient) {
  EXPECT_EQ(Show(LoadCondaBuild(
                "a: 1\nb: text\nempty:\nmigrator_ts: 1.5\nzip_keys:\n  -\n    - a\n    - none_such\n"
                "    - b\n  -\n    - empty\n")),
            R"(a="1"+b="text" migrator_ts="1.5")");
  EXPECT_EQ(Show(LoadCondaBuild("exe:\n  -       # [unix]\n  - .exe  # [win]\n")), "exe=null");
  const auto refused = LoadCondaBuild("ignore_version: [numpy]\n");
  EXPECT_THAT(refused, FailsWith(ErrorCode::kUnsupported, "'ignore_version' is not supported"));
  EXPECT_THAT(refused, HasHint(HasSubstr("build.variant.ignore_keys")));
  const auto broken = LoadCondaBuild("a:\n  - 1  # [linux and]\n");
  ASSERT_THAT(broken, FailsWith(ErrorCode::kInvalidInput, HasSubstr("expected a value")));
  EXPECT_EQ(broken.error().span()->line, 2);
}

}  // namespace
}  // namespace ptpkg::variant
