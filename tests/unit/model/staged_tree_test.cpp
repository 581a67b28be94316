#include "model/staged_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"

namespace ptpkg::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ScanTreeTest : public ::testing::Test {
 protected:
  Result<StagedTree> Scan(const ScanOptions& options = {}) {
    TestEnv env({.fs = &fs_});
    auto tree = ScanTree(env, AbsPath::Literal("/t"), options);
    tasks_ = env.reporter.tasks();
    return tree;
  }
  std::vector<std::string> Paths() {
    std::vector<std::string> paths;
    const Result<StagedTree> tree = Scan();
    EXPECT_OK(tree);
    if (tree) {
      for (const TreeEntry& entry : tree->entries) paths.push_back(entry.path.str());
    }
    return paths;
  }
  void ExpectLinkRefused(std::string_view target, std::string_view path) {
    fs_.AddSymlink(target, path);
    EXPECT_THAT(Scan(),
                FailsWith(ErrorCode::kInvalidInput, AllOf(HasSubstr(path.substr(3)), HasSubstr(target))));
    ASSERT_OK(fs_.Remove(AbsPath::Literal(path)));
  }

  MemFs fs_;
  std::vector<::ptpkg::test::RecordingReporter::TaskRecord> tasks_;  // of the last scan
};

TEST_F(ScanTreeTest, ListsFilesAndLinksSortedByBytes) {
  fs_.AddFile("/t/b/inner", "1");
  fs_.AddFile("/t/b.txt", "2");
  fs_.AddFile("/t/a", "3");
  fs_.AddDir("/t/empty/deeper");
  fs_.AddSymlink("b/inner", "/t/b-link");
  EXPECT_THAT(Paths(), ElementsAre("a", "b-link", "b.txt", "b/inner"));
}

TEST_F(ScanTreeTest, RecordsContentModeAndTarget) {
  fs_.AddFile("/t/script", "#!/bin/sh\n", 0744);
  fs_.AddFile("/t/group-only", "x", 0674);
  fs_.AddFile("/t/setuid", "", 04755);
  fs_.AddSymlink("script", "/t/link");
  ASSERT_OK_AND_ASSIGN(const StagedTree tree, Scan());
  EXPECT_EQ(tree.root, AbsPath::Literal("/t"));

  const TreeEntry* script = tree.Find("script");
  ASSERT_NE(script, nullptr);
  EXPECT_EQ(script->kind, FileKind::kRegular);
  EXPECT_EQ(script->mode, 0755U);
  EXPECT_EQ(script->size_bytes, 10U);
  EXPECT_EQ(script->sha256, HashText("#!/bin/sh\n"));
  EXPECT_EQ(tree.Find("group-only")->mode, 0644U);  // only the owner's bit counts
  EXPECT_EQ(tree.Find("setuid")->mode, 0755U);

  const TreeEntry* link = tree.Find("link");
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->kind, FileKind::kSymlink);
  EXPECT_EQ(link->link_target, "script");
  EXPECT_EQ(link->size_bytes, 0U);
  EXPECT_EQ(tree.Find("scrip"), nullptr);
  EXPECT_EQ(tree.Find("zzz"), nullptr);
  EXPECT_EQ(tree.TotalBytes(), 11U);
}

TEST_F(ScanTreeTest, EmptyAndMissingTrees) {
  EXPECT_THAT(Scan(), FailsWith(ErrorCode::kNotFound, HasSubstr("/t")));
  fs_.AddDir("/t");
  ASSERT_OK_AND_ASSIGN(const StagedTree tree, Scan());
  EXPECT_TRUE(tree.entries.empty());
  EXPECT_EQ(tree.TotalBytes(), 0U);
}

TEST_F(ScanTreeTest, ReadsEachFileOnceAndClosesIt) {
  for (int i = 0; i < 50; ++i)
    fs_.AddFile("/t/f" + std::to_string(i), std::string(static_cast<std::size_t>(i) * 1000, 'x'));
  ASSERT_OK(Scan());
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(fs_.BytesRead("/t/f" + std::to_string(i)), static_cast<std::uint64_t>(i) * 1000);
  }
  EXPECT_EQ(fs_.open_files(), 0);
  ASSERT_EQ(tasks_.size(), 1U);
  EXPECT_EQ(tasks_[0].info.stage, "hash");
  EXPECT_EQ(tasks_[0].done_bytes, 1'225'000U);
  EXPECT_EQ(tasks_[0].info.total_bytes, 1'225'000U);
}

TEST_F(ScanTreeTest, RefusesWhatPackagesCannotHold) {
  fs_.AddOther("/t/sub/fifo");
  EXPECT_THAT(Scan(), FailsWith(ErrorCode::kInvalidInput,
                                AllOf(HasSubstr("sub/fifo"), HasSubstr("fifo, which packages"))));
}

