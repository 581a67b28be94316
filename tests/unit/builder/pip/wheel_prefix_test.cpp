#include "builder/pip/wheel_prefix.h"

#include <gtest/gtest.h>

#include "archive/deflate/deflate_chunk.h"
#include "archive/zip/zip_writer.h"
#include "support/matchers.h"
#include "unit/builder/fixtures/fake_index.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Members = std::map<std::string, std::string>;

/// The bytes of a wheel with these files; all are programs.
std::string Zip(test::TestEnv& env, const Members& members) {
  const AbsPath path = env.dir() / "new.zip";
  EXPECT_OK(RemoveTree(env->fs, path));
  auto file = *env->fs.Open(path, OpenMode::kCreateNew);
  archive::ZipWriter writer(*file, 315532800);
  for (const auto& [name, text] : members) {
    auto sink = writer.Begin({.name = RelPath::Literal(name), .mode = 0744});
    EXPECT_OK(sink);
    EXPECT_OK((*sink)->Write(AsBytes(text)));
    EXPECT_OK(writer.End(archive::Crc32(0, AsBytes(text)), text.size()));
  }
  EXPECT_OK(writer.Finish());
  EXPECT_OK(file->Close());
  return *ReadFile(env->fs, path);
}

class WheelPrefixTest : public ::testing::Test {
 protected:
  WheelPrefixTest() : env_({.process = &process_}), index_(process_, env_) {
    layout_.build_prefix = env_.dir().MakeDir("tools");
    layout_.prefix = env_.dir().MakeDir("host");
    layout_.home = env_.dir().MakeDir("home");
    plan_.access.pip.executable = AbsPath::Literal("/v/bin/python");
    plan_.access.pip.version = "3.11.2";
  }

  /// Puts a wheel into the cache and into the plan.
  void Add(const std::string& name, const Members& members) {
    const std::string file = name + "-13.0.88-py3-none-any.whl";
    AddBytes(file, Zip(env_, members));
  }
  void AddBytes(const std::string& file, const std::string& bytes) {
    WheelPin pin = *PinFromFileName(file);
    pin.sha256 = HashText(bytes);
    const AbsPath place = env_->cache_dir / "downloads" / pin.sha256.Hex();
    ASSERT_OK(env_->fs.MakeDirs(place));
    ASSERT_OK(WriteFile(env_->fs, place / file, bytes));
    plan_.wheels.pins.push_back(pin);
  }
  Result<void> Lay() {
    return InstallBuildWheels(env_, {.plan = plan_, .layout = layout_, .log_file = log_});
  }
  std::string In(const std::string& name) { return env_.dir().ReadFile("tools/" + name); }

  test::FakeProcess process_;
  test::TestEnv env_;
  test::FakeIndex index_;
  WorkLayout layout_;
  WheelPlan plan_;
  AbsPath log_ = env_.dir() / "log";
};

TEST_F(WheelPrefixTest, MakesOneToolkitOfItsParts) {
  Add("nvidia_cuda_nvcc", {{"nvidia/cu13/bin/nvcc", "nvcc"}, {"nvidia/__init__.py", ""}});
  Add("nvidia_cuda_runtime", {{"nvidia/__init__.py", ""},
                              {"nvidia/cu13/include/cuda_runtime.h", "h"},
                              {"nvidia/cu13/lib/libcudart.so.13", "lib"},
                              {"nvidia/cu13/lib/__init__.py", ""}});
  Add("nvidia_cudnn_cu13", {{"nvidia/cudnn/include/cudnn.h", "h"},
                            {"nvidia/cudnn/lib/libcudnn.so.9", "lib"},
                            {"nvidia/cudnn/lib/__init__.py", ""}});
  Add("cuda_toolkit", {{"cuda_toolkit-13.0.2.dist-info/METADATA", "x"}});
  ASSERT_OK(Lay());
  EXPECT_EQ(In("cuda/bin/nvcc"), "nvcc");
  EXPECT_EQ(env_->fs.Stat(layout_.build_prefix / "cuda/bin/nvcc")->mode, 0755U) << "0744 in the wheel";
  EXPECT_EQ(In("cuda/include/cudnn.h"), "h");
  EXPECT_EQ(In("cuda/lib64/libcudart.so"), "lib");
  EXPECT_THAT(env_->fs.ReadLink(layout_.build_prefix / "cuda/lib/libcudnn.so"),
              IsOkAndHolds(std::string("libcudnn.so.9")));
  EXPECT_THAT(*env_->fs.ListDir(layout_.build_prefix), ElementsAre("cuda"));
}

