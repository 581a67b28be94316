// One test per rule of extract.h, each with the archive that breaks it.

#include <gtest/gtest.h>

#include "archive/codec/codec.h"
#include "archive/extract.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::MemFs;
using ::ptpkg::test::TempDir;
using ::ptpkg::test::TestEnv;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A file system with an empty "/out" to unpack into, and an Env over it.
class ExtractTarTest : public ::testing::Test {
 protected:
  ExtractTarTest() { fs_.AddDir("/out"); }

  Result<void> Extract(const std::string& tar, const ExtractOptions& options = {}) {
    StringSource source(tar);
    return ExtractTar(env_, source, "x.tar", AbsPath::Literal("/out"), options, tar.size());
  }
  std::vector<std::string> Out() { return fs_.List("/out"); }

  MemFs fs_;
  TestEnv env_{{.fs = &fs_}};
};

TEST_F(ExtractTarTest, FilesFoldersAndLinks) {
  ASSERT_OK(Extract(TarFolder("d/") + TarFile("d/tool", "run", 0775) + TarFile("./d//./text", "text", 0600) +
                    TarLink("d/link", "text") + TarLink("dangling", "d/missing") + TarFolder("./") +
                    TarFolder("d/") + TarEnd()));
  EXPECT_THAT(Out(), ElementsAre("d/", "d/link -> text", "d/text", "d/tool", "dangling -> d/missing"));
  EXPECT_EQ(fs_.Content("/out/d/tool"), "run");
  EXPECT_EQ(fs_.Lstat(AbsPath::Literal("/out/d/tool"))->mode, 0755U);
  EXPECT_EQ(fs_.Lstat(AbsPath::Literal("/out/d/text"))->mode, 0644U);
}

