// The rules of data/preflight.yaml: each speaks of the facts it is for, and of no others.

#include "builder/preflight/preflight.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/recording_reporter.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using recipe::Value;
using test::FailsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A machine and a recipe with which nothing is wrong.
Facts Sound() {
  Facts facts;
  AddEmptyRecipeFacts(facts);
  facts["cores"] = Value(std::int64_t{8});
  facts["memory_gib"] = Value(64.0);
  facts["memory_of_group"] = Value(false);
  facts["cache"] = Value("/cache");
  facts["free_disk_gib"] = Value(500.0);
  facts["driver"] = Value();
  facts["compatibility_driver"] = Value();
  facts["stub_library"] = Value();
  for (const char* list : {"caller_variables", "shadowing_libraries", "gpus"})
    facts[list] = Value(Value::List());
  return facts;
}

Value Texts(std::initializer_list<const char*> texts) {
  Value::List list;
  for (const char* text : texts) list.emplace_back(text);
  return Value(std::move(list));
}

Value Numbers(std::initializer_list<std::int64_t> numbers) {
  Value::List list;
  for (const std::int64_t number : numbers) list.emplace_back(number);
  return Value(std::move(list));
}

struct Case {
  const char* id;
  std::map<std::string, Value> facts;
  const char* says;
};

/// The rules about the machine.
std::vector<Case> MachineCases() {
  return {
      {"variable-of-the-caller",
       {{"package", Value("x")}, {"caller_variables", Texts({"USE_CUDA"})}},
       "'USE_CUDA'"},
      {"shadowing-library",
       {{"shadowing_libraries", Texts({"/opt/x/libcudnn.so.9"})}},
       "/opt/x/libcudnn.so.9"},
      {"compatibility-driver",
       {{"driver", Value("580.65.06")},
        {"compatibility_driver", Value("/usr/local/cuda/compat/libcuda.so.1")}},
       "error 804"},
      {"stub-library",
       {{"stub_library", Value("/usr/local/cuda/lib64/stubs/libcuda.so")}},
       "stubs/libcuda.so"},
  };
}

