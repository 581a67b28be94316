// What is known of a machine and of a recipe before its build.

#include "builder/preflight/recipe_facts.h"

#include <gtest/gtest.h>

#include "support/fake_process.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using recipe::Value;

std::string TextOf(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  if (found == facts.end()) return "no such fact";
  return found->second.ToJson().dump();
}

class FactsTest : public ::testing::Test {
 protected:
  FactsTest() {
    recipe_.name = "libtorch";
    recipe_.version = "2.15.0";
  }
  Facts Read(const std::optional<AbsPath>& source = {}) {
    Result<Facts> facts = ReadMachineFacts(env_);
    EXPECT_OK(facts);
    EXPECT_OK(
        AddRecipeFacts(env_, {.recipe = recipe_, .host = host_, .script = "make", .source = source}, *facts));
    return *std::move(facts);
  }

  test::TestEnv env_;
  recipe::Recipe recipe_;
  HostPlan host_;
};

TEST_F(FactsTest, OfTheMachine) {
  env_->variables["USE_CUDA"] = "1";
  env_->variables["HOME"] = "/root";
  const std::string folder = env_.dir().WriteFile("compat/libcuda.so.1", "").Parent().str();
  env_.dir().WriteFile("cudnn/libcudnn.so.9", "");
  env_.dir().WriteFile("other/libz.so.1", "");
  const AbsPath stub = env_.dir().WriteFile("lib64/stubs/libcuda.so", "");
  env_->variables["LD_LIBRARY_PATH"] = folder + ":" + (env_.dir() / "cudnn").str() +
                                       ":relative::" + (env_.dir() / "other").str() + ":" +
                                       stub.Parent().str();
  ASSERT_OK_AND_ASSIGN(const Facts facts, ReadMachineFacts(env_));
  EXPECT_THAT(TextOf(facts, "caller_variables"), ::testing::HasSubstr("\"USE_CUDA\""));
  EXPECT_EQ(TextOf(facts, "compatibility_driver"), "\"" + folder + "/libcuda.so.1\"");
  EXPECT_EQ(TextOf(facts, "shadowing_libraries"), "[\"" + (env_.dir() / "cudnn/libcudnn.so.9").str() + "\"]");
  EXPECT_EQ(TextOf(facts, "stub_library"), "\"" + stub.str() + "\"");
  EXPECT_GE(facts.at("cores").Number(), 1);
  EXPECT_GT(facts.at("free_disk_gib").Number(), 0);
  EXPECT_GT(facts.at("memory_gib").Number(), 0);
}

TEST_F(FactsTest, OfTheToolsThatTheBuildGets) {
  const AbsPath nvcc = env_.dir().WriteFile(
      "cuda/bin/nvcc", "#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n", 0755);
  env_.dir().WriteFile("cuda/include/cuda.h", "#define CUDA_VERSION 13000\n");
  const AbsPath gxx = env_.dir().WriteFile("bin/g++-12", "#!/bin/sh\necho 'g++ (Debian) 12.2.0'\n", 0755);
  host_.tools.tools = {{.requirement = "gxx", .path = gxx, .variable = "CXX"},
                       {.requirement = "cuda-nvcc", .path = nvcc, .variable = "CUDACXX"}};
  env_.dir().WriteFile("cuda/lib64/libcudnn.so.9", "");
  Facts facts = Read();
  EXPECT_EQ(TextOf(facts, "gxx"), R"("12.2.0")");
  EXPECT_EQ(TextOf(facts, "nvcc"), R"("13.0.88")");
  EXPECT_EQ(TextOf(facts, "nvcc_gxx"), R"("12.2.0")");
  EXPECT_EQ(TextOf(facts, "foreign_cuda_parts"), "[]");
  EXPECT_EQ(TextOf(facts, "cudnn_without_link"),
            "\"" + (env_.dir() / "cuda/lib64/libcudnn.so.9").str() + "\"");
  EXPECT_EQ(TextOf(facts, "cmake"), "null") << "the recipe does not require it";
  EXPECT_EQ(TextOf(facts, "needed_disk_gib"), "30.0");

  env_.dir().WriteFile("cuda/include/cuda.h", "#define CUDA_VERSION 12080\n");
  env_.dir().WriteFile("cuda/lib64/libcudnn.so", "");
  facts = Read();
  EXPECT_EQ(TextOf(facts, "foreign_cuda_parts"),
            "[\"'" + (env_.dir() / "cuda/include/cuda.h").str() + "' belongs to CUDA 12.8\"]");
  EXPECT_EQ(TextOf(facts, "cudnn_without_link"), "null");
}

TEST_F(FactsTest, TheCompilerBesideNvccIsTheOneThatNvccCalls) {
  const AbsPath nvcc = env_.dir().WriteFile(
      "cuda/bin/nvcc", "#!/bin/sh\necho 'Cuda compilation tools, release 11.8, V11.8.89'\n", 0755);
  const AbsPath gxx = env_.dir().WriteFile("bin/g++", "#!/bin/sh\necho 'g++ (Debian) 12.2.0'\n", 0755);
  host_.tools.tools = {{.requirement = "gxx", .path = gxx, .variable = "CXX"},
                       {.requirement = "cuda-nvcc", .path = nvcc, .variable = "CUDACXX"}};
  EXPECT_EQ(TextOf(Read(), "nvcc_gxx"), R"("12.2.0")");
  env_.dir().WriteFile("cuda/bin/gcc", "#!/bin/sh\necho 'gcc (Debian) 11.3.0'\n", 0755);
  EXPECT_EQ(TextOf(Read(), "nvcc_gxx"), R"("11.3.0")");
  env_.dir().WriteFile("cuda/bin/gcc", "#!/bin/sh\necho 'ERROR: No supported host compiler' >&2\nexit 1\n",
                       0755);
  EXPECT_EQ(TextOf(Read(), "nvcc_gxx_missing"), "true");
}

