// One test per rule of extract.h for zips; what tars and zips share is in extract_tar_test.cpp.

#include <gtest/gtest.h>

#include "archive/archive_member_pass.h"
#include "archive/deflate/deflate_chunk.h"
#include "archive/extract.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "support/test_env.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::MemFs;
using ::ptpkg::test::TestEnv;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExtractZipTest : public ::testing::Test {
 protected:
  ExtractZipTest() { fs_.AddDir("/out"); }

  Result<void> Extract(const std::string& zip, const ExtractOptions& options = {}) {
    fs_.AddFile("/x.zip", zip);
    return ExtractZip(env_, AbsPath::Literal("/x.zip"), AbsPath::Literal("/out"), options);
  }
  std::vector<std::string> Out() { return fs_.List("/out"); }

  MemFs fs_;
  TestEnv env_{{.fs = &fs_, .jobs = 3}};
};

TEST_F(ExtractZipTest, FilesFoldersAndLinks) {
  std::vector<ZipMemberText> members = {{.name = "d/", .unix_mode = 040755},
                                        {.name = "d/tool", .content = "run", .unix_mode = 0100775},
                                        {.name = "d/link", .content = "tool", .unix_mode = 0120777}};
  for (int i = 0; i < 200; ++i) {
    members.push_back({.name = "many/" + std::to_string(i), .content = std::to_string(i * i)});
  }
  ASSERT_OK(Extract(ToText(ZipText{.members = members})));
  EXPECT_EQ(*fs_.ReadLink(AbsPath::Literal("/out/d/link")), "tool");
  EXPECT_EQ(fs_.Content("/out/d/tool"), "run");
  EXPECT_EQ(fs_.Lstat(AbsPath::Literal("/out/d/tool"))->mode, 0755U);
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(fs_.Content("/out/many/" + std::to_string(i)), std::to_string(i * i));
}

