#include "repair/graft_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "repair/graft_names.h"
#include "support/digest/hash.h"
#include "support/matchers.h"
#include "support/must.h"

namespace ptpkg::repair {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::HasHint;
using ptpkg::test::Must;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(GraftRules, SomeLibrariesStayWhateverTheTag) {
  const GraftRules rules = Must(GraftRules::BuiltIn());
  EXPECT_TRUE(rules.IsNeverGrafted("libcuda.so.1"));
  EXPECT_TRUE(rules.IsNeverGrafted("libtorch_cpu.so"));
  EXPECT_FALSE(rules.IsNeverGrafted("libtorchaudio_sox.so"));
  EXPECT_TRUE(rules.IsProvidedByInterpreter("libpython3.11.so.1.0"));
  EXPECT_TRUE(rules.IsNeverRenamed("libcudnn_ops.so.9"));
  EXPECT_FALSE(rules.IsNeverRenamed("libgomp.so.1"));
}

TEST(GraftRules, LibrariesOfTheMachineStayWithAReason) {
  const GraftRules rules = Must(GraftRules::BuiltIn());
  for (const char* const name :
       {"libibverbs.so.1", "libmlx5.so.1", "librdmacm.so.1", "libefa.so.1", "libfabric.so.1", "libEGL.so.1",
        "libGLX.so.0", "libGLdispatch.so.0", "libOpenGL.so.0", "libvulkan.so.1", "libOpenCL.so.1",
        "libva.so.2", "libva-drm.so.2", "libnvoptix.so.1", "libudev.so.1", "libdrm.so.2",
        "libdrm_amdgpu.so.1", "libmpi.so.40", "libmpi_cxx.so.40"}) {
    EXPECT_NE(rules.MachineLibraryReason(name), "") << name;
  }
  for (const char* const name : {"libgomp.so.1", "libvalue.so.1", "libGLU.so.1", "libmpio.so.1"}) {
    EXPECT_EQ(rules.MachineLibraryReason(name), "") << name;
  }
}

TEST(GraftRules, EveryBackendOfPyTorchIsThere) {
  const GraftRules rules = Must(GraftRules::BuiltIn());
  EXPECT_THAT(rules.BackendNames(), ElementsAre("pytorch-cpu", "pytorch-cuda12", "pytorch-cuda13",
                                                "pytorch-rocm", "pytorch-rocm-bundled", "pytorch-xpu"));
  for (const std::string& name : rules.BackendNames()) {
    const Backend backend = Must(rules.FindBackend(name));
    EXPECT_THAT(backend.never_rename, Contains("libgomp.so.*")) << name;
    EXPECT_EQ(backend.platform, "manylinux_2_28") << name;
    // GPU builds say it with DT_RPATH, which LD_LIBRARY_PATH does not come before.
    const elf::PathTag tag = name == "pytorch-cpu" ? elf::PathTag::kRunpath : elf::PathTag::kRpath;
    for (const elf::PathRule& rule : backend.layout) EXPECT_EQ(rule.tag, tag) << name;
  }
  EXPECT_EQ(Must(rules.FindBackend("pytorch-rocm-bundled")).rename, Rename::kBare);
  EXPECT_EQ(Must(rules.FindBackend("pytorch-rocm-bundled")).data_folders.at("librocblas.so*"),
            "torch/lib/rocblas/library");
  EXPECT_THAT(rules.FindBackend("pytorch-cuda"), FailsWith(ErrorCode::kUsage, HasSubstr("pytorch-cuda")));
  EXPECT_THAT(rules.FindBackend("pytorch-cuda14"), HasHint(HasSubstr("did you mean")));
}

TEST(GraftRules, TablesOfAnotherShapeAreRefused) {
  const auto parse = [](const std::string& text) { return GraftRules::Parse(text, "t.yaml"); };
  const std::string lists = "never_graft: b\ndropped: c\nnever_rename: d\n";
  EXPECT_OK(parse("backends: {}\n" + lists));
  EXPECT_THAT(parse(lists), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'backends'")));
  EXPECT_THAT(parse("backends: {}\n"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'never_graft' is missing")));
  EXPECT_THAT(parse("backends: {x: {layout: none}}\n" + lists),
              FailsWith(ErrorCode::kNotFound, HasSubstr("unknown layout 'none'")));
}

TEST(GraftRules, WaysToNameCopies) {
  EXPECT_EQ(Must(ParseRename("bare")), Rename::kBare);
  EXPECT_THAT(ParseRename("sha"), FailsWith(ErrorCode::kUsage, HasSubstr("'sha'")));
}

TEST(HashedName, IsThatOfAuditwheel) {
  const Sha256 digest = HashText("");
  EXPECT_EQ(HashedName("libx.so.1.2", digest), "libx-e3b0c442.so.1.2");
  EXPECT_EQ(HashedName("libx-e3b0c442.so.1", digest), "libx-e3b0c442.so.1");
  EXPECT_EQ(HashedName("plain", digest), "plain-e3b0c442");
}

}  // namespace
}  // namespace ptpkg::repair
