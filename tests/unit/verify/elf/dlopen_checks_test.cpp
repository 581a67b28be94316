// Names that are opened at run time, after bundling and renaming.

#include "verify/elf/dlopen_checks.h"

#include "unit/elf/fixtures/elf_additions.h"
#include "unit/verify/fixtures/memory_tree.h"

namespace ptpkg::verify {
namespace {

using elf::test::SyntheticElf;
using ptpkg::test::FailsWith;
using test::Is;
using test::Library;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Tree = test::MemoryTree;

/// A library whose constants hold `names`.
std::string Mentioning(const std::vector<std::string>& names, SyntheticElf elf = Library({})) {
  std::string image = elf.Build();
  std::string data;
  for (const std::string& name : names) data += name + '\0';
  elf::test::AddSection(image, elf.codec(), ".rodata", data);
  return image;
}

TEST(Opened, NothingOfTheFamilyInTheTreeIsNoFinding) {
  Tree tree;
  tree.AddText("torch/lib/libtorch_cpu.so", Mentioning({"libmkl_avx2.so.2", "libcudnn_graph.so.9",
                                                        "libnvrtc.so.13", "libcuda.so.1", "libother.so"}));
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(Opened, PresentUnderItsNameOrWithTheVersionThatTheProgramAppends) {
  Tree tree;
  tree.AddText("lib/libcudnn.so.9",
               Mentioning({"libcudnn_graph.so", "libcudnn_ops.so.9", "libcudnn_adv.so.%d"}));
  tree.Add("lib/libcudnn_graph.so.9", Library({}));
  tree.Add("lib/libcudnn_ops.so.9", Library({}));
  tree.Add("lib/libcudnn_adv.so.9", Library({}));
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(Opened, LinkCounts) {
  Tree tree;
  tree.AddText("lib/libnvrtc.so.12", Mentioning({"libnvrtc-builtins.so.12.8"}));
  tree.Add("lib/libnvrtc-builtins.so.12.8.93", Library({}));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-dlopen-missing", Severity::kError, "lib/libnvrtc.so.12",
                                           "opens 'libnvrtc-builtins.so.12.8' at run time")));
  tree.fs().AddSymlink("libnvrtc-builtins.so.12.8.93", "/tree/lib/libnvrtc-builtins.so.12.8");
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(Opened, MissingPartOfABundledFamily) {
  Tree tree;
  tree.AddText("lib/libcudnn.so.9", Mentioning({"libcudnn_graph.so", "libcudnn_ext.so"}));
  EXPECT_THAT(
      tree.Check(),
      ElementsAre(Is("elf-dlopen-missing", Severity::kError, "lib/libcudnn.so.9",
                     "opens 'libcudnn_graph.so' or a version of it at run time, which is not in the tree")));
  EXPECT_THAT(tree.Check({.allow_unresolved = {"libcudnn_graph.so*"}}), IsEmpty());
  EXPECT_THAT(tree.Check({.dependencies = {"nvidia-cudnn-cu13"}}), IsEmpty());
  EXPECT_THAT(tree.Check({.dependencies = {"nvidia-nccl-cu13"}}), testing::SizeIs(1));
}

TEST(Opened, PyTorchWithoutItsLinearAlgebra) {
  Tree tree;
  tree.AddText("torch/lib/libtorch_cuda.so", Mentioning({"libtorch_cuda_linalg.so"}));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-dlopen-missing", Severity::kError,
                                           "torch/lib/libtorch_cuda.so", "'libtorch_cuda_linalg.so'")));
  tree.Add("torch/lib/libtorch_cuda_linalg.so", Library({}));
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(Opened, HashInTheName) {
  Tree tree;
  tree.AddText("pkg.libs/libcudnn-0a1b2c3d.so.9", Mentioning({"libcudnn_graph.so", "libcudnn.so.9"}));
  tree.Add("pkg.libs/libcudnn_graph-99887766.so.9", Library({}));
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-dlopen-renamed", Severity::kError, "pkg.libs/libcudnn-0a1b2c3d.so.9",
                             "opens 'libcudnn_graph.so' or a version of it at run time, but the tree has it "
                             "as 'pkg.libs/libcudnn_graph-99887766.so.9'")));
  tree.Add("pkg.libs/libcudnn_graph.so.9", Library({}));
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(Opened, AnyFileMayBeTheOneThatOpens) {
  Tree tree;
  tree.AddText("torch/lib/libtorch_cuda.so", Mentioning({"/usr/lib/libnvrtc.so.11.2"}));
  tree.Add("torch/lib/libnvrtc-672ee683.so.11.2", Library({}));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-dlopen-renamed", Severity::kError,
                                           "torch/lib/libtorch_cuda.so", "'libnvrtc.so.11.2'")));
}

TEST(Opened, OldSonameIsFoundWhileItIsLoaded) {
  Tree tree;
  tree.AddText("lib/libuser.so",
               Mentioning({"libcublasLt.so.12"}, Library({"libcublasLt-b6d14a74.so.12"}, "$ORIGIN")));
  SyntheticElf renamed = Library({});
  renamed.soname = "libcublasLt.so.12";
  tree.Add("lib/libcublasLt-b6d14a74.so.12", renamed);
  EXPECT_THAT(tree.Check(), testing::Contains(Is("elf-dlopen-renamed", Severity::kWarning, "lib/libuser.so",
                                                 "finds it only if another file has loaded it")));
}

TEST(Opened, VersionDropped) {
  Tree tree;
  tree.AddText("lib/libamdhip64.so", Mentioning({"libamd_comgr.so.2"}));
  tree.Add("lib/libamd_comgr.so", Library({}));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-dlopen-renamed", Severity::kWarning, "lib/libamdhip64.so",
                                           "but the tree has it as 'lib/libamd_comgr.so'")));
}

TEST(Opened, NamesWithoutHash) {
  EXPECT_EQ(NameWithoutHash("libx-1a2b3c4d.so.9"), "libx.so.9");
  EXPECT_EQ(NameWithoutHash("libx-1a2b3c4d-99887766.so"), "libx.so");
  EXPECT_EQ(NameWithoutHash("libx-1a2b3c4g.so"), "libx-1a2b3c4g.so");
  EXPECT_EQ(NameWithoutHash("libx-1a2b3c4.so"), "libx-1a2b3c4.so");
  EXPECT_EQ(NameWithoutHash("-1a2b3c4d.so"), "-1a2b3c4d.so");
  EXPECT_EQ(NameWithoutHash("libx.so.1"), "libx.so.1");
  EXPECT_EQ(NameWithoutHash("README"), "README");
}

TEST(Opened, WrongTablesAreRefusedWithTheirPlace) {
  const auto parse = [](const std::string& text) { return DlopenTable::Parse(text, "t.yaml"); };
  EXPECT_OK(parse("groups: {a: {names: liba.so*}}"));
  EXPECT_THAT(parse("- a"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("no 'groups'")));
  EXPECT_THAT(parse("groups: {a: {openers: liba.so*}}"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("group 'a' has no names")));
  EXPECT_THAT(parse("groups: {a: {names: [liba.so]}}"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("globs must be text")));
  EXPECT_THAT(parse("groups: {a: {nmaes: liba.so}}"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'nmaes'")));
}

}  // namespace
}  // namespace ptpkg::verify
