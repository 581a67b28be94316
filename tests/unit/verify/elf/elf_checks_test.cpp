#include "verify/elf/elf_checks.h"

#include "unit/verify/fixtures/memory_tree.h"

namespace ptpkg::verify {
namespace {

using elf::test::SyntheticElf;
using ptpkg::test::FailsWith;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using test::Is;
using test::kRoot;
using test::Library;
using Tree = test::MemoryTree;

TEST(ElfChecks, WholeTreeInWheelLayoutIsClean) {
  Tree tree;
  tree.Add("torch/_C.so", Library({"libtorch.so", "libc.so.6"}, "$ORIGIN:$ORIGIN/lib"));
  tree.Add("torch/lib/libtorch.so", Library({"libc10.so", "libstdc++.so.6", "libcuda.so.1"}, "$ORIGIN"));
  tree.Add("torch/lib/libc10.so", Library({"libm.so.6"}));
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(ElfChecks, WholeTreeInPrefixLayoutIsClean) {
  Tree tree;
  const std::string site = "lib/python3.11/site-packages/";
  tree.Add(site + "torch/lib/libtorch.so", Library({"libz-own.so.1"}, "$ORIGIN:$ORIGIN/../../../.."));
  tree.Add("lib/libz-own.so.1", Library({"libc.so.6"}));
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(ElfChecks, MissingLibraryIsAnError) {
  Tree tree;
  tree.Add("lib/liba.so", Library({"libnowhere.so.3"}, "$ORIGIN"));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-unresolved-needed", Severity::kError, "lib/liba.so",
                                           "needs 'libnowhere.so.3', which the tree")));
  EXPECT_THAT(tree.Check({.allow_unresolved = {"libnowhere.so.*"}}), IsEmpty());
}

TEST(ElfChecks, DeclaredDependenciesProvide) {
  Tree tree;
  tree.Add("pkg/liba.so", Library({"libcudnn.so.9", "libother.so.1"}, "$ORIGIN"));
  EXPECT_THAT(tree.Check(), testing::SizeIs(2));
  tree.AddText("pkg-1.dist-info/METADATA",
               "Metadata-Version: 2.1\nName: pkg\nVersion: 1\nRequires-Dist: NVIDIA_cudnn.cu13==9.1; "
               "python_version>'3'\n");
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-unresolved-needed", Severity::kError, "pkg/liba.so", "libother.so.1")));
  tree.AddText("info/index.json", R"({"depends": ["mystery >=1", "python 3.11.*"]})");
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-unresolved-needed", Severity::kWarning, "pkg/liba.so",
                                           "a dependency must provide it")));
  EXPECT_THAT(Tree().Check({.dependencies = {"mkl"}}), IsEmpty());
}

TEST(ElfChecks, WhatADependencyIsKnownToInstallProvides) {
  for (const char* const library : {"libcudart.so.13", "libcublasLt.so.13", "libcudnn.so.9"}) {
    Tree tree;
    tree.Add("pkg/liba.so", Library({library, "libtorch.so", "libnowhere.so.1"}, "$ORIGIN"));
    EXPECT_THAT(tree.Check(), testing::SizeIs(3)) << library;
    tree.AddText("pkg-1.dist-info/METADATA",
                 "Metadata-Version: 2.1\nName: pkg\nVersion: 1\nRequires-Dist: torch==2.15.0\n");
    EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-unresolved-needed", Severity::kError, "pkg/liba.so",
                                             "needs 'libnowhere.so.1', which the tree, its dependencies")))
        << library;
  }
  // The CUDA of another torch than the newest, which is what installers take.
  Tree older;
  older.Add("pkg/liba.so", Library({"libcudart.so.12"}, "$ORIGIN"));
  older.AddText("pkg-1.dist-info/METADATA",
                "Metadata-Version: 2.1\nName: pkg\nVersion: 1\nRequires-Dist: torch>=2.10\n");
  EXPECT_THAT(older.Check(), ElementsAre(Is("elf-unresolved-needed", Severity::kError, "pkg/liba.so", "")));
  Tree solver;
  solver.Add("pkg/liba.so", Library({"libnvJitLink.so.12"}, "$ORIGIN"));
  solver.AddText("pkg-1.dist-info/METADATA",
                 "Metadata-Version: 2.1\nName: pkg\nVersion: 1\nRequires-Dist: nvidia-cusolver-cu12\n");
  EXPECT_THAT(solver.Check(), IsEmpty());
  Tree conda;
  conda.Add("lib/liba.so", Library({"libcudart.so.13"}, "$ORIGIN"));
  conda.AddText("info/index.json", R"({"depends": ["pytorch 2.15.*"]})");
  EXPECT_THAT(conda.Check(), IsEmpty());
  conda.AddText("info/index.json", R"({"depends": ["numpy"]})");
  EXPECT_THAT(conda.Check(), testing::SizeIs(1));
}

