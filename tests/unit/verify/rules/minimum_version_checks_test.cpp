// What files need of the system and the processor, against what wheels and conda packages promise.

#include "verify/rules/minimum_version_checks.h"

#include "support/fault_fs.h"
#include "unit/elf/fixtures/elf_additions.h"
#include "unit/verify/fixtures/memory_tree.h"

namespace ptpkg::verify {
namespace {

using elf::test::SyntheticElf;
using test::Is;
using test::Library;
using test::Requiring;
using testing::ElementsAre;
using testing::IsEmpty;
using Tree = test::MemoryTree;

std::vector<Finding> InWheel(const std::vector<std::string>& tags, SyntheticElf elf) {
  Tree tree;
  tree.AddWheel(tags);
  tree.Add("pkg/a.so", std::move(elf));
  return tree.Check();
}

std::vector<Finding> InConda(const std::string& depends, SyntheticElf elf,
                             const std::string& subdir = "linux-64") {
  Tree tree;
  tree.AddIndex(depends, subdir);
  tree.Add("lib/a.so", std::move(elf));
  return tree.Check();
}

SyntheticElf WithIsa() {
  SyntheticElf elf = Library({});
  elf.spare_segments = 1;
  return elf;
}

std::string IsaImage(std::uint32_t bits) {
  SyntheticElf elf = WithIsa();
  std::string image = elf.Build();
  elf::test::AddIsaNote(image, elf, bits);
  return image;
}

TEST(Floors, WheelThatPromisesLess) {
  const SyntheticElf elf =
      Requiring("libc.so.6", "GLIBC_2.34", {"pthread_create", "dlopen", "dlsym", "dlclose"});
  EXPECT_THAT(InWheel({"cp311-cp311-manylinux_2_34_x86_64"}, elf), IsEmpty());
  EXPECT_THAT(
      InWheel({"cp311-cp311-manylinux_2_17_x86_64", "cp311-cp311-manylinux2014_x86_64"}, elf),
      ElementsAre(
          Is("elf-glibc-floor", Severity::kError, "pkg/a.so",
             "needs 'manylinux_2_34_x86_64', because of 'pthread_create@GLIBC_2.34', 'dlopen@GLIBC_2.34', "
             "'dlsym@GLIBC_2.34', but the tag 'manylinux_2_17_x86_64' declares less")));
  // Installers take the wheel where any of its tags fits.
  EXPECT_THAT(InWheel({"cp311-cp311-manylinux_2_28_x86_64.manylinux_2_34_x86_64"}, elf), testing::SizeIs(1));
  EXPECT_THAT(InWheel({"cp311-cp311-linux_x86_64"}, elf), IsEmpty());
}

TEST(Floors, OtherFamiliesCountInWheels) {
  EXPECT_THAT(
      InWheel({"cp311-cp311-manylinux_2_28_x86_64"}, Requiring("libstdc++.so.6", "GLIBCXX_3.4.30")),
      ElementsAre(Is("elf-glibc-floor", Severity::kError, "pkg/a.so", "needs 'manylinux_2_35_x86_64'")));
  EXPECT_THAT(InWheel({"cp311-cp311-manylinux_2_28_x86_64"}, Requiring("libc.so.6", "GLIBC_PRIVATE")),
              ElementsAre(Is("elf-glibc-floor", Severity::kError, "pkg/a.so",
                             "requires 'used@GLIBC_PRIVATE', which no manylinux policy allows")));
}

TEST(Floors, LibrariesOfTheTreeTravelWithTheFile) {
  Tree tree;
  tree.AddWheel({"cp311-cp311-manylinux_2_17_x86_64"});
  SyntheticElf elf = Requiring("libstdc++.so.6", "GLIBCXX_3.4.33");
  elf.runpath = "$ORIGIN";
  tree.Add("pkg/a.so", elf);
  tree.Add("pkg/libstdc++.so.6", Library({}));
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-version-missing", Severity::kWarning, "pkg/a.so", "GLIBCXX_3.4.33")));
}

TEST(Floors, LibrariesOfLaterPoliciesCount) {
  EXPECT_THAT(InWheel({"cp311-cp311-manylinux_2_12_x86_64"}, Library({"libexpat.so.1"})), IsEmpty());
  EXPECT_THAT(InWheel({"cp311-cp311-manylinux_2_5_x86_64"}, Library({"libexpat.so.1"})),
              ElementsAre(Is("elf-glibc-floor", Severity::kError, "pkg/a.so",
                             "needs 'manylinux_2_12_x86_64', because of 'libexpat.so.1'")));
  Tree own;
  own.AddWheel({"cp311-cp311-manylinux_2_5_x86_64"});
  own.Add("pkg/a.so", Library({"libexpat.so.1"}, "$ORIGIN"));
  own.Add("pkg/libexpat.so.1", Library({}));
  EXPECT_THAT(own.Check(), IsEmpty());
}

TEST(Floors, SymbolsThatAreNoInterfaceFitNoPolicy) {
  SyntheticElf elf = Library({"libz.so.1"});
  elf.symbols = {"inflate", "zcfree", "zcalloc"};
  EXPECT_THAT(InWheel({"cp311-cp311-manylinux_2_41_x86_64"}, elf),
              ElementsAre(Is("elf-glibc-floor", Severity::kError, "pkg/a.so",
                             "requires 'zcalloc of libz.so.1', 'zcfree of libz.so.1', which no manylinux")));
  EXPECT_THAT(InWheel({"cp311-cp311-linux_x86_64"}, elf), IsEmpty());
  elf.symbols = {"uncompress2"};
  EXPECT_THAT(InWheel({"cp311-cp311-manylinux_2_34_x86_64"}, elf), IsEmpty());
  EXPECT_THAT(InWheel({"cp311-cp311-manylinux_2_31_x86_64"}, elf),
              ElementsAre(Is("elf-glibc-floor", Severity::kError, "pkg/a.so",
                             "needs 'manylinux_2_34_x86_64', because of 'uncompress2 of libz.so.1'")));
  elf.needed = {"libz.so.1", "libc.musl-x86_64.so.1"};
  EXPECT_THAT(InWheel({"cp311-cp311-musllinux_1_2_x86_64"}, elf),
              ElementsAre(Is("elf-glibc-floor", Severity::kError, "pkg/a.so",
                             "uses 'uncompress2 of libz.so.1', which no musllinux policy allows")));
  Tree own;
  own.AddWheel({"cp311-cp311-manylinux_2_5_x86_64"});
  elf = Library({"libz.so.1"}, "$ORIGIN");
  elf.symbols = {"zcalloc"};
  own.Add("pkg/a.so", elf);
  own.Add("pkg/libz.so.1", Library({}));
  EXPECT_THAT(own.Check(), IsEmpty());
}

TEST(Floors, CondaPackages) {
  const SyntheticElf elf = Requiring("libc.so.6", "GLIBC_2.28", {"fcntl64"});
  EXPECT_THAT(InConda(R"("__glibc >=2.28,<3.0.a0")", elf), IsEmpty());
  EXPECT_THAT(InConda(R"("__glibc >=2.17,<3.0.a0", "__glibc >=2.34")", elf), IsEmpty());
  EXPECT_THAT(InConda(R"("__glibc >=2.17,<3.0.a0")", elf),
              ElementsAre(Is("elf-glibc-floor", Severity::kError, "lib/a.so",
                             "needs glibc 2.28, because of 'fcntl64@GLIBC_2.28', but the dependency '__glibc "
                             ">=2.17,<3.0.a0' declares less")));
  EXPECT_THAT(InConda("", elf),
              ElementsAre(Is("elf-glibc-undeclared", Severity::kWarning, "lib/a.so",
                             "needs glibc 2.28, because of 'fcntl64@GLIBC_2.28', but no '__glibc'")));
  EXPECT_THAT(InConda("", Requiring("libc.so.6", "GLIBC_2.17")), IsEmpty());
  // libstdc++ comes from a package of its own, which has to be required.
  const SyntheticElf cxx = Requiring("libstdc++.so.6", "GLIBCXX_3.4.33");
  EXPECT_THAT(InConda(R"("libstdcxx >=14")", cxx), IsEmpty());
  EXPECT_THAT(InConda("", cxx),
              ElementsAre(Is("elf-runtime-undeclared", Severity::kWarning, "lib/a.so", "GLIBCXX_3.4.33")));
}

TEST(Floors, TreesPromiseNothing) {
  Tree tree;
  tree.Add("a.so", Requiring("libc.so.6", "GLIBC_2.99"));
  const Examination examination = tree.Examine();
  EXPECT_THAT(examination.report.findings, IsEmpty());
  ASSERT_EQ(examination.highest, 0U);
  EXPECT_EQ(examination.files[0].PolicyTag(), "manylinux_2_99_x86_64");
}

TEST(Floors, FactsOfEveryFile) {
  Tree tree;
  tree.Add("a.so", Requiring("libc.so.6", "GLIBC_2.14", {"memcpy"}));
  tree.Add("b.so", Requiring("libm.so.6", "GLIBC_2.27", {"expf", "powf"}));
  tree.Add("c.so", Library({}));
  SyntheticElf device = Library({});
  device.machine = 224;
  tree.Add("d.co", device);
  const Examination examination = tree.Examine();
  ASSERT_EQ(examination.files.size(), 4U);
  EXPECT_EQ(examination.files[0].glibc, (GlibcVersion{2, 14}));
  EXPECT_EQ(examination.files[0].PolicyTag(), "manylinux_2_17_x86_64");
  EXPECT_THAT(examination.files[0].symbols, IsEmpty());  // only read where they are wanted
  ASSERT_EQ(examination.highest, 1U);
  EXPECT_THAT(examination.files[1].symbols, ElementsAre("expf@GLIBC_2.27", "powf@GLIBC_2.27"));
  EXPECT_EQ(examination.files[2].glibc, std::nullopt);
  EXPECT_EQ(examination.files[2].PolicyTag(), "manylinux_2_5_x86_64");
  EXPECT_EQ(examination.files[3].machine, "");
  EXPECT_EQ(examination.files[3].PolicyTag(), "");
}

TEST(Floors, NothingRequiredSetsNoFloor) {
  Tree tree;
  tree.Add("a.so", Library({"libc.so.6"}));
  EXPECT_EQ(tree.Examine().highest, std::nullopt);
}

TEST(Floors, OtherLibc) {
  EXPECT_THAT(InWheel({"cp311-cp311-musllinux_1_2_x86_64"}, Requiring("libc.so.6", "GLIBC_2.17")),
              ElementsAre(Is("elf-libc-mismatch", Severity::kError, "pkg/a.so", "is linked with glibc")));
  EXPECT_THAT(InWheel({"cp311-cp311-musllinux_1_2_x86_64"}, Library({"libc.musl-x86_64.so.1"})), IsEmpty());
  EXPECT_THAT(InWheel({"cp311-cp311-manylinux_2_17_x86_64"}, Library({"libc.musl-x86_64.so.1"})),
              ElementsAre(Is("elf-libc-mismatch", Severity::kError, "pkg/a.so", "is linked with musl")));
}

TEST(Floors, OtherMachine) {
  SyntheticElf arm = Library({});
  arm.machine = 183;
  EXPECT_THAT(InWheel({"cp311-cp311-manylinux_2_17_x86_64"}, arm),
              ElementsAre(Is("elf-machine-mismatch", Severity::kError, "pkg/a.so",
                             "is built for aarch64, but the artifact is for x86_64")));
  EXPECT_THAT(InWheel({"cp311-cp311-manylinux_2_17_aarch64"}, arm), IsEmpty());
  EXPECT_THAT(InConda("", arm),
              ElementsAre(Is("elf-machine-mismatch", Severity::kError, "lib/a.so", "aarch64")));
  EXPECT_THAT(InConda("", arm, "linux-aarch64"), IsEmpty());
  EXPECT_THAT(InConda("", arm, "noarch"), IsEmpty());
  SyntheticElf mips = Library({});
  mips.machine = 8;
  EXPECT_THAT(InWheel({"cp311-cp311-manylinux_2_17_x86_64"}, mips),
              ElementsAre(Is("elf-machine-mismatch", Severity::kError, "pkg/a.so",
                             "is built for machine number 8, but the artifact is for x86_64")));
  SyntheticElf device = Library({});
  device.machine = 190;
  EXPECT_THAT(InWheel({"cp311-cp311-manylinux_2_17_x86_64"}, device), IsEmpty());
}

TEST(Floors, ProcessorLevel) {
  Tree tree;
  tree.AddText("a.so", IsaImage(7));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-isa-level", Severity::kWarning, "a.so",
                                           "requires x86-64-v3, but only x86-64-v1")));
  tree.AddWheel({"cp311-cp311-manylinux_2_17_x86_64"});
  EXPECT_THAT(tree.Check({.profile = Profile::kWheel}),
              ElementsAre(Is("elf-isa-level", Severity::kError, "a.so", "x86-64-v3")));
  tree.AddText("a.so", IsaImage(1));
  EXPECT_THAT(tree.Check({.profile = Profile::kWheel}), IsEmpty());
}

