// What slices are told apart by, and what they leave alone, without an artifact: names, licences, labels.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/edit_wheel/vendor_code.h"
#include "pipeline/slice/slice_file.h"
#include "pipeline/slice/slice_variant.h"
#include "support/matchers.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using testing::HasSubstr;
using testing::Optional;

TEST(VendorLibraries, AreKnownByTheirNames) {
  for (const char* name : {"libcublas.so.13", "libcublasLt.so.12", "libcudart-d0da41ae.so.11.0",
                           "libcudnn_ops.so.9", "libnvJitLink.so.13", "libnvrtc-builtins.so.13.0",
                           "libnccl.so.2", "libcuda.so.1", "libcudadevrt.a", "libnppial.so.13"}) {
    EXPECT_TRUE(IsVendorLibrary(name)) << name;
  }
  for (const char* name : {"libtorch_cuda.so", "libc10_cuda.so", "libcuda_kernels.so", "libmagma.so",
                           "nvrtc.so", "libtorch_nvshmem.so"}) {
    EXPECT_FALSE(IsVendorLibrary(name)) << name;
  }
}

TEST(VendorLicences, AreThoseOfTheProjectItself) {
  constexpr const char* kEula = "End  User\nLicense Agreement\n\n... the use of NVIDIA software";
  constexpr const char* kOther = "NVIDIA SOFTWARE DEVELOPMENT KITS\nLicense agreement for NVIDIA software";
  constexpr const char* kBsd =
      "Copyright NVIDIA CORPORATION. Redistribution and use in source and binary forms";
  EXPECT_TRUE(IsVendorLicence(kEula));
  EXPECT_TRUE(IsVendorLicence(kOther));
  EXPECT_FALSE(IsVendorLicence(kBsd));
  EXPECT_FALSE(IsVendorLicence(kBsd + std::string(5000, ' ') + std::string(5000, 'x') + kEula));

  EXPECT_TRUE(IsOwnLicence("License.txt"));
  EXPECT_TRUE(IsOwnLicence("licenses/EULA"));
  EXPECT_FALSE(IsOwnLicence("licenses/third_party/cutlass/LICENSE.txt"));
  EXPECT_FALSE(IsOwnLicence("METADATA"));

  EXPECT_EQ(VendorLicenceOf({{"a", kEula}, {"b", kOther}}), "a");
  EXPECT_EQ(VendorLicenceOf({{"a", kBsd}, {"b", kEula}}), "");
  EXPECT_EQ(VendorLicenceOf({}), "");

  EXPECT_FALSE(IsOwnLicence("LICENSE-3rd-party.txt"));
  EXPECT_FALSE(IsOwnLicence("licenses/License_third_party"));
  EXPECT_TRUE(IsVendorLicenceName("LicenseRef-NVIDIA-End-User-License-Agreement"));
  EXPECT_TRUE(IsVendorLicenceName("NVIDIA Proprietary Software"));
  EXPECT_FALSE(IsVendorLicenceName("BSD-3-Clause AND LicenseRef-NVIDIA-Proprietary"));
  EXPECT_FALSE(IsVendorLicenceName("MIT"));
  for (const char* name : {"libnvcomp.so.5", "libcustatevec.so.1", "libnvtiff.so.0"})
    EXPECT_TRUE(IsVendorLibrary(name)) << name;
}

