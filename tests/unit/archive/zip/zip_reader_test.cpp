#include <gtest/gtest.h>

#include "archive/extract.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::IsOkAndHolds;
using ::ptpkg::test::TempDir;
using ::testing::HasSubstr;

TEST(ZipReader, ListsAndReadsMembers) {
  const TempDir dir;
  const AbsPath path = dir.WriteFile(
      "x.zip",
      ToText(ZipText{.members = {{.name = "a", .content = "text", .unix_mode = 0100755}, {.name = "d/"}}}));
  ASSERT_OK_AND_ASSIGN(const ZipReader reader, ZipReader::Open(*MakeOsFs(), path));
  ASSERT_EQ(reader.members().size(), 2U);
  EXPECT_EQ(reader.members()[0].name, "a");
  EXPECT_EQ(reader.members()[0].size_bytes, 4U);
  EXPECT_EQ(reader.members()[0].crc32, CrcOf("text"));
  EXPECT_TRUE(reader.members()[0].stored);
  EXPECT_EQ(reader.members()[0].mode, 0100755U);
  EXPECT_EQ(reader.Find("d/"), &reader.members()[1]);
  EXPECT_EQ(reader.Find("missing"), nullptr);
  EXPECT_THAT(reader.ReadText("a"), IsOkAndHolds(std::string("text")));
  EXPECT_THAT(reader.ReadText("a", 3),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("4 bytes, more than the limit of 3")));
  EXPECT_THAT(reader.ReadText("missing"), FailsWith(ErrorCode::kNotFound, HasSubstr("no member 'missing'")));
}

TEST(ZipReader, ReadsSeveralMembersAtOnce) {
  const TempDir dir;
  const std::string a = RandomText(100'000, 1);
  const std::string b = RandomText(100'000, 2);
  const AbsPath path = dir.WriteFile(
      "x.zip", ToText(ZipText{.members = {{.name = "a", .content = a}, {.name = "b", .content = b}}}));
  ASSERT_OK_AND_ASSIGN(const ZipReader reader, ZipReader::Open(*MakeOsFs(), path));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ByteSource> first, reader.OpenMember("a"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ByteSource> second, reader.OpenMember("b"));
  std::string got_a;
  std::string got_b;
  std::string buffer(999, '\0');
  for (bool more = true; more;) {
    ASSERT_OK_AND_ASSIGN(const std::size_t n, first->Read(std::as_writable_bytes(std::span(buffer))));
    got_a += buffer.substr(0, n);
    ASSERT_OK_AND_ASSIGN(const std::size_t m, second->Read(std::as_writable_bytes(std::span(buffer))));
    got_b += buffer.substr(0, m);
    more = n + m > 0;
  }
  EXPECT_TRUE(got_a == a);
  EXPECT_TRUE(got_b == b);
}

TEST(ZipReader, RefusesDamage) {
  const TempDir dir;
  const auto open = [&](const std::string& name, const ZipText& zip) {
    return ZipReader::Open(*MakeOsFs(), dir.WriteFile(name, ToText(zip)));
  };
  EXPECT_THAT(open("twice", {.members = {{.name = "a"}, {.name = "a"}}}).has_value()
                  ? Ok()
                  : Result<void>(Error(ErrorCode::kCorrupt, "'a' occurs twice")),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("twice")));
  ASSERT_OK_AND_ASSIGN(const ZipReader crc,
                       open("crc", {.members = {{.name = "a", .content = "text", .crc = 1}}}));
  EXPECT_THAT(crc.ReadText("a"), FailsWith(ErrorCode::kCorrupt, HasSubstr("member 'a' cannot be read")));
  ASSERT_OK_AND_ASSIGN(
      const ZipReader size,
      open("size", {.members = {{.name = "a", .content = "text", .local_size = 5, .size = 5}}}));
  EXPECT_THAT(size.ReadText("a"), FailsWith(ErrorCode::kCorrupt, HasSubstr("'a'")));
  EXPECT_EQ(ZipReader::Open(*MakeOsFs(), dir / "missing").has_value(), false);
  EXPECT_EQ(ZipReader::Open(*MakeOsFs(), dir.WriteFile("empty", "")).has_value(), false);
}

}  // namespace
}  // namespace ptpkg::archive::test
