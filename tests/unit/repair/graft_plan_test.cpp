#include "repair/graft_plan.h"

#include "repair/graft_names.h"
#include "support/must.h"
#include "unit/elf/fixtures/elf_additions.h"
#include "unit/verify/fixtures/memory_tree.h"

namespace ptpkg::repair {
namespace {

using elf::test::SyntheticElf;
using ptpkg::test::FailsWith;
using ptpkg::test::HasHint;
using ptpkg::test::Library;
using ptpkg::test::Must;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

constexpr const char* kFolder = "toy.libs";

/// A wheel in memory, and libraries of a machine beside it.
class GraftPlanTest : public testing::Test {
 protected:
  /// A library of the machine; its name is among its symbols, so that no two are equal.
  void AddHost(const std::string& path, SyntheticElf library) {
    library.symbols.push_back(path);
    tree_.fs().AddFile(path, library.Build());
  }
  void AddHost(const std::string& path, std::vector<std::string> needed = {}) {
    AddHost(path, Library(std::move(needed)));
  }
  /// The bytes of a library with `text` among its constants.
  static std::string Naming(SyntheticElf library, const std::string& text) {
    std::string image = library.Build();
    elf::test::AddSection(image, library.codec(), ".rodata", text + '\0');
    return image;
  }

  Result<GraftPlan> Plan(GraftOptions options = {}, std::vector<AbsPath> search = {}) {
    if (options.folder.empty()) options.folder = kFolder;
    Env& env = tree_.env();
    std::vector<Finding> findings;
    const auto opened = Must(verify::DlopenTable::BuiltIn());
    const auto tree = Must(verify::ReadElfTree(env, AbsPath::Literal(ptpkg::test::kRoot), opened, findings));
    const auto loads = Must(verify::ResolvedLibraries::SimulateLoads(env, tree, elf::IsaLevel::kBaseline));
    const auto rules = Must(GraftRules::BuiltIn());
    const auto policies = Must(verify::PolicyLibraries::BuiltIn());
    const auto host = Must(HostLibraries::Read(env, std::move(search), options.musl));
    if (interrupted_) tree_.env().cancel.Cancel();
    return PlanGrafts(
        {.env = env, .tree = tree, .loads = loads, .host = host, .rules = rules, .policies = policies},
        options);
  }
  /// Source → path in the wheel.
  static std::map<std::string, std::string> Copies(const GraftPlan& plan) {
    std::map<std::string, std::string> copies;
    for (const Graft& graft : plan.grafts) copies.emplace(graft.source.str(), graft.path);
    return copies;
  }
  std::string Hashed(const std::string& source) {
    const AbsPath path = Must(tree_.env()->fs.RealPath(source));
    return HashedName(std::string(path.Name()), Must(HashFile(tree_.env()->fs, path)).sha256);
  }

