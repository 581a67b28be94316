// Slices of relocatable objects and static archives: nothing moves, whatever points to the containers.

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

constexpr const char* kOnlyLinked = "only linked libraries and programs can be compact";

const Codec kObjectCodec(ElfClass::k64, ByteOrder::kLittle);
const SliceRequest kOnly90 = {.gpus = {90}};

Element Sm(std::uint32_t number, std::size_t size) {
  return {.number = number, .payload = std::string(size, static_cast<char>(number))};
}

/// A container of `kept` with zeros behind it, as long as `whole`.
std::string InPlace(const std::vector<Element>& kept, const std::vector<Element>& whole) {
  std::string container = Container(kept);
  container.resize(Container(whole).size(), '\0');
  return container;
}

const std::vector<Element> kFirst = {Sm(80, 960), Sm(90, 40)};
const std::vector<Element> kThird = {Sm(80, 448), Sm(90, 16)};
const std::vector<Element> kRelocatable = {Sm(80, 192), Sm(90, 64)};

DeviceObject Whole(bool named) {
  return {
      .containers = {Container(kFirst), Container({Sm(75, 24)}), Container(kThird), Container({Sm(90, 8)})},
      .relocatable = Container(kRelocatable),
      .named = named};
}
DeviceObject Kept(bool named) {
  return {.containers = {InPlace({Sm(90, 40)}, kFirst), Container({Sm(75, 24)}),
                         InPlace({Sm(90, 16)}, kThird), Container({Sm(90, 8)})},
          .relocatable = InPlace({Sm(90, 64)}, kRelocatable),
          .named = named};
}

/// Expects the slice of `whole` to be `kept`, whichever form is asked for.
void ExpectSlice(const std::string& whole, const std::string& kept) {
  ASSERT_EQ(kept.size(), whole.size());
  for (const SliceForm form : {SliceForm::kInPlace, SliceForm::kCompact}) {
    SCOPED_TRACE(SliceFormName(form));
    ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(whole, {.gpus = {90}, .form = form}));
    EXPECT_TRUE(sliced.bytes == kept);
    EXPECT_TRUE(sliced.plan.Changes());
    EXPECT_EQ(sliced.plan.form, SliceForm::kInPlace);
    EXPECT_EQ(sliced.plan.not_compact, form == SliceForm::kCompact ? kOnlyLinked : "");
    EXPECT_EQ(sliced.plan.new_size, whole.size());
  }
}

TEST(ObjectSlice, HasZerosInsteadOfWhatIsDropped) {
  for (const bool named : {false, true}) ExpectSlice(Whole(named).Build(), Kept(named).Build());
}

TEST(ObjectSlice, OfAarch64Too) {
  DeviceObject whole = Whole(false);
  whole.machine = kMachineAarch64;
  whole.pointer_type = 257;
  DeviceObject kept = Kept(false);
  kept.machine = whole.machine;
  kept.pointer_type = whole.pointer_type;
  ExpectSlice(whole.Build(), kept.Build());
}

TEST(ObjectSlice, NothingToDropIsTheSameFile) {
  const std::string original = DeviceObject{.containers = {Container({Sm(90, 40)})}}.Build();
  ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(original, kOnly90));
  EXPECT_FALSE(sliced.plan.Changes());
  EXPECT_EQ(sliced.bytes, original);
}

std::uint64_t HeaderAt(const DeviceObject& object, std::size_t section) {
  return object.places.section_headers + 64 * section;
}