TEST(Floors, ProcessorLevelThatAPackageAsksFor) {
  const auto check = [](const std::string& depends, std::uint32_t bits) {
    Tree tree;
    tree.AddIndex(depends);
    tree.AddText("lib/a.so", IsaImage(bits));
    return tree.Check({.profile = Profile::kConda});
  };
  EXPECT_THAT(check("", 3),
              ElementsAre(Is("elf-isa-level", Severity::kError, "lib/a.so", "requires x86-64-v2")));
  EXPECT_THAT(check(R"("_x86_64-microarch-level >=3")", 7), IsEmpty());
  EXPECT_THAT(check(R"("_x86_64-microarch-level >=3")", 15), testing::SizeIs(1));
  EXPECT_THAT(check(R"("__archspec 1=x86_64_v3")", 7), IsEmpty());
  EXPECT_THAT(check(R"("__archspec 1 x86_64_v3")", 7), IsEmpty());
  EXPECT_THAT(check(R"("__archspec 1 x86_64_v4")", 15), IsEmpty());
  EXPECT_THAT(check(R"("__archspec 1 x86_64_v2")", 7), testing::SizeIs(1));
}

TEST(Floors, HwcapsFoldersMayNeedTheirLevel) {
  Tree tree;
  tree.AddText("lib/glibc-hwcaps/x86-64-v3/libx.so", IsaImage(7));
  EXPECT_THAT(tree.Check(), IsEmpty());
  tree.AddText("lib/glibc-hwcaps/x86-64-v2/libx.so", IsaImage(7));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-isa-level", Severity::kWarning,
                                           "lib/glibc-hwcaps/x86-64-v2/libx.so", "x86-64-v3")));
}