  ptpkg::test::MemoryTree tree_;
  bool interrupted_ = false;  // when the planning begins
};

TEST_F(GraftPlanTest, AChainIsCopiedUnderHashedNames) {
  tree_.Add("toy/a.so", Library({"libx.so.1", "libc.so.6"}));
  AddHost("/usr/lib/libx.so.1", {"liby.so.2"});
  AddHost("/usr/lib/liby.so.2", {"libc.so.6"});
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan());
  const std::string x = Hashed("/usr/lib/libx.so.1");
  const std::string y = Hashed("/usr/lib/liby.so.2");
  EXPECT_THAT(Copies(plan), ElementsAre(Pair("/usr/lib/libx.so.1", "toy.libs/" + x),
                                        Pair("/usr/lib/liby.so.2", "toy.libs/" + y)));
  EXPECT_EQ(plan.grafts[0].name, x);
  EXPECT_THAT(plan.changes.at("toy/a.so").renamed, ElementsAre(Pair("libx.so.1", x)));
  EXPECT_THAT(plan.changes.at("toy/a.so").folders, ElementsAre(kFolder));
  EXPECT_THAT(plan.changes.at("toy.libs/" + x).renamed, ElementsAre(Pair("liby.so.2", y)));
  EXPECT_THAT(plan.changes.at("toy.libs/" + x).folders, ElementsAre(kFolder));
  EXPECT_THAT(plan.changes.at("toy.libs/" + y).folders, IsEmpty());
  EXPECT_THAT(plan.left_out, IsEmpty());
}

TEST_F(GraftPlanTest, OtherWaysToNameCopies) {
  tree_.Add("toy/a.so", Library({"libx.so.1"}));
  AddHost("/usr/lib/libx.so.1");
  ASSERT_OK_AND_ASSIGN(GraftPlan plan, Plan({.rename = Rename::kNone}));
  EXPECT_THAT(Copies(plan), ElementsAre(Pair("/usr/lib/libx.so.1", "toy.libs/libx.so.1")));
  EXPECT_THAT(plan.changes.at("toy/a.so").renamed, IsEmpty());
  EXPECT_THAT(plan.changes.at("toy/a.so").folders, ElementsAre(kFolder));
  ASSERT_OK_AND_ASSIGN(plan, Plan({.rename = Rename::kBare}));
  EXPECT_THAT(Copies(plan), ElementsAre(Pair("/usr/lib/libx.so.1", "toy.libs/libx.so")));
  EXPECT_THAT(plan.changes.at("toy/a.so").renamed, ElementsAre(Pair("libx.so.1", "libx.so")));
}

TEST_F(GraftPlanTest, SomeAreNeverRenamed) {
  tree_.Add("toy/a.so", Library({"libx.so.1", "libcufile.so.0"}));
  AddHost("/usr/lib/libx.so.1");
  AddHost("/usr/lib/libcufile.so.0");
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan({.never_rename = {"libx.*"}}));
  EXPECT_THAT(Copies(plan), ElementsAre(Pair("/usr/lib/libcufile.so.0", "toy.libs/libcufile.so.0"),
                                        Pair("/usr/lib/libx.so.1", "toy.libs/libx.so.1")));
}

TEST_F(GraftPlanTest, LinksAreFollowedToOneCopy) {
  tree_.Add("toy/a.so", Library({"libx.so", "libx.so.1"}));
  SyntheticElf library = Library({});
  library.soname = "libx.so.1";
  AddHost("/opt/real/libx.so.1.2.3", library);
  tree_.fs().AddSymlink("/opt/real/libx.so.1.2.3", "/usr/lib/libx.so.1");
  tree_.fs().AddSymlink("libx.so.1", "/usr/lib/libx.so");
  ASSERT_OK_AND_ASSIGN(GraftPlan plan, Plan());
  ASSERT_EQ(plan.grafts.size(), 1U);
  const Graft& graft = plan.grafts[0];
  EXPECT_EQ(graft.source.str(), "/opt/real/libx.so.1.2.3");
  EXPECT_THAT(graft.asked, ElementsAre("libx.so", "libx.so.1"));
  EXPECT_EQ(graft.name, Hashed("/opt/real/libx.so.1.2.3"));
  EXPECT_THAT(plan.changes.at("toy/a.so").renamed,
              ElementsAre(Pair("libx.so", graft.name), Pair("libx.so.1", graft.name)));
  // By its own name, as it is asked for.
  ASSERT_OK_AND_ASSIGN(plan, Plan({.rename = Rename::kNone}));
  EXPECT_EQ(plan.grafts[0].name, "libx.so.1");
  EXPECT_THAT(plan.changes.at("toy/a.so").renamed, ElementsAre(Pair("libx.so", "libx.so.1")));
}

TEST_F(GraftPlanTest, ANameThatIsAPathIsOpenedAsItStands) {
  tree_.Add("toy/a.so", Library({"/opt/x/libx.so.1"}));
  AddHost("/opt/x/libx.so.1");
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan({.rename = Rename::kNone}));
  EXPECT_THAT(Copies(plan), ElementsAre(Pair("/opt/x/libx.so.1", "toy.libs/libx.so.1")));
  EXPECT_THAT(plan.changes.at("toy/a.so").renamed, ElementsAre(Pair("/opt/x/libx.so.1", "libx.so.1")));
}

TEST_F(GraftPlanTest, WhatIsNotAtItsPathIsLookedForWhereTheUserSays) {
  tree_.Add("toy/a.so", Library({"/gone/libx.so.1", "sub/liby.so.1"}));
  AddHost("/usr/lib/libx.so.1");
  AddHost("/usr/lib/liby.so.1");
  EXPECT_THAT(Plan(), FailsWith(ErrorCode::kNotFound, AllOf(HasSubstr("'/gone/libx.so.1', which 'toy/a.so'"),
                                                            HasSubstr("'sub/liby.so.1', which 'toy/a.so'"))));
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan({.rename = Rename::kNone}, {AbsPath::Literal("/usr/lib")}));
  EXPECT_THAT(Copies(plan), ElementsAre(Pair("/usr/lib/libx.so.1", "toy.libs/libx.so.1"),
                                        Pair("/usr/lib/liby.so.1", "toy.libs/liby.so.1")));
}