TEST_F(ScanTreeTest, RefusesWhatAKilledCallLeft) {
  for (const char* name :
       {"lib/.ptpkg-edit-7-0/liba.so", "lib/.a.txt.7-0.ptpkg-tmp", "lib/a.ptpkg-unlinked"}) {
    MemFs fs;
    fs.AddFile(std::string("/t/") + name, "");
    TestEnv env({.fs = &fs});
    EXPECT_THAT(ScanTree(env, AbsPath::Literal("/t")),
                AllOf(FailsWith(ErrorCode::kInvalidInput,
                                AllOf(HasSubstr("'lib/"), HasSubstr("left over from a killed ptpkg"))),
                      HasHint(HasSubstr("remove it"))));
  }
}

TEST_F(ScanTreeTest, RefusesTreesThatAreTooDeepWithThePath) {
  std::string folder = "/t";
  for (int i = 0; i < 130; ++i) folder += "/deep";
  test::MemFs fs;
  fs.AddDir("/t");
  fs.AddFile(folder + "/f", "x");
  test::TestEnv env({.fs = &fs});
  EXPECT_THAT(ScanTree(env, AbsPath::Literal("/t")),
              FailsWith(ErrorCode::kInvalidInput,
                        AllOf(HasSubstr("deep/deep"), HasSubstr("is 129 directories deep"))));
}

