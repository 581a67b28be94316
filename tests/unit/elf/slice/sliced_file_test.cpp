// A slice as a file: read without being written, written and read back.

#include "elf/slice/sliced_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/temp_dir.h"
#include "unit/elf/fixtures/device_libraries.h"
#include "unit/elf/fixtures/slice_of.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::MemFs;
using ::testing::HasSubstr;

Element SassFor(std::uint32_t number, std::size_t size = 8) {
  return {.number = number, .payload = std::string(size, static_cast<char>(number))};
}

std::string RelocatableLibrary() {
  WrappedLibrary library{.containers = {Container({SassFor(80, 9000), SassFor(90, 6000)}),
                                        Container({SassFor(80), SassFor(90, 4000)})},
                         .relocatable = {Container({SassFor(80, 6000), SassFor(90, 40)})}};
  return library.Build();
}

TEST(SlicedFile, AFileThatChangedIsRefused) {
  MemFs fs;
  fs.AddFile(kSliced.str(), DeviceLibrary(Container({SassFor(80), SassFor(90)})));
  ASSERT_OK_AND_ASSIGN(const auto file, fs.Open(kSliced, OpenMode::kReadWrite));
  ASSERT_OK_AND_ASSIGN(const SlicePlan plan, PlanSlice(*file, CompactFor({90})));
  ASSERT_OK_AND_ASSIGN(const auto sliced, MakeSlicedFile(*file, plan));
  ASSERT_OK(file->Truncate(plan.old_size / 2));
  EXPECT_THAT(MakeSlicedFile(*file, plan),
              FailsWith(ErrorCode::kRefused, HasSubstr("changed since its slice was planned")));
  EXPECT_THAT(WholeOf(*sliced),
              FailsWith(ErrorCode::kRefused, HasSubstr("changed since its slice was planned")));
}

TEST(SlicedFile, ReadsAndWritesSayTheSame) {
  WrappedLibrary library{.containers = {Container({SassFor(80, 4096), SassFor(90, 40)}),
                                        Container({SassFor(80, 300), SassFor(90)})}};
  for (const SliceForm form : {SliceForm::kInPlace, SliceForm::kCompact}) {
    const std::string bytes = library.Build();
    ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(bytes, {.gpus = {90}, .form = form}));
    MemFs fs;
    fs.AddFile(kSliced.str(), bytes);
    ASSERT_OK_AND_ASSIGN(const auto file, fs.Open(kSliced, OpenMode::kRead));
    ASSERT_OK_AND_ASSIGN(const SlicePlan plan, PlanSlice(*file, {.gpus = {90}, .form = form}));
    ASSERT_OK_AND_ASSIGN(const auto view, MakeSlicedFile(*file, plan));
    std::string pieces;
    std::string piece(97, '\0');
    for (std::size_t got = 1; got != 0; pieces += piece.substr(0, got)) {
      ASSERT_OK_AND_ASSIGN(got, view->ReadAt(pieces.size(), std::as_writable_bytes(std::span(piece))));
    }
    EXPECT_EQ(pieces, sliced.bytes);
    const AbsPath copy = AbsPath::Literal("/copy.so");
    ASSERT_OK_AND_ASSIGN(const auto target, fs.Open(copy, OpenMode::kCreateNew));
    ASSERT_OK(WriteSlice(*file, plan, *target));
    EXPECT_EQ(*ReadFile(fs, copy), sliced.bytes);
  }
}