TEST_F(GraftPlanTest, ANameThatIsAPathStaysOutsideByItsFileName) {
  const std::vector<std::string> needed = {"/lib/libm.so.6", "/lib/libcuda.so.1", "/lib/libpython3.11.so.1.0",
                                           "/lib/libleft.so.1"};
  tree_.Add("toy/a.so", Library(needed));
  for (const std::string& path : needed) AddHost(path);
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan({.exclude = {"libleft.*"}}));
  EXPECT_THAT(plan.grafts, IsEmpty());
  const NeedChange& change = plan.changes.at("toy/a.so");
  EXPECT_THAT(change.dropped, ElementsAre("/lib/libpython3.11.so.1.0"));
  EXPECT_THAT(change.renamed,
              ElementsAre(Pair("/lib/libcuda.so.1", "libcuda.so.1"), Pair("/lib/libm.so.6", "libm.so.6")));
  EXPECT_THAT(plan.left_out, ElementsAre(ExcludedLibrary{"/lib/libcuda.so.1", "never bundled"},
                                         ExcludedLibrary{"/lib/libleft.so.1", "--exclude"}));
}

TEST_F(GraftPlanTest, VersionsAreAskedOfACopyByItsNewName) {
  SyntheticElf library = Library({});
  library.soname = "libx.so.1";
  tree_.Add("toy/a.so", Library({"/opt/x/libx.so"}));
  AddHost("/opt/x/libx.so", library);
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan());
  const std::string name = Hashed("/opt/x/libx.so");
  EXPECT_THAT(plan.changes.at("toy/a.so").renamed,
              ElementsAre(Pair("/opt/x/libx.so", name), Pair("libx.so.1", name)));
}

TEST_F(GraftPlanTest, ExcludesThatNameNothingAreKnown) {
  tree_.Add("toy/a.so", Library({"libx.so.1", "libm.so.6"}));
  AddHost("/usr/lib/libx.so.1");
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan({.exclude = {"/usr/lib/libx.*", "libm.*", "libnone.*"}}));
  EXPECT_THAT(plan.excludes_used, ElementsAre("/usr/lib/libx.*", "libm.*"));
}

TEST_F(GraftPlanTest, WhatAFileOfTheWheelOpensByNameKeepsIt) {
  tree_.Add("toy/a.so", Library({"libplugin.so.3"}));
  tree_.AddText("toy/b.so", Naming(Library({}), "libplugin.so.3"));
  AddHost("/usr/lib/libplugin.so.3");
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan());
  ASSERT_EQ(plan.grafts.size(), 1U);
  EXPECT_EQ(plan.grafts[0].path, "toy.libs/libplugin.so.3");
  EXPECT_EQ(plan.grafts[0].opened_by, "toy/b.so");
  EXPECT_THAT(plan.changes.at("toy/b.so").folders, ElementsAre(kFolder));
}

TEST_F(GraftPlanTest, WhatACopyOpensByNameIsFoundFromIt) {
  tree_.Add("toy/a.so", Library({"libplugin.so.3", "libuser.so.1"}));
  AddHost("/usr/lib/libplugin.so.3");
  tree_.fs().AddFile("/usr/lib/libuser.so.1", Naming(Library({}), "libplugin.so.3"));
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan());
  const std::string user = "toy.libs/" + Hashed("/usr/lib/libuser.so.1");
  EXPECT_THAT(Copies(plan), ElementsAre(Pair("/usr/lib/libplugin.so.3", "toy.libs/libplugin.so.3"),
                                        Pair("/usr/lib/libuser.so.1", user)));
  EXPECT_THAT(plan.changes.at(user).folders, ElementsAre(kFolder));
}

