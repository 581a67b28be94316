#include "verify/elf_checks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"
#include "unit/elf/synthetic_elf.h"

namespace ptpkg::verify {
namespace {

using elf::test::SyntheticElf;
using test::FailsWith;
using test::MemFs;
using test::TestEnv;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view kRoot = "/tree";

/// A tree in memory and its findings.
class Tree {
 public:
  Tree() : env_({.fs = &fs_}) { fs_.AddDir(kRoot); }

  void Add(const std::string& path, SyntheticElf elf) {
    fs_.AddFile(fmt::format("{}/{}", kRoot, path), elf.Build());
  }
  void AddText(const std::string& path, const std::string& text) {
    fs_.AddFile(fmt::format("{}/{}", kRoot, path), text);
  }
  MemFs& fs() { return fs_; }
  TestEnv& env() { return env_; }

  std::vector<Finding> Check(const CheckOptions& options = {}) {
    const auto report = CheckTree(env_, AbsPath::Literal(kRoot), options);
    EXPECT_OK(report);
    return report ? report->findings : std::vector<Finding>();
  }

 private:
  MemFs fs_;
  TestEnv env_;
};

SyntheticElf Library(std::vector<std::string> needed, std::optional<std::string> runpath = {}) {
  SyntheticElf elf;
  elf.needed = std::move(needed);
  elf.runpath = std::move(runpath);
  elf.version = "";
  elf.soname.reset();
  return elf;
}

auto Is(std::string id, Severity severity, std::string file, std::string text) {
  return AllOf(Field(&Finding::id, id), Field(&Finding::severity, severity), Field(&Finding::file, file),
               Field(&Finding::message, HasSubstr(text)), Field(&Finding::fix, Not(IsEmpty())));
}

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
                                           "needs 'libnowhere.so.3', which neither the tree")));
  EXPECT_THAT(
      tree.Check({.forbidden_paths = {}, .allow_unresolved = {"libnowhere.so.*"}, .dependencies = {}}),
      IsEmpty());
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
                                           "one of the dependencies has to bring it")));
  EXPECT_THAT(Tree().Check({.forbidden_paths = {}, .allow_unresolved = {}, .dependencies = {"mkl"}}),
              IsEmpty());
}

TEST(ElfChecks, OptionsMayNameDependencies) {
  Tree tree;
  tree.Add("lib/liba.so", Library({"libmkl_rt.so.2"}));
  EXPECT_THAT(tree.Check({.forbidden_paths = {}, .allow_unresolved = {}, .dependencies = {"MKL"}}),
              IsEmpty());
  EXPECT_THAT(tree.Check(), testing::SizeIs(1));
}

TEST(ElfChecks, LibraryInTheTreeThatThePathMisses) {
  Tree tree;
  tree.Add("lib/liba.so", Library({"libb.so"}, "$ORIGIN"));
  tree.Add("lib/sub/libb.so", Library({}));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-unreachable-needed", Severity::kError, "lib/liba.so",
                                           "'libb.so', which is at 'lib/sub/libb.so'")));
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
              ElementsAre(Is("elf-search-path-absolute", Severity::kError, "lib/liba.so", "'/opt/build/lib'"),
                          Is("elf-search-path-dead", Severity::kWarning, "lib/liba.so", "'$ORIGIN/none'"),
                          Is("elf-search-path-empty", Severity::kError, "lib/liba.so", "working folder"),
                          Is("elf-search-path-escapes", Severity::kError, "lib/liba.so", "'$ORIGIN/../..'"),
                          Is("elf-search-path-relative", Severity::kError, "lib/liba.so", "'lib'"),
                          Is("elf-search-path-stubs", Severity::kError, "lib/liba.so", "'$ORIGIN/stubs'"),
                          Is("elf-search-path-pad", Severity::kError, "lib/stubs/libb.so", "pad")));
}

