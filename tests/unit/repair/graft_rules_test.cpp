#include "repair/graft_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "repair/graft_names.h"
#include "support/hash.h"
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
  EXPECT_TRUE(rules.IsDropped("libpython3.11.so.1.0"));
  EXPECT_TRUE(rules.IsNeverRenamed("libcudnn_ops.so.9"));
  EXPECT_FALSE(rules.IsNeverRenamed("libgomp.so.1"));
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
              FailsWith(ErrorCode::kNotFound, HasSubstr("no layout 'none'")));
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
