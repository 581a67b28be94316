// ZIP64 with real sizes. The content is zeros in sparse files, so that little is written.

#include <gtest/gtest.h>

#include "archive/extract.h"
#include "archive/zip/zip_format.h"
#include "archive/zip/zip_strict.h"
#include "archive/zip/zip_writer.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::IsOkAndHolds;
using ::ptpkg::test::TempDir;
using ::ptpkg::test::TestEnv;

constexpr std::uint64_t kLarge = 4'831'838'208;  // 4.5 GiB

/// Drops blocks of zeros on the way to the file: they become holes.
class SparseFile final : public File {
 public:
  explicit SparseFile(File& file) : file_(file) {}
  Result<std::size_t> ReadAt(std::uint64_t offset, MutableBytes buffer) override {
    return file_.ReadAt(offset, buffer);
  }
  Result<void> WriteAt(std::uint64_t offset, Bytes bytes) override {
    const bool zeros = std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
    if (bytes.size() >= 4096 && zeros) return Ok();
    return file_.WriteAt(offset, bytes);
  }
  Result<FileStat> Stat() override { return file_.Stat(); }
  Result<void> Truncate(std::uint64_t size_bytes) override { return file_.Truncate(size_bytes); }
  Result<void> Sync() override { return file_.Sync(); }
  Result<void> Close() override { return file_.Close(); }

 private:
  File& file_;
};

TEST(LargeZip, StoredMemberAndOffsetsBeyond4GiB) {
  TestEnv env;
  const TempDir dir;
  const AbsPath input = dir.WriteFile("zeros", "");
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<File> file, env->fs.Open(input, OpenMode::kReadWrite));
    ASSERT_OK(file->Truncate(kLarge));
  }
  EntrySet entries;
  ASSERT_OK(entries.Add({.name = RelPath::Literal("a/zeros"),
                         .size_bytes = kLarge,
                         .link_target = {},
                         .text = {},
                         .file = input}));
  ASSERT_OK(entries.AddText(RelPath::Literal("b"), "after"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<File> real, env->fs.Open(dir / "z.zip", OpenMode::kCreateNew));
  SparseFile file(*real);
  ZipWriter writer(file, 1'700'000'000);
  Task task(env.reporter, {.stage = "zip", .subject = "z", .total_bytes = kLarge});
  ASSERT_OK(WriteZipMembers(env, writer, entries.Sorted(), {.level = 0, .chunk_bytes = 16U << 20U}, task));
  ASSERT_OK_AND_ASSIGN(const std::uint64_t size_bytes, writer.Finish());
  ASSERT_GT(size_bytes, kLarge);

  // Local header: both sizes in the ZIP64 field, 0xFFFFFFFF in their places.
  std::string local(57, '\0');
  ASSERT_OK(real->ReadAt(0, std::as_writable_bytes(std::span(local))));
  EXPECT_EQ(zip::Get16(local, 4), 45);
  EXPECT_EQ(zip::Get32(local, 18), 0xFFFFFFFFU);
  EXPECT_EQ(zip::Get32(local, 22), 0xFFFFFFFFU);
  EXPECT_EQ(zip::Get16(local, 28), 20);
  EXPECT_EQ(zip::Get64(local, 41), kLarge);
  EXPECT_EQ(zip::Get64(local, 49), kLarge);
  EXPECT_THAT(
      StrictZipProblems(*real),
      IsOkAndHolds(::testing::Contains(::testing::Field(&ZipProblem::text, ::testing::HasSubstr("50 times")))
                       .Times(0)));

  const auto python =
      RunTool(env,
              {"python3", "-c",
               "import zipfile\n"
               "z = zipfile.ZipFile('z.zip')\n"
               "a, b = z.infolist()\n"
               "print(a.file_size, a.compress_size, len(a.extra), b.header_offset > 2**32, len(b.extra))\n"
               "print(z.read(b).decode())\n"
               "with z.open(a) as f:\n"
               "    n = 0\n"
               "    while True:\n"
               "        piece = f.read(1 << 24)\n"
               "        if not piece: break\n"
               "        n += len(piece)\n"
               "print(n)\n"},
              dir.path());
  ASSERT_TRUE(python.has_value()) << "python3 is not installed";
  EXPECT_EQ(python->output, "4831838208 4831838208 20 True 12\nafter\n4831838208\n");

  ASSERT_OK_AND_ASSIGN(const ZipReader reader, ZipReader::Open(*MakeOsFs(), dir / "z.zip"));
  EXPECT_EQ(reader.Find("a/zeros")->size_bytes, kLarge);
  EXPECT_THAT(reader.ReadText("b"), IsOkAndHolds(std::string("after")));
}

TEST(LargeZip, DeflatedMemberBeyond4GiB) {
  TestEnv env;
  const TempDir dir;
  const AbsPath input = dir.WriteFile("zeros", "");
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<File> file, env->fs.Open(input, OpenMode::kReadWrite));
    ASSERT_OK(file->Truncate(kLarge));
  }
  EntrySet entries;
  ASSERT_OK(entries.Add({.name = RelPath::Literal("zeros"),
                         .size_bytes = kLarge,
                         .link_target = {},
                         .text = {},
                         .file = input}));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<File> file, env->fs.Open(dir / "z.zip", OpenMode::kCreateNew));
  ZipWriter writer(*file, 1'700'000'000);
  Task task(env.reporter, {.stage = "zip", .subject = "z", .total_bytes = kLarge});
  ASSERT_OK(WriteZipMembers(env, writer, entries.Sorted(), {.level = 1}, task));
  ASSERT_OK(writer.Finish());
  const auto python = RunTool(env,
                              {"python3", "-c",
                               "import zipfile\n"
                               "z = zipfile.ZipFile('z.zip')\n"
                               "print(z.infolist()[0].file_size, z.testzip())\n"},
                              dir.path());
  ASSERT_TRUE(python.has_value()) << "python3 is not installed";
  EXPECT_EQ(python->output, "4831838208 None\n");
  // The only thing to be said against it is how well it shrinks.
  EXPECT_THAT(StrictZipProblems(*file), IsOkAndHolds(::testing::ElementsAre(::testing::Field(
                                            &ZipProblem::text, ::testing::HasSubstr("50 times")))));
}

}  // namespace
}  // namespace ptpkg::archive::test
