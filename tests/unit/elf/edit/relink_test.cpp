#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf/edit/relink_tree.h"
#include "elf/load/search_path.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"
#include "unit/elf/fixtures/synthetic_elf.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::FsCall;
using ptpkg::test::HasHint;
using ptpkg::test::MemFs;
using ptpkg::test::TestEnv;
using ::testing::_;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::string_view kSite = "lib/python3.11/site-packages/";

class Relink : public ::testing::Test {
 protected:
  Relink() { fs_.AddDir("/tree"); }

  void Add(const std::string& path, std::optional<std::string> runpath) {
    SyntheticElf elf;
    elf.runpath = std::move(runpath);
    fs_.AddFile("/tree/" + path, elf.Build());
  }
  StagedTree Scan(bool hash = true) {
    auto tree = ScanTree(env_, AbsPath::Literal("/tree"), {.allowed_link_roots = {}, .hash = hash});
    EXPECT_OK(tree);
    return *tree;
  }
  std::optional<SearchPath> PathOf(const std::string& path) {
    const auto file = fs_.Open(AbsPath::Literal("/tree/" + path), OpenMode::kRead);
    const auto image = ReadImage(**file);
    return ReadLinkFacts(**file, **image)->Effective();
  }

  MemFs fs_;
  TestEnv env_{{.fs = &fs_}};
};

TEST_F(Relink, FirstMatchingRuleDecidesBelowSitePackages) {
  const std::string module = std::string(kSite) + "torch/_C.so";
  const std::string library = std::string(kSite) + "torch/lib/libc10.so";
  Add(module, "/build/x");
  Add(library, "/build/x");
  StagedTree tree = Scan();
  RelinkOptions options;
  options.rules = {{.files = "torch/*.so*", .search_path = {"$ORIGIN/lib"}, .tag = PathTag::kRpath},
                   {.files = "torch/**", .search_path = {"$ORIGIN"}, .tag = PathTag::kRunpath}};
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanRelink(env_, tree, options));
  ASSERT_THAT(plan, SizeIs(2));
  EXPECT_EQ(plan[0].file.str(), module);
  EXPECT_EQ(plan[0].before.Effective()->text, "/build/x");
  EXPECT_EQ(plan[0].tier, WriteTier::kAppend);
  EXPECT_GT(plan[0].bytes_grown, 0U);
  EXPECT_EQ(plan[1].tier, WriteTier::kInPlace);
  EXPECT_THAT(UnusedRules(options.rules, plan), IsEmpty());
  ASSERT_OK(ApplyRelink(env_, tree, plan));
  EXPECT_EQ(PathOf(module)->text, "$ORIGIN/lib");
  EXPECT_EQ(PathOf(module)->tag, PathTag::kRpath);
  EXPECT_EQ(PathOf(library)->text, "$ORIGIN");
}

TEST_F(Relink, NamesTheRulesThatDecideNoFile) {
  Add("lib/liba.so", "/build/x");
  Add("lib/none.txt", "/build/x");
  const StagedTree tree = Scan();
  RelinkOptions options;
  options.rules = {{.files = "lib/*.so"}, {.files = "lib/liba.so"}, {.files = "lib64/**"}};
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanRelink(env_, tree, options));
  EXPECT_THAT(UnusedRules(options.rules, plan), ElementsAre("lib/liba.so", "lib64/**"));
}

TEST_F(Relink, PlanWritesNothing) {
  Add("liba.so", "/tree/lib");
  const StagedTree tree = Scan();
  fs_.ClearCalls();
  ASSERT_OK(PlanRelink(env_, tree, {}));
  for (const FsCall& call : fs_.calls())
    EXPECT_THAT(call.operation, Not(::testing::AnyOf("OpenReadWrite", "Rename", "SetMtime")));
  EXPECT_EQ(fs_.BytesWritten("/tree/liba.so"), 0U);
}

TEST_F(Relink, ManifestFollowsTheBytes) {
  Add("a/liba.so", "/tree/lib");
  Add("b/libb.so", "$ORIGIN");
  StagedTree tree = Scan();
  const StagedTree before = tree;
  RelinkOptions options;
  options.rules = {{.files = "**", .search_path = {"$ORIGIN", "$ORIGIN/../" + std::string(300, 'x')}}};
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanRelink(env_, tree, options));
  ASSERT_OK(ApplyRelink(env_, tree, plan));
  EXPECT_EQ(tree.entries, Scan().entries);
  EXPECT_NE(tree.entries, before.entries);
}

