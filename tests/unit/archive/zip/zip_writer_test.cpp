// The container, field by field against APPNOTE 6.3.10, and read back by Python.

#include "archive/zip/zip_writer.h"

#include <gtest/gtest.h>

#include "archive/zip/zip_format.h"
#include "archive/zip/zip_strict.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::MemFs;
using ::ptpkg::test::TempDir;
using ::ptpkg::test::TestEnv;
using ::testing::HasSubstr;
using zip::Get16;
using zip::Get32;
using zip::Get64;

constexpr std::int64_t kOddTime = 1'700'000'001;  // 2023-11-14T22:13:21Z

/// A zip in memory under construction.
class Zip {
 public:
  explicit Zip(std::int64_t mtime = kOddTime)
      : file_(*fs_.Open(AbsPath::Literal("/z.zip"), OpenMode::kCreateNew)), writer_(*file_, mtime) {}

  Result<void> Add(ZipWriter::Member member, const std::string& text) {
    PTPKG_TRY(ByteSink * sink, writer_.Begin(member));
    PTPKG_CHECK(sink->Write(AsBytes(text)));
    return writer_.End(CrcOf(text), text.size());
  }
  ZipWriter& writer() { return writer_; }
  File& file() { return *file_; }
  std::string Finish() {
    const auto size = writer_.Finish();
    EXPECT_THAT(size, ::ptpkg::test::IsOk());
    std::string content = fs_.Content("/z.zip");
    EXPECT_EQ(content.size(), *size);
    return content;
  }

 private:
  MemFs fs_;
  std::unique_ptr<File> file_;
  ZipWriter writer_;
};

TEST(ZipWriter, EveryFieldOfAPlainMember) {
  Zip zip;
  ASSERT_OK(zip.Add({.name = RelPath::Literal("a/b.py"), .mode = 0755}, "hello"));
  const std::string z = zip.Finish();

  // 4.3.7
  EXPECT_EQ(Get32(z, 0), 0x04034B50U);
  EXPECT_EQ(Get16(z, 4), 20) << "version needed";
  EXPECT_EQ(Get16(z, 6), 0) << "flags: no descriptor";
  EXPECT_EQ(Get16(z, 8), 0) << "stored";
  EXPECT_EQ(Get16(z, 10), (22 << 11) | (13 << 5) | (21 / 2)) << "time";
  EXPECT_EQ(Get16(z, 12), ((2023 - 1980) << 9) | (11 << 5) | 14) << "date";
  EXPECT_EQ(Get32(z, 14), 0x3610A686U) << "CRC-32 of hello";
  EXPECT_EQ(Get32(z, 18), 5U);
  EXPECT_EQ(Get32(z, 22), 5U);
  EXPECT_EQ(Get16(z, 26), 6) << "name length";
  EXPECT_EQ(Get16(z, 28), 0) << "no extra field";
  EXPECT_EQ(z.substr(30, 11), "a/b.pyhello");

  // 4.3.12
  constexpr std::size_t kCentral = 41;
  EXPECT_EQ(Get32(z, kCentral), 0x02014B50U);
  EXPECT_EQ(Get16(z, kCentral + 4), (3 << 8) | 20) << "made by Unix";
  EXPECT_EQ(Get16(z, kCentral + 6), 20);
  EXPECT_EQ(Get16(z, kCentral + 8), 0);
  EXPECT_EQ(Get16(z, kCentral + 10), 0);
  EXPECT_EQ(Get32(z, kCentral + 12), Get32(z, 10)) << "time and date";
  EXPECT_EQ(Get32(z, kCentral + 16), 0x3610A686U);
  EXPECT_EQ(Get32(z, kCentral + 20), 5U);
  EXPECT_EQ(Get32(z, kCentral + 24), 5U);
  EXPECT_EQ(Get16(z, kCentral + 28), 6);
  EXPECT_EQ(Get16(z, kCentral + 30), 0) << "extra";
  EXPECT_EQ(Get16(z, kCentral + 32), 0) << "comment";
  EXPECT_EQ(Get16(z, kCentral + 34), 0) << "disk";
  EXPECT_EQ(Get16(z, kCentral + 36), 0) << "internal attributes";
  EXPECT_EQ(Get32(z, kCentral + 38), 0100755U << 16U) << "st_mode";
  EXPECT_EQ(Get32(z, kCentral + 42), 0U) << "offset";
  EXPECT_EQ(z.substr(kCentral + 46, 6), "a/b.py");

  // 4.3.16
  constexpr std::size_t kEnd = kCentral + 52;
  EXPECT_EQ(Get32(z, kEnd), 0x06054B50U);
  EXPECT_EQ(Get32(z, kEnd + 4), 0U) << "disks";
  EXPECT_EQ(Get16(z, kEnd + 8), 1);
  EXPECT_EQ(Get16(z, kEnd + 10), 1);
  EXPECT_EQ(Get32(z, kEnd + 12), 52U) << "directory size";
  EXPECT_EQ(Get32(z, kEnd + 16), kCentral);
  EXPECT_EQ(Get16(z, kEnd + 20), 0) << "comment";
  EXPECT_EQ(z.size(), kEnd + 22);
  EXPECT_THAT(StrictZipProblems(zip.file()), ::ptpkg::test::IsOkAndHolds(::testing::IsEmpty()));
}