TEST_F(FactsTest, CudnnCountsWhereItIsRequired) {
  const AbsPath nvcc = env_.dir().WriteFile(
      "cuda/bin/nvcc", "#!/bin/sh\necho 'Cuda compilation tools, release 12.4, V12.4.131'\n", 0755);
  const AbsPath header = env_.dir().WriteFile("cuda/include/cudnn_version.h", "");
  const AbsPath library = env_.dir().WriteFile("cuda/lib64/libcudnn_adv.so.9", "..libcublasLt.so.11..");
  host_.tools.tools = {{.requirement = "cuda-nvcc", .path = nvcc, .variable = "CUDACXX"}};
  EXPECT_EQ(TextOf(Read(), "foreign_cudnn"), "null");
  host_.tools.headers = {header};
  EXPECT_EQ(TextOf(Read(), "foreign_cudnn"), "\"'" + library.str() + "' is for CUDA 11\"");
  env_.dir().WriteFile("cuda/lib64/libcudnn_adv.so.9", "..libcublasLt.so.12..");
  EXPECT_EQ(TextOf(Read(), "foreign_cudnn"), "null");
}

TEST_F(FactsTest, OfTheRecipe) {
  recipe_.requirements.build = {{.name = "gxx_linux-64", .version = "", .build = ""}};
  recipe_.requirements.host = {{.name = "magma", .version = ">=2.10.0,<3", .build = ""}};
  recipe_.script.env = {{"TORCH_CUDA_ARCH_LIST", "8.0;9.0a+PTX"}, {"NO_MKL", "1"}};
  const Facts facts = Read();
  EXPECT_EQ(TextOf(facts, "build_requirements"), R"(["gxx_linux-64"])");
  EXPECT_EQ(TextOf(facts, "host_magma"), R"(["2.10.0"])");
  EXPECT_EQ(TextOf(facts, "script_variables"), R"(["NO_MKL","TORCH_CUDA_ARCH_LIST"])");
  EXPECT_EQ(TextOf(facts, "architectures"), "[80,90]");
}

TEST_F(FactsTest, TheListOfTheRecipeComesBeforeThatOfTheScript) {
  recipe_.script.env = {{"TORCH_CUDA_ARCH_LIST", "8.0"}};
  recipe_.ptpkg.device_code = {"libfoo.so=any", "10.0;12.0+PTX"};
  EXPECT_EQ(TextOf(Read(), "architectures"), "[100,120]");
}

TEST_F(FactsTest, GpusThatNothingRunsOn) {
  Facts facts = Read();
  recipe_.ptpkg.device_code = {"8.0;9.0"};
  const auto unserved = [&](const char* gpu) {
    facts["gpus"] = Value(Value::List{Value(gpu)});
    EXPECT_OK(AddRecipeFacts(env_, {.recipe = recipe_, .host = host_}, facts));
    return !facts.at("unserved_gpus").AsList()->empty();
  };
  EXPECT_FALSE(unserved("8.6")) << "machine code runs on later chips of its major number";
  EXPECT_FALSE(unserved("9.0"));
  EXPECT_TRUE(unserved("7.5"));
  EXPECT_TRUE(unserved("12.0")) << "there is no PTX";
  recipe_.ptpkg.device_code = {"9.0+PTX"};
  EXPECT_FALSE(unserved("12.0"));
  EXPECT_TRUE(unserved("8.0"));
  for (const char* list : {"10.0a", "sm_100a", "compute_100a", "10.0a+PTX"}) {
    recipe_.ptpkg.device_code = {list};
    EXPECT_FALSE(unserved("10.0")) << list;
    EXPECT_TRUE(unserved("10.3")) << list << ": this chip alone";
    EXPECT_TRUE(unserved("12.0")) << list;
  }
  for (const char* list : {"10.0f", "compute_100f"}) {
    recipe_.ptpkg.device_code = {list};
    EXPECT_FALSE(unserved("10.3")) << list << ": its family";
    EXPECT_TRUE(unserved("12.0")) << list;
  }
}

TEST_F(FactsTest, SubmodulesThatNobodyFilled) {
  env_.dir().WriteFile(
      "src/.gitmodules",
      "[submodule \"a\"]\n\tpath = third_party/a\n\turl = ../a\n[submodule \"b\"]\n\tpath=b\n"
      "[submodule \"c\"]\n\tpath = ../c\n");
  ASSERT_OK(env_->fs.MakeDirs(env_.dir() / "src/third_party/a"));
  env_.dir().WriteFile("src/b/file", "");
  EXPECT_EQ(TextOf(Read(env_.dir() / "src"), "empty_submodules"), R"(["third_party/a"])");
  EXPECT_EQ(TextOf(Read(env_.dir() / "nowhere"), "empty_submodules"), "[]");
}

}  // namespace
}  // namespace ptpkg::builder