TEST_F(Relink, UnhashedTreeGetsSizesOnly) {
  Add("liba.so", "/tree/lib");
  StagedTree tree = Scan(false);
  RelinkOptions options;
  options.rules = {{.files = "**", .search_path = {"$ORIGIN/" + std::string(300, 'x')}}};
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanRelink(env_, tree, options));
  ASSERT_OK(ApplyRelink(env_, tree, plan));
  EXPECT_EQ(tree.entries[0].sha256, Sha256{});
  EXPECT_EQ(tree.entries[0].size_bytes, fs_.Content("/tree/liba.so").size());
}

TEST_F(Relink, RerunChangesNothing) {
  Add("liba.so", "/tree/sub");
  StagedTree tree = Scan();
  const RelinkOptions options;
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanRelink(env_, tree, options));
  ASSERT_OK(ApplyRelink(env_, tree, plan));
  const auto stat = fs_.Lstat(AbsPath::Literal("/tree/liba.so"));
  ASSERT_OK_AND_ASSIGN(const auto again, PlanRelink(env_, tree, options));
  EXPECT_THAT(again, IsEmpty());
  ASSERT_OK(ApplyRelink(env_, tree, again));
  EXPECT_EQ(*fs_.Lstat(AbsPath::Literal("/tree/liba.so")), *stat);
}

TEST_F(Relink, AddsFoldersAndKeepsAllowedEntries) {
  Add("lib/liba.so", "/tree/lib/deep:/opt/driver:/opt/other");
  Add("lib/libb.so", std::nullopt);
  Add("lib/libc.so", "$ORIGIN/../lib");
  Add("lib/python3.11/libd.so", "/build/x");
  StagedTree tree = Scan();
  RelinkOptions options;
  options.rules = {{.files = "lib/libc.so", .search_path = {"$ORIGIN/rule"}}};
  options.added = {"lib/R/lib", "lib"};
  options.kept = {"/opt/d*"};
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanRelink(env_, tree, options));
  ASSERT_OK(ApplyRelink(env_, tree, plan));
  EXPECT_EQ(PathOf("lib/liba.so")->text, "$ORIGIN/deep:/opt/driver:$ORIGIN/R/lib:$ORIGIN");
  EXPECT_EQ(PathOf("lib/libb.so")->text, "$ORIGIN/R/lib:$ORIGIN");
  EXPECT_EQ(PathOf("lib/libc.so")->text, "$ORIGIN/rule") << "a rule decides alone";
  EXPECT_EQ(PathOf("lib/python3.11/libd.so")->text, "$ORIGIN/../R/lib:$ORIGIN/..");
}

TEST_F(Relink, ChangesOnlyTheFilesThatMayChange) {
  Add("lib/liba.so", "/build/x");
  Add("lib/libb.so", "/build/x");
  StagedTree tree = Scan();
  RelinkOptions options;
  options.relocated = {"lib/liba.so"};
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanRelink(env_, tree, options));
  ASSERT_THAT(plan, SizeIs(1));
  EXPECT_EQ(plan[0].file.str(), "lib/liba.so");
  options.relocated->clear();
  ASSERT_OK_AND_ASSIGN(const auto none, PlanRelink(env_, tree, options));
  EXPECT_THAT(none, IsEmpty());
}

TEST_F(Relink, WithoutRulesOnlyForeignEntriesGo) {
  Add("lib/liba.so", "/tree/lib/deep:/opt/other:$ORIGIN");
  Add("lib/libb.so", "$ORIGIN/../lib");
  Add("lib/libc.so", "/opt/other");
  Add("lib/libd.so", std::nullopt);
  fs_.AddFile("/tree/lib/script.so", "INPUT(liba.so)");
  fs_.AddSymlink("liba.so", "/tree/lib/link.so");
  SyntheticElf fixed;
  fixed.dynamic = false;
  fs_.AddFile("/tree/lib/static", fixed.Build());
  StagedTree tree = Scan();
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanRelink(env_, tree, {}));
  ASSERT_THAT(plan, SizeIs(2));
  EXPECT_EQ(plan[0].after.Effective()->text, "$ORIGIN/deep:$ORIGIN");
  EXPECT_EQ(plan[1].after.Effective(), std::nullopt);
  ASSERT_OK(ApplyRelink(env_, tree, plan));
  EXPECT_EQ(PathOf("lib/liba.so")->text, "$ORIGIN/deep:$ORIGIN");
  EXPECT_EQ(PathOf("lib/libb.so")->text, "$ORIGIN/../lib");
  EXPECT_FALSE(PathOf("lib/libc.so").has_value());
}

TEST_F(Relink, BuildPrefixMayDifferFromTheTree) {
  Add("lib/liba.so", "/build/prefix/lib:/tree/lib");
  StagedTree tree = Scan();
  RelinkOptions options;
  options.build_prefix = "/build/prefix/";
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanRelink(env_, tree, options));
  ASSERT_THAT(plan, SizeIs(1));
  EXPECT_EQ(plan[0].after.Effective()->text, "$ORIGIN");
}