TEST_F(GraftPlanTest, WhatIsAskedForIsCopiedIfSomebodyOpensIt) {
  tree_.Add("toy/a.so", Library({}));
  AddHost("/usr/lib/libplugin.so.3");
  EXPECT_THAT(Plan({.opened = {"libplugin.so.3"}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("no file of the wheel contains that name")));
  ASSERT_OK_AND_ASSIGN(GraftPlan plan, Plan({.opened = {"libplugin.so.3"},
                                             .opened_by_text = {{"libplugin.so.3", {"toy/open.py"}}}}));
  ASSERT_EQ(plan.grafts.size(), 1U);
  EXPECT_EQ(plan.grafts[0].path, "toy.libs/libplugin.so.3");
  EXPECT_EQ(plan.grafts[0].opened_by, "toy/open.py");
  tree_.AddText("toy/b.so", Naming(Library({}), "libplugin.so.3"));
  ASSERT_OK_AND_ASSIGN(plan, Plan({.opened = {"libplugin.so.3"}}));
  EXPECT_EQ(plan.grafts.at(0).opened_by, "toy/b.so");
  // One that a file needs is needed, and keeps its name.
  tree_.Add("toy/b.so", Library({"libplugin.so.3"}));
  ASSERT_OK_AND_ASSIGN(plan, Plan({.opened = {"libplugin.so.3"}}));
  EXPECT_EQ(plan.grafts.at(0).path, "toy.libs/libplugin.so.3");
}

TEST_F(GraftPlanTest, TheNameByWhichItIsOpenedIsTheOneThatServesAll) {
  SyntheticElf library = Library({});
  library.soname = "libfoo.so.1";
  AddHost("/usr/lib/libfoo.so.1", library);
  tree_.fs().AddSymlink("libfoo.so.1", "/usr/lib/libfoo.so");
  tree_.Add("toy/a.so", Library({"libfoo.so.1"}));
  const GraftOptions asked{.opened = {"libfoo.so"}, .opened_by_text = {{"libfoo.so", {"toy/open.py"}}}};
  ASSERT_OK_AND_ASSIGN(GraftPlan plan, Plan(asked));
  EXPECT_THAT(Copies(plan), ElementsAre(Pair("/usr/lib/libfoo.so.1", "toy.libs/libfoo.so")));
  EXPECT_EQ(plan.grafts[0].opened_by, "toy/open.py");
  EXPECT_THAT(plan.changes.at("toy/a.so").renamed, ElementsAre(Pair("libfoo.so.1", "libfoo.so")));
  // Asked for alone, it is found under that name too.
  ASSERT_OK_AND_ASSIGN(plan, Plan({.opened = {"libfoo.so"}}));
  EXPECT_EQ(plan.grafts.at(0).path, "toy.libs/libfoo.so");
  EXPECT_EQ(plan.grafts.at(0).opened_by, "");
  // A file that has both names falls back from one to the other.
  tree_.AddText("toy/b.so", Naming(Library({}), std::string("libfoo.so.1") + '\0' + "libfoo.so"));
  ASSERT_OK_AND_ASSIGN(plan, Plan(asked));
  EXPECT_EQ(plan.grafts.at(0).path, "toy.libs/libfoo.so");
  EXPECT_EQ(plan.grafts.at(0).opened_by, "toy/b.so");
  EXPECT_THAT(plan.changes.at("toy/b.so").folders, ElementsAre(kFolder));
}

TEST_F(GraftPlanTest, ALinkThatSomebodyOpensIsANameToo) {
  SyntheticElf library = Library({});
  library.soname = "libfoo.so.1";
  AddHost("/usr/lib/libfoo.so.1", library);
  tree_.Add("toy/a.so", Library({"libfoo.so.1"}));
  tree_.AddText("toy/b.so", Naming(Library({}), "libfoo.so"));
  ASSERT_OK_AND_ASSIGN(GraftPlan plan, Plan());
  EXPECT_EQ(plan.grafts.at(0).name, Hashed("/usr/lib/libfoo.so.1"));
  tree_.fs().AddSymlink("libfoo.so.1", "/usr/lib/libfoo.so");
  ASSERT_OK_AND_ASSIGN(plan, Plan());
  EXPECT_EQ(plan.grafts.at(0).path, "toy.libs/libfoo.so");
  EXPECT_EQ(plan.grafts.at(0).opened_by, "toy/b.so");
  EXPECT_THAT(tree_.env().reporter.warnings(), IsEmpty());
  // What the library calls itself comes first.
  tree_.AddText("toy/c.so", Naming(Library({}), "libfoo.so.1"));
  ASSERT_OK_AND_ASSIGN(plan, Plan());
  EXPECT_EQ(plan.grafts.at(0).path, "toy.libs/libfoo.so.1");
  EXPECT_EQ(plan.grafts.at(0).opened_by, "toy/c.so");
  EXPECT_THAT(tree_.env().reporter.warnings(),
              ElementsAre(HasSubstr("'toy/b.so' opens 'libfoo.so', here a link to '/usr/lib/libfoo.so.1'")));
}

TEST_F(GraftPlanTest, OneCopyHasNoTwoNames) {
  SyntheticElf library = Library({});
  library.soname = "libfoo.so.1";
  AddHost("/usr/lib/libfoo.so.1", library);
  tree_.fs().AddSymlink("libfoo.so.1", "/usr/lib/libfoo.so");
  tree_.Add("toy/a.so", Library({"libfoo.so.1", "libfoo.so"}));
  const auto asked = Plan({.opened = {"libfoo.so", "libfoo.so.1"}});
  EXPECT_THAT(asked,
              FailsWith(ErrorCode::kInvalidInput,
                        AllOf(HasSubstr("cannot bundle '/usr/lib/libfoo.so.1'"),
                              HasSubstr("'libfoo.so', by --graft"), HasSubstr("'libfoo.so.1', by --graft"))));
  EXPECT_THAT(asked, HasHint(HasSubstr("make all of them open one name")));
  tree_.AddText("toy/b.so", Naming(Library({}), "libfoo.so.1"));
  tree_.AddText("toy/c.so", Naming(Library({}), "libfoo.so"));
  EXPECT_THAT(Plan(), FailsWith(ErrorCode::kInvalidInput, AllOf(HasSubstr("'libfoo.so.1', by 'toy/b.so'"),
                                                                HasSubstr("'libfoo.so', by 'toy/c.so'"))));
}

TEST_F(GraftPlanTest, WhatCannotBeAskedFor) {
  EXPECT_THAT(Plan({.opened = {"libplugin.so.3"}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("no library that could open 'libplugin.so.3'")));
  tree_.Add("toy/a.so", Library({}));
  for (const char* name : {"libcuda.so.1", "libmine.so.1"}) {
    const auto plan = Plan({.never_graft = {"libmine.*"}, .opened = {name}});
    EXPECT_THAT(plan, FailsWith(ErrorCode::kInvalidInput, HasSubstr("never bundles it"))) << name;
    EXPECT_THAT(plan, HasHint(HasSubstr("remove --graft"))) << name;
  }
  EXPECT_THAT(Plan({.opened = {"libplugin.so.3"}}),
              FailsWith(ErrorCode::kNotFound, HasSubstr("'libplugin.so.3', which '--graft' needs")));
}

TEST_F(GraftPlanTest, WhatStaysOutside) {
  tree_.Add("toy/a.so", Library({"libleft.so.1", "libwheel.so.1", "libcuda.so.1", "libcudart.so.12",
                                 "libbackend.so.1", "libc.so.6"}));
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan({.exclude = {"libleft.*"},
                                                   .left_by_wheel = {"libwheel.*"},
                                                   .never_graft = {"libbackend.*"},
                                                   .dependencies = {"nvidia-cuda-runtime-cu12"}}));
  EXPECT_THAT(plan.grafts, IsEmpty());
  EXPECT_THAT(plan.left_out,
              ElementsAre(ExcludedLibrary{"libbackend.so.1", "never bundled"},
                          ExcludedLibrary{"libcuda.so.1", "never bundled"},
                          ExcludedLibrary{"libcudart.so.12", "a dependency provides it"},
                          ExcludedLibrary{"libleft.so.1", "--exclude"},
                          ExcludedLibrary{"libwheel.so.1", "the wheel expects it on the machine"}));
}

TEST_F(GraftPlanTest, ALibraryThatTheWheelLeavesToTheMachineIsCopiedFromIt) {
  tree_.Add("toy/a.so", Library({"libwheel.so.1", "libwheel_gone.so.1"}));
  AddHost("/usr/lib/libwheel.so.1");
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan({.left_by_wheel = {"libwheel*"}}));
  ASSERT_EQ(plan.grafts.size(), 1U);
  EXPECT_EQ(plan.grafts.front().source.str(), "/usr/lib/libwheel.so.1");
  EXPECT_THAT(plan.left_out,
              ElementsAre(ExcludedLibrary{"libwheel_gone.so.1", "the wheel expects it on the machine"}));
}

