// Compact slices of relocatable objects and static archives: what moves, what follows, and what stands in the
// way.

#include <fmt/core.h>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "unit/elf/fixtures/device_objects.h"
#include "unit/elf/fixtures/kept_elements.h"
#include "unit/elf/fixtures/slice_of.h"

namespace ptpkg::elf::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Codec kObjectCodec(ElfClass::k64, ByteOrder::kLittle);
const SliceRequest kOnly90 = CompactFor({90});

Element Sm(std::uint32_t number, std::size_t size) {
  return {.number = number, .payload = std::string(size, static_cast<char>(number))};
}

/// Without sm_80, which is a multiple of 32 bytes in each section.
DeviceObject Whole(bool named) {
  return {.containers = {Container({Sm(80, 960), Sm(90, 40)}), Container({Sm(75, 24)}),
                         Container({Sm(80, 448), Sm(90, 16)}), Container({Sm(90, 8)})},
          .relocatable = Container({Sm(80, 192), Sm(90, 64)}),
          .named = named};
}
DeviceObject Kept(bool named) {
  return {.containers = {Container({Sm(90, 40)}), Container({Sm(75, 24)}), Container({Sm(90, 16)}),
                         Container({Sm(90, 8)})},
          .relocatable = Container({Sm(90, 64)}),
          .named = named};
}

TEST(ObjectSlice, IsTheObjectThatWouldHaveBeenBuilt) {
  for (const bool named : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(Whole(named).Build(), kOnly90));
    EXPECT_EQ(sliced.plan.form, SliceForm::kCompact);
    EXPECT_EQ(sliced.plan.not_compact, "");
    EXPECT_EQ(sliced.bytes, Kept(named).Build());
  }
}

TEST(ObjectSlice, OfAarch64Too) {
  DeviceObject whole = Whole(false);
  whole.machine = kMachineAarch64;
  whole.pointer_type = 257;
  DeviceObject kept = Kept(false);
  kept.machine = whole.machine;
  kept.pointer_type = whole.pointer_type;
  ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(whole.Build(), kOnly90));
  EXPECT_EQ(sliced.bytes, kept.Build());
}

TEST(ObjectSlice, SectionsBehindKeepTheirAlignment) {
  DeviceObject whole = Whole(false);
  whole.tail_align = 512;
  const std::string original = whole.Build();
  ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(original, kOnly90));
  EXPECT_EQ(sliced.plan.form, SliceForm::kCompact);
  // 1,536 bytes fewer in .nv_fatbin are three times 512; 256 in __nv_relfatbin are not even one.
  EXPECT_EQ(sliced.bytes.size(), original.size() - 1536);
  EXPECT_GT(ExpectKept(original, sliced.bytes, {90}, false), 4U);
}

TEST(ObjectSlice, NothingToDropIsTheSameFile) {
  const std::string original = Kept(false).Build();
  ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(original, kOnly90));
  EXPECT_FALSE(sliced.plan.Changes());
  EXPECT_EQ(sliced.bytes, original);
}

struct Obstruction {
  const char* name;
  std::function<void(std::string&, const DeviceObject&)> damage;
  const char* says;
  bool named = false;
};

std::uint64_t HeaderAt(const DeviceObject& object, std::size_t section) {
  return object.places.section_headers + 64 * section;
}
std::uint64_t RelocationAt(const DeviceObject& object, std::size_t index) {
  return object.places.relocations + 24 * index;
}
std::uint64_t SymbolAt(const DeviceObject& object, std::size_t index) {
  return object.places.symbols + 24 * index;
}

/// Expects of each damage a slice in place that says why.
void ExpectInPlace(const std::vector<Obstruction>& rows) {
  for (const Obstruction& row : rows) {
    SCOPED_TRACE(row.name);
    DeviceObject object = Whole(row.named);
    std::string bytes = object.Build();
    row.damage(bytes, object);
    ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(bytes, kOnly90));
    EXPECT_EQ(sliced.plan.form, SliceForm::kInPlace);
    EXPECT_THAT(sliced.plan.not_compact, HasSubstr(row.says));
    EXPECT_EQ(sliced.bytes.size(), bytes.size());
    ExpectKept(bytes, sliced.bytes, {90}, false);
  }
}

