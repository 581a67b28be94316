// Files that cannot be edited: one clear error, and the file is as it was, byte for byte and in its times.

#include <fmt/core.h>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

#include "elf/edit/edit.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "unit/elf/fixtures/synthetic_elf.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::MemFs;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const AbsPath kLibrary = AbsPath::Literal("/tree/lib.so");

Edits AllKinds() {
  Edits edits;
  edits.search_path = SearchPath{.tag = PathTag::kRpath, .text = "$ORIGIN/" + std::string(400, 'x')};
  edits.replace_needed = {{"libdeep.so.1", "libother-with-a-long-name.so.1"}};
  edits.soname = "libz.so";
  edits.executable_stack = true;
  return edits;
}

struct Flavour {
  ElfClass elf_class;
  ByteOrder order;
  std::string name;
};

class BadFile : public ::testing::TestWithParam<Flavour> {
 protected:
  BadFile() {
    elf_.elf_class = GetParam().elf_class;
    elf_.order = GetParam().order;
    elf_.runpath = "/build/lib";
    bytes_ = elf_.Build();
  }

  /// Edits `bytes`. An error must leave the file and its directory as they were.
  static Result<EditPlan> Edit(const std::string& bytes) {
    MemFs fs;
    fs.AddFile(kLibrary.str(), bytes);
    const FileStat before = *fs.Lstat(kLibrary);
    auto plan = EditFile(fs, kLibrary, AllKinds());
    EXPECT_THAT(fs.List("/tree"), ElementsAre("lib.so"));
    if (!plan) {
      EXPECT_TRUE(fs.Content(kLibrary.str()) == bytes);
      if (plan.error().code() != ErrorCode::kInternal) {
        EXPECT_EQ(*fs.Lstat(kLibrary), before) << FormatError(plan.error());
      }
      EXPECT_FALSE(plan.error().message().empty());
    }
    return plan;
  }
  /// Where the entry with `tag` stands in the file.
  [[nodiscard]] std::uint64_t EntryAt(std::uint64_t tag) const {
    const Codec codec = elf_.codec();
    std::uint64_t at = elf_.places.dynamic;
    const Bytes bytes = AsBytes(bytes_);
    while (codec.Word(bytes, at) != tag) at += codec.DynamicEntrySize();
    return at;
  }
  void SetEntry(std::uint64_t tag, std::uint64_t value) {
    PokeWord(bytes_, elf_.codec(), EntryAt(tag) + elf_.codec().WordSize(), value);
  }
  /// Offset of field `index` of words (0 = p_offset, 1 = p_vaddr, 3 = p_filesz, 4 = p_memsz) in the segment.
  [[nodiscard]] std::uint64_t SegmentField(std::size_t segment, std::size_t index) const {
    const Codec codec = elf_.codec();
    const std::uint64_t first = codec.Is64() ? 8 : 4;
    return elf_.places.program_headers + segment * codec.SegmentSize() + first + index * codec.WordSize();
  }

  SyntheticElf elf_;
  std::string bytes_;
};

INSTANTIATE_TEST_SUITE_P(All, BadFile,
                         ::testing::Values(Flavour{ElfClass::k64, ByteOrder::kLittle, "le64"},
                                           Flavour{ElfClass::k64, ByteOrder::kBig, "be64"},
                                           Flavour{ElfClass::k32, ByteOrder::kLittle, "le32"},
                                           Flavour{ElfClass::k32, ByteOrder::kBig, "be32"}),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(BadFile, WholeFileIsEdited) { EXPECT_OK(Edit(bytes_)); }

TEST_P(BadFile, CutShortAnywhere) {
  for (std::size_t size = 0; size < bytes_.size(); size += 3) {
    const auto plan = Edit(bytes_.substr(0, size));
    EXPECT_THAT(plan, AnyOf(FailsWith(ErrorCode::kCorrupt, HasSubstr("")),
                            FailsWith(ErrorCode::kUnsupported, HasSubstr("is not an ELF file"))))
        << size;
  }
}

TEST_P(BadFile, TextAndScriptsUnderTheNameOfALibrary) {
  for (const char* text : {"", "INPUT(libm.so.6)\n", "#!/bin/sh\n", "version https://git-lfs", "\177EL"}) {
    EXPECT_THAT(Edit(text), FailsWith(ErrorCode::kUnsupported, HasSubstr("is not an ELF file"))) << text;
  }
}

TEST_P(BadFile, StaticProgram) {
  elf_.dynamic = false;
  elf_.type = kTypeExec;
  EXPECT_THAT(Edit(elf_.Build()), FailsWith(ErrorCode::kUnsupported, HasSubstr("no dynamic section")));
}

TEST_P(BadFile, ProgramHeadersOverTheFileHeader) {
  const std::uint64_t field = elf_.codec().Is64() ? 32 : 28;
  for (const std::uint64_t offset : {0U, 1U, 16U, 40U}) {
    PokeWord(bytes_, elf_.codec(), field, offset);
    EXPECT_FALSE(Edit(bytes_).has_value()) << offset;
  }
}

TEST_P(BadFile, LoadableSegmentsOverEachOther) {
  PokeWord(bytes_, elf_.codec(), SegmentField(0, 4), 0x100000);
  EXPECT_THAT(Edit(bytes_), FailsWith(ErrorCode::kCorrupt, HasSubstr("overlap or are out of order")));
}

TEST_P(BadFile, DynamicSectionAtTwoPlaces) {
  PokeWord(bytes_, elf_.codec(), SegmentField(2, 0), elf_.places.dynamic - 8);
  EXPECT_THAT(Edit(bytes_),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("the dynamic section is declared to be")));
}