TEST_F(GraftPlanTest, PathsOfThisMachineStayOutsideByEitherName) {
  tree_.Add("toy/a.so", Library({"libx.so.1"}));
  AddHost("/opt/real/libx.so.1.2");
  tree_.fs().AddSymlink("/opt/real/libx.so.1.2", "/usr/lib/libx.so.1");
  for (const char* glob : {"/opt/real/*", "/usr/lib/libx.*"}) {
    ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan({.exclude = {glob}}));
    EXPECT_THAT(plan.grafts, IsEmpty()) << glob;
    EXPECT_THAT(plan.left_out, ElementsAre(ExcludedLibrary{"libx.so.1", "--exclude"})) << glob;
  }
}

TEST_F(GraftPlanTest, WhatTheSystemHasDependsOnThePolicy) {
  tree_.Add("toy/a.so", Library({"libexpat.so.1", "libpthread.so.0"}));
  AddHost("/usr/lib/libexpat.so.1");
  ASSERT_OK_AND_ASSIGN(GraftPlan plan, Plan());
  EXPECT_THAT(plan.grafts, IsEmpty());
  EXPECT_THAT(plan.left_out, IsEmpty());
  ASSERT_OK_AND_ASSIGN(plan, Plan({.policy = verify::GlibcVersion{2, 5}}));
  EXPECT_THAT(Copies(plan), ElementsAre(Pair("/usr/lib/libexpat.so.1", HasSubstr("toy.libs/libexpat-"))));
}