TEST(ZipWriter, ReservedZip64HoldsBothSizes) {
  Zip zip;
  ASSERT_OK(zip.Add({.name = RelPath::Literal("n"), .zip64 = true}, "hello"));
  const std::string z = zip.Finish();
  EXPECT_EQ(Get16(z, 4), 45);
  EXPECT_EQ(Get32(z, 18), 0xFFFFFFFFU);
  EXPECT_EQ(Get32(z, 22), 0xFFFFFFFFU);
  EXPECT_EQ(Get16(z, 28), 20);
  EXPECT_EQ(Get16(z, 31), 1) << "id";
  EXPECT_EQ(Get16(z, 33), 16) << "length";
  EXPECT_EQ(Get64(z, 35), 5U);
  EXPECT_EQ(Get64(z, 43), 5U);
  constexpr std::size_t kCentral = 56;
  EXPECT_EQ(Get32(z, kCentral), 0x02014B50U);
  EXPECT_EQ(Get16(z, kCentral + 6), 45) << "not below the local header's";
  EXPECT_EQ(Get32(z, kCentral + 20), 5U) << "central: plain, as it fits";
  EXPECT_EQ(Get16(z, kCentral + 30), 0);
  EXPECT_THAT(StrictZipProblems(zip.file()), ::ptpkg::test::IsOkAndHolds(::testing::IsEmpty()));
}

TEST(ZipWriter, MarksNonAsciiNamesAsUtf8) {
  Zip zip;
  ASSERT_OK(zip.Add({.name = RelPath::Literal("gr\xc3\xbc\xc3\x9f")}, ""));
  ASSERT_OK(zip.Add({.name = RelPath::Literal("plain")}, ""));
  const std::string z = zip.Finish();
  EXPECT_EQ(Get16(z, 6), 1U << 11U);
  EXPECT_EQ(Get16(z, 36 + 6), 0U);
}

TEST(ZipWriter, ClampsTimeToWhatDosHolds) {
  const auto date_and_time = [](std::int64_t mtime) {
    Zip zip(mtime);
    EXPECT_OK(zip.Add({.name = RelPath::Literal("n")}, ""));
    const std::string z = zip.Finish();
    return std::pair(Get16(z, 12), Get16(z, 10));
  };
  const std::pair<std::uint16_t, std::uint16_t> first{(1 << 5) | 1, 0};
  EXPECT_EQ(date_and_time(0), first);
  EXPECT_EQ(date_and_time(315532800), first);
  const std::pair<std::uint16_t, std::uint16_t> last{(127 << 9) | (12 << 5) | 31,
                                                     (23 << 11) | (59 << 5) | 29};
  EXPECT_EQ(date_and_time(4354819199), last);
  EXPECT_EQ(date_and_time(99999999999), last);
}

TEST(ZipWriter, EmptyArchiveIsAnEndRecord) {
  Zip zip;
  EXPECT_EQ(zip.Finish(), std::string("PK\x05\x06") + std::string(18, '\0'));
}