TEST_F(Relink, HardLinkedCopiesStayWhatTheyWere) {
  Add("liba.so", "/tree/lib");
  ASSERT_OK(fs_.CreateHardLink(AbsPath::Literal("/tree/liba.so"), AbsPath::Literal("/original.so")));
  const std::string original = fs_.Content("/original.so");
  StagedTree tree = Scan();
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanRelink(env_, tree, {}));
  ASSERT_OK(ApplyRelink(env_, tree, plan));
  EXPECT_EQ(fs_.Content("/original.so"), original);
  EXPECT_NE(fs_.Content("/tree/liba.so"), original);
}

TEST_F(Relink, InterruptedEditIsPlannedAsBeforeAndUndoneByApplying) {
  Add("liba.so", "/tree/lib/some/where");
  Add("libb.so", "$ORIGIN");  // nothing to do but to undo
  StagedTree tree = Scan();
  const std::vector<std::string> names = {"/tree/liba.so", "/tree/libb.so"};
  std::vector<std::string> before;
  for (const std::string& name : names) {
    before.push_back(fs_.Content(name));
    ptpkg::test::FaultFs faulty(
        fs_,
        {.number = 6, .scope = ptpkg::test::FaultScope::kMutating, .after = ptpkg::test::FaultAfter::kDead});
    Edits edits;
    edits.search_path = SearchPath{.text = std::string(700, 'x')};
    ASSERT_FALSE(EditFile(faulty, AbsPath::Literal(name), edits));
    ASSERT_NE(fs_.Content(name), before.back());
  }
  const std::vector<std::string> killed = {fs_.Content(names[0]), fs_.Content(names[1])};
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanRelink(env_, tree, {}));
  ASSERT_THAT(plan, SizeIs(2));
  EXPECT_TRUE(plan[0].interrupted);
  EXPECT_EQ(plan[0].before.Effective()->text, "/tree/lib/some/where");
  EXPECT_EQ(plan[1].tier, WriteTier::kNothing);
  EXPECT_TRUE(fs_.Content(names[0]) == killed[0] && fs_.Content(names[1]) == killed[1]) << "a plan writes";
  ASSERT_OK(ApplyRelink(env_, tree, plan));
  EXPECT_TRUE(fs_.Content(names[1]) == before[1]);
  ASSERT_OK_AND_ASSIGN(const auto again, PlanRelink(env_, tree, {}));
  EXPECT_THAT(again, IsEmpty());
  EXPECT_EQ(tree.entries[1].size_bytes, before[1].size());
}

TEST_F(Relink, StalePlanIsRefused) {
  Add("liba.so", "/tree/lib");
  StagedTree tree = Scan();
  ASSERT_OK_AND_ASSIGN(const auto plan, PlanRelink(env_, tree, {}));
  Add("liba.so", "/elsewhere");
  EXPECT_THAT(ApplyRelink(env_, tree, plan),
              AllOf(FailsWith(ErrorCode::kRefused, HasSubstr("'liba.so' changed after")),
                    HasHint("run the command again")));
  fs_.AddFile("/tree/liba.so", "text now");
  EXPECT_THAT(ApplyRelink(env_, tree, plan),
              FailsWith(ErrorCode::kRefused, HasSubstr("no longer a dynamic ELF file")));
  tree.entries.clear();
  EXPECT_THAT(ApplyRelink(env_, tree, plan),
              FailsWith(ErrorCode::kNotFound, HasSubstr("'liba.so' is not in the tree")));
}

TEST_F(Relink, BadRulesAndFilesAreNamed) {
  Add("liba.so", "/tree/lib");
  StagedTree tree = Scan();
  RelinkOptions options;
  for (const char* entry : {"", "a:b"}) {
    options.rules = {{.files = "*.so", .search_path = {entry}}};
    EXPECT_THAT(PlanRelink(env_, tree, options),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("the search path for '*.so'")));
  }
  fs_.AddFile("/tree/liba.so", SyntheticElf().Build().substr(0, 300));
  const auto plan = PlanRelink(env_, tree, {});
  ASSERT_THAT(plan, FailsWith(ErrorCode::kCorrupt, _));
  EXPECT_THAT(plan.error().context(), Contains("while relinking 'liba.so'"));
  env_.cancel.Cancel();
  EXPECT_THAT(PlanRelink(env_, tree, {}), FailsWith(ErrorCode::kCancelled, _));
}

}  // namespace
}  // namespace ptpkg::elf::test
