// Trees that ld.so resolves otherwise than a look at each file alone would. ld.so's own verdicts on such
// trees: tests/harness/ld_so.py.

#include "verify/elf/resolved_libraries.h"

#include "support/fault_fs.h"
#include "unit/verify/fixtures/memory_tree.h"

namespace ptpkg::verify {
namespace {

using elf::test::SyntheticElf;
using ptpkg::test::FailsWith;
using test::Is;
using test::kRoot;
using test::Library;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Tree = test::MemoryTree;

SyntheticElf WithRpath(std::vector<std::string> needed, std::string rpath) {
  SyntheticElf elf = Library(std::move(needed));
  elf.rpath = std::move(rpath);
  return elf;
}

SyntheticElf Foreign() {
  SyntheticElf elf = Library({});
  elf.machine = 183;
  return elf;
}

TEST(ResolvedLibraries, RpathServesDownTheWholeChain) {
  Tree tree;
  tree.Add("faiss/_swig.so", WithRpath({"libfaiss.so"}, "$ORIGIN/libs"));
  tree.Add("faiss/libs/libfaiss.so", Library({"libopenblas.so"}));
  tree.Add("faiss/libs/libopenblas.so", Library({"libgfortran.so"}));
  tree.Add("faiss/libs/libgfortran.so", Library({"libquad.so"}));
  tree.Add("faiss/libs/libquad.so", Library({}));
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(ResolvedLibraries, FilesOfDataFoldersAreWhereTheyAreInstalled) {
  Tree tree;
  tree.AddWheel({"py3-none-any"});
  tree.Add("toy-1.data/platlib/toy/a.so", WithRpath({"libx.so"}, "$ORIGIN/../toy.libs"));
  tree.Add("toy-1.data/purelib/other/b.so", Library({"liby.so"}, "$ORIGIN/../toy"));
  tree.Add("toy.libs/libx.so", Library({"liby.so"}, "$ORIGIN/../toy"));
  tree.Add("toy-1.data/platlib/toy/liby.so", Library({}));
  const auto about_paths = [&] {
    std::vector<Finding> findings = tree.Check();
    std::erase_if(findings, [](const Finding& finding) { return !finding.id.starts_with("elf-"); });
    return findings;
  };
  EXPECT_THAT(about_paths(), IsEmpty());
  // From the archive's layout it would lead there.
  tree.Add("toy-1.data/purelib/other/b.so", Library({"libx.so"}, "$ORIGIN/../../../toy.libs"));
  EXPECT_THAT(about_paths(), Contains(Is("elf-unreachable-needed", Severity::kError,
                                         "toy-1.data/purelib/other/b.so", "is not on the search path")));
}

TEST(ResolvedLibraries, RunpathInTheChainHidesOnlyItsOwnRpath) {
  Tree tree;
  tree.Add("ext.so", WithRpath({"liba.so"}, "$ORIGIN/libs"));
  SyntheticElf both = Library({"libb.so"}, "$ORIGIN");
  both.rpath = "$ORIGIN/none";
  tree.Add("libs/liba.so", both);
  tree.Add("libs/libb.so", Library({"libc1.so"}));
  tree.Add("libs/libc1.so", Library({}));
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-search-path-two-tags", Severity::kWarning, "libs/liba.so", "")));
}

TEST(ResolvedLibraries, ServesOnlyAlongChainsThatExist) {
  Tree tree;
  tree.Add("one.so", WithRpath({"libb.so"}, "$ORIGIN/libs"));
  tree.Add("two.so", Library({"libb.so"}, "$ORIGIN/libs"));
  tree.Add("libs/libb.so", Library({"libc1.so"}));
  tree.Add("libs/libc1.so", Library({}));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-unreachable-needed", Severity::kError, "libs/libb.so",
                                           "is not on the search path when 'two.so' is loaded first")));
}

TEST(ResolvedLibraries, AProgramBeginsEvenIfALibraryNeedsIt) {
  Tree tree;
  SyntheticElf program = Library({"liba.so"});
  program.interpreter = "/lib64/ld-linux-x86-64.so.2";
  tree.Add("bin/program", program);
  tree.Add("lib/libplugin.so", Library({"program"}, "$ORIGIN/../bin:$ORIGIN"));
  tree.Add("lib/liba.so", Library({}));
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-unreachable-needed", Severity::kError, "bin/program", "'lib/liba.so'")));
}