TEST(ElfChecks, ThePackageMayLeaveLibrariesToTheMachine) {
  for (const char* const place : {"pkg-1.dist-info/ptpkg.json", "info/ptpkg.json"}) {
    Tree tree;
    tree.Add("pkg/liba.so", Library({"libgomp.so.1", "libnone.so"}));
    tree.AddText(place, R"({"allow_unresolved": ["libgomp.so*"]})");
    EXPECT_THAT(tree.Check(),
                testing::UnorderedElementsAre(
                    Is("elf-allowed-needed", Severity::kInfo, "pkg/liba.so",
                       "'libgomp.so.1', which the package expects"),
                    Is("elf-unresolved-needed", Severity::kError, "pkg/liba.so", "libnone.so")));
    EXPECT_THAT(tree.Check({.allow_unresolved = {"lib*"}}), IsEmpty());
    tree.AddText(place, "{");
    EXPECT_THAT(tree.Check({.allow_unresolved = {"lib*"}}),
                ElementsAre(Is("artifact-note-invalid", Severity::kWarning, place, "cannot read the note")));
  }
  for (const char* const place : {"pkg/ptpkg.json", "ptpkg.json"}) {
    Tree tree;
    tree.Add("pkg/liba.so", Library({"libgomp.so.1"}));
    tree.AddText(place, R"({"allow_unresolved": ["*"]})");  // the project's own file
    EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-unresolved-needed", Severity::kError, "pkg/liba.so", "")))
        << place;
  }
}

TEST(ElfChecks, WhatTheTreeSaysOfItselfIsReadFromRegularFilesOnly) {
  for (const char* const target : {"absent", "/etc/passwd", "/tree/pkg/note", "."}) {
    Tree tree;
    tree.AddText("pkg/note", R"({"allow_unresolved": ["lib*"]})");
    tree.Add("pkg/liba.so", Library({"libgomp.so.1"}));
    tree.fs().AddFile("/etc/passwd", "root");
    tree.fs().AddDir("/tree/pkg-1.dist-info");
    for (const char* const name : {"METADATA", "WHEEL", "ptpkg.json"}) {
      tree.fs().AddSymlink(target, std::string("/tree/pkg-1.dist-info/") + name);
    }
    EXPECT_THAT(tree.Check(),
                testing::UnorderedElementsAre(
                    Is("artifact-note-invalid", Severity::kWarning, "pkg-1.dist-info/ptpkg.json", "link"),
                    Is("elf-unresolved-needed", Severity::kError, "pkg/liba.so", "libgomp.so.1")))
        << target;
  }
}

TEST(ElfChecks, ANoteAboveItsLimitIsAFinding) {
  Tree tree;
  tree.AddText("info/ptpkg.json", std::string((1U << 20U) + 1, ' '));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("artifact-note-invalid", Severity::kWarning, "info/ptpkg.json",
                                           "1048577 bytes")));
}

TEST(ElfChecks, OptionsMayNameDependencies) {
  Tree tree;
  tree.Add("lib/liba.so", Library({"libmkl_rt.so.2"}));
  EXPECT_THAT(tree.Check({.dependencies = {"MKL"}}), IsEmpty());
  EXPECT_THAT(tree.Check(), testing::SizeIs(1));
}

TEST(ElfChecks, LibraryInTheTreeThatThePathMisses) {
  Tree tree;
  tree.Add("lib/liba.so", Library({"libb.so"}, "$ORIGIN"));
  tree.Add("lib/sub/libb.so", Library({}));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-unreachable-needed", Severity::kError, "lib/liba.so",
                                           "'libb.so': it is at 'lib/sub/libb.so'")));
  EXPECT_THAT(tree.Check().front().fix, testing::HasSubstr("add '$ORIGIN/sub' to its search path"));
}

TEST(ElfChecks, RpathOfTheLoaderCountsUnlessRunpathIsThere) {
  Tree tree;
  SyntheticElf loader = Library({"libb.so"});
  loader.rpath = "$ORIGIN/sub:$ORIGIN";
  tree.Add("lib/liba.so", loader);
  tree.Add("lib/sub/libb.so", Library({"libc-own.so"}));
  tree.Add("lib/libc-own.so", Library({}));
  EXPECT_THAT(tree.Check(), IsEmpty());
  tree.Add("lib/sub/libb.so", Library({"libc-own.so"}, "$ORIGIN"));
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-unreachable-needed", Severity::kError, "lib/sub/libb.so", "libc-own.so")));
}