TEST(ElfChecks, ForbiddenTextInAnEntry) {
  Tree tree;
  tree.Add("liba.so", Library({}, "/b/work/lib"));
  EXPECT_THAT(tree.Check({.forbidden_paths = {"/b/work"}, .allow_unresolved = {}, .dependencies = {}}),
              ElementsAre(Is("elf-search-path-forbidden", Severity::kError, "liba.so",
                             "'/b/work', a path of the build")));
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
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-needed-path", Severity::kError, "liba.so", "'/b/libb.so' by path")));
}

TEST(ElfChecks, VersionRequirementOfALibraryThatIsNotNeeded) {
  Tree tree;
  SyntheticElf elf = Library({"libc.so.6"});
  elf.version = "DEEP_1";
  std::string image = elf.Build();
  // The record's name now is the SONAME-like string of a symbol.
  const std::size_t at = image.find("answer");
  elf::test::PokeU32(image, elf.codec(), elf.places.needs + 4,
                     static_cast<std::uint32_t>(at - elf.places.strings));
  tree.AddText("liba.so", image);
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-version-requirement", Severity::kError, "liba.so", "'answer'")));
}

TEST(ElfChecks, SonameThatDiffersFromTheNeededName) {
  Tree tree;
  tree.Add("liba.so", Library({"libb-1234.so"}, "$ORIGIN"));
  SyntheticElf renamed = Library({});
  renamed.soname = "libb.so";
  tree.Add("libb-1234.so", renamed);
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-soname-mismatch", Severity::kInfo, "liba.so", "calls itself 'libb.so'")));
}

TEST(ElfChecks, ExecutableStackTextRelocationsDriverAndOpenMp) {
  Tree tree;
  SyntheticElf stack = Library({});
  std::string image = stack.Build();
  elf::test::PokeU32(image, stack.codec(), stack.places.program_headers + 3 * 56 + 4, 7);
  tree.AddText("libstack.so", image);
  SyntheticElf relocated = Library({});
  image = relocated.Build();
  // The last entry before the spare ones becomes DT_TEXTREL.
  const std::size_t hash = relocated.places.dynamic + 4 * 16;
  elf::test::PokeWord(image, relocated.codec(), hash, elf::kDtTextrel);
  tree.AddText("libtext.so", image);
  tree.Add("libcuda.so.1", Library({}));
  tree.Add("a/libgomp.so.1", Library({}));
  tree.Add("b/libiomp5.so", Library({}));
  EXPECT_THAT(tree.Check(),
              testing::UnorderedElementsAre(
                  Is("elf-executable-stack", Severity::kWarning, "libstack.so", "executable stack"),
                  Is("elf-text-relocations", Severity::kWarning, "libtext.so", "writable"),
                  Is("elf-driver-library", Severity::kError, "libcuda.so.1", "driver"),
                  Is("elf-duplicate-openmp", Severity::kWarning, "b/libiomp5.so", "2 OpenMP")));
}

TEST(ElfChecks, DamagedFileIsAFindingAndTextIsNot) {
  Tree tree;
  tree.AddText("libcut.so", SyntheticElf().Build().substr(0, 200));
  tree.AddText("libscript.so", "INPUT(libreal.so)\n");
  tree.AddText("empty.so", "");
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-damaged", Severity::kError, "libcut.so", "is damaged")));
}

TEST(ElfChecks, UnreadableTreeIsAnError) {
  Tree tree;
  EXPECT_THAT(CheckTree(tree.env(), AbsPath::Literal("/nowhere"), {}),
              FailsWith(ErrorCode::kNotFound, HasSubstr("nowhere")));
  tree.env().cancel.Cancel();
  EXPECT_THAT(CheckTree(tree.env(), AbsPath::Literal(kRoot), {}),
              FailsWith(ErrorCode::kCancelled, testing::_));
}

TEST(ElfChecks, DeepNestingEnds) {
  Tree tree;
  std::string path = "/tree";
  for (int i = 0; i < 140; ++i) path += "/d";
  tree.fs().AddDir(path);
  EXPECT_THAT(CheckTree(tree.env(), AbsPath::Literal(kRoot), {}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("128 deep")));
}

}  // namespace
}  // namespace ptpkg::verify