TEST_P(BadFile, StringTableOverTheDynamicSection) {
  SetEntry(kDtStrtab, elf_.places.dynamic);
  EXPECT_THAT(Edit(bytes_), FailsWith(ErrorCode::kCorrupt, HasSubstr("overlaps the dynamic section")));
}

TEST_P(BadFile, StringTableOverTheProgramHeaders) {
  SetEntry(kDtStrtab, elf_.places.program_headers + 8);
  EXPECT_THAT(Edit(bytes_), FailsWith(ErrorCode::kCorrupt, HasSubstr("overlaps the program headers")));
}

TEST_P(BadFile, StringsOutsideTheirTable) {
  for (const std::uint64_t tag : {kDtNeeded, kDtSoname, kDtRunpath}) {
    const std::string whole = bytes_;
    SetEntry(tag, elf_.places.strings_size);
    EXPECT_THAT(Edit(bytes_), FailsWith(ErrorCode::kCorrupt, HasSubstr("of a string table of"))) << tag;
    bytes_ = whole;
  }
}

TEST_P(BadFile, VersionRequirementsInACircle) {
  // The record says that two follow each other, and that the next one is itself or the one before.
  SetEntry(kDtVerneednum, 2);
  for (const std::uint32_t step : {0U, 8U, 0xfffffff0U}) {
    PokeU32(bytes_, elf_.codec(), elf_.places.needs + 12, step);
    EXPECT_THAT(Edit(bytes_), FailsWith(ErrorCode::kCorrupt, HasSubstr(""))) << step;
  }
}

TEST_P(BadFile, WithoutSectionHeadersIsNotBad) {
  SyntheticElf elf = elf_;
  elf.places = {};
  elf.sections = false;
  EXPECT_OK(Edit(elf.Build()));
}

TEST_P(BadFile, RandomDamageIsRefusedOrEditedSoundly) {
  std::mt19937 random(elf_.codec().Is64() ? 1 : 2);  // NOLINT(cert-msc51-cpp): repeatable on purpose
  int refused = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string bytes = bytes_;
    for (unsigned i = 0; i < 1 + random() % 3; ++i) {
      const std::size_t at = random() % 2 == 0 ? elf_.places.dynamic + random() % 200 : random() % 700;
      bytes[at % bytes.size()] = static_cast<char>(random() % 4 == 0 ? 0xff : random());
    }
    if (!Edit(bytes)) ++refused;
  }
  EXPECT_GT(refused, 100);
}

/// A file that somebody else changes at a chosen read.
class ChangingFile final : public File {
 public:
  ChangingFile(File& inner, int number, std::function<void()> change)
      : inner_(inner), number_(number), change_(std::move(change)) {}

  Result<std::size_t> ReadAt(std::uint64_t offset, MutableBytes buffer) override {
    if (++count_ == number_) change_();
    return inner_.ReadAt(offset, buffer);
  }
  Result<void> WriteAt(std::uint64_t offset, Bytes bytes) override { return inner_.WriteAt(offset, bytes); }
  Result<FileStat> Stat() override { return inner_.Stat(); }
  Result<void> Truncate(std::uint64_t size_bytes) override { return inner_.Truncate(size_bytes); }
  Result<void> Sync() override { return inner_.Sync(); }
  Result<void> Close() override { return inner_.Close(); }
  [[nodiscard]] bool changed() const { return count_ >= number_; }

 private:
  File& inner_;
  int number_;
  int count_ = 0;
  std::function<void()> change_;
};

TEST_P(BadFile, ChangedByAnotherWhileItIsRead) {
  SyntheticElf other = elf_;
  other.runpath = "/other/lib";  // as long as the first: the same size
  other.needed = {"libdeep.so.1", "libq.so.6"};
  for (const std::string& theirs :
       {other.Build(), bytes_.substr(0, 300), bytes_ + "tail", std::string("text")}) {
    bool changed = true;
    for (int number = 1; changed; ++number) {
      SCOPED_TRACE(fmt::format("{} bytes at read {}", theirs.size(), number));
      MemFs fs;
      fs.AddFile(kLibrary.str(), bytes_);
      ASSERT_OK_AND_ASSIGN(const auto inner, fs.Open(kLibrary, OpenMode::kRead));
      ChangingFile file(*inner, number, [&] {
        const auto writer = fs.Open(kLibrary, OpenMode::kReadWrite);
        ASSERT_OK((*writer)->WriteAt(0, AsBytes(theirs)));
        ASSERT_OK((*writer)->Truncate(theirs.size()));
      });
      const auto edit = [&]() -> Result<void> {
        PTPKG_TRY(const auto image, ReadImage(file));
        if (!image) return Error(ErrorCode::kUnsupported, "not an ELF file");
        PTPKG_TRY(const EditPlan plan, PlanEdit(file, *image, AllKinds()));
        return ApplyEdit(fs, kLibrary, plan);
      };
      const auto result = edit();
      changed = file.changed();
      if (!changed) break;
      EXPECT_FALSE(result.has_value());
      EXPECT_TRUE(fs.Content(kLibrary.str()) == theirs);
      EXPECT_THAT(fs.List("/tree"), ElementsAre("lib.so"));
    }
  }
}

}  // namespace
}  // namespace ptpkg::elf::test