/// The rules about a recipe.
std::vector<Case> RecipeCases() {
  const auto torch = [](const char* version, std::map<std::string, Value> more) {
    more.insert({{"package", Value("pytorch")},
                 {"version", Value(version)},
                 {"subject", Value(std::string("pytorch-") + version)},
                 {"python", Value("3.11.2")}});
    more.insert({{"numpy", Value("2.0.2")}});
    return more;
  };
  const auto magma = [](const char* version) {
    return std::map<std::string, Value>{
        {"package", Value("magma")}, {"version", Value(version)}, {"nvcc", Value("13.0.88")}};
  };
  return {
      {"cmake-policy", torch("2.6.0", {{"cmake", Value("4.0.1")}}), "CMake 4.0.1 cannot configure"},
      {"cmake-too-old", torch("2.15.0", {{"cmake", Value("3.25.1")}}), "needs CMake 3.27"},
      {"cmake-and-old-ninja", {{"cmake", Value("3.29.6")}, {"ninja", Value("1.9.0")}}, "ninja 1.9.0 refuses"},
      {"setuptools-too-new", torch("2.15.0", {{"setuptools", Value("82.0")}}), "this is 82.0"},
      {"numpy-absent", torch("2.15.0", {{"numpy", Value()}}), "no NumPy"},
      {"compiler-too-old", torch("2.13.0", {{"gxx", Value("11.2.0")}}), "g++ is 11.2.0"},
      {"clang-too-old", torch("2.13.0", {{"clangxx", Value("15.0.7")}}), "clang++ is 15.0.7"},
      {"magma-too-new", torch("2.12.0", {{"host_magma", Texts({"2.10.0"})}}), "MAGMA 2.10.0"},
      {"cuda-host-compiler",
       {{"nvcc", Value("12.4.131")}, {"nvcc_gxx", Value("14.2.0")}},
       "12.4.131 does not support"},
      {"cuda-host-compiler-missing",
       {{"nvcc", Value("11.8.89")}, {"gxx", Value("12.2.0")}, {"nvcc_gxx_missing", Value(true)}},
       "finds no g++ that it supports"},
      {"cuda-too-old", torch("2.13.0", {{"nvcc", Value("12.0.76")}}), "nvcc is 12.0.76"},
      {"cuda-parts",
       {{"nvcc", Value("13.0.88")}, {"foreign_cuda_parts", Texts({"'/i/cuda.h' belongs to CUDA 12.4"})}},
       "nvcc is 13.0.88, but '/i/cuda.h' belongs to CUDA 12.4"},
      {"cuda-cudnn", {{"nvcc", Value("13")}, {"foreign_cudnn", Value("'/l' is for 12")}}, "'/l' is for"},
      {"cuda-architecture-dropped",
       {{"nvcc", Value("13.0.88")}, {"architectures", Numbers({70, 90})}},
       "sm_70"},
      {"cuda-architecture-unknown",
       {{"nvcc", Value("12.6.20")}, {"architectures", Numbers({90, 120})}},
       "sm_120"},
      {"cuda-architectures-many",
       torch("2.15.0", {{"architectures", Numbers({75, 80, 86, 89, 90, 100, 120})}}), "7 GPU architectures"},
      {"cuda-architecture-of-this-machine", {{"unserved_gpus", Texts({"9.0"})}}, "compute capability 9.0"},
      {"cuda-fermi-magma", magma("2.6.1"), "texture references"},
      {"cuda-clock-rate", magma("2.9.0"), "clockRate"},
      {"cuda-nvtx", torch("2.6.0", {{"nvcc", Value("13.0.88")}}), "nvToolsExt"},
      {"cuda-driver-too-old",
       {{"nvcc", Value("13.0.88")}, {"driver", Value("570.86.15")}},
       "the driver 570.86.15 of this machine is too old"},
      {"cudnn-link", {{"cudnn_without_link", Value("/usr/lib/libcudnn.so.9")}}, "has no 'libcudnn.so'"},
      {"ccache-and-nvcc",
       {{"nvcc", Value("13.0.88")},
        {"script", Value("ccache -s")},
        {"script_variables", Texts({"CCACHE_DISABLE"})}},
       "enables ccache"},
      {"memory-per-job",
       {{"memory_gib", Value(1.0)}, {"memory_per_job_gib", Value(1.5)}},
       "can need 1.5 GiB"},
      {"flash-attention-memory", {{"package", Value("flash-attn")}, {"memory_gib", Value(32.0)}}, "32.0 GiB"},
      {"disk-space", {{"needed_disk_gib", Value(30.0)}, {"free_disk_gib", Value(12.5)}}, "12.5 GiB are free"},
      {"submodules-empty", {{"empty_submodules", Texts({"third_party/fmt"})}}, "'third_party/fmt'"},
      {"variable-ignored", torch("2.13.0", {{"script_variables", Texts({"NO_CUDA"})}}), "'NO_CUDA'"},
      {"variable-fatal", torch("2.13.0", {{"script_variables", Texts({"USE_NIGHTLY"})}}), "USE_NIGHTLY"},
      {"variable-conflict",
       torch("2.13.0", {{"script_variables", Texts({"BUILD_LIBTORCH_WHL", "BUILD_PYTHON_ONLY"})}}),
       "exclude each other"},
      {"version-without-number", torch("2.13.0", {{"script_variables", Texts({"PYTORCH_BUILD_VERSION"})}}),
       "assertion"},
      {"build-number", {{"build_number_invalid", Value(true)}}, "not a whole number"},
      {"version-of-the-recipe",
       torch("2.13.0", {{"version_made", Value("2.13.0.post2")}, {"version_made_differs", Value(true)}}),
       "produce version 2.13.0.post2, but the recipe says 2.13.0"},
  };
}

/// One case for each rule, with the facts that make it speak.
std::vector<Case> Cases() {
  std::vector<Case> cases = RecipeCases();
  for (Case& one : MachineCases()) cases.push_back(std::move(one));
  return cases;
}

class PreflightTest : public ::testing::Test {
 protected:
  std::vector<PreflightFinding> Judge(const std::map<std::string, Value>& facts) {
    Facts all = Sound();
    for (const auto& [name, value] : facts) {
      EXPECT_TRUE(all.contains(name)) << "no such fact: " << name;
      all[name] = value;
    }
    const Result<PreflightRules> rules = PreflightRules::BuiltIn();
    EXPECT_OK(rules);
    Result<std::vector<PreflightFinding>> found = rules->Judge(all);
    EXPECT_OK(found);
    return found ? *std::move(found) : std::vector<PreflightFinding>();
  }
};

