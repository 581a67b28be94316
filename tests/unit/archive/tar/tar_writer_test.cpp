#include "archive/tar/tar_writer.h"

#include <gtest/gtest.h>

#include "archive/tar/tar_reader.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::IsOkAndHolds;
using ::ptpkg::test::MemFs;
using ::ptpkg::test::TempDir;
using ::ptpkg::test::TestEnv;
using ::testing::HasSubstr;

constexpr std::int64_t kTime = 1'700'000'000;

Result<std::string> Tar(Env& env, const EntrySet& entries) {
  StringSink out;
  PTPKG_TRY(TarWriter writer, TarWriter::Create(env, out, kTime));
  for (const Entry* entry : entries.Sorted()) PTPKG_CHECK(writer.Append(*entry));
  PTPKG_CHECK(writer.Finish());
  return out.str();
}

Entry Link(std::string_view name, std::string target) {
  return {.name = RelPath::Literal(name),
          .is_symlink = true,
          .link_target = std::move(target),
          .text = {},
          .file = {}};
}

TEST(TarWriter, EveryFieldOfAHeader) {
  TestEnv env;
  EntrySet entries;
  ASSERT_OK(entries.AddText(RelPath::Literal("bin/tool"), "hello", 0755));
  ASSERT_OK(entries.Add(Link("bin/tool2", "tool")));
  ASSERT_OK_AND_ASSIGN(const std::string tar, Tar(env, entries));
  // POSIX 1003.1, ustar interchange format.
  const auto text = [&](std::size_t at, std::size_t size) { return tar.substr(at, size); };
  const auto zeros = [](std::size_t count) { return std::string(count, '\0'); };
  EXPECT_EQ(text(0, 100), "bin/tool" + zeros(92)) << "name";
  EXPECT_EQ(text(100, 8), "000755 " + zeros(1)) << "mode";
  EXPECT_EQ(text(108, 8), "000000 " + zeros(1)) << "uid";
  EXPECT_EQ(text(116, 8), "000000 " + zeros(1)) << "gid";
  EXPECT_EQ(text(124, 12), "00000000005 ") << "size";
  EXPECT_EQ(text(136, 12), "14524770400 ") << "mtime";
  EXPECT_EQ(text(156, 1), "0") << "type";
  EXPECT_EQ(text(157, 100), zeros(100)) << "link name";
  EXPECT_EQ(text(257, 8), "ustar" + zeros(1) + "00") << "magic and version";
  EXPECT_EQ(text(265, 64), zeros(64)) << "no user, no group";
  EXPECT_EQ(text(345, 155), zeros(155)) << "prefix";
  EXPECT_EQ(text(512, 512), "hello" + zeros(507));
  EXPECT_EQ(text(1024, 100), "bin/tool2" + zeros(91));
  EXPECT_EQ(text(1024 + 156, 5), "2tool");
  EXPECT_EQ(text(1536, 1024), zeros(1024)) << "end mark";
  EXPECT_EQ(tar.size(), 2560U) << "no padding to a record";
}

/// Entries that need all the ways of writing a header.
EntrySet HardNames() {
  EntrySet entries;
  const std::string deep = std::string(60, 'd') + "/" + std::string(80, 'e');
  EXPECT_OK(entries.AddText(RelPath::Literal(deep), "fits ustar by its prefix"));
  EXPECT_OK(entries.AddText(RelPath::Literal(std::string(150, 'f')), "needs PAX"));
  EXPECT_OK(entries.AddText(RelPath::Literal("gr\xc3\xbc\xc3\x9f"), "needs PAX too"));
  EXPECT_OK(entries.AddText(RelPath::Literal(std::string(255, 'g') + "/" + std::string(255, 'h')), ""));
  EXPECT_OK(entries.Add(Link("link", std::string(200, 't'))));
  EXPECT_OK(entries.Add(Link("link_u", "\xe2\x82\xac")));
  EXPECT_OK(entries.AddText(RelPath::Literal("with space"), std::string(512, 'x')));
  return entries;
}