TEST_F(GraftPlanTest, AWheelForMuslLeavesOtherLibrariesToTheSystem) {
  tree_.Add("toy/a.so", Library({"libc.musl-x86_64.so.1", "libz.so.1", "libexpat.so.1"}));
  AddHost("/usr/lib/libexpat.so.1");
  EXPECT_THAT(Plan({.musl = true}),
              FailsWith(ErrorCode::kNotFound, AllOf(HasSubstr("libexpat.so.1"), Not(HasSubstr("libz.so.1")),
                                                    Not(HasSubstr("musl")))));
  AddHost("/alpine/usr/lib/libexpat.so.1", {"libc.musl-x86_64.so.1"});
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan({.musl = true}, {AbsPath::Literal("/alpine/usr/lib")}));
  EXPECT_THAT(Copies(plan),
              ElementsAre(Pair("/alpine/usr/lib/libexpat.so.1", HasSubstr("toy.libs/libexpat-"))));
}

TEST_F(GraftPlanTest, TheInterpreterIsNeededNoMoreButByPrograms) {
  tree_.Add("toy/a.so", Library({"libpython3.11.so.1.0", "libx.so.1"}));
  AddHost("/usr/lib/libx.so.1", {"libpython3.11.so.1.0"});
  AddHost("/usr/lib/libpython3.11.so.1.0");
  ASSERT_OK_AND_ASSIGN(GraftPlan plan, Plan({.rename = Rename::kNone}));
  EXPECT_THAT(plan.changes.at("toy/a.so").dropped, ElementsAre("libpython3.11.so.1.0"));
  EXPECT_THAT(plan.changes.at("toy.libs/libx.so.1").dropped, ElementsAre("libpython3.11.so.1.0"));
  EXPECT_EQ(plan.grafts.size(), 1U);
  SyntheticElf program = Library({"libpython3.11.so.1.0"});
  program.interpreter = "/lib64/ld-linux-x86-64.so.2";
  tree_.Add("toy/prog", program);
  ASSERT_OK_AND_ASSIGN(plan, Plan({.rename = Rename::kNone}));
  EXPECT_EQ(plan.grafts.size(), 2U);
  EXPECT_THAT(plan.changes.at("toy/prog").dropped, IsEmpty());
}

TEST_F(GraftPlanTest, ALibraryOfTheWheelIsMadeKnown) {
  tree_.Add("toy/a.so", Library({"libx.so.1", "libown.so.1"}));
  tree_.Add("toy/lib/libown.so.1", Library({}));
  AddHost("/usr/lib/libown.so.1");
  AddHost("/usr/lib/libx.so.1", {"libown.so.1"});
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan({.rename = Rename::kNone}));
  EXPECT_THAT(Copies(plan), ElementsAre(Pair("/usr/lib/libx.so.1", "toy.libs/libx.so.1")));
  EXPECT_THAT(plan.changes.at("toy/a.so").folders, ElementsAre("toy.libs", "toy/lib"));
  EXPECT_THAT(plan.changes.at("toy.libs/libx.so.1").folders, ElementsAre("toy/lib"));
}