TEST(SlicedFile, KnowsWhatItTakesFromItsOriginal) {
  const std::string bytes = RelocatableLibrary();
  MemoryFile file(AsBytes(bytes));
  MemoryFile other(AsBytes(bytes));
  SlicePlan plan;
  plan.pieces = {{.kind = SlicePiece::Kind::kCopy, .size_bytes = 100, .from = 50},
                 {.kind = SlicePiece::Kind::kCopy, .size_bytes = 100, .from = 150},
                 {.kind = SlicePiece::Kind::kZeros, .size_bytes = 10},
                 {.kind = SlicePiece::Kind::kCopy, .size_bytes = 40, .from = 250}};
  plan.new_size = 250;
  const SlicedFile sliced(file, plan);
  EXPECT_TRUE(sliced.IsTakenFrom(file, 50, 0, 100));
  EXPECT_TRUE(sliced.IsTakenFrom(file, 60, 10, 190)) << "of two pieces";
  EXPECT_TRUE(sliced.IsTakenFrom(file, 255, 215, 35));
  EXPECT_FALSE(sliced.IsTakenFrom(other, 50, 0, 100)) << "another file";
  EXPECT_FALSE(sliced.IsTakenFrom(file, 51, 0, 100)) << "another place";
  EXPECT_FALSE(sliced.IsTakenFrom(file, 60, 10, 191)) << "zeros behind it";
  EXPECT_FALSE(sliced.IsTakenFrom(file, 255, 215, 36)) << "behind the end";
}

/// That pieces of a file that is not written are known by their source makes no wrong one pass.
TEST(SlicedFile, APlanThatTakesOtherBytesIsFound) {
  const std::string bytes = RelocatableLibrary();
  MemoryFile file(AsBytes(bytes));
  const SliceRequest request = CompactFor({90});
  ASSERT_OK_AND_ASSIGN(const SlicePlan sound, PlanSlice(file, request));
  ASSERT_EQ(sound.form, SliceForm::kCompact);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < sound.pieces.size(); ++i) {
    for (const std::uint64_t by : {8U, 1U << 12U}) {
      SlicePlan plan = sound;
      SlicePiece& piece = plan.pieces[i];
      if (piece.kind == SlicePiece::Kind::kZeros || piece.size_bytes == 0) continue;
      if (piece.kind == SlicePiece::Kind::kBytes) {
        piece.bytes.front() ^= std::byte{1};
      } else if (piece.from + by + piece.size_bytes <= bytes.size()) {
        piece.from += by;
      } else {
        continue;
      }
      ASSERT_OK_AND_ASSIGN(const auto sliced, MakeSlicedFile(file, plan));
      const auto verified = VerifySlice(file, *sliced, request);
      // Pieces that happen to be equal: payloads are of one byte.
      ASSERT_OK_AND_ASSIGN(const auto before, MakeSlicedFile(file, sound));
      const bool is_same = *WholeOf(*sliced) == *WholeOf(*before);
      EXPECT_EQ(verified.has_value(), is_same) << "piece " << i << " by " << by;
      if (!is_same) ++wrong;
    }
  }
  EXPECT_GT(wrong, 10U);
}

/// Holds what it is given, but for one byte.
class ForgetfulFile final : public ReadOnlyFile {
 public:
  explicit ForgetfulFile(std::uint64_t at) : ReadOnlyFile({}), at_(at) {}
  Result<std::size_t> ReadAt(std::uint64_t offset, MutableBytes buffer) override {
    const std::size_t size = std::min<std::uint64_t>(buffer.size(), bytes_.size() - offset);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), size,
                reinterpret_cast<char*>(buffer.data()));
    return size;
  }
  Result<void> WriteAt(std::uint64_t offset, Bytes bytes) override {
    bytes_.replace(offset, bytes.size(), AsText(bytes));
    if (at_ >= offset && at_ < offset + bytes.size()) bytes_[at_] = static_cast<char>(bytes_[at_] ^ 1);
    return Ok();
  }
  Result<void> Truncate(std::uint64_t size_bytes) override {
    bytes_.resize(size_bytes);
    return Ok();
  }

 private:
  std::uint64_t at_;
  std::string bytes_;
};

TEST(SlicedFile, ADiskThatForgetsIsFoundWhileItIsWritten) {
  const std::string bytes = RelocatableLibrary();
  MemoryFile file(AsBytes(bytes));
  ASSERT_OK_AND_ASSIGN(const SlicePlan plan, PlanSlice(file, CompactFor({90})));
  for (const std::uint64_t at : {0U, 4000U, 9000U}) {
    ForgetfulFile target(at);
    EXPECT_THAT(WriteSlice(file, plan, target),
                FailsWith(ErrorCode::kIo, HasSubstr("reads as something else")))
        << at;
  }
}