TEST(ObjectSlice, PointersThatCannotFollowKeepItInPlace) {
  ExpectInPlace({
      {"relative to its place",
       [](std::string& bytes, const DeviceObject& object) {
         PokeU32(bytes, kObjectCodec, RelocationAt(object, 0) + 8, 2);
       },
       "a relocation of type 2 points into .nv_fatbin"},
      {"of another machine",
       [](std::string& bytes, const DeviceObject&) { PokeU16(bytes, kObjectCodec, 18, 243); },
       "a relocation of type 1 points into .nv_fatbin"},
      {"into the midst",
       [](std::string& bytes, const DeviceObject& object) {
         PokeWord(bytes, kObjectCodec, RelocationAt(object, 1) + 16, 8);
       },
       "a pointer leads into the midst of .nv_fatbin"},
      {"behind a symbol",
       [](std::string& bytes, const DeviceObject& object) {
         PokeWord(bytes, kObjectCodec, RelocationAt(object, 1) + 16, 8);
       },
       "a pointer leads into the midst of .nv_fatbin", true},
      {"past the section",
       [](std::string& bytes, const DeviceObject& object) {
         PokeWord(bytes, kObjectCodec, RelocationAt(object, 1) + 16, 1U << 20U);
       },
       "a pointer leads into the midst of .nv_fatbin"},
  });
}

TEST(ObjectSlice, TablesOfRelocationsThatCannotFollowKeepItInPlace) {
  ExpectInPlace({
      {"without addends",
       [](std::string& bytes, const DeviceObject& object) {
         PokeU32(bytes, kObjectCodec, HeaderAt(object, kObjectRelocations) + 4, kSectionRel);
       },
       "its relocations have no addends"},
      {"into the containers",
       [](std::string& bytes, const DeviceObject& object) {
         PokeU32(bytes, kObjectCodec, HeaderAt(object, kObjectRelocations) + 44, kObjectCode);
       },
       "relocations change section .nv_fatbin"},
      {"by other symbols",
       [](std::string& bytes, const DeviceObject& object) {
         PokeU32(bytes, kObjectCodec, HeaderAt(object, kObjectRelocations) + 40, 4);
       },
       "relocations name another table of symbols than .symtab"},
  });
}

TEST(ObjectSlice, SymbolsAndHeadersThatCannotFollowKeepItInPlace) {
  ExpectInPlace({
      {"a symbol in the midst",
       [](std::string& bytes, const DeviceObject& object) {
         PokeWord(bytes, kObjectCodec, SymbolAt(object, 5) + 8, 8);
       },
       "symbol 5 has a part of a container in .nv_fatbin", true},
      {"a symbol of a part",
       [](std::string& bytes, const DeviceObject& object) {
         PokeWord(bytes, kObjectCodec, SymbolAt(object, 4) + 16, 8);
       },
       "symbol 4 has a part of a container in .nv_fatbin", true},
      {"a section's symbol",
       [](std::string& bytes, const DeviceObject& object) {
         PokeWord(bytes, kObjectCodec, SymbolAt(object, 1) + 8, 8);
       },
       "the symbol of a section is not at its begin"},
      {"an alignment",
       [](std::string& bytes, const DeviceObject& object) {
         PokeWord(bytes, kObjectCodec, HeaderAt(object, kObjectTail) + 48, 24);
       },
       "a section is aligned to 0x18, no power of 2"},
      {"a page",
       [](std::string& bytes, const DeviceObject& object) {
         PokeWord(bytes, kObjectCodec, HeaderAt(object, kObjectTail) + 48, 4096);
       },
       "the file would get smaller by 1792 bytes, less than its alignment of 4096"},
      {"shared bytes",
       [](std::string& bytes, const DeviceObject& object) {
         PokeWord(bytes, kObjectCodec, HeaderAt(object, kObjectTail) + 24, object.places.relocations);
       },
       "sections or headers share bytes"},
      {"packed relocations",
       [](std::string& bytes, const DeviceObject& object) {
         PokeU32(bytes, kObjectCodec, HeaderAt(object, kObjectRelocations) + 4, kSectionCrel);
       },
       "section 6 is of type 0x40000014, which may hold pointers to containers"},
      {"program headers",
       [](std::string& bytes, const DeviceObject& object) {
         // In the place of .tail's 18 bytes and the wrappers behind them.
         PokeWord(bytes, kObjectCodec, 32, object.places.relocations - 96);
         PokeU16(bytes, kObjectCodec, 54, 56);
         PokeU16(bytes, kObjectCodec, 56, 1);
       },
       "the object has program headers"},
  });
}