TEST_F(ExtractTarTest, TellsHowMuchOfTheArchiveWasRead) {
  const std::string tar = TarFile("a", std::string(300'000, 'x')) + TarEnd();
  ASSERT_OK(Extract(tar));
  EXPECT_THAT(Extract(TarFile("../a", "x") + TarEnd()), FailsWith(ErrorCode::kCorrupt, HasSubstr("../a")));
  const auto tasks = env_.reporter.tasks();
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(tasks[0].info.stage, "unpack");
  EXPECT_EQ(tasks[0].info.subject, "x.tar");
  EXPECT_EQ(tasks[0].info.total_bytes, tar.size());
  EXPECT_EQ(tasks[0].done_bytes, tar.size());
  EXPECT_EQ(tasks[0].outcome, TaskOutcome::kDone);
  EXPECT_EQ(tasks[1].outcome, TaskOutcome::kFailed);
}

TEST_F(ExtractTarTest, SetUserIdIsDropped) {
  ASSERT_OK(Extract(TarFile("t", "x", 06755) + TarEnd()));
  EXPECT_EQ(fs_.Lstat(AbsPath::Literal("/out/t"))->mode, 0755U);
}

TEST_F(ExtractTarTest, PaxAndGnuNames) {
  const std::string long_name = std::string(100, 'p') + "/" + std::string(100, 'q');
  const std::string gnu_name = std::string(200, 'g');
  ASSERT_OK(
      Extract(TarPax("path", long_name) + TarFile("short", "pax") + TarPax("path", "gr\xc3\xbc\xc3\x9f") +
              TarFile("short", "utf8") + TarPax("linkpath", std::string(150, 't')) + TarLink("l", "short") +
              ToText(TarHeader{.name = "././@LongLink", .type = 'L', .size_bytes = 201}) + gnu_name +
              std::string(312, '\0') + TarFile("short", "gnu") + TarFile("raw\xc3\xbc", "raw") + TarEnd()));
  EXPECT_EQ(fs_.Content("/out/" + long_name), "pax");
  EXPECT_EQ(fs_.Content("/out/gr\xc3\xbc\xc3\x9f"), "utf8");
  EXPECT_EQ(fs_.Content("/out/" + gnu_name), "gnu");
  EXPECT_EQ(fs_.Content("/out/raw\xc3\xbc"), "raw");
  EXPECT_EQ(*fs_.ReadLink(AbsPath::Literal("/out/l")), std::string(150, 't'));
}

TEST_F(ExtractTarTest, HardLinksBecomeCopies) {
  ASSERT_OK(Extract(TarFile("a", "text", 0755) + TarHardLink("d/b", "./a") + TarEnd()));
  EXPECT_EQ(fs_.Content("/out/d/b"), "text");
  EXPECT_EQ(fs_.Lstat(AbsPath::Literal("/out/d/b"))->link_count, 1U);
  EXPECT_EQ(fs_.Lstat(AbsPath::Literal("/out/d/b"))->mode, 0755U);
}

struct HostileTar {
  const char* name;
  std::string tar;
  const char* message;
};

std::vector<HostileTar> HostileTars() {
  return {
      {"absolute", TarFile("/etc/x", ""), "'/etc/x' has an absolute name"},
      {"parent", TarFile("a/../../x", ""), "'a/../../x' has '..' in its name"},
      {"only_parent", TarFolder(".."), "'..' has '..' in its name"},
      {"parent_by_pax", TarPax("path", "../x") + TarFile("ok", ""), "'../x' has '..' in its name"},
      {"long_name", TarPax("path", std::string(4097, 'n')) + TarFile("n", ""), "more than 4096 bytes"},
      {"not_utf8", TarFile("a\xff", ""), "'a\\xff' has a name that is not UTF-8"},
      {"root_as_file", TarFile(".", "x", 0644), "not a directory"},
      {"twice", TarFile("a", "1") + TarFile("./a", "2"), "'./a' occurs twice"},
      {"file_then_link", TarFile("a", "1") + TarLink("a", "b"), "'a' occurs twice"},
      {"folder_then_file", TarFile("a/b", "") + TarFile("a", ""),
       "'a' is also the directory of other members"},
      {"file_then_folder", TarFile("a", "") + TarFolder("a"), "'a' occurs twice"},
      {"below_file", TarFile("a", "") + TarFile("a/b", ""), "is below 'a', which is a file"},
      {"below_link", TarLink("a", "b") + TarFolder("b") + TarFile("a/x", ""), "is below the symlink 'a'"},
      {"below_link_out", TarLink("a", "../..") + TarFile("a/x", ""), "is below the symlink 'a'"},
      {"link_over_folder", TarFile("a/b", "") + TarLink("a", "c"),
       "'a' is also the directory of other members"},
      {"absolute_link", TarLink("a", "/etc/passwd"), "'a' links to the absolute path '/etc/passwd'"},
      {"leaving_link", TarLink("d/a", "../../x"), "'d/a' is a symlink to '../../x', outside the tree"},
      // Lexically d/up/.. is d; on disk d/up is the root, and its parent is outside.
      {"leaving_through_a_link", TarLink("d/up", "..") + TarLink("escape", "d/up/../x"),
       "'escape' is a symlink to 'd/up/../x', outside the tree"},
      {"leaving_through_a_later_link", TarLink("a", "z/../x") + TarFolder("d") + TarLink("z", "d/.."),
       "'a' is a symlink to 'z/../x', outside the tree"},
      {"link_without_target", TarLink("a", ""), "'a' has no usable link target"},
      {"hard_link_out", TarHardLink("a", "../../etc/passwd"), "'../../etc/passwd' has '..' in its name"},
      {"hard_link_absolute", TarHardLink("a", "/etc/passwd"), "'/etc/passwd' has an absolute name"},
      {"hard_link_to_nothing", TarHardLink("a", "b"), "not an earlier file of the archive"},
      {"hard_link_to_itself", TarHardLink("a", "a"), "not an earlier file of the archive"},
      {"hard_link_to_link", TarLink("l", "f") + TarHardLink("a", "l"), "not an earlier file of the archive"},
      {"device", ToText(TarHeader{.name = "dev", .type = '3'}), "'dev' is a device, pipe or socket"},
      {"block_device", ToText(TarHeader{.name = "dev", .type = '4'}), "'dev' is a device, pipe or socket"},
      {"pipe", ToText(TarHeader{.name = "fifo", .type = '6'}), "'fifo' is a device, pipe or socket"},
  };
}

TEST_F(ExtractTarTest, RefusesHostileMembers) {
  for (const HostileTar& hostile : HostileTars()) {
    SCOPED_TRACE(hostile.name);
    MemFs fs;
    fs.AddDir("/out");
    TestEnv env({.fs = &fs});
    const std::string tar = hostile.tar + TarEnd();
    StringSource source(tar);
    const auto result = ExtractTar(env, source, "x.tar", AbsPath::Literal("/out"), {}, tar.size());
    EXPECT_THAT(result,
                FailsWith(ErrorCode::kCorrupt, AllOf(HasSubstr("'x.tar'"), HasSubstr(hostile.message))));
    // Nothing outside of /out.
    for (const std::string& path : fs.List("/")) EXPECT_TRUE(path.starts_with("out/")) << path;
  }
}

TEST_F(ExtractTarTest, WritesThroughNoLinkThatWasThereBefore) {
  fs_.AddDir("/elsewhere");
  fs_.AddSymlink("/elsewhere", "/out/d");
  EXPECT_THAT(Extract(TarFile("d/x", "text") + TarEnd()),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("is below '/out/d', which is not a directory")));
  EXPECT_THAT(fs_.List("/elsewhere"), ElementsAre());
  // Nor to a link in the place of the file itself.
  fs_.AddSymlink("/elsewhere/y", "/out/y");
  EXPECT_THAT(Extract(TarFile("y", "text") + TarEnd()),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("/out/y")));
  // A new link may not leave through an old one.
  fs_.AddDir("/out/deep");
  fs_.AddSymlink("..", "/out/deep/up");
  EXPECT_THAT(Extract(TarLink("l", "deep/up/../x") + TarEnd()),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("outside the tree")));
  EXPECT_THAT(Extract(TarLink("m", "d/x") + TarEnd()),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("outside the tree")));
}