TEST_F(ExtractZipTest, TellsHowMuchIsUnpacked) {
  const std::string text(300'000, 'x');
  ASSERT_OK(
      Extract(ToText(ZipText{.members = {{.name = "a", .content = text}, {.name = "b", .content = text}}})));
  const auto tasks = env_.reporter.tasks();
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].info.stage, "unpack");
  EXPECT_EQ(tasks[0].info.subject, "x.zip");
  EXPECT_EQ(tasks[0].info.total_bytes, 600'000U);
  EXPECT_EQ(tasks[0].done_bytes, 600'000U);
  EXPECT_EQ(tasks[0].outcome, TaskOutcome::kDone);
}

TEST_F(ExtractZipTest, InflatesMembers) {
  DeflatePool pool(6);
  const std::string text = WordyText(300'000);
  ASSERT_OK_AND_ASSIGN(const std::string packed, pool.Deflate(AsBytes(text), ChunkPlace::kLast));
  const ZipMemberText good{.name = "f",
                           .content = packed,
                           .method = 8,
                           .crc = CrcOf(text),
                           .size = static_cast<std::uint32_t>(text.size())};
  ASSERT_OK(Extract(ToText(ZipText{.members = {good}})));
  EXPECT_TRUE(fs_.Content("/out/f") == text);

  ZipMemberText bad = good;
  bad.name = "g";
  bad.size = 1000;  // and the content is longer
  EXPECT_THAT(Extract(ToText(ZipText{.members = {bad}})), FailsWith(ErrorCode::kCorrupt, HasSubstr("'g'")));
  bad.name = "h";
  bad.size = 400'000;
  EXPECT_THAT(Extract(ToText(ZipText{.members = {bad}})), FailsWith(ErrorCode::kCorrupt, HasSubstr("'h'")));
  bad = good;
  bad.name = "i";
  bad.content[packed.size() / 2] = static_cast<char>(bad.content[packed.size() / 2] ^ 0x55);
  EXPECT_THAT(Extract(ToText(ZipText{.members = {bad}})), FailsWith(ErrorCode::kCorrupt, HasSubstr("'i'")));
  bad = good;
  bad.name = "j";
  bad.crc = 1;
  EXPECT_THAT(Extract(ToText(ZipText{.members = {bad}})), FailsWith(ErrorCode::kCorrupt, HasSubstr("'j'")));
}

struct HostileZip {
  const char* name;
  ZipText zip;
  const char* message;
};

std::vector<HostileZip> HostileZips() {
  const auto one = [](ZipMemberText member) { return ZipText{.members = {std::move(member)}}; };
  const auto two = [](ZipMemberText a, ZipMemberText b) {
    return ZipText{.members = {std::move(a), std::move(b)}};
  };
  return {
      {"absolute", one({.name = "/etc/x"}), "'/etc/x' has an absolute name"},
      {"parent", one({.name = "../x"}), "'../x' has '..' in its name"},
      {"nul", one({.name = std::string("a\0b", 3)}), "'a\\x00b' has a NUL in its name"},
      {"nameless", one({.name = ""}), "has no name"},
      {"not_utf8", one({.name = "a\xff"}), "not UTF-8"},
      {"twice", two({.name = "a"}, {.name = "a"}), "'a' occurs twice"},
      {"below_file", two({.name = "a"}, {.name = "a/b"}), "is below 'a', which is a file"},
      {"below_link", two({.name = "a", .content = "b", .unix_mode = 0120777}, {.name = "a/x"}),
       "is below the symlink 'a'"},
      {"leaving_link", one({.name = "a", .content = "../x", .unix_mode = 0120777}), "outside the tree"},
      {"absolute_link", one({.name = "a", .content = "/etc", .unix_mode = 0120777}), "absolute path '/etc'"},
      {"link_with_nul", one({.name = "a", .content = std::string("b\0c", 3), .unix_mode = 0120777}),
       "not text"},
      {"link_too_long", one({.name = "a", .content = std::string(4097, 'b'), .unix_mode = 0120777}),
       "no usable link target"},
      {"device", one({.name = "a", .unix_mode = 020644}), "is a device or pipe"},
      {"folder_with_content", one({.name = "a/", .content = "x"}), "is a directory with content"},
      {"other_local_name", one({.name = "a", .local_name = "b"}), "'a' is named 'b' in its local header"},
      {"other_local_method", one({.name = "a", .content = "x", .local_method = 8}),
       "another compression method"},
      {"other_local_crc", one({.name = "a", .content = "x", .local_crc = 1}), "another CRC"},
      {"other_local_size", one({.name = "a", .content = "x", .local_size = 9}), "another size"},
      {"other_local_stored", one({.name = "a", .content = "x", .local_stored = 9}),
       "another compressed size"},
      {"overlap", two({.name = "a", .content = "x"}, {.name = "b", .offset = 0}),
       "shares bytes with another member"},
      {"outside", one({.name = "a", .offset = 0xFFFFFF}), "lies outside the file"},
      {"no_local_header", ZipText{.members = {{.name = "a", .content = "xx", .offset = 2}}},
       "local header is missing"},
      {"wrong_count", ZipText{.members = {{.name = "a"}}, .count = 2}, "has 1 members, not 2"},
      {"wrong_directory", ZipText{.members = {{.name = "a"}}, .directory_offset = 7},
       "not where the end record says"},
      {"trailing", ZipText{.members = {{.name = "a"}}, .suffix = "x"},
       "does not end in an end-of-central-directory"},
      {"prefix", ZipText{.members = {{.name = "a", .offset = 0}}, .prefix = "xxxx"},
       "local header is missing"},
  };
}

/// Every reader of zips sees the one archive that Python sees, or none.
class OneViewTest : public ::testing::Test {
 protected:
  /// The error that all readers give; nullopt when any of them takes the file.
  static std::optional<Error> Refusal(const std::string& zip) {
    const ::ptpkg::test::TempDir dir;
    const auto reader = ZipReader::Open(*MakeOsFs(), dir.WriteFile("x.zip", zip));
    MemFs fs;
    fs.AddDir("/out");
    fs.AddFile("/x.zip", zip);
    TestEnv env({.fs = &fs});
    const auto extracted = ExtractZip(env, AbsPath::Literal("/x.zip"), AbsPath::Literal("/out"), {});
    if (reader || extracted) return std::nullopt;
    EXPECT_EQ(reader.error().code(), extracted.error().code());
    return extracted.error();
  }
  static std::string RefusalText(const std::string& zip) {
    const auto refusal = Refusal(zip);
    return refusal ? refusal->message() : "taken";
  }
};

TEST_F(OneViewTest, OneEndRecord) {
  const std::string inner = ToText(ZipText{.members = {{.name = "evil"}}});
  const std::string end = inner.substr(inner.size() - zip::kEndBytes);
  // Python takes the last signature, whatever its comment: an end record in the comment of another.
  std::string long_comment = end;
  long_comment[20] = 99;
  EXPECT_THAT(RefusalText(ToText(ZipText{.members = {{.name = "good"}}, .comment = long_comment})),
              HasSubstr("does not end in an end-of-central-directory record"));
  // And one that fits as well: readers that look from the front for a comment that fits take the first.
  EXPECT_THAT(RefusalText(ToText(ZipText{.members = {{.name = "good"}}, .comment = end})),
              HasSubstr("two end-of-central-directory records"));
  EXPECT_THAT(RefusalText(ToText(ZipText{.members = {{.name = "good"}}, .comment = "PK\x05\x06"})),
              HasSubstr("does not end in an end-of-central-directory record"));
  // A whole archive, and another one whose offsets count from the file's begin.
  const std::string first = ToText(ZipText{.members = {{.name = "a"}}});
  EXPECT_THAT(RefusalText(ToText(ZipText{.members = {{.name = "b"}}, .prefix = first})),
              HasSubstr("two end-of-central-directory records"));
  // A zip inside a zip is content.
  EXPECT_EQ(
      RefusalText(ToText(ZipText{.members = {{.name = "x.zip", .content = first}}, .comment = "hello"})),
      "taken");
}

TEST_F(OneViewTest, OneZip64EndRecord) {
  const std::string zip = ToText(ZipText{.members = {{.name = "a"}}});
  EXPECT_EQ(RefusalText(WithZip64End(zip, {})), "taken");
  const std::string locator =
      WithZip64End(zip, {}).substr(zip.size() - zip::kEndBytes + zip::kEnd64Bytes, zip::kEnd64LocatorBytes);
  EXPECT_THAT(RefusalText(WithZip64End(zip, {.between = locator})),
              HasSubstr("bytes between the ZIP64 end record and its locator"));
  EXPECT_THAT(RefusalText(WithZip64End(zip, {.record_size = 64, .between = locator})),
              HasSubstr("extensible data sector"));
  EXPECT_THAT(RefusalText(WithZip64End(zip, {.count_more = 1})), HasSubstr("contradict each other"));
  EXPECT_THAT(RefusalText(WithZip64End(zip, {.disks = 2})), HasSubstr("spans several disks"));
}

TEST_F(OneViewTest, NamesHaveOneReading) {
  EXPECT_THAT(RefusalText(ToText(ZipText{.members = {{.name = "caf\xc3\xa9"}}})),
              HasSubstr("'caf\xc3\xa9' has a name that is not ASCII and not marked as UTF-8"));
  EXPECT_EQ(RefusalText(ToText(ZipText{.members = {{.name = "caf\xc3\xa9", .flags = 1U << 11U}}})), "taken");
  const std::string other = zip::Fields().U16(0x7075).U16(6).Text("\x01").U32(0).Text("b").str();
  EXPECT_THAT(RefusalText(ToText(ZipText{.members = {{.name = "a", .central_extra = other}}})),
              HasSubstr("'a' has another name in its Unicode path field"));
  EXPECT_THAT(RefusalText(ToText(ZipText{.members = {{.name = "a", .local_extra = other}}})),
              HasSubstr("'a' has another name in its Unicode path field"));
}

TEST_F(OneViewTest, WhatReadersCannotReadIsUnsupported) {
  const auto newer = Refusal(ToText(ZipText{.members = {{.name = "a", .version_needed = 99}}}));
  ASSERT_TRUE(newer.has_value());
  EXPECT_EQ(newer->code(), ErrorCode::kUnsupported);
  EXPECT_THAT(newer->message(), HasSubstr("'a' needs version 9.9 of the zip format; readers support 6.3"));
  EXPECT_EQ(RefusalText(ToText(ZipText{.members = {{.name = "a", .version_needed = 63}}})), "taken");
  EXPECT_THAT(RefusalText(ToText(ZipText{.members = {{.name = "a", .flags = 1U << 6U}}})),
              HasSubstr("patched or strongly encrypted"));
}

TEST_F(OneViewTest, BrokenLocalHeadersAreSeenWithoutUnpacking) {
  EXPECT_THAT(RefusalText(ToText(ZipText{.members = {{.name = "a", .local_name = "b"}}})),
              HasSubstr("is named 'b' in its local header"));
  EXPECT_THAT(RefusalText(ToText(ZipText{.members = {{.name = "a", .content = "xx", .offset = 2}}})),
              HasSubstr("a local header is missing"));
  // Longer than what is read of a header at once.
  const std::string name(200, 'n');
  const std::string extra = zip::Fields().U16(0xCAFE).U16(300).Text(std::string(300, 'x')).str();
  EXPECT_EQ(RefusalText(ToText(ZipText{.members = {{.name = name, .content = "x", .local_extra = extra}}})),
            "taken");
}

TEST_F(ExtractZipTest, RefusesHostileMembers) {
  for (const HostileZip& hostile : HostileZips()) {
    SCOPED_TRACE(hostile.name);
    MemFs fs;
    fs.AddDir("/out");
    fs.AddFile("/x.zip", ToText(hostile.zip));
    TestEnv env({.fs = &fs});
    EXPECT_THAT(ExtractZip(env, AbsPath::Literal("/x.zip"), AbsPath::Literal("/out"), {}),
                FailsWith(ErrorCode::kCorrupt, AllOf(HasSubstr("x.zip"), HasSubstr(hostile.message))));
    // Reading without unpacking refuses the same.
    const auto read = [&]() -> Result<void> {
      PTPKG_TRY(const ZipMembers members, ZipMembers::Open(env, AbsPath::Literal("/x.zip")));
      return members.Visit({}, [](const PassedMember&) { return Ok(); });
    };
    EXPECT_THAT(read(),
                FailsWith(ErrorCode::kCorrupt, AllOf(HasSubstr("x.zip"), HasSubstr(hostile.message))));
    for (const std::string& path : fs.List("/")) {
      EXPECT_TRUE(path.starts_with("out/") || path == "x.zip") << path;
    }
  }
}

TEST_F(ExtractZipTest, RefusesADamagedZip64Field) {
  ZipMemberText member{.name = "a", .content = "", .size = 0xFFFFFFFF};
  member.central_extra = std::string("\x01\x00\x04\x00xxxx", 8);
  EXPECT_THAT(Extract(ToText(ZipText{.members = {member}})),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("'a' has a damaged ZIP64 field")));
}

TEST_F(ExtractZipTest, SaysWhatIsUnsupported) {
  EXPECT_THAT(Extract(ToText(ZipText{.members = {{.name = "a", .content = "0123456789abc", .flags = 1}}})),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("'a' cannot be read")));
  EXPECT_THAT(Extract(ToText(ZipText{.members = {{.name = "b", .content = "x", .method = 10}}})),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("'b' cannot be read")));
}