std::string ArchiveOf(DeviceObject first, DeviceObject second, bool wide) {
  return ArchiveWithSymbols({{"notes", "odd"}, {"a.o", first.Build()}, {"b.o", second.Build()}, {"end", "x"}},
                            {{"one", 1}, {"two", 2}, {"three", 1}, {"four", 3}}, wide);
}

TEST(ArchiveSlice, IsTheArchiveThatWouldHaveBeenMade) {
  for (const bool wide : {false, true}) {
    const std::string original = ArchiveOf(Whole(false), Whole(true), wide);
    ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(original, kOnly90));
    EXPECT_EQ(sliced.plan.form, SliceForm::kCompact);
    EXPECT_EQ(sliced.plan.not_compact, "");
    EXPECT_EQ(sliced.bytes, ArchiveOf(Kept(false), Kept(true), wide));
    EXPECT_EQ(sliced.plan.new_size, sliced.bytes.size());
  }
}

TEST(ArchiveSlice, OneMemberThatCannotGetSmallerIsNamed) {
  DeviceObject odd = Whole(false);
  odd.pointer_type = 2;
  ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(ArchiveOf(odd, Whole(true), false), kOnly90));
  EXPECT_EQ(sliced.plan.form, SliceForm::kCompact);
  EXPECT_EQ(sliced.plan.not_compact, "member 'a.o': a relocation of type 2 points into .nv_fatbin");
  EXPECT_EQ(sliced.bytes.size(), ArchiveOf(odd, Kept(true), false).size());
}

TEST(ArchiveSlice, LongNamesAndGapsOfMembers) {
  const std::string gap = DeviceObject{.containers = {Container({Sm(75, 24)})}}.Build();
  const auto archive = [&](const std::string& object) {
    return StaticArchive({{"a.o", object}, {"name_of_many_letters.o", object}, {"gap.o", gap}});
  };
  ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(archive(Whole(false).Build()), kOnly90));
  EXPECT_EQ(sliced.bytes, archive(Kept(false).Build()));
  ASSERT_EQ(sliced.plan.untouched.size(), 3U);
  EXPECT_EQ(sliced.plan.untouched[1].member, "name_of_many_letters.o");
  EXPECT_EQ(sliced.plan.untouched[2].member, "gap.o");
}

TEST(ArchiveSlice, NamesInFrontOfContents) {
  const auto archive = [](const std::string& object) {
    return "!<arch>\n" + ArchiveMember("#1/8", std::string("one.o\0\0\0", 8) + object) +
           ArchiveMember("b.o", object);
  };
  ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(archive(Whole(false).Build()), kOnly90));
  EXPECT_EQ(sliced.bytes, archive(Kept(false).Build()));
}

TEST(ArchiveSlice, TablesThatAreNotUnderstoodKeepItsLayout) {
  const std::string object = Whole(false).Build();
  const std::string member = ArchiveMember("a.o/", object);
  struct Row {
    std::string bytes;
    const char* says;
  };
  const std::vector<Row> rows = {
      {"!<arch>\n" + ArchiveMember("#1/16", std::string("__.SYMDEF\0\0\0\0\0\0\0table!", 22)) + member,
       "its table of symbols is that of BSD"},
      {"!<arch>\n" + ArchiveMember("__.SYMDEF", "table!") + member, "its table of symbols is that of BSD"},
      {"!<arch>\n" + ArchiveMember("/", std::string("\0\0\0\1\0\0\0\12one\0", 12)) + member,
       "its table of symbols has a member at file offset 10, where none is"},
      {"!<arch>\n" + ArchiveMember("/", std::string("\0\0\0\2\0\0\0\12", 8)) + member,
       "the table of symbols is cut short"},
      {"!<arch>\n" + ArchiveMember("/", "ab") + member, "the table of symbols is cut short"},
      {"!<arch>\n" + ArchiveMember("/SYM64/", std::string(8, '\xff')) + member,
       "the table of symbols is cut short"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.says);
    ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(row.bytes, kOnly90));
    EXPECT_EQ(sliced.plan.form, SliceForm::kInPlace);
    EXPECT_THAT(sliced.plan.not_compact, HasSubstr(row.says));
    EXPECT_EQ(sliced.bytes.size(), row.bytes.size());
    EXPECT_TRUE(sliced.plan.Changes());
  }
}

}  // namespace
}  // namespace ptpkg::elf::test