TEST(SlicedFile, ZerosBecomeHolesAndHolesAreNotRead) {
  WrappedLibrary library{.containers = {Container({SassFor(80, 1U << 20U), SassFor(90, 6000)})}};
  const ptpkg::test::TempDir dir;
  const auto fs = MakeOsFs();
  ASSERT_OK_AND_ASSIGN(const auto file, fs->Open(dir.WriteFile("lib.so", library.Build()), OpenMode::kRead));
  const SliceRequest request = {.gpus = {90}, .form = SliceForm::kInPlace};
  ASSERT_OK_AND_ASSIGN(const SlicePlan plan, PlanSlice(*file, request));
  const AbsPath path = dir / "slice.so";
  ASSERT_OK_AND_ASSIGN(const auto target, fs->Open(path, OpenMode::kCreateNew));
  ASSERT_OK(WriteSlice(*file, plan, *target, 4));
  ASSERT_OK(VerifySlice(*file, *target, request, 4));
  const std::uint64_t in_hole = library.places.code + (1U << 19U);
  ASSERT_OK_AND_ASSIGN(const std::uint64_t data, target->NextData(in_hole));
  // A file system without holes says that there is data.
  if (data == in_hole) GTEST_SKIP() << "the file system of the tests has no holes";
  EXPECT_GT(data, library.places.code + (1U << 20U) - 8192);
  EXPECT_LE(data, library.places.tail);
  // A slice of the slice keeps them.
  const SliceRequest both = {.gpus = {80, 90}, .form = SliceForm::kInPlace};
  ASSERT_OK_AND_ASSIGN(const SlicePlan all_of_it, PlanSlice(*file, both));
  EXPECT_FALSE(all_of_it.Changes());
  SlicePlan copy;
  ASSERT_OK_AND_ASSIGN(copy.seen, target->Stat());
  copy.old_size = copy.new_size = copy.seen.size_bytes;
  copy.pieces = {{.kind = SlicePiece::Kind::kCopy, .size_bytes = copy.new_size, .from = 0}};
  ASSERT_OK_AND_ASSIGN(const auto again, fs->Open(dir / "again.so", OpenMode::kCreateNew));
  ASSERT_OK(WriteSlice(*target, copy, *again, 4));
  ASSERT_OK_AND_ASSIGN(const std::uint64_t data_again, again->NextData(in_hole));
  EXPECT_GT(data_again, in_hole);
  ASSERT_OK_AND_ASSIGN(const std::string one, WholeOf(*target));
  ASSERT_OK_AND_ASSIGN(const std::string other, WholeOf(*again));
  EXPECT_TRUE(one == other);
}

/// Says a moment later, while it is written, that it is another file.
class RestlessFile final : public ReadOnlyFile {
 public:
  explicit RestlessFile(Bytes bytes) : ReadOnlyFile({.size_bytes = bytes.size()}), bytes_(bytes) {}
  Result<FileStat> Stat() override {
    FileStat stat{.size_bytes = bytes_.size()};
    stat.mtime_ns = seen_++ < 2 ? 0 : 1;
    return stat;
  }
  Result<std::size_t> ReadAt(std::uint64_t offset, MutableBytes buffer) override {
    MemoryFile file(bytes_);
    return file.ReadAt(offset, buffer);
  }

 private:
  Bytes bytes_;
  int seen_ = 0;
};

TEST(SlicedFile, AFileThatChangesWhileItsSliceIsWrittenIsRefused) {
  const std::string bytes = RelocatableLibrary();
  MemoryFile file(AsBytes(bytes));
  ASSERT_OK_AND_ASSIGN(SlicePlan plan, PlanSlice(file, CompactFor({90})));
  RestlessFile changing(AsBytes(bytes));
  ASSERT_OK_AND_ASSIGN(plan.seen, changing.Stat());
  ForgetfulFile target(bytes.size());
  EXPECT_THAT(WriteSlice(changing, plan, target),
              FailsWith(ErrorCode::kRefused, HasSubstr("changed since its slice was planned")));
}

}  // namespace
}  // namespace ptpkg::elf::test