TEST(ResolvedLibraries, PassesOverOtherProcessors) {
  Tree tree;
  tree.Add("ext.so", Library({"libb.so"}, "$ORIGIN/arm:$ORIGIN/x86"));
  tree.Add("arm/libb.so", Foreign());
  EXPECT_THAT(tree.Check(), Contains(Is("elf-unreachable-needed", Severity::kError, "ext.so",
                                        "'arm/libb.so' is for another architecture, so ld.so skips it")));
  tree.Add("x86/libb.so", Library({}));
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(ResolvedLibraries, AnotherProcessorsFileIsNoPlaceToLeadTo) {
  Tree tree;
  tree.Add("ext.so", Library({"libb.so"}));
  tree.Add("arm/libb.so", Foreign());
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-unresolved-needed", Severity::kError, "ext.so",
                                           "which the tree, its dependencies and the system don't provide")));
}

TEST(ResolvedLibraries, EndsAtWhatIsNoLibrary) {
  const auto shadowed_by = [](const std::function<void(Tree&, const std::string&)>& put) {
    Tree tree;
    tree.Add("ext.so", Library({"libb.so"}, "$ORIGIN/first:$ORIGIN"));
    tree.Add("libb.so", Library({}));
    put(tree, "first/libb.so");
    std::string words;
    for (const Finding& finding : tree.Check({.allow_unresolved = {"libb.so"}})) {
      if (finding.id != "elf-shadowed-needed") continue;
      EXPECT_EQ(finding.severity, Severity::kError);
      EXPECT_EQ(finding.file, "ext.so");
      EXPECT_THAT(finding.message, HasSubstr("finds 'first/libb.so' first"));
      words = finding.message.substr(finding.message.find("fails with"));
    }
    return words;
  };
  EXPECT_EQ(
      shadowed_by([](Tree& tree, const std::string& path) { tree.AddText(path, std::string(80, 'x')); }),
      "fails with 'invalid ELF header'");
  EXPECT_EQ(shadowed_by([](Tree& tree, const std::string& path) { tree.AddText(path, "version 1"); }),
            "fails with 'file too short'");
  EXPECT_EQ(shadowed_by([](Tree& tree, const std::string& path) { tree.fs().AddDir("/tree/" + path); }),
            "fails with 'cannot read file data: Is a directory'");
  EXPECT_EQ(shadowed_by([](Tree& tree, const std::string& path) {
              SyntheticElf program = Library({});
              program.type = elf::kTypeExec;
              tree.Add(path, program);
            }),
            "fails with 'cannot dynamically load executable'");
  EXPECT_EQ(shadowed_by([](Tree& tree, const std::string& path) {
              SyntheticElf bare = Library({});
              bare.dynamic = false;
              tree.Add(path, bare);
            }),
            "fails with 'object file has no dynamic section'");
  // A damaged one has a finding of its own.
  EXPECT_EQ(shadowed_by([](Tree& tree, const std::string& path) {
              tree.AddText(path, Library({}).Build().substr(0, 400));
            }),
            "");
  // Neither do links that lead nowhere stop the search, nor what is no file at all.
  EXPECT_EQ(
      shadowed_by([](Tree& tree, const std::string& path) { tree.fs().AddSymlink("none", "/tree/" + path); }),
      "");
  EXPECT_EQ(shadowed_by([](Tree& tree, const std::string& path) { tree.fs().AddOther("/tree/" + path); }),
            "");
}

TEST(ResolvedLibraries, ALoopOfLinksEndsOneSearchPath) {
  Tree tree;
  tree.Add("ext.so", Library({"libb.so"}, "$ORIGIN/loop:$ORIGIN"));
  tree.Add("libb.so", Library({}));
  tree.fs().AddSymlink("libb.so", "/tree/loop/libb.so");
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-unreachable-needed", Severity::kError, "ext.so", "'libb.so'")));
}