TEST_F(ExtractTarTest, LoopsOfLinksAreHarmless) {
  ASSERT_OK(Extract(TarLink("a", "b") + TarLink("b", "a") + TarLink("self", "self/x") + TarEnd()));
  EXPECT_THAT(Out(), ElementsAre("a -> b", "b -> a", "self -> self/x"));
}

TEST_F(ExtractTarTest, OverwritesNothing) {
  fs_.AddFile("/out/a", "old");
  EXPECT_THAT(Extract(TarFile("a", "new") + TarEnd()),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("/out/a")));
  EXPECT_EQ(fs_.Content("/out/a"), "old");
}

TEST_F(ExtractTarTest, RefusesTruncatedTars) {
  const std::string tar = TarFile("a", std::string(1000, 'a')) + TarFile("b", std::string(1024, '\0')) +
                          TarLink("l", "a") + TarEnd();
  for (std::size_t size = 0; size < tar.size() - 1024; size += 128) {
    MemFs fs;
    fs.AddDir("/out");
    TestEnv env({.fs = &fs});
    StringSource source(std::string_view(tar).substr(0, size));
    EXPECT_THAT(ExtractTar(env, source, "x.tar", AbsPath::Literal("/out"), {}, size),
                FailsWith(ErrorCode::kCorrupt, HasSubstr("'x.tar'")))
        << size;
  }
  EXPECT_OK(Extract(tar.substr(0, tar.size() - 512))) << "one block of zeros is an end too";
}

TEST_F(ExtractTarTest, RefusesDamagedHeaders) {
  std::string tar = TarFile("a", "text") + TarEnd();
  tar[0] = 'b';  // the checksum is wrong now
  EXPECT_THAT(Extract(tar), FailsWith(ErrorCode::kCorrupt, HasSubstr("'x.tar' is damaged")));
  EXPECT_THAT(Extract(RandomText(5000)), FailsWith(ErrorCode::kCorrupt, HasSubstr("'x.tar' is damaged")));
}

TEST_F(ExtractTarTest, KeepsTheLimits) {
  const std::string tar =
      TarFile("a", std::string(1000, 'a')) + TarFile("b", std::string(1000, 'b')) + TarEnd();
  EXPECT_THAT(Extract(tar, {.limits = {.max_bytes = 1999}}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("more than 1999 bytes")));
  EXPECT_THAT(Extract(TarFile("c", "") + TarFile("d", "") + TarEnd(), {.limits = {.max_entries = 1}}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("more than 1 members")));
  EXPECT_THAT(Extract(TarFile("h/i/j/k", "") + TarEnd(), {.limits = {.max_entries = 3}}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("more than 3 members")));
  // Hard links are copies, so they count.
  EXPECT_THAT(
      Extract(TarFile("e", std::string(1000, 'e')) + TarHardLink("f", "e") + TarHardLink("g", "e") + TarEnd(),
              {.limits = {.max_bytes = 2500}}),
      FailsWith(ErrorCode::kCorrupt, HasSubstr("more than 2500 bytes")));
}

std::string Bzip2(const std::string& text) {
  StringSink out;
  const auto sink = MakeBzip2Sink(out, {.level = 9, .jobs = 2});
  EXPECT_OK(sink->Write(AsBytes(text)));
  EXPECT_OK(sink->Finish());
  return out.str();
}