TEST_F(ExtractZipTest, EveryTruncationFails) {
  const std::string zip = ToText(ZipText{.members = {{.name = "a", .content = "text"}, {.name = "b/c"}}});
  for (std::size_t size = 0; size < zip.size(); ++size) {
    EXPECT_THAT(Extract(zip.substr(0, size)), FailsWith(ErrorCode::kCorrupt, HasSubstr("x.zip"))) << size;
  }
}

TEST_F(ExtractZipTest, KeepsTheLimits) {
  const std::string zip =
      ToText(ZipText{.members = {{.name = "a", .content = std::string(1000, 'a')}, {.name = "b"}}});
  EXPECT_THAT(Extract(zip, {.limits = {.max_bytes = 999}}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("more than 999 bytes")));
  EXPECT_THAT(Out(), ElementsAre()) << "refused before anything was written";
  EXPECT_THAT(Extract(zip, {.limits = {.max_entries = 1}}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("more than 1 members")));
}

TEST_F(ExtractZipTest, RefusesBombs) {
  DeflatePool pool(1);
  const std::string text(66U << 20U, '\0');
  ASSERT_OK_AND_ASSIGN(const std::string packed, pool.Deflate(AsBytes(text), ChunkPlace::kLast));
  EXPECT_THAT(Extract(ToText(ZipText{.members = {{.name = "zeros",
                                                  .content = packed,
                                                  .method = 8,
                                                  .crc = CrcOf(text),
                                                  .size = static_cast<std::uint32_t>(text.size())}}})),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("more than 200 times its size")));
}