TEST(TarWriter, WritesPaxOnlyWhereUstarCannot) {
  TestEnv env;
  EntrySet entries;
  ASSERT_OK(entries.AddText(RelPath::Literal(std::string(60, 'd') + "/" + std::string(80, 'e')), ""));
  ASSERT_OK_AND_ASSIGN(const std::string ustar, Tar(env, entries));
  EXPECT_EQ(ustar.size(), 512U + 1024U);
  EXPECT_EQ(ustar.substr(345, 60), std::string(60, 'd'));
  ASSERT_OK_AND_ASSIGN(const std::string pax, Tar(env, HardNames()));
  EXPECT_THAT(pax, HasSubstr("path=" + std::string(150, 'f') + "\n"));
  EXPECT_THAT(pax, HasSubstr("path=gr\xc3\xbc\xc3\x9f\n"));
  EXPECT_THAT(pax, HasSubstr("linkpath=" + std::string(200, 't') + "\n"));
  EXPECT_THAT(pax, ::testing::Not(HasSubstr("mtime=")));
}

TEST(TarWriter, IsReadByPython) {
  TestEnv env;
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const std::string tar, Tar(env, HardNames()));
  dir.WriteFile("t.tar", tar);
  constexpr const char* kScript = R"(
import tarfile
for m in tarfile.open('t.tar', 'r:'):
    assert (m.uid, m.gid, m.uname, m.gname, m.mtime) == (0, 0, '', '', 1700000000), m.get_info()
    print(len(m.name.encode()), m.type.decode(), m.size, len(m.linkname.encode()), oct(m.mode))
)";
  const auto python = RunTool(env, {"python3", "-c", kScript}, dir.path());
  if (!python.has_value()) GTEST_SKIP() << "python3 is not installed";
  EXPECT_EQ(
      python->output,
      "141 0 24 0 0o644\n150 0 9 0 0o644\n511 0 0 0 0o644\n6 0 13 0 0o644\n4 2 0 200 0o777\n6 2 0 3 0o777\n"
      "10 0 512 0 0o644\n");
}