TEST_F(GraftPlanTest, OfSeveralInTheWheelTheOneBesideCounts) {
  SyntheticElf other = Library({});
  other.symbols = {"other"};
  tree_.Add("toy/a/libown.so.1", Library({}));
  tree_.Add("toy/b/libown.so.1", other);
  tree_.Add("toy/b/b.so", Library({"libown.so.1"}));
  ASSERT_OK_AND_ASSIGN(GraftPlan plan, Plan());
  EXPECT_THAT(plan.changes.at("toy/b/b.so").folders, ElementsAre("toy/b"));
  tree_.Add("toy/c.so", Library({"libown.so.1"}));
  EXPECT_THAT(
      Plan(),
      FailsWith(ErrorCode::kInvalidInput,
                HasSubstr("two libraries 'libown.so.1', 'toy/a/libown.so.1' and 'toy/b/libown.so.1'")));
  tree_.Add("toy/b/libown.so.1", Library({}));  // the same
  ASSERT_OK_AND_ASSIGN(plan, Plan());
  EXPECT_THAT(plan.changes.at("toy/c.so").folders, ElementsAre("toy/a"));
}

TEST_F(GraftPlanTest, WhatIsNoPlaceInTheWheel) {
  SyntheticElf foreign = Library({});
  foreign.machine = 183;
  tree_.Add("toy/a.so", Library({"libx.so.1"}));
  tree_.Add("toy/arm/libx.so.1", foreign);
  tree_.Add("toy-1.0.data/data/lib/libx.so.1", Library({}));
  tree_.Add("toy/glibc-hwcaps/x86-64-v3/libx.so.1", Library({}));
  AddHost("/usr/lib/libx.so.1");
  ASSERT_OK_AND_ASSIGN(GraftPlan plan, Plan());
  EXPECT_EQ(plan.grafts.size(), 1U);
  // Platlib is site-packages.
  tree_.Add("toy-1.0.data/platlib/toy/libx.so.1", Library({}));
  ASSERT_OK_AND_ASSIGN(plan, Plan());
  EXPECT_THAT(plan.grafts, IsEmpty());
  EXPECT_THAT(plan.changes.at("toy/a.so").folders, ElementsAre("toy-1.0.data/platlib/toy"));
}

TEST_F(GraftPlanTest, SearchPathsOfWhoAsksAreSearched) {
  tree_.Add("toy/a.so", Library({"libx.so.1"}, "/opt/$LIB:relative:$ORIGIN/none"));
  AddHost("/opt/lib64/libx.so.1", Library({"liby.so.1"}, "$ORIGIN/sub"));
  AddHost("/opt/lib64/sub/liby.so.1");
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan({.rename = Rename::kNone}));
  EXPECT_THAT(Copies(plan), ElementsAre(Pair("/opt/lib64/libx.so.1", "toy.libs/libx.so.1"),
                                        Pair("/opt/lib64/sub/liby.so.1", "toy.libs/liby.so.1")));
}

TEST_F(GraftPlanTest, FoldersOfTheWheelAreNoneOfTheMachine) {
  tree_.Add("toy/a.so", Library({"libx.so.1"}, "$ORIGIN/../lib:$ORIGIN/opt"));
  AddHost("/opt/libx.so.1");
  AddHost("/lib/x86_64-linux-gnu/libx.so.1", Library({"liby.so.1"}, "$ORIGIN/../other"));
  AddHost("/lib/other/liby.so.1");
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan({.rename = Rename::kNone}));
  EXPECT_THAT(Copies(plan), ElementsAre(Pair("/lib/other/liby.so.1", "toy.libs/liby.so.1"),
                                        Pair("/lib/x86_64-linux-gnu/libx.so.1", "toy.libs/libx.so.1")));
}

