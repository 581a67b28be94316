// Toolkits of one machine, and parts of several in one place.

#include "builder/tools/cuda_toolkit.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

class CudaToolkitTest : public ::testing::Test {
 protected:
  CudaToolkitTest() : env_({.fs = &fs_}) {}

  CudaToolkit Read(const char* nvcc) {
    Result<CudaToolkit> toolkit = ReadCudaToolkit(env_, AbsPath::Literal(nvcc));
    EXPECT_OK(toolkit);
    return *std::move(toolkit);
  }
  /// In the place of an earlier one.
  void Link(const char* target, const char* path) {
    static_cast<void>(fs_.Remove(AbsPath::Literal(path)));
    fs_.AddSymlink(target, path);
  }
  /// Toolkit 12.4 in NVIDIA's layout.
  void AddToolkit() {
    fs_.AddFile("/c/bin/nvcc", "", 0755);
    fs_.AddFile("/c/bin/nvcc.profile", "");
    fs_.AddFile("/c/include/cuda.h", "#define CUDA_VERSION 12040\n");
    fs_.AddFile("/c/include/cuda_runtime_api.h", "/* */\n#define CUDART_VERSION  12040\n");
    fs_.AddFile("/c/targets/x86_64-linux/include/cublas_api.h", "#define CUBLAS_VER_MAJOR 12\n");
    fs_.AddFile("/c/lib64/libcudart.so.12.4.127", "");
    Link("libcudart.so.12", "/c/lib64/libcudart.so");
    Link("libcudart.so.12.4.127", "/c/lib64/libcudart.so.12");
  }
  std::vector<std::string> Foreign(const std::string& version) {
    return ForeignCudaParts(env_, Read("/c/bin/nvcc"), version);
  }

  test::MemFs fs_;
  test::TestEnv env_;
};

TEST_F(CudaToolkitTest, OfNvidiasLayout) {
  AddToolkit();
  fs_.AddSymlink("/c/bin/nvcc", "/usr/local/bin/nvcc");
  const CudaToolkit toolkit = Read("/usr/local/bin/nvcc");
  EXPECT_EQ(toolkit.root.str(), "/c");
  EXPECT_TRUE(toolkit.has_profile);
  EXPECT_FALSE(toolkit.host_compiler);
  fs_.AddFile("/c/bin/gcc", "", 0755);
  EXPECT_THAT(Read("/c/bin/nvcc").host_compiler, Optional(AbsPath::Literal("/c/bin/gcc")));
}

TEST_F(CudaToolkitTest, OfDebiansPackage) {
  fs_.AddFile("/usr/bin/nvcc", "", 0755);
  fs_.AddFile("/usr/bin/gcc", "", 0755);
  EXPECT_FALSE(Read("/usr/bin/nvcc").host_compiler) << "PATH has that one";
  fs_.AddFile("/usr/lib/nvidia-cuda-toolkit/bin/gcc", "", 0755);
  fs_.AddFile("/usr/include/cuda.h", "#define CUDA_VERSION 11080\n");
  fs_.AddFile("/usr/lib/x86_64-linux-gnu/libcudart.so.11.8.89", "");
  fs_.AddSymlink("libcudart.so.11.8.89", "/usr/lib/x86_64-linux-gnu/libcudart.so");
  const CudaToolkit toolkit = Read("/usr/bin/nvcc");
  EXPECT_EQ(toolkit.root.str(), "/usr");
  EXPECT_FALSE(toolkit.has_profile);
  EXPECT_THAT(toolkit.host_compiler, Optional(AbsPath::Literal("/usr/lib/nvidia-cuda-toolkit/bin/gcc")));
  EXPECT_THAT(ForeignCudaParts(env_, toolkit, "11.8.89"), IsEmpty());
  EXPECT_THAT(ForeignCudaParts(env_, toolkit, "12.4.131"),
              ElementsAre("'/usr/include/cuda.h' belongs to CUDA 11.8",
                          "'/usr/lib/x86_64-linux-gnu/libcudart.so' belongs to CUDA 11.8"));
}

TEST_F(CudaToolkitTest, PartsOfAnotherToolkit) {
  AddToolkit();
  EXPECT_THAT(Foreign("12.4.131"), IsEmpty());
  EXPECT_THAT(Foreign("12.40.1"), testing::SizeIs(3));
  fs_.AddFile("/c/include/cuda_runtime_api.h", "#define CUDART_VERSION 11080\n");
  EXPECT_THAT(Foreign("12.4.131"), ElementsAre("'/c/include/cuda_runtime_api.h' belongs to CUDA 11.8"));
  AddToolkit();
  fs_.AddFile("/c/targets/x86_64-linux/include/cublas_api.h", "#define CUBLAS_VER_MAJOR 13\n");
  EXPECT_THAT(Foreign("12.4.131"),
              ElementsAre("'/c/targets/x86_64-linux/include/cublas_api.h' belongs to CUDA 13"));
}

TEST_F(CudaToolkitTest, TheNameOfALibraryMaySayTheMajorVersionAlone) {
  AddToolkit();
  fs_.AddFile("/l/libcudart.so.12", "");
  Link("/l/libcudart.so.12", "/c/lib64/libcudart.so");
  EXPECT_THAT(Foreign("12.4.131"), IsEmpty());
  fs_.AddFile("/l/libcudart.so.11.0", "");
  Link("/l/libcudart.so.11.0", "/c/lib64/libcudart.so");
  EXPECT_THAT(Foreign("12.4.131"), ElementsAre("'/c/lib64/libcudart.so' belongs to CUDA 11"));
}

TEST_F(CudaToolkitTest, CudnnOfAnotherCuda) {
  AddToolkit();
  const auto foreign = [&] {
    return ForeignCudnn(env_, Read("/c/bin/nvcc"), AbsPath::Literal("/d/include/cudnn_version.h"),
                        "12.4.131");
  };
  EXPECT_EQ(foreign(), std::nullopt) << "no library";
  // The name may lie across two pieces of what is read at once.
  std::string library(std::size_t{4} << 20U, 'x');
  library.replace(library.size() - 5, 5, "libcu");
  fs_.AddFile("/d/lib64/libcudnn_adv.so.9", library + std::string("blasLt.so.11\0more", 17));
  EXPECT_THAT(foreign(), Optional(std::string("'/d/lib64/libcudnn_adv.so.9' is for CUDA 11")));
  fs_.AddFile("/d/lib64/libcudnn_adv.so.9", library + std::string("blasLt.so.12\0more", 17));
  EXPECT_EQ(foreign(), std::nullopt);
  // So may its digits: each begin of the name around the end of the first piece.
  for (std::size_t at = library.size() + 40; at < library.size() + 66; ++at) {
    std::string cut(at, 'x');
    cut.append("libcublasLt.so.12").append(100, '\0');
    fs_.AddFile("/d/lib64/libcudnn_adv.so.9", cut);
    EXPECT_EQ(foreign(), std::nullopt) << at;
  }
  fs_.AddFile("/d/lib64/libcudnn_adv.so.9", library + "libcublasLt.so.11");
  EXPECT_NE(foreign(), std::nullopt) << "at the end of the file";
  fs_.AddFile("/d/lib64/libcudnn_adv.so.9", "a stub");
  EXPECT_EQ(foreign(), std::nullopt) << "nothing tells";
}

}  // namespace
}  // namespace ptpkg::builder