TEST(ElfChecks, SymlinkedNameResolves) {
  Tree tree;
  tree.Add("lib/liba.so", Library({"libb.so.1"}, "$ORIGIN"));
  tree.Add("lib/libb.so.1.2.3", Library({}));
  tree.fs().AddSymlink("libb.so.1.2.3", "/tree/lib/libb.so.1");
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(ElfChecks, EachKindOfBadEntry) {
  Tree tree;
  tree.Add("lib/liba.so",
           Library({}, "/opt/build/lib:lib::$ORIGIN/../..:$ORIGIN/none:$ORIGIN/stubs:$ORIGIN"));
  tree.Add("lib/stubs/libb.so", Library({}, "/ptpkg-search-path-pad/xxx"));
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-search-path-absolute", Severity::kError, "lib/liba.so",
                             "'/opt/build/lib' is absolute"),
                          Is("elf-search-path-dead", Severity::kWarning, "lib/liba.so", "'$ORIGIN/none'"),
                          Is("elf-search-path-empty", Severity::kError, "lib/liba.so", "working directory"),
                          Is("elf-search-path-escapes", Severity::kError, "lib/liba.so", "'$ORIGIN/../..'"),
                          Is("elf-search-path-relative", Severity::kError, "lib/liba.so", "'lib'"),
                          Is("elf-search-path-stubs", Severity::kError, "lib/liba.so", "'$ORIGIN/stubs'"),
                          Is("elf-search-path-pad", Severity::kError, "lib/stubs/libb.so", "pad")));
}

TEST(ElfChecks, ForbiddenTextInAnEntryAndInAnyFile) {
  Tree tree;
  tree.Add("liba.so", Library({}, "/b/scratch/lib"));
  tree.AddText("notes.txt", "built in /b/scratch/x");
  EXPECT_THAT(
      tree.Check({.forbidden_paths = {"/b/scratch"}}),
      ElementsAre(Is("artifact-build-path", Severity::kError, "liba.so", "'/b/scratch'"),
                  Is("elf-search-path-forbidden", Severity::kError, "liba.so", "build path '/b/scratch'"),
                  Is("artifact-build-path", Severity::kError, "notes.txt", "'/b/scratch'")));
}

TEST(ElfChecks, WheelMayClimbInsideItsEnvironment) {
  Tree tree;
  tree.AddText("torch-1.dist-info/WHEEL", "Wheel-Version: 1.0\n");
  tree.Add("torch/lib/libxpu.so", Library({}, "$ORIGIN/../../../..:$ORIGIN/../../../../../../.."));
  EXPECT_THAT(
      tree.Check(),
      testing::UnorderedElementsAre(
          Is("elf-search-path-escapes", Severity::kError, "torch/lib/libxpu.so", "../../../../../../.."),
          Is("elf-search-path-escapes", Severity::kWarning, "torch/lib/libxpu.so", "$ORIGIN/../../../..'")));
}

TEST(ElfChecks, TwoTags) {
  Tree tree;
  SyntheticElf elf = Library({}, "$ORIGIN");
  elf.rpath = "$ORIGIN/.";
  tree.Add("liba.so", elf);
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-search-path-two-tags", Severity::kWarning, "liba.so", "both")));
}

TEST(ElfChecks, NeededByPath) {
  Tree tree;
  tree.Add("liba.so", Library({"/b/libb.so"}));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-needed-path", Severity::kError, "liba.so",
                                           "'/b/libb.so' by absolute path")));
}

TEST(ElfChecks, UnreadableTreeIsAnError) {
  Tree tree;
  EXPECT_THAT(ExamineTree(tree.env(), AbsPath::Literal("/nowhere"), {}),
              FailsWith(ErrorCode::kNotFound, HasSubstr("nowhere")));
  tree.env().cancel.Cancel();
  EXPECT_THAT(ExamineTree(tree.env(), AbsPath::Literal(kRoot), {}),
              FailsWith(ErrorCode::kCancelled, testing::_));
}

TEST(ElfChecks, DeepNestingEnds) {
  Tree tree;
  std::string path = "/tree";
  for (int i = 0; i < 140; ++i) path += "/d";
  tree.fs().AddDir(path);
  EXPECT_THAT(ExamineTree(tree.env(), AbsPath::Literal(kRoot), {}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is more than 128 directories deep")));
}

}  // namespace
}  // namespace ptpkg::verify