TEST(ResolvedLibraries, OriginIsTheFolderOfTheLink) {
  Tree tree;
  tree.Add("ext.so", Library({"libb.so"}, "$ORIGIN/lib"));
  tree.Add("real/libb.so", Library({"libc1.so"}, "$ORIGIN"));
  tree.fs().AddSymlink("../real/libb.so", "/tree/lib/libb.so");
  tree.Add("real/libc1.so", Library({}));
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-unreachable-needed", Severity::kError, "real/libb.so", "'real/libc1.so'")));
  tree.Add("lib/libc1.so", Library({}));
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(ResolvedLibraries, AFileIsLoadedOnceWhateverItsNames) {
  Tree tree;
  // The second name finds what the first has loaded, and with it the first directory.
  tree.Add("ext.so", Library({"libb.so.1", "libb.so"}, "$ORIGIN/one:$ORIGIN/two"));
  tree.Add("two/libb.so", Library({"libc1.so"}, "$ORIGIN"));
  tree.fs().AddSymlink("../two/libb.so", "/tree/one/libb.so.1");
  tree.Add("one/libc1.so", Library({}));
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(ResolvedLibraries, HardLinksAreOneFile) {
  Tree tree;
  tree.Add("ext.so", Library({"libb.so.1", "libb.so"}, "$ORIGIN/one:$ORIGIN/two"));
  tree.Add("two/libb.so", Library({"libc1.so"}, "$ORIGIN"));
  tree.fs().AddDir("/tree/one");
  ASSERT_OK(tree.fs().CreateHardLink(AbsPath::Literal("/tree/two/libb.so"),
                                     AbsPath::Literal("/tree/one/libb.so.1")));
  tree.Add("one/libc1.so", Library({}));
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(ResolvedLibraries, DotsBehindAMissingFolderLeadNowhere) {
  Tree tree;
  tree.Add("lib/ext.so", Library({"libb.so"}, "$ORIGIN/none/../../p"));
  tree.Add("p/libb.so", Library({}));
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-search-path-dead", Severity::kWarning, "lib/ext.so", "none"),
                          Is("elf-unreachable-needed", Severity::kError, "lib/ext.so", "'p/libb.so'")));
  tree.fs().AddDir("/tree/lib/none");
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(ResolvedLibraries, ANameLoadedEarlierServes) {
  Tree tree;
  tree.Add("ext.so", Library({"libfirst.so", "liblater.so"}, "$ORIGIN/libs"));
  SyntheticElf renamed = Library({});
  renamed.soname = "libhidden.so";
  tree.Add("libs/libfirst.so", renamed);
  tree.Add("libs/liblater.so", Library({"libhidden.so"}));
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-soname-mismatch", Severity::kInfo, "ext.so", "'libhidden.so'")));
}

TEST(ResolvedLibraries, GoesByBreadthFirst) {
  // liba's own needs come after all of ext.so's: libshared is found by ext.so's path, then known to liba.
  Tree tree;
  tree.Add("ext.so", Library({"liba.so", "libshared.so"}, "$ORIGIN/libs"));
  tree.Add("libs/liba.so", Library({"libshared.so"}));
  tree.Add("libs/libshared.so", Library({}));
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(ResolvedLibraries, LibAndPlatformDependOnTheMachine) {
  Tree tree;
  tree.Add("ext.so", Library({"libb.so"}, "$ORIGIN/$LIB"));
  tree.Add("lib/x86_64-linux-gnu/libb.so", Library({}));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-conditional-needed", Severity::kWarning, "ext.so",
                                           "does not find where $LIB is 'lib'")));
  tree.Add("lib/libb.so", Library({}));
  tree.Add("lib64/libb.so", Library({}));
  EXPECT_THAT(tree.Check(), IsEmpty());
  tree.Add("ext.so", Library({"libb.so"}, "$ORIGIN/${PLATFORM}"));
  tree.Add("haswell/libb.so", Library({}));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-conditional-needed", Severity::kWarning, "ext.so",
                                           "where $PLATFORM is 'x86_64'")));
}

TEST(ResolvedLibraries, LibOfOtherMachines) {
  const auto libs = [](std::uint16_t machine, elf::ElfClass elf_class) {
    Tree tree;
    SyntheticElf elf = Library({}, "$ORIGIN/$LIB");
    tree.Add("a.so", elf);
    std::vector<DlopenTable> none;
    std::vector<Finding> findings;
    auto opened = DlopenTable::BuiltIn();
    EXPECT_OK(opened);
    auto read = ReadElfTree(tree.env(), AbsPath::Literal(kRoot), *opened, findings);
    EXPECT_OK(read);
    std::vector<std::string> values;
    for (const LoaderMachine& found :
         MachinesFor(*read, {.elf_class = elf_class, .machine = machine}, elf::IsaLevel::kUnstated)) {
      values.push_back(found.lib);
    }
    return values;
  };
  EXPECT_THAT(libs(183, elf::ElfClass::k64), ElementsAre("lib64", "lib", "lib/aarch64-linux-gnu"));
  EXPECT_THAT(libs(3, elf::ElfClass::k32), ElementsAre("lib", "lib/i386-linux-gnu"));
  EXPECT_THAT(libs(40, elf::ElfClass::k32), ElementsAre("lib", "lib/arm-linux-gnueabihf"));
  EXPECT_THAT(libs(21, elf::ElfClass::k64), ElementsAre("lib64", "lib", "lib/powerpc64le-linux-gnu"));
  EXPECT_THAT(libs(9999, elf::ElfClass::k64), ElementsAre("lib64", "lib"));
}