std::string Zstd(const std::string& text) {
  StringSink out;
  auto sink = MakeZstdSink(out, {.level = 3, .jobs = 1, .content_size = text.size()});
  EXPECT_OK((*sink)->Write(AsBytes(text)));
  EXPECT_OK((*sink)->Finish());
  return out.str();
}

TEST_F(ExtractTarTest, RefusesBombs) {
  const std::string bomb = Zstd(TarFile("zeros", std::string(66U << 20U, '\0')) + TarEnd());
  ASSERT_LT(bomb.size(), 10'000U);
  const auto result = Extract(bomb);
  EXPECT_THAT(result, FailsWith(ErrorCode::kCorrupt, HasSubstr("more than 200 times its size")));
  EXPECT_THAT(result, ::ptpkg::test::HasHint(HasSubstr("decompression bomb")));
  // In what follows the tar, too.
  const std::string tail = Zstd(TarEnd() + std::string(66U << 20U, '\0'));
  EXPECT_THAT(Extract(tail), FailsWith(ErrorCode::kCorrupt, HasSubstr("more than 200 times its size")));
}

TEST_F(ExtractTarTest, ReadsEveryCompression) {
  const std::string tar = TarFile("a", WordyText(100'000)) + TarEnd();
  const TempDir dir;
  dir.WriteFile("t", tar);
  int tried = 0;
  for (const char* program : {"gzip", "bzip2", "xz", "zstd"}) {
    TestEnv real;
    const auto status =
        RunTool(real, {"sh", "-c", std::string(program) + " -c < t > t." + program}, dir.path());
    if (!status.has_value() || !status->ok()) continue;
    ++tried;
    SCOPED_TRACE(program);
    const std::string packed = dir.ReadFile(std::string("t.") + program);
    fs_.AddDir("/out");
    ASSERT_OK(RemoveTree(fs_, AbsPath::Literal("/out/a")));
    ASSERT_OK(Extract(packed));
    EXPECT_TRUE(fs_.Content("/out/a") == WordyText(100'000));
    ASSERT_OK(RemoveTree(fs_, AbsPath::Literal("/out/a")));
    EXPECT_THAT(Extract(packed.substr(0, packed.size() - 1)),
                FailsWith(ErrorCode::kCorrupt, HasSubstr("x.tar")));
    ASSERT_OK(RemoveTree(fs_, AbsPath::Literal("/out/a")));
    EXPECT_THAT(Extract(packed.substr(0, packed.size() / 2)),
                FailsWith(ErrorCode::kCorrupt, HasSubstr("x.tar")));
    ASSERT_OK(RemoveTree(fs_, AbsPath::Literal("/out/a")));
  }
  EXPECT_GE(tried, 2);
}

TEST_F(ExtractTarTest, ChecksTheSumBehindTheEndMark) {
  // The last bytes of a bzip2 or zstd stream hold its checksum; the tar's own end comes before them.
  for (std::string packed : {Bzip2(TarFile("a", "text") + TarEnd()), Zstd(TarFile("a", "text") + TarEnd())}) {
    packed[packed.size() - 2] = static_cast<char>(packed[packed.size() - 2] ^ 0x10);
    EXPECT_THAT(Extract(packed), FailsWith(ErrorCode::kCorrupt, HasSubstr("'x.tar' is damaged")));
    ASSERT_OK(RemoveTree(fs_, AbsPath::Literal("/out/a")));
  }
}

TEST_F(ExtractTarTest, StripsComponents) {
  const std::string tar = TarFolder("top/") + TarFile("top/a", "a") + TarFile("top/d/b", "b") +
                          TarFile("note", "n") + TarHardLink("top/d/c", "top/a") + TarLink("top/l", "d/b") +
                          TarEnd();
  ASSERT_OK(Extract(tar, {.strip_components = 1}));
  EXPECT_THAT(Out(), ElementsAre("a", "d/", "d/b", "d/c", "l -> d/b"));
  EXPECT_THAT(Extract(TarLink("top/out", "../x") + TarEnd(), {.strip_components = 1}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("outside the tree")))
      << "inside before stripping, outside after it";
}

TEST_F(ExtractTarTest, StripsASingleRoot) {
  ASSERT_OK(Extract(
      TarFolder("top") + TarFile("top/a", "a") + TarFile("top/top", "t") + TarLink("top/l", "a") + TarEnd(),
      {.strip_single_root = true}));
  EXPECT_THAT(Out(), ElementsAre("a", "l -> a", "top"));
  EXPECT_THAT(Extract(TarLink("root/out", "../x") + TarEnd(), {.strip_single_root = true}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("outside the tree")));
}

TEST_F(ExtractTarTest, KeepsSeveralRootsAndSingleFiles) {
  ASSERT_OK(Extract(TarFile("one/a", "") + TarFile("two/a", "") + TarEnd(), {.strip_single_root = true}));
  EXPECT_THAT(Out(), ElementsAre("one/", "one/a", "two/", "two/a"));
  ASSERT_OK(Extract(TarFile("single", "") + TarEnd(), {.strip_single_root = true}));
  ASSERT_OK(Extract(TarFile("x/a", "") + TarLink("y", "x") + TarEnd(), {.strip_single_root = true}));
  EXPECT_THAT(Out(), ::testing::IsSupersetOf({"single", "x/a", "y -> x"}));
}

TEST_F(ExtractTarTest, SingleRootClobbersNothing) {
  fs_.AddFile("/out/a", "old");
  EXPECT_THAT(Extract(TarFile("top/a", "new") + TarEnd(), {.strip_single_root = true}),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("'/out/a' already exists")));
  EXPECT_EQ(fs_.Content("/out/a"), "old");
}

TEST_F(ExtractTarTest, EmptyTarIsFine) {
  ASSERT_OK(Extract(TarEnd()));
  EXPECT_THAT(Out(), ElementsAre());
  EXPECT_THAT(Extract(""), FailsWith(ErrorCode::kCorrupt, HasSubstr("x.tar")));
}

TEST_F(ExtractTarTest, StopsWhenCancelled) {
  env_.cancel.Cancel();
  EXPECT_THAT(Extract(TarFile("a", "a") + TarEnd()),
              FailsWith(ErrorCode::kCancelled, HasSubstr("interrupted")));
}

TEST(ExtractTar, FailsCleanlyAtEveryOperation) {
  const std::string tar = Bzip2(TarFolder("top") + TarFile("top/a", "a") + TarFile("top/d/b", "b", 0755) +
                                TarHardLink("top/c", "top/a") + TarLink("top/l", "a") + TarEnd());
  const int faults = ::ptpkg::test::RunFaultLoop(
      {.setup = [](MemFs& fs) { fs.AddDir("/out"); },
       .run =
           [&](Fs& fs) {
             TestEnv env({.fs = &fs});
             StringSource source(tar);
             return ExtractTar(env, source, "x.tar", AbsPath::Literal("/out"), {.strip_single_root = true},
                               tar.size());
           },
       .check = [](MemFs&,
                   const Error& error) { EXPECT_EQ(error.code(), ErrorCode::kIo) << FormatError(error); }});
  EXPECT_GT(faults, 15);
}

class FailingSource final : public ByteSource {
 public:
  Result<std::size_t> Read(MutableBytes) override { return Error(ErrorCode::kIo, "input/output error"); }
};

TEST(ExtractTar, PassesTheErrorOfTheSource) {
  TestEnv env;
  FailingSource source;
  EXPECT_THAT(ExtractTar(env, source, "x.tar", env.dir().path(), {}, 0),
              FailsWith(ErrorCode::kIo, HasSubstr("input/output error")));
}

TEST(ExtractAny, ChoosesByContent) {
  TestEnv env;
  const TempDir dir;
  const AbsPath tar = dir.WriteFile("misnamed.zip", Bzip2(TarFile("from_tar", "") + TarEnd()));
  const AbsPath zip = dir.WriteFile("misnamed.tar", ToText(ZipText{.members = {{.name = "from_zip"}}}));
  const AbsPath empty_zip = dir.WriteFile("empty", ToText(ZipText{}));
  const AbsPath out = dir.MakeDir("out");
  ASSERT_OK(ExtractAny(env, tar, out, {}));
  ASSERT_OK(ExtractAny(env, zip, out, {}));
  ASSERT_OK(ExtractAny(env, empty_zip, out, {}));
  EXPECT_THAT(::ptpkg::test::ListTree(env->fs, out), ElementsAre("from_tar", "from_zip"));
  EXPECT_THAT(ExtractAny(env, dir.WriteFile("text", "not an archive"), out, {}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("/text' is damaged")));
  EXPECT_THAT(ExtractAny(env, dir / "missing", out, {}),
              FailsWith(ErrorCode::kNotFound, HasSubstr("missing")));
}

}  // namespace
}  // namespace ptpkg::archive::test