TEST(DeviceFiles, HaveCodeForWhatRunsIt) {
  elf::DeviceCode code;
  code.embedded.sass[{.number = 80}] = {.elements = 2, .size_bytes = 100};
  code.embedded.sass[{.number = 90, .suffix = 'a'}] = {.elements = 1, .size_bytes = 30};
  code.relocatable.ptx[{.number = 100}] = {.elements = 1, .size_bytes = 7};
  code.relocatable.sass[{.number = 75}] = {.elements = 1, .size_bytes = 3};
  code.relocatable.other_bytes = 5;
  EXPECT_EQ(SizesOf(code),
            (CodeSizes{{"sm_80", 100}, {"sm_90a", 30}, {"compute_100", 7}, {"other", 5}, {"sm_75", 3}}));
  // Of an object all of it counts.
  EXPECT_EQ(GpusOf(code), (std::vector<std::uint32_t>{75, 80, 90}));
  for (const std::uint32_t gpu : {75U, 80U, 86U, 89U, 90U, 100U, 103U, 120U})
    EXPECT_TRUE(HasCodeFor(code, gpu)) << gpu;
  for (const std::uint32_t gpu : {70U, 87U}) EXPECT_FALSE(HasCodeFor(code, gpu)) << gpu;
  // Of a linked file what the device linker made.
  code.is_linked = true;
  EXPECT_EQ(GpusOf(code), (std::vector<std::uint32_t>{80, 90}));
  for (const std::uint32_t gpu : {75U, 100U}) EXPECT_FALSE(HasCodeFor(code, gpu)) << gpu;
  code.linkable_ptx[{.number = 90}] = {.elements = 1, .size_bytes = 7};
  EXPECT_TRUE(HasCodeFor(code, 100));
}

TEST(Variants, SayWhatTheSliceIsFor) {
  const versions::GpuSlice slice{.gpus = {90, 100}};
  const VariantFacts plain{.cuda = "13.0"};
  EXPECT_EQ(VariantLabel(slice, plain), "sm90.sm100");
  EXPECT_EQ(VariantOf(slice, plain),
            (wheel::VariantDocument{.namespaces = {"nvidia"},
                                    .variants = {{"sm90.sm100",
                                                  {{"nvidia",
                                                    {{"cuda_version_lower_bound", {"13.0"}},
                                                     {"sm_arch", {"100_real", "90_real"}}}}}}}}));
  EXPECT_EQ(VariantLabel(slice, {.cuda = "13.0", .labels_cuda = true}), "sm90.sm100.cuda13_0");
  const VariantFacts level{.cuda = "", .level = elf::IsaLevel::kV3};
  EXPECT_EQ(VariantLabel(slice, level), "sm90.sm100.x86_64_v3");
  EXPECT_EQ(VariantOf(slice, level).variants.begin()->second,
            (wheel::VariantProperties{{"nvidia", {{"sm_arch", {"100_real", "90_real"}}}},
                                      {"x86_64", {{"level", {"v3"}}}}}));
  EXPECT_EQ(NullVariantOf(level),
            (wheel::VariantDocument{.namespaces = {"nvidia", "x86_64"}, .variants = {{"null", {}}}}));
}

TEST(Variants, TakeTheVersionOfCudaFromTheLocalOne) {
  EXPECT_EQ(CudaOfLocal({"cu130"}), "13.0");
  EXPECT_EQ(CudaOfLocal({"cu92", "with", "cudnn"}), "9.2");
  for (const char* other : {"cpu", "cu", "cu1", "cu12", "cu1300", "rocm6", "custom"})
    EXPECT_EQ(CudaOfLocal({other}), "") << other;
  EXPECT_EQ(CudaOfLocal({}), "");
  EXPECT_THAT(ParseCuda("12.8"), IsOkAndHolds(std::string("12.8")));
  for (const char* wrong : {"", "13", "13.", ".0", "13.0.1", "cu130"})
    EXPECT_THAT(ParseCuda(wrong), FailsWith(ErrorCode::kUsage, HasSubstr("is not a CUDA version"))) << wrong;
}

TEST(NotesOfSlices, AskForNoArchitectures) {
  EXPECT_THAT(NoteOfSlice(R"({"allow_unresolved": ["libx.so"], "device_code": ["8.0;9.0"]})", "x"),
              IsOkAndHolds(Optional(HasSubstr("\"any\""))));
  EXPECT_THAT(NoteOfSlice(R"({"allow_unresolved": ["libx.so"]})", "x"),
              IsOkAndHolds(testing::Eq(std::nullopt)));
  EXPECT_THAT(NoteOfSlice("x", "info/ptpkg.json"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("info/ptpkg.json")));
}

}  // namespace
}  // namespace ptpkg::pipeline