TEST(ResolvedLibraries, LibrariesForBetterProcessors) {
  Tree tree;
  tree.Add("ext.so", Library({"libb.so"}, "$ORIGIN"));
  tree.Add("glibc-hwcaps/x86-64-v3/libb.so", Library({"libc1.so"}, "$ORIGIN"));
  tree.Add("glibc-hwcaps/x86-64-v3/libc1.so", Library({}));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-conditional-needed", Severity::kWarning, "ext.so",
                                           "where the processor is of level x86-64-v1")));
  // Who promises nothing to older processors need not serve them.
  tree.AddIndex("\"__archspec 1=x86_64_v3\"");
  EXPECT_THAT(tree.Check(), IsEmpty());
  tree.AddIndex("\"__archspec 1=x86_64_v2\"");
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-conditional-needed", Severity::kWarning, "ext.so", "level x86-64-v2")));
  tree.Add("libb.so", Library({}));
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(ResolvedLibraries, NeededByAPathFromTheOrigin) {
  Tree tree;
  tree.Add("ext.so", Library({"$ORIGIN/libs/libb.so"}));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-unresolved-needed", Severity::kError, "ext.so", "$ORIGIN")));
  tree.Add("libs/libb.so", Foreign());
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-unreachable-needed", Severity::kError, "ext.so", "another")));
  tree.Add("libs/libb.so", Library({"libc1.so"}, "$ORIGIN"));
  tree.Add("libs/libc1.so", Library({}));
  EXPECT_THAT(tree.Check(), IsEmpty());
  tree.Add("ext.so", Library({"$ORIGIN/libs/.."}));
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-shadowed-needed", Severity::kError, "ext.so", "finds '.' first")));
}

TEST(ResolvedLibraries, CirclesAreLoadedOnce) {
  Tree tree;
  tree.Add("liba.so", Library({"libb.so"}, "$ORIGIN"));
  tree.Add("libb.so", Library({"liba.so", "libnone.so"}, "$ORIGIN"));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-unresolved-needed", Severity::kError, "libb.so", "libnone")));
}

TEST(ResolvedLibraries, ALinkToALibraryOfTheMachine) {
  Tree tree;
  tree.Add("ext.so", Library({"libb.so"}, "$ORIGIN"));
  tree.fs().AddSymlink("/opt/libb.so", "/tree/libb.so");
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-unresolved-needed", Severity::kError, "ext.so", "libb.so")));
  tree.fs().AddFile("/opt/libb.so", "whatever");
  EXPECT_THAT(tree.Check(), IsEmpty());
}

TEST(ResolvedLibraries, ManyNeedsHaveAnEnd) {
  Tree tree;
  tree.Add("a.so", Library({"libb.so", "libc.so.6"}, "$ORIGIN"));
  tree.Add("libb.so", Library({"libc.so.6"}));
  std::vector<Finding> findings;
  ASSERT_OK_AND_ASSIGN(const DlopenTable opened, DlopenTable::BuiltIn());
  ASSERT_OK_AND_ASSIGN(const ElfTree read,
                       ReadElfTree(tree.env(), AbsPath::Literal(kRoot), opened, findings));
  Loader enough(tree.env(), read, 3);
  ASSERT_OK_AND_ASSIGN(const std::vector<Load> loads, enough.Run(0, {}));
  EXPECT_EQ(loads.size(), 3U);
  EXPECT_THAT(enough.Run(1, {}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("more than 3 times")));
  tree.env().cancel.Cancel();
  EXPECT_THAT(Loader(tree.env(), read).Run(0, {}), FailsWith(ErrorCode::kCancelled, testing::_));
}

TEST(ResolvedLibraries, FailsWithTheFileSystem) {
  const int faults = ptpkg::test::RunFaultLoop(
      {.setup =
           [](ptpkg::test::MemFs& fs) {
             fs.AddFile("/tree/ext.so", Library({"libb.so", "libtext.so"}, "$ORIGIN/libs").Build());
             SyntheticElf bare = Library({});
             bare.dynamic = false;
             fs.AddFile("/tree/libs/libb.so", bare.Build());
             fs.AddFile("/tree/libs/libtext.so", "text");
           },
       .run = [](Fs& fs) -> Result<void> {
         ptpkg::test::TestEnv env({.fs = &fs});
         PTPKG_TRY(const Examination examination, ExamineTree(env, AbsPath::Literal(kRoot), {}));
         EXPECT_EQ(examination.report.findings.size(), 4U);
         return Ok();
       }});
  EXPECT_GE(faults, 20);
}

}  // namespace
}  // namespace ptpkg::verify