TEST(Floors, MetadataThatCannotBeReadPromisesNothing) {
  const SyntheticElf elf = Requiring("libc.so.6", "GLIBC_2.34");
  for (const std::string text : {"", "Tag: nonsense", "\xff"}) {
    Tree tree;
    tree.Add("pkg/a.so", elf);
    tree.AddText("pkg-1.dist-info/WHEEL", text);
    EXPECT_THAT(tree.Check(), IsEmpty()) << text;
  }
  for (const std::string text : {"", "[]", R"({"depends": 7})"}) {
    Tree tree;
    tree.Add("pkg/a.so", Requiring("libc.so.6", "GLIBC_2.17"));
    tree.AddText("info/index.json", text);
    EXPECT_THAT(tree.Check(), IsEmpty()) << text;
  }
}

TEST(Floors, EveryReadThatFailsIsAnError) {
  ASSERT_OK_AND_ASSIGN(const DlopenTable opened, DlopenTable::BuiltIn());
  ASSERT_OK_AND_ASSIGN(const PlatformPolicies policies, PlatformPolicies::BuiltIn());
  ASSERT_OK_AND_ASSIGN(const auto libraries, PolicyLibraries::BuiltIn());
  const AbsPath root = AbsPath::Literal(test::kRoot);
  const int tried = ptpkg::test::RunFaultLoop(
      {.scope = ptpkg::test::FaultScope::kReading,
       .setup =
           [](ptpkg::test::MemFs& fs) {
             fs.AddFile("/tree/pkg/a.so", Requiring("libc.so.6", "GLIBC_2.34").Build());
             fs.AddFile("/tree/pkg/notes.so", "no library");
             fs.AddFile(
                 "/tree/pkg-1.dist-info/WHEEL",
                 "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-manylinux_2_17_x86_64\n");
           },
       .run = [&](Fs& fs) -> Result<void> {
         ptpkg::test::TestEnv env({.fs = &fs, .jobs = 1});
         std::vector<Finding> findings;
         PTPKG_TRY(const ElfTree tree, ReadElfTree(env, root, opened, findings));
         PTPKG_TRY(const DeclaredPlatform promise, DeclaredByTree(env, tree, policies));
         std::vector<FileNeeds> needs = MeasureNeeds(tree, policies, libraries);
         PTPKG_CHECK(CheckMinimumVersions(
             {.env = env, .tree = tree, .policies = policies, .promise = promise}, needs, findings));
         EXPECT_EQ(findings.size(), 2U);
         EXPECT_THAT(needs.at(0).symbols, ElementsAre("used@GLIBC_2.34"));
         return Ok();
       }});
  EXPECT_GT(tried, 20);
}

}  // namespace
}  // namespace ptpkg::verify