TEST_F(ScanTreeTest, RefusesNamesThatAreNotUtf8) {
  const std::vector<std::string> bad = {
      "\xFF",              // never in UTF-8
      "a\xC3",             // cut short
      "\xC0\xAF",          // overlong '/'
      "\xE0\x80\xAF",      // overlong
      "\xF0\x80\x80\x80",  // overlong
      "\xED\xA0\x80",      // surrogate
      "\xF4\x90\x80\x80",  // above U+10FFFF
      "\xF8\x88\x80\x80\x80",
      "\x80",          // continuation first
      "\xE2\x28\xA1",  // bad continuation
  };
  for (const std::string& name : bad) {
    MemFs fs;
    fs.AddFile("/t/dir/" + name, "");
    TestEnv env({.fs = &fs});
    const Result<StagedTree> tree = ScanTree(env, AbsPath::Literal("/t"));
    EXPECT_THAT(tree, FailsWith(ErrorCode::kInvalidInput, HasSubstr("not valid UTF-8")));
    ASSERT_FALSE(tree.has_value());
    EXPECT_THAT(tree.error().message(), HasSubstr("\\x"));  // shown, but not raw
  }
  for (const char* name :
       {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x90\x8D", "\xF4\x8F\xBF\xBF", "\xEE\x80\x80", "\xED\x9F\xBF"}) {
    fs_.AddFile(std::string("/t/") + name, "");
  }
  EXPECT_EQ(Paths().size(), 6U);
  fs_.AddSymlink("\xFF", "/t/link");
  EXPECT_THAT(Scan(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'link'")));
}

TEST_F(ScanTreeTest, AcceptsLinksInsideTheTree) {
  fs_.AddFile("/t/lib/libx.so.1", "x");
  fs_.AddSymlink("libx.so.1", "/t/lib/libx.so");
  fs_.AddSymlink("../lib/./libx.so", "/t/bin/x");
  fs_.AddSymlink("missing", "/t/dangling");
  fs_.AddSymlink("lib", "/t/lib64");
  fs_.AddSymlink("../lib64/../lib/", "/t/bin/libs");
  fs_.AddSymlink("loop-b", "/t/loop-a");
  fs_.AddSymlink("loop-a", "/t/loop-b");
  fs_.AddSymlink("..", "/t/sub/to-root");
  EXPECT_OK(Scan());
}

TEST_F(ScanTreeTest, RefusesLinksThatLeaveTheTree) {
  fs_.AddFile("/t/a/b/f", "");
  ExpectLinkRefused("/etc/passwd", "/t/absolute");
  ExpectLinkRefused("/t/a/b/f", "/t/absolute-inside");  // would dangle in every other place
  ExpectLinkRefused("..", "/t/up");
  ExpectLinkRefused("../t/a", "/t/out-and-in");
  ExpectLinkRefused("../../../x", "/t/a/b/deep");
  ExpectLinkRefused("a/../../x", "/t/through");
}

TEST_F(ScanTreeTest, RefusesLinksThatLeaveThroughAnotherLink) {
  // Lexically a/b/x stays inside: a/b/root/../etc. In truth root/.. is above the tree.
  fs_.AddSymlink("../..", "/t/a/b/root");
  ExpectLinkRefused("root/../etc", "/t/a/b/x");
  fs_.AddSymlink("a/b/root", "/t/c");
  ExpectLinkRefused("c/..", "/t/d");
}

TEST_F(ScanTreeTest, AllowedRootsMayBeLinkedTo) {
  fs_.AddSymlink("/prefix/lib/libm.so", "/t/lib/libm.so");
  fs_.AddSymlink("../../prefix/share", "/t/lib/share");
  EXPECT_THAT(Scan(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("libm.so")));
  EXPECT_OK(Scan({.allowed_link_roots = {AbsPath::Literal("/other"), AbsPath::Literal("/prefix")}}));
  fs_.AddSymlink("/prefixed/x", "/t/lib/near-miss");
  EXPECT_THAT(Scan({.allowed_link_roots = {AbsPath::Literal("/prefix")}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("near-miss")));
  ASSERT_OK(fs_.Remove(AbsPath::Literal("/t/lib/near-miss")));
  fs_.AddSymlink("/prefix/../etc/passwd", "/t/lib/climbs");
  EXPECT_THAT(Scan({.allowed_link_roots = {AbsPath::Literal("/prefix")}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("climbs")));
}

TEST_F(ScanTreeTest, StopsWhenCancelled) {
  fs_.AddFile("/t/f", "x");
  TestEnv env({.fs = &fs_});
  env.cancel.Cancel();
  EXPECT_THAT(ScanTree(env, AbsPath::Literal("/t")), FailsWith(ErrorCode::kCancelled, "interrupted"));
  EXPECT_EQ(fs_.BytesRead("/t/f"), 0U);
}

TEST_F(ScanTreeTest, SameTreeWhateverTheJobs) {
  for (int i = 0; i < 40; ++i)
    fs_.AddFile("/t/d" + std::to_string(i % 7) + "/f" + std::to_string(i), std::to_string(i));
  std::vector<StagedTree> trees;
  for (const int jobs : {1, 2, 8}) {
    TestEnv env({.fs = &fs_, .jobs = jobs});
    ASSERT_OK_AND_ASSIGN(StagedTree tree, ScanTree(env, AbsPath::Literal("/t")));
    trees.push_back(std::move(tree));
  }
  EXPECT_EQ(trees[0].entries, trees[1].entries);
  EXPECT_EQ(trees[0].entries, trees[2].entries);
}

TEST(ScanTree, EveryFaultIsReported) {
  const int faults = RunFaultLoop({.setup =
                                       [](MemFs& fs) {
                                         fs.AddFile("/t/a/f", "x");
                                         fs.AddFile("/t/g", "y");
                                         fs.AddSymlink("g", "/t/l");
                                       },
                                   .run = [](Fs& fs) -> Result<void> {
                                     TestEnv env({.fs = &fs});
                                     PTPKG_TRY(const StagedTree tree, ScanTree(env, AbsPath::Literal("/t")));
                                     EXPECT_EQ(tree.entries.size(), 3U);
                                     return Ok();
                                   },
                                   .check = {}});
  EXPECT_GE(faults, 10);
}

TEST(ScanTree, RealFilesAndSpecialOnes) {
  TestEnv env;
  const TempDir dir;
  dir.WriteFile("lib/x", "content", 0755);
  dir.MakeSymlink("x", "lib/y");
  ASSERT_OK_AND_ASSIGN(const StagedTree tree, ScanTree(env, dir.path()));
  ASSERT_EQ(tree.entries.size(), 2U);
  EXPECT_EQ(tree.entries[0].mode, 0755U);
  ASSERT_EQ(::mkfifo((dir / "lib/pipe").c_str(), 0644), 0);
  EXPECT_THAT(ScanTree(env, dir.path()), FailsWith(ErrorCode::kInvalidInput, HasSubstr("lib/pipe")));
}

TEST(TreeDigest, ChangesWithEveryFieldButTheRoot) {
  const auto digest = [](const std::function<void(MemFs&)>& change) {
    MemFs fs;
    fs.AddFile("/t/f", "x");
    fs.AddSymlink("f", "/t/l");
    change(fs);
    TestEnv env({.fs = &fs});
    const Result<StagedTree> tree = ScanTree(env, AbsPath::Literal("/t"));
    EXPECT_OK(tree);
    return tree ? TreeDigest(*tree) : Sha256{};
  };
  const Sha256 base = digest([](MemFs&) {});
  EXPECT_EQ(base, digest([](MemFs& fs) { fs.AddDir("/t/empty"); }));
  EXPECT_EQ(base, digest([](MemFs& fs) { EXPECT_OK(fs.SetMtime(AbsPath::Literal("/t/f"), 1)); }));
  EXPECT_NE(base, digest([](MemFs& fs) { fs.AddFile("/t/f", "y"); }));
  EXPECT_NE(base, digest([](MemFs& fs) { fs.AddFile("/t/f", "x", 0755); }));
  EXPECT_NE(base, digest([](MemFs& fs) { fs.AddFile("/t/g", ""); }));
  EXPECT_NE(base, digest([](MemFs& fs) {
              EXPECT_OK(fs.Rename(AbsPath::Literal("/t/f"), AbsPath::Literal("/t/F")));
            }));
  EXPECT_NE(base, digest([](MemFs& fs) {
              EXPECT_OK(fs.Remove(AbsPath::Literal("/t/l")));
              fs.AddSymlink("./f", "/t/l");
            }));

  MemFs fs;
  fs.AddFile("/elsewhere/f", "x");
  fs.AddSymlink("f", "/elsewhere/l");
  TestEnv env({.fs = &fs});
  ASSERT_OK_AND_ASSIGN(const StagedTree moved, ScanTree(env, AbsPath::Literal("/elsewhere")));
  EXPECT_EQ(base, TreeDigest(moved));
}

}  // namespace
}  // namespace ptpkg::test