TEST(ZipWriter, RefusesNamesAndMembersThatReadersRefuse) {
  Zip zip;
  ASSERT_OK(zip.Add({.name = RelPath::Literal("n")}, ""));
  EXPECT_THAT(zip.Add({.name = RelPath::Literal("n")}, ""),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'n' was already added")));
  EXPECT_THAT(zip.Add({.name = RelPath::Literal("a\tb")}, ""),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("not printable UTF-8")));
  EXPECT_THAT(zip.Add({.name = RelPath::Literal(std::string(65536, 'n'))}, ""),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("65535")));
}

TEST(ZipWriter, NoticesItsCallersMistakes) {
  Zip zip;
  ASSERT_OK_AND_ASSIGN(ByteSink * sink, zip.writer().Begin({.name = RelPath::Literal("n")}));
  ASSERT_OK(sink->Write(AsBytes("hello")));
  EXPECT_THAT(zip.writer().End(0, 6), FailsWith(ErrorCode::kInternal, HasSubstr("got 5 bytes, not 6")));
  Zip large;
  ASSERT_OK(large.writer().Begin({.name = RelPath::Literal("n"), .method = ZipMethod::kDeflate}));
  EXPECT_THAT(large.writer().End(0, 0xFFFFFFFF), FailsWith(ErrorCode::kInternal, HasSubstr("outgrew 4 GiB")));
}

TEST(ZipWriter, HeaderIsCompletedInTheBufferAndInTheFile) {
  // Small members are completed in memory; a member of several MiB has its header on disk by then.
  Zip zip;
  const std::string large = RandomText(3'500'000);
  ASSERT_OK(zip.Add({.name = RelPath::Literal("small")}, "s"));
  ASSERT_OK_AND_ASSIGN(ByteSink * sink, zip.writer().Begin({.name = RelPath::Literal("large")}));
  for (std::size_t at = 0; at < large.size(); at += 300'000) {
    ASSERT_OK(sink->Write(AsBytes(std::string_view(large).substr(at, 300'000))));
  }
  ASSERT_OK(zip.writer().End(CrcOf(large), large.size()));
  ASSERT_OK(zip.Add({.name = RelPath::Literal("zz")}, "z"));
  const std::string z = zip.Finish();
  EXPECT_EQ(Get32(z, 36), 0x04034B50U);
  EXPECT_EQ(Get32(z, 36 + 14), CrcOf(large));
  EXPECT_EQ(Get32(z, 36 + 22), large.size());
  EXPECT_THAT(StrictZipProblems(zip.file()), ::ptpkg::test::IsOkAndHolds(::testing::IsEmpty()));
}

TEST(ZipWriter, MoreMembersThanTheEndRecordCounts) {
  // 65534 fit, 65535 is the escape value itself, 65536 does not fit.
  for (const std::size_t count : {std::size_t{65534}, std::size_t{65535}, std::size_t{65536}}) {
    Zip zip;
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_OK(zip.Add({.name = RelPath::Literal("m" + std::to_string(i))}, ""));
    }
    const std::string z = zip.Finish();
    const bool zip64 = Get32(z, z.size() - 42) == 0x07064B50U;
    EXPECT_EQ(zip64, count >= 65535) << count;
    EXPECT_EQ(Get16(z, z.size() - 12), std::min<std::size_t>(count, 0xFFFF));
    if (zip64) {
      const std::size_t end64 = z.size() - 22 - 20 - 56;
      EXPECT_EQ(Get32(z, end64), 0x06064B50U);
      EXPECT_EQ(Get64(z, end64 + 4), 44U);
      EXPECT_EQ(Get64(z, end64 + 24), count);
      EXPECT_EQ(Get64(z, end64 + 32), count);
      EXPECT_EQ(Get64(z, z.size() - 42 + 8), end64) << "locator";
      EXPECT_EQ(Get32(z, z.size() - 42 + 16), 1U) << "disks";
    }
    EXPECT_THAT(StrictZipProblems(zip.file()), ::ptpkg::test::IsOkAndHolds(::testing::IsEmpty())) << count;

    TestEnv env;
    const TempDir dir;
    dir.WriteFile("z.zip", z);
    const auto status =
        RunTool(env,
                {"python3", "-c",
                 "import zipfile; z = zipfile.ZipFile('z.zip'); print(len(z.namelist()), z.testzip())"},
                dir.path());
    if (!status.has_value()) GTEST_SKIP() << "python3 is not installed";
    EXPECT_EQ(status->output, std::to_string(count) + " None\n");
  }
}

}  // namespace
}  // namespace ptpkg::archive::test