TEST_F(ExtractZipTest, StripsASingleRoot) {
  ASSERT_OK(Extract(ToText(ZipText{.members = {{.name = "top/a"}, {.name = "top/d/b"}}}),
                    {.strip_single_root = true}));
  EXPECT_THAT(Out(), ElementsAre("a", "d/", "d/b"));
}

TEST_F(ExtractZipTest, TakesDataDescriptors) {
  // Sizes follow the content (4.3.9) and stand in the central directory.
  ZipMemberText member{
      .name = "a", .content = "text", .flags = 8, .local_crc = 0, .local_size = 0, .local_stored = 0};
  ASSERT_OK(Extract(ToText(ZipText{.members = {member}})));
  EXPECT_EQ(fs_.Content("/out/a"), "text");
}

TEST_F(ExtractZipTest, StopsWhenCancelled) {
  env_.cancel.Cancel();
  EXPECT_THAT(Extract(ToText(ZipText{.members = {{.name = "a"}}})),
              FailsWith(ErrorCode::kCancelled, HasSubstr("interrupted")));
}

TEST(ExtractZip, FailsCleanlyAtEveryOperation) {
  const std::string zip = ToText(ZipText{.members = {{.name = "d/a", .content = "a"},
                                                     {.name = "d/b", .content = "b", .unix_mode = 0100755},
                                                     {.name = "l", .content = "d/a", .unix_mode = 0120777}}});
  const int faults = ::ptpkg::test::RunFaultLoop(
      {.setup =
           [&](MemFs& fs) {
             fs.AddDir("/out");
             fs.AddFile("/x.zip", zip);
           },
       .run =
           [](Fs& fs) {
             TestEnv env({.fs = &fs, .jobs = 1});
             return ExtractZip(env, AbsPath::Literal("/x.zip"), AbsPath::Literal("/out"), {});
           },
       .check = [](MemFs&,
                   const Error& error) { EXPECT_EQ(error.code(), ErrorCode::kIo) << FormatError(error); }});
  EXPECT_GT(faults, 20);
}

}  // namespace
}  // namespace ptpkg::archive::test
