// Members of static archives, in the forms of GNU and BSD, and archives that lie.

#include "elf/read/static_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "unit/elf/fixtures/device_container_bytes.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::IsOkAndHolds;
using ptpkg::test::MemFs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Members = std::vector<std::pair<std::string, std::string>>;

class Archive {
 public:
  explicit Archive(const std::string& bytes) {
    fs_.AddFile("/lib.a", bytes);
    auto file = fs_.Open(AbsPath::Literal("/lib.a"), OpenMode::kRead);
    EXPECT_OK(file);
    if (file) file_ = *std::move(file);
  }

  Result<Members> Read() {
    Members members;
    PTPKG_CHECK(ForEachMember(*file_, [&](const MemberPlace& place, File& member) -> Result<void> {
      PTPKG_TRY(const FileStat stat, member.Stat());
      std::string content(stat.size_bytes + 10, '\0');  // more than there is
      PTPKG_TRY(const std::size_t got, member.ReadAt(0, std::as_writable_bytes(std::span(content))));
      content.resize(got);
      members.emplace_back(place.name, content);
      return Ok();
    }));
    return members;
  }
  File& file() { return *file_; }

 private:
  MemFs fs_;
  std::unique_ptr<File> file_;
};

TEST(StaticArchive, ByItsMagic) {
  EXPECT_THAT(IsStaticArchive(Archive("!<arch>\n").file()), IsOkAndHolds(true));
  EXPECT_THAT(IsStaticArchive(Archive("!<thin>\n").file()), IsOkAndHolds(true));
  EXPECT_THAT(IsStaticArchive(Archive("!<arch>").file()), IsOkAndHolds(false));
  EXPECT_THAT(IsStaticArchive(Archive("").file()), IsOkAndHolds(false));
}

TEST(StaticArchive, Gnu) {
  const std::string bytes = StaticArchive(
      {{"a.o", "odd"}, {"a_name_of_many_letters.o", "even"}, {"b.o", ""}, {"another_long_name.o", "x"}});
  EXPECT_THAT(
      Archive(bytes).Read(),
      IsOkAndHolds(Members{
          {"a.o", "odd"}, {"a_name_of_many_letters.o", "even"}, {"b.o", ""}, {"another_long_name.o", "x"}}));
  EXPECT_THAT(Archive(bytes.substr(0, bytes.size() - 1)).Read(), ptpkg::test::IsOk())
      << "without the last padding";
  EXPECT_THAT(Archive("!<arch>\n" + ArchiveMember("/SYM64/", "12345678")).Read(), IsOkAndHolds(Members{}));
}

TEST(StaticArchive, Bsd) {
  const std::string bytes =
      "!<arch>\n" + ArchiveMember("#1/16", std::string("__.SYMDEF\0\0\0\0\0\0\0table", 21)) +
      ArchiveMember("#1/8", std::string("one.o\0\0\0content", 15)) + ArchiveMember("b.o", "x");
  EXPECT_THAT(Archive(bytes).Read(), IsOkAndHolds(Members{{"one.o", "content"}, {"b.o", "x"}}));
}

TEST(StaticArchive, MembersWithoutANameAreCalledSomething) {
  const std::string bytes = "!<arch>\n" + ArchiveMember("//", "/\nx") + ArchiveMember("/0", "a") +
                            ArchiveMember("", "b") + ArchiveMember("#1/0", "c");
  EXPECT_THAT(Archive(bytes).Read(), IsOkAndHolds(Members{{"?", "a"}, {"?", "b"}, {"?", "c"}}));
}

TEST(StaticArchive, ThinOnesAreRefused) {
  EXPECT_THAT(Archive("!<thin>\n").Read(), FailsWith(ErrorCode::kUnsupported, HasSubstr("a thin archive")));
}

TEST(StaticArchive, HeadersThatLie) {
  struct Row {
    std::string bytes;
    const char* says;
  };
  const std::string good = ArchiveMember("a.o/", "content");
  const auto changed = [&](std::size_t at, const std::string& text) {
    std::string member = good;
    return member.replace(at, text.size(), text);
  };
  const std::vector<Row> rows = {
      {good.substr(0, 59), "file offset 8: the header of a member is truncated"},
      {good + "\n", "file offset 76: the header of a member is truncated"},
      {changed(58, "x"), "there is no member header here"},
      {changed(48, "7x        "), "there is no member header here"},
      {changed(48, "          "), "there is no member header here"},
      {changed(48, "-1        "), "there is no member header here"},
      {changed(48, "9         "), "a member of 9 bytes, where 8 are left"},
      {changed(48, "9999999999"), "a member of 9999999999 bytes"},
      {changed(0, "/0  "), "a name that is not in the table of names"},
      {changed(0, "/x  "), "a name that is not in the table of names"},
      {changed(0, "#1/8"), "a name longer than its member"},
      {changed(0, "#1/x"), "a name longer than its member"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(Archive("!<arch>\n" + row.bytes).Read(),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr(row.says)));
  }
}

TEST(StaticArchive, AMemberIsOnlyRead) {
  Archive archive(StaticArchive({{"a.o", "x"}}));
  int seen = 0;
  EXPECT_OK(ForEachMember(archive.file(), [&](const MemberPlace&, File& member) -> Result<void> {
    ++seen;
    EXPECT_THAT(member.WriteAt(0, AsBytes("y")), FailsWith(ErrorCode::kInternal, HasSubstr("is read-only")));
    EXPECT_THAT(member.Truncate(0), FailsWith(ErrorCode::kInternal, HasSubstr("is read-only")));
    EXPECT_THAT(member.Sync(), FailsWith(ErrorCode::kInternal, HasSubstr("is read-only")));
    return member.Close();
  }));
  EXPECT_EQ(seen, 1);
}

TEST(StaticArchive, WhatAVisitSaysEndsTheWalk) {
  Archive archive(StaticArchive({{"a.o", "x"}, {"b.o", "y"}}));
  int seen = 0;
  const auto visit = [&](const MemberPlace&, File&) -> Result<void> {
    ++seen;
    return Error(ErrorCode::kCancelled, "enough");
  };
  EXPECT_THAT(ForEachMember(archive.file(), visit), FailsWith(ErrorCode::kCancelled, HasSubstr("enough")));
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace ptpkg::elf::test