TEST_F(PreflightTest, EmptySubmodulesOfPytorchAreNoLackWhereTheSystemHasTheLibraries) {
  const auto findings = [this](const char* package, const char* script) {
    return Judge({{"package", Value(package)},
                  {"version", Value("1.13.1")},
                  {"numpy", Value("1.24.2")},
                  {"empty_submodules", Texts({"third_party/fmt"})},
                  {"script", Value(script)}})
        .size();
  };
  EXPECT_EQ(findings("pytorch", "export USE_SYSTEM_LIBS=1 BLAS=OpenBLAS"), 0U);
  EXPECT_EQ(findings("pytorch", "export BLAS=OpenBLAS"), 1U);
  EXPECT_EQ(findings("torchaudio", "export USE_SYSTEM_LIBS=1"), 1U);
}

TEST_F(PreflightTest, NothingIsWrongWithASoundMachine) {
  EXPECT_THAT(Judge({}), IsEmpty());
  for (const char* version : {"1.13.1", "2.6.0", "2.15.0"}) {
    EXPECT_THAT(Judge({{"package", Value("pytorch")},
                       {"version", Value(version)},
                       {"cmake", Value("3.31.6")},
                       {"gxx", Value("12.2.0")},
                       {"python", Value("3.11.2")},
                       {"setuptools", Value("80.9.0")},
                       {"numpy", Value("2.0.2")}}),
                IsEmpty())
        << version;
  }
}

TEST_F(PreflightTest, EachRuleSpeaksOfItsFactsAlone) {
  std::vector<std::string> seen;
  for (const Case& one : Cases()) {
    const std::vector<PreflightFinding> found = Judge(one.facts);
    ASSERT_EQ(found.size(), 1U) << one.id;
    EXPECT_EQ(found[0].finding.id, one.id);
    EXPECT_THAT(found[0].finding.message, HasSubstr(one.says));
    EXPECT_FALSE(found[0].finding.fix.empty()) << one.id;
    EXPECT_FALSE(found[0].source.empty()) << one.id;
    seen.emplace_back(one.id);
  }
  ASSERT_OK_AND_ASSIGN(const PreflightRules rules, PreflightRules::BuiltIn());
  EXPECT_EQ(seen, rules.Ids()) << "a rule without a case, or in another order";
}

TEST_F(PreflightTest, EachCompilerHasItsBoundary) {
  struct Pair {
    const char* nvcc;
    const char* gxx;
    bool fits;
  };
  for (const Pair& pair : std::initializer_list<Pair>{{"10.2.89", "8.4.0", true},
                                                      {"10.2.89", "9.4.0", false},
                                                      {"11.0.221", "10.2.1", false},
                                                      {"11.3.109", "10.2.1", true},
                                                      {"11.3.109", "11.2.0", false},
                                                      {"11.8.89", "11.3.0", true},
                                                      {"11.8.89", "12.2.0", false},
                                                      {"12.2.140", "12.3.0", true},
                                                      {"12.2.140", "13.1.0", false},
                                                      {"12.3.52", "13.1.0", true},
                                                      {"12.9.86", "14.2.0", true},
                                                      {"12.9.86", "15.1.0", false},
                                                      {"13.0.88", "15.1.0", true},
                                                      {"13.5.37", "16.0.1", false}}) {
    EXPECT_EQ(Judge({{"nvcc", Value(pair.nvcc)}, {"nvcc_gxx", Value(pair.gxx)}}).empty(), pair.fits)
        << pair.nvcc << " " << pair.gxx;
  }
}

TEST_F(PreflightTest, ARuleOfAListSpeaksOfEachItem) {
  EXPECT_EQ(Judge({{"nvcc", Value("13.0.88")}, {"architectures", Numbers({50, 70, 90})}}).size(), 2U);
}

TEST_F(PreflightTest, AWorkaroundInTheScriptCounts) {
  const std::map<std::string, Value> facts = {{"package", Value("libtorch")},
                                              {"version", Value("2.6.0")},
                                              {"cmake", Value("4.1.0")},
                                              {"script", Value("export CMAKE_POLICY_VERSION_MINIMUM=3.5")}};
  EXPECT_THAT(Judge(facts), IsEmpty());
  EXPECT_THAT(Judge({{"package", Value("pytorch")},
                     {"version", Value("2.6.0")},
                     {"nvcc", Value("13.0.88")},
                     {"script", Value("export CUB_INCLUDE_DIR=\"$CUDA_HOME/include/cccl\"")}}),
              IsEmpty());
}