/// Relocations, symbols and headers of any kind: all of them stay right, since no container moves.
TEST(ObjectSlice, WhateverPointsToContainersStaysRight) {
  struct Row {
    const char* name;
    std::function<void(std::string&, const DeviceObject&)> change;
  };
  const std::vector<Row> rows = {
      {"a relocation relative to its place",
       [](std::string& bytes, const DeviceObject& object) {
         PokeU32(bytes, kObjectCodec, object.places.relocations + 8, 2);
       }},
      {"another machine",
       [](std::string& bytes, const DeviceObject&) { PokeU16(bytes, kObjectCodec, 18, 243); }},
      {"a pointer into a container",
       [](std::string& bytes, const DeviceObject& object) {
         PokeWord(bytes, kObjectCodec, object.places.relocations + 24 + 16, 8);
       }},
      {"relocations without addends",
       [](std::string& bytes, const DeviceObject& object) {
         PokeU32(bytes, kObjectCodec, HeaderAt(object, kObjectRelocations) + 4, kSectionRel);
       }},
      {"packed relocations",
       [](std::string& bytes, const DeviceObject& object) {
         PokeU32(bytes, kObjectCodec, HeaderAt(object, kObjectRelocations) + 4, kSectionCrel);
       }},
      {"a symbol inside a container",
       [](std::string& bytes, const DeviceObject& object) {
         PokeWord(bytes, kObjectCodec, object.places.symbols + 24 * 5 + 8, 8);
       }},
      {"another alignment",
       [](std::string& bytes, const DeviceObject& object) {
         PokeWord(bytes, kObjectCodec, HeaderAt(object, kObjectTail) + 48, 24);
       }},
      {"program headers",
       [](std::string& bytes, const DeviceObject& object) {
         // In the place of .tail's 18 bytes and the wrappers behind them.
         PokeWord(bytes, kObjectCodec, 32, object.places.relocations - 96);
         PokeU16(bytes, kObjectCodec, 54, 56);
         PokeU16(bytes, kObjectCodec, 56, 1);
       }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    DeviceObject whole = Whole(true);
    DeviceObject kept = Kept(true);
    std::string before = whole.Build();
    std::string after = kept.Build();
    row.change(before, whole);
    row.change(after, kept);
    ExpectSlice(before, after);
    ExpectKept(before, after, {90}, false);
  }
}

std::string ArchiveOf(DeviceObject first, DeviceObject second, bool wide) {
  return ArchiveWithSymbols({{"notes", "odd"}, {"a.o", first.Build()}, {"b.o", second.Build()}, {"end", "x"}},
                            {{"one", 1}, {"two", 2}, {"three", 1}, {"four", 3}}, wide);
}

TEST(ArchiveSlice, KeepsItsTableOfSymbols) {
  for (const bool wide : {false, true})
    ExpectSlice(ArchiveOf(Whole(false), Whole(true), wide), ArchiveOf(Kept(false), Kept(true), wide));
}

TEST(ArchiveSlice, LongNamesAndGapsOfMembers) {
  const std::string gap = DeviceObject{.containers = {Container({Sm(75, 24)})}}.Build();
  const auto archive = [&](const std::string& object) {
    return StaticArchive({{"a.o", object}, {"name_of_many_letters.o", object}, {"gap.o", gap}});
  };
  const std::string whole = archive(Whole(false).Build());
  ExpectSlice(whole, archive(Kept(false).Build()));
  ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(whole, kOnly90));
  ASSERT_EQ(sliced.plan.untouched.size(), 3U);
  EXPECT_EQ(sliced.plan.untouched[1].member, "name_of_many_letters.o");
  EXPECT_EQ(sliced.plan.untouched[2].member, "gap.o");
}

TEST(ArchiveSlice, NamesInFrontOfContents) {
  const auto archive = [](const std::string& object) {
    return "!<arch>\n" + ArchiveMember("#1/8", std::string("one.o\0\0\0", 8) + object) +
           ArchiveMember("b.o", object);
  };
  ExpectSlice(archive(Whole(false).Build()), archive(Kept(false).Build()));
}

TEST(ArchiveSlice, TablesOfAnyKindStayAsTheyAre) {
  const std::vector<std::string> tables = {
      ArchiveMember("#1/16", std::string("__.SYMDEF\0\0\0\0\0\0\0table!", 22)),
      ArchiveMember("__.SYMDEF", "table!"),
      ArchiveMember("/", std::string("\0\0\0\1\0\0\0\12one\0", 12)),  // names no member
      ArchiveMember("/", std::string("\0\0\0\2\0\0\0\12", 8)),        // cut short
      ArchiveMember("/", "ab"),
      ArchiveMember("/SYM64/", std::string(8, '\xff')),
  };
  for (const std::string& table : tables) {
    const auto archive = [&](DeviceObject object) {
      return "!<arch>\n" + table + ArchiveMember("a.o/", object.Build());
    };
    ExpectSlice(archive(Whole(false)), archive(Kept(false)));
  }
}

}  // namespace
}  // namespace ptpkg::elf::test