TEST_F(GraftPlanTest, DtRpathIsHandedOnAndDtRunpathIsNot) {
  SyntheticElf first = Library({"libx.so.1"});
  first.rpath = "/opt/x";
  tree_.Add("toy/a.so", first);
  tree_.Add("toy/b.so", Library({"liby.so.1"}));
  AddHost("/opt/x/libx.so.1", {"libz1.so.1"});
  AddHost("/opt/x/liby.so.1");
  AddHost("/opt/x/libz1.so.1");
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan());
  EXPECT_EQ(plan.grafts.size(), 3U);
  // Also over a file that has DT_RUNPATH itself.
  tree_.Add("toy/b.so", Library({"libr.so.1"}, "/opt/r"));
  AddHost("/opt/r/libr.so.1", {"liby.so.1"});
  EXPECT_THAT(Plan(), ptpkg::test::IsOk());
  tree_.Add("toy/b.so", Library({"liby.so.1"}));
  tree_.Add("toy/a.so", Library({"libx.so.1"}, "/opt/x"));
  EXPECT_THAT(Plan(), FailsWith(ErrorCode::kNotFound,
                                AllOf(HasSubstr("'liby.so.1', which 'toy/b.so' needs"),
                                      HasSubstr("'libz1.so.1', which '/opt/x/libx.so.1' needs"))));
}

TEST_F(GraftPlanTest, AllThatIsMissingIsTold) {
  tree_.Add("toy/a.so", Library({"libm1.so.1", "libm2.so.1"}));
  tree_.Add("toy/b.so", Library({"libm1.so.1"}));
  const auto plan = Plan();
  EXPECT_THAT(plan, FailsWith(ErrorCode::kNotFound,
                              AllOf(HasSubstr("'libm1.so.1', which 'toy/a.so' needs and 1 more"),
                                    HasSubstr("'libm2.so.1', which 'toy/a.so' needs"))));
  EXPECT_THAT(plan, HasHint(AllOf(HasSubstr("--lib-dir"), HasSubstr("--exclude"))));
}

TEST_F(GraftPlanTest, NamesThatAreTakenAreRefused) {
  tree_.Add("toy/a.so", Library({"libx.so.1"}, "/opt/a"));
  tree_.Add("toy/b.so", Library({"libx.so.1"}, "/opt/b"));
  AddHost("/opt/a/libx.so.1");
  AddHost("/opt/b/libx.so.1");
  ASSERT_OK_AND_ASSIGN(const GraftPlan plan, Plan());
  EXPECT_EQ(plan.grafts.size(), 2U);
  const auto twice = Plan({.rename = Rename::kNone});
  EXPECT_THAT(twice, FailsWith(ErrorCode::kInvalidInput,
                               HasSubstr("'/opt/a/libx.so.1' (for 'toy/a.so') and '/opt/b/libx.so.1' (for "
                                         "'toy/b.so') would both be 'toy.libs/libx.so.1'")));
  EXPECT_THAT(twice, HasHint(HasSubstr("--rename hash")));
  tree_.AddText("toy.libs/libx.so.1", "a text");
  const auto taken = Plan({.rename = Rename::kNone, .exclude = {"/opt/b/*"}});
  EXPECT_THAT(taken, FailsWith(ErrorCode::kInvalidInput,
                               HasSubstr("the wheel already has a file 'toy.libs/libx.so.1'")));
  EXPECT_THAT(taken, HasHint(HasSubstr("--lib-folder")));
}

TEST_F(GraftPlanTest, LibrariesThatCannotBeReadAreTold) {
  tree_.Add("toy/a.so", Library({"libx.so.1"}));
  SyntheticElf object = Library({});
  object.dynamic = false;
  AddHost("/usr/lib/libx.so.1", object);
  EXPECT_THAT(Plan(),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("'/usr/lib/libx.so.1' is not a shared library")));
  SyntheticElf library = Library({"libc.so.6"});
  std::string cut = library.Build();
  elf::test::PokeWord(cut, library.codec(), library.places.dynamic + 8, 0xffffff);  // of the NEEDED
  tree_.fs().AddFile("/usr/lib/libx.so.1", cut);
  EXPECT_THAT(Plan(), FailsWith(ErrorCode::kCorrupt, HasSubstr("DT_NEEDED points to byte 16777215")));
  AddHost("/usr/lib/libx.so.1");
  interrupted_ = true;
  EXPECT_THAT(Plan(), FailsWith(ErrorCode::kCancelled, HasSubstr("interrupted")));
}

}  // namespace
}  // namespace ptpkg::repair