TEST(PreflightRules, ATableThatIsNoneIsRefused) {
  const auto parse = [](const std::string& rule) {
    return PreflightRules::Parse("names: {}\nrules:\n  a:\n" + rule, "t.yaml");
  };
  EXPECT_THAT(PreflightRules::Parse("rules: {}\n", "t.yaml"),
              FailsWith(ErrorCode::kInvalidInput, "the rule table has no 'names'"));
  EXPECT_THAT(parse("    when: 'true'\n"), FailsWith(ErrorCode::kInvalidInput, "the rule has no 'severity'"));
  EXPECT_THAT(parse("    severity: bad\n"),
              FailsWith(ErrorCode::kInvalidInput, "'bad' is not error, warning or info"));
  EXPECT_THAT(parse("    whn: 'true'\n"),
              FailsWith(ErrorCode::kInvalidInput,
                        "unknown key 'whn': the keys are each, when, severity, message, fix, source"));
  EXPECT_THAT(parse("    when: [a]\n"), FailsWith(ErrorCode::kInvalidInput, "'when' is a text"));
}

class RefusalTest : public ::testing::Test {
 protected:
  test::TestEnv env_;
  recipe::Recipe recipe_;
  HostPlan host_;
};

TEST_F(RefusalTest, ErrorsStopABuildAndWarningsAreTold) {
  recipe_.name = "pytorch";
  recipe_.version = "2.13.0";
  recipe_.script.env = {{"NO_CUDA", "1"}};
  EXPECT_OK(CheckPreflight(env_, {{.recipe = recipe_, .host = host_}}));
  EXPECT_THAT(env_.reporter.warnings(), ::testing::Contains(HasSubstr("[variable-ignored]")));
  recipe_.script.env = {{"USE_NIGHTLY", "1"}, {"PYTORCH_BUILD_VERSION", "2.13.0"}};
  const Result<void> refused = CheckPreflight(env_, {{.recipe = recipe_, .host = host_}});
  ASSERT_THAT(refused, FailsWith(ErrorCode::kRefused, HasSubstr("the build would fail: ")));
  EXPECT_THAT(refused.error().message(), HasSubstr("[variable-fatal]; PYTORCH_BUILD_VERSION without"));
  EXPECT_THAT(refused.error().hint(), HasSubstr("--no-preflight"));
}

TEST_F(RefusalTest, AVersionThatTheWheelWouldBeRefusedForIsRefusedBeforeTheBuild) {
  recipe_.name = "pytorch";
  recipe_.version = "2.13.0";
  recipe_.script.env = {{"PYTORCH_BUILD_VERSION", "2.13.0"}, {"PYTORCH_BUILD_NUMBER", "2"}};
  const auto judge = [&](const std::string& script) {
    return CheckPreflight(env_, {{.recipe = recipe_, .host = host_, .script = script}});
  };
  EXPECT_THAT(
      judge("pip install ."),
      FailsWith(ErrorCode::kRefused, HasSubstr("produce version 2.13.0.post2, but the recipe says 2.13.0 ")));
  EXPECT_OK(judge("export PYTORCH_BUILD_VERSION=2.13.0 PYTORCH_BUILD_NUMBER=1")) << "the script knows better";
  recipe_.version = "2.13.0.post2";
  EXPECT_OK(judge("pip install ."));
  recipe_.script.env["PYTORCH_BUILD_NUMBER"] = "two";
  EXPECT_THAT(judge("pip install ."), FailsWith(ErrorCode::kRefused, HasSubstr("not a whole number")));
}

TEST_F(RefusalTest, WhatHoldsForSeveralBuildsIsSaidOnceWithTheirNames) {
  recipe_.name = "pytorch";
  recipe_.version = "2.13.0";
  recipe_.script.env = {{"USE_NIGHTLY", "1"}};
  recipe::Recipe sound = recipe_;
  sound.script.env = {};
  const auto refused_of = [&](std::vector<RecipeFactsInput> builds) {
    const Result<void> refused = CheckPreflight(env_, builds);
    return refused ? std::string() : refused.error().message();
  };
  const RecipeFactsInput a{.recipe = recipe_, .host = host_, .subject = "pytorch-2.13.0-a"};
  const RecipeFactsInput b{.recipe = recipe_, .host = host_, .subject = "pytorch-2.13.0-b"};
  const RecipeFactsInput c{.recipe = sound, .host = host_, .subject = "pytorch-2.13.0-c"};
  const std::string fatal = "PyTorch's build stops when USE_NIGHTLY is set [variable-fatal]";
  EXPECT_EQ(refused_of({a, b}), "2 of the 2 builds would fail: " + fatal);
  EXPECT_EQ(refused_of({a, b, c}),
            "2 of the 3 builds would fail: " + fatal + " ('pytorch-2.13.0-a', 'pytorch-2.13.0-b')");
  EXPECT_EQ(refused_of({c}), "");
  EXPECT_EQ(refused_of({}), "");
}

}  // namespace
}  // namespace ptpkg::builder