TEST_F(WheelPrefixTest, TheNameThatTheLoaderKnowsIsLinked) {
  Add("nvidia_x", {{"nvidia/cu13/lib/libx.so.13", "a"},
                   {"nvidia/cu13/lib/libx.so.13.0.88", "b"},
                   {"nvidia/cu13/lib/liby.so", "own"},
                   {"nvidia/cu13/lib/liby.so.1", "c"}});
  ASSERT_OK(Lay());
  EXPECT_EQ(In("cuda/lib/libx.so"), "a");
  EXPECT_EQ(In("cuda/lib/liby.so"), "own");
}

TEST_F(WheelPrefixTest, TwoWheelsWithOneFileAreRefused) {
  Add("nvidia_a", {{"nvidia/cu13/include/x.h", "a"}});
  Add("nvidia_b", {{"nvidia/cu13/include/x.h", "b"}});
  const auto result = Lay();
  EXPECT_THAT(result, FailsWith(ErrorCode::kAlreadyExists, HasSubstr("cuda/include/x.h' already exists")));
  EXPECT_THAT(result.error().context(), Contains(HasSubstr("nvidia_b-13.0.88")));
}

TEST_F(WheelPrefixTest, AProgramThatNoWheelHoldsIsMissed) {
  Add("nvidia_cuda_nvcc", {{"nvidia/cu12/bin/ptxas", "x"}});  // as those of CUDA 12 are
  plan_.programs = {
      {.requirement = "cuda-nvcc", .path = "cuda/bin/nvcc", .variable = "CUDACXX", .version = "12.9"}};
  EXPECT_THAT(Lay(),
              FailsWith(ErrorCode::kCorrupt, "the wheels for 'cuda-nvcc' have no program 'cuda/bin/nvcc'"));
}

TEST_F(WheelPrefixTest, AFileThatIsNoArchiveIsRefused) {
  AddBytes("nvidia_a-13.0.88-py3-none-any.whl", "no zip at all");
  EXPECT_THAT(Lay(), FailsWith(ErrorCode::kCorrupt, ::testing::_));
}

TEST_F(WheelPrefixTest, HostPackagesGoToThePrefixesOwnPython) {
  AddBytes("numpy-13.0.88-py3-none-any.whl", "x");
  plan_.wheels.pins[0].use = WheelRole::kHost;
  const WheelPrefixInput input{.plan = plan_, .layout = layout_, .log_file = log_};
  EXPECT_EQ(BuildPackagesFolder(input), std::nullopt);
  ASSERT_OK(env_->fs.MakeDirs(layout_.build_prefix / "wheels"));  // the environment is there already
  ASSERT_OK(InstallHostWheels(env_, input, layout_.prefix / "bin/python"));
  const Command& own = process_.commands().back();
  EXPECT_EQ(own.argv[0], (layout_.prefix / "bin/python").str());
  EXPECT_THAT(own.argv, Contains("--no-index"));
  EXPECT_THAT(own.argv, Not(Contains("--prefix")));
  EXPECT_EQ(own.env.at("PIP_CONFIG_FILE"), "/dev/null");
  ASSERT_OK(InstallHostWheels(env_, input, std::nullopt));
  EXPECT_THAT(process_.commands().back().argv, Contains(layout_.prefix.str()));
  process_.Answer("python", 1, "ERROR: not a supported wheel\n");
  EXPECT_THAT(InstallHostWheels(env_, input, std::nullopt),
              FailsWith(ErrorCode::kCommandFailed, HasSubstr("not a supported wheel")));
}

}  // namespace
}  // namespace ptpkg::builder