TEST(TarWriter, CopiesMembersOfAnotherTar) {
  TestEnv env;
  StringSink out;
  ASSERT_OK_AND_ASSIGN(TarWriter writer, TarWriter::Create(env, out, kTime));
  const std::string deep = "d/" + std::string(150, 'n');
  const std::vector<TarMember> members = {
      {.name = deep, .mode = 0664, .size_bytes = 3, .link_target = {}, .mtime = 5},
      {.name = "same", .kind = TarKind::kHardLink, .mode = 0664, .link_target = deep, .mtime = kTime},
      {.name = "link", .kind = TarKind::kSymlink, .link_target = "same", .mtime = -1}};
  for (const TarMember& member : members) {
    ASSERT_OK_AND_ASSIGN(ByteSink* const sink, writer.Begin(member));
    ASSERT_OK(sink->Write(AsBytes(std::string_view("abc").substr(0, member.size_bytes))));
    ASSERT_OK(writer.End());
  }
  EXPECT_THAT(writer.Begin({.name = "folder", .kind = TarKind::kDirectory, .link_target = {}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'folder' is neither a file nor a link")));
  ASSERT_OK(writer.Finish());
  StringSource source(out.str());
  ASSERT_OK_AND_ASSIGN(TarReader reader, TarReader::Open(source));
  for (const TarMember& member : members) {
    ASSERT_OK_AND_ASSIGN(const auto read, reader.Next());
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->name, member.name);
    EXPECT_EQ(read->kind, member.kind);
    EXPECT_EQ(read->link_target, member.link_target);
    EXPECT_EQ(read->size_bytes, member.size_bytes);
    EXPECT_EQ(read->mode, member.kind == TarKind::kSymlink ? 0777 : member.mode);
    EXPECT_EQ(read->mtime, std::max<std::int64_t>(member.mtime, 0));
  }
  EXPECT_THAT(reader.Next(), IsOkAndHolds(::testing::Eq(std::nullopt)));
}

TEST(TarWriter, IsReadByGnuTar) {
  TestEnv env;
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const std::string tar, Tar(env, HardNames()));
  dir.WriteFile("t.tar", tar);
  const auto listed = RunTool(env, {"tar", "-tf", "t.tar", "--quoting-style=literal"}, dir.path());
  if (!listed.has_value()) GTEST_SKIP() << "tar is not installed";
  EXPECT_TRUE(listed->ok()) << listed->output;
  EXPECT_THAT(listed->output, HasSubstr(std::string(150, 'f') + "\n"));
}

TEST(TarSize, IsExact) {
  TestEnv env;
  ASSERT_OK_AND_ASSIGN(const std::string tar, Tar(env, HardNames()));
  EXPECT_THAT(TarSize(HardNames()), IsOkAndHolds(tar.size()));
  EXPECT_THAT(TarSize(EntrySet()), IsOkAndHolds(1024U));
}

TEST(TarSize, CountsHugeFilesWithoutReadingThem) {
  EntrySet entries;
  ASSERT_OK(entries.Add({.name = RelPath::Literal("huge"),
                         .size_bytes = 9'000'000'000,
                         .link_target = {},
                         .text = {},
                         .file = AbsPath::Literal("/nonexistent")}));
  // ustar holds sizes below 8 GiB; above, a PAX header of two blocks comes first. 9e9 is a multiple of 512.
  EXPECT_THAT(TarSize(entries), IsOkAndHolds(1024U + 512U + 9'000'000'000U + 1024U));
}

TEST(TarWriter, CopiesFilesAndNoticesChanges) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  const std::string text = WordyText(3'000'000);
  fs.AddFile("/in/f", text);
  const auto with_size = [&](std::uint64_t size_bytes) {
    EntrySet entries;
    EXPECT_OK(entries.Add({.name = RelPath::Literal("f"),
                           .size_bytes = size_bytes,
                           .link_target = {},
                           .text = {},
                           .file = AbsPath::Literal("/in/f")}));
    return entries;
  };
  ASSERT_OK_AND_ASSIGN(const std::string tar, Tar(env, with_size(text.size())));
  EXPECT_TRUE(tar.substr(512, text.size()) == text);
  for (const std::uint64_t size : {text.size() - 1, text.size() + 1}) {
    EXPECT_THAT(Tar(env, with_size(size)),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("'/in/f' changed while being packed")));
  }
}

TEST(TarWriter, RefusesTimesThatUstarCannotHold) {
  TestEnv env;
  StringSink out;
  for (const std::int64_t time : {std::int64_t{-1}, std::int64_t{8589934592}}) {
    EXPECT_THAT(
        TarWriter::Create(env, out, time).has_value() ? Ok() : TarWriter::Create(env, out, time).error(),
        FailsWith(ErrorCode::kInvalidInput, HasSubstr("does not fit a tar")));
  }
}

TEST(TarWriter, DestructorWritesNothing) {
  TestEnv env;
  StringSink out;
  {
    ASSERT_OK_AND_ASSIGN(TarWriter writer, TarWriter::Create(env, out, kTime));
    ASSERT_OK(writer.Append(
        {.name = RelPath::Literal("a"), .size_bytes = 1, .link_target = {}, .text = "x", .file = {}}));
  }
  EXPECT_EQ(out.str().size(), 1024U) << "header and content, no end mark";
}

TEST(TarWriter, PassesTheErrorOfTheSink) {
  TestEnv env;
  FailingSink out;
  ASSERT_OK_AND_ASSIGN(TarWriter writer, TarWriter::Create(env, out, kTime));
  EXPECT_THAT(
      writer.Append(
          {.name = RelPath::Literal("a"), .size_bytes = 1, .link_target = {}, .text = "x", .file = {}}),
      FailsWith(ErrorCode::kIo, HasSubstr("no space")));
}

TEST(TarWriter, StopsWhenCancelled) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  fs.AddFile("/in/f", "text");
  EntrySet entries;
  ASSERT_OK(entries.Add({.name = RelPath::Literal("f"),
                         .size_bytes = 4,
                         .link_target = {},
                         .text = {},
                         .file = AbsPath::Literal("/in/f")}));
  env.cancel.Cancel();
  EXPECT_THAT(Tar(env, entries), FailsWith(ErrorCode::kCancelled, HasSubstr("interrupted")));
}

TEST(TarWriter, FailsCleanlyAtEveryRead) {
  EntrySet entries;
  ASSERT_OK(entries.Add({.name = RelPath::Literal("f"),
                         .size_bytes = 4,
                         .link_target = {},
                         .text = {},
                         .file = AbsPath::Literal("/in/f")}));
  const int faults = ::ptpkg::test::RunFaultLoop({.setup = [](MemFs& fs) { fs.AddFile("/in/f", "text"); },
                                                  .run = [&](Fs& fs) -> Result<void> {
                                                    TestEnv env({.fs = &fs});
                                                    PTPKG_TRY([[maybe_unused]] auto tar, Tar(env, entries));
                                                    return Ok();
                                                  },
                                                  .check =
                                                      [](MemFs&, const Error& error) {
                                                        EXPECT_EQ(error.code(), ErrorCode::kIo);
                                                        EXPECT_THAT(FormatError(error), HasSubstr("/in/f"));
                                                      }});
  EXPECT_GE(faults, 3);
}

}  // namespace
}  // namespace ptpkg::archive::test
