// The comparison of a slice with its original finds every byte that is not as it should be.

#include "elf/slice/slice_verify.h"

#include <algorithm>
#include <fmt/core.h>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/files/read_only_file.h"
#include "support/matchers.h"
#include "unit/elf/fixtures/device_libraries.h"
#include "unit/elf/fixtures/device_objects.h"
#include "unit/elf/fixtures/elf_additions.h"
#include "unit/elf/fixtures/slice_of.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Element SassOfSize(std::uint32_t number, std::size_t size) {
  return {.number = number, .payload = std::string(size, static_cast<char>(number))};
}

std::string SliceOf(const std::string& bytes, const SliceRequest& request) {
  MemoryFile file(AsBytes(bytes));
  const auto plan = PlanSlice(file, request);
  EXPECT_OK(plan);
  const auto sliced = MakeSlicedFile(file, *plan);
  EXPECT_OK(sliced);
  std::string result(plan->new_size, '\0');
  EXPECT_OK((*sliced)->ReadAt(0, std::as_writable_bytes(std::span(result))));
  return result;
}

Result<void> Verify(const std::string& original, const std::string& sliced, const SliceRequest& request) {
  MemoryFile before(AsBytes(original));
  MemoryFile after(AsBytes(sliced));
  return VerifySlice(before, after, request);
}

WrappedLibrary Library(bool spare) {
  return {
      .containers = {Container(
                         {SassOfSize(80, 4096), SassOfSize(90, 200), {.kind = 8, .payload = "for later"}}),
                     Container({SassOfSize(75, 40)}), Container({SassOfSize(80, 5000), SassOfSize(90, 40)})},
      .relocatable = {Container({SassOfSize(80, 4200), SassOfSize(90, 40)}), Container({SassOfSize(90, 16)})},
      .spare_segment = spare};
}

/// True if a section or a table of headers has the byte, so that somebody could read it.
bool IsUsed(const std::string& bytes, std::uint64_t at) {
  MemoryFile file(AsBytes(bytes));
  const auto image = ReadImage(file);
  if (!image || !*image) return true;
  const auto holds = [&](std::uint64_t begin, std::uint64_t size) {
    return at >= begin && at - begin < size;
  };
  return holds(0, 64) || holds(64, (*image)->segments.size() * 56) ||
         holds((*image)->header.section_headers_offset, (*image)->sections.size() * 64) ||
         std::any_of((*image)->sections.begin(), (*image)->sections.end(), [&](const Section& section) {
           return section.type != kSectionNobits && holds(section.offset, section.size);
         });
}

TEST(VerifySlice, FindsEveryByteThatWasTouched) {
  for (const SliceForm form : {SliceForm::kInPlace, SliceForm::kCompact}) {
    for (const bool spare : {false, true}) {
      const SliceRequest request = {.gpus = {90}, .form = form};
      const std::string original = Library(spare).Build();
      const std::string sliced = SliceOf(original, request);
      ASSERT_EQ(sliced.size() < original.size(), form == SliceForm::kCompact);
      ASSERT_OK(Verify(original, sliced, request));
      std::size_t found = 0;
      std::vector<std::size_t> missed;
      // All bytes of both forms take 15 seconds: these are a part of each field of 8 bytes.
      const std::size_t step = form == SliceForm::kCompact ? 5 : 37;
      for (std::size_t at = 0; at < sliced.size(); at += step) {
        std::string touched = sliced;
        touched[at] = static_cast<char>(touched[at] ^ 0x10);
        if (Verify(original, touched, request)) {
          missed.push_back(at);
        } else {
          ++found;
        }
      }
      EXPECT_THAT(missed, IsEmpty()) << SliceFormName(form);
      EXPECT_GT(found, 300U);
    }
  }
}

DeviceObject Object(bool named) {
  return {
      .containers = {Container({SassOfSize(80, 200), SassOfSize(90, 40)}), Container({SassOfSize(75, 24)})},
      .relocatable = Container({SassOfSize(80, 104), SassOfSize(90, 16)}),
      .named = named};
}

/// Expects of each byte of `sliced` that another value of it is found.
void ExpectFound(const std::string& original, const std::string& sliced) {
  ASSERT_OK(Verify(original, sliced, {.gpus = {90}}));
  for (std::size_t at = 0; at < sliced.size(); ++at) {
    std::string touched = sliced;
    touched[at] = static_cast<char>(touched[at] ^ 0x10);
    EXPECT_FALSE(Verify(original, touched, {.gpus = {90}})) << at;
  }
  EXPECT_FALSE(Verify(original, sliced.substr(0, sliced.size() - 2), {.gpus = {90}}));
}

TEST(VerifySlice, FindsEveryByteThatWasTouchedInAnObject) {
  for (const bool named : {false, true}) {
    const std::string original = Object(named).Build();
    const std::string sliced = SliceOf(original, {.gpus = {90}});
    ASSERT_NE(sliced, original);
    ExpectFound(original, sliced);
    EXPECT_THAT(Verify(original, sliced + "more", {.gpus = {90}}),
                FailsWith(ErrorCode::kInternal, HasSubstr("the size of the object")));
  }
}

TEST(VerifySlice, FindsEveryByteThatWasTouchedInAnArchive) {
  const auto archive = [](const std::vector<std::string>& objects) {
    return ArchiveWithSymbols({{"a.o", objects[0]}, {"notes", "even"}, {"b.o", objects[1]}},
                              {{"one", 0}, {"two", 2}, {"odd", 1}});
  };
  const std::vector<std::string> objects = {Object(false).Build(), Object(true).Build()};
  const std::string original = archive(objects);
  const std::string sliced = SliceOf(original, {.gpus = {90}});
  ASSERT_EQ(sliced, archive({SliceOf(objects[0], {.gpus = {90}}), SliceOf(objects[1], {.gpus = {90}})}));
  ExpectFound(original, sliced);
  EXPECT_THAT(Verify(original, sliced + ArchiveMember("c.o/", "more"), {.gpus = {90}}),
              FailsWith(ErrorCode::kInternal, HasSubstr("the size of the archive")));
}

TEST(VerifySlice, FindsAContainerThatMovedInPlace) {
  const std::string whole = Container({SassOfSize(80, 40), SassOfSize(90, 40)});
  const std::string kept = Container({SassOfSize(90, 40)});
  const std::string zeros(whole.size() - kept.size(), '\0');
  const std::string original = DeviceLibrary(whole + whole);
  EXPECT_OK(Verify(original, DeviceLibrary(kept + zeros + kept + zeros), {.gpus = {90}}));
  EXPECT_THAT(Verify(original, DeviceLibrary(kept + kept + zeros + zeros), {.gpus = {90}}),
              FailsWith(ErrorCode::kInternal, HasSubstr("moved")));
}

std::string WithSegment(std::string bytes, std::size_t index, const Segment& segment) {
  kHostCodec.EncodeSegment(segment, std::as_writable_bytes(std::span(bytes)).subspan(64 + 56 * index, 56));
  return bytes;
}

TEST(VerifySlice, FindsProgramHeadersThatTheOriginalHasNot) {
  const SliceRequest request = CompactFor({90});
  // The headers' own takes the place of the note's.
  const std::string original =
      WithSegment(Library(true).Build(), 3, {kSegmentPhdr, kFlagRead, 64, 64, 64, 5 * 56, 5 * 56, 8});
  const std::string sliced = SliceOf(original, request);
  ASSERT_LT(sliced.size(), original.size());
  ASSERT_OK(Verify(original, sliced, request));
  MemoryFile file(AsBytes(sliced));
  const auto image = ReadImage(file);
  ASSERT_OK(image);
  const std::vector<Segment>& segments = (*image)->segments;
  constexpr std::uint32_t kTls = 7;
  constexpr std::uint32_t kRelro = 0x6474e552;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    SCOPED_TRACE(fmt::format("program header {}, type {:#x}", i, segments[i].type));
    for (const auto& change : std::vector<std::function<void(Segment&)>>{
             [](Segment& one) { one.type = kSegmentGnuStack; }, [](Segment& one) { one.type = kTls; },
             [](Segment& one) { one.type = kRelro; }, [](Segment& one) { one.vaddr += 64; },
             [](Segment& one) { one.paddr += 64; }, [](Segment& one) { one.file_size += 8; },
             [](Segment& one) { one.flags ^= kFlagExecute | kFlagWrite; }}) {
      Segment changed = segments[i];
      change(changed);
      EXPECT_FALSE(Verify(original, WithSegment(sliced, i, changed), request));
    }
    if (i == 0) continue;
    const std::string first = WithSegment(sliced, i, segments[i - 1]);
    EXPECT_FALSE(Verify(original, WithSegment(first, i - 1, segments[i]), request)) << "in another order";
  }
}

TEST(VerifySlice, FindsSymbolsOfOtherFilesInWhatMoved) {
  WrappedLibrary library = Library(false);
  std::string original = library.Build();
  const std::string sliced = SliceOf(original, CompactFor({90}));
  ASSERT_LT(sliced.size(), original.size());
  // Both say the same; the planner would not have moved it.
  const std::uint64_t symbol = library.places.dynamic_symbols + 24;
  for (const std::uint64_t value : {library.places.code, library.places.code + 64}) {
    std::string before = original;
    PokeWord(before, kHostCodec, symbol + 8, value);
    MemoryFile file(AsBytes(before));
    ASSERT_OK_AND_ASSIGN(const SlicePlan plan, PlanSlice(file, CompactFor({90})));
    EXPECT_EQ(plan.form, SliceForm::kInPlace);
    const std::size_t place = sliced.find(original.substr(library.places.dynamic_symbols, 96));
    ASSERT_NE(place, std::string::npos);
    std::string after = sliced;
    PokeWord(after, kHostCodec, place + 24 + 8, value);
    EXPECT_THAT(Verify(before, after, CompactFor({90})),
                FailsWith(ErrorCode::kInternal, HasSubstr("symbol 1 of .dynsym lies in the moved bytes")));
  }
}

TEST(VerifySlice, FindsWhatNoHeaderNames) {
  const SliceRequest request = CompactFor({90});
  const std::string original = Library(true).Build() + "what somebody appended";
  const std::string sliced = SliceOf(original, request);
  ASSERT_LT(sliced.size(), original.size());
  EXPECT_EQ(sliced.substr(sliced.size() - 22), "what somebody appended");
  ASSERT_OK(Verify(original, sliced, request));
  std::size_t unnamed = 0;
  for (std::size_t at = 0; at < sliced.size(); ++at) {
    if (IsUsed(sliced, at)) continue;
    ++unnamed;
    std::string touched = sliced;
    touched[at] = static_cast<char>(touched[at] ^ 0x10);
    EXPECT_FALSE(Verify(original, touched, request)) << at;
  }
  EXPECT_GT(unnamed, 100U) << "the end of the containers' pages";
}

TEST(VerifySlice, FindsAnotherRequest) {
  const std::string original = Library(true).Build();
  for (const SliceForm form : {SliceForm::kInPlace, SliceForm::kCompact}) {
    const std::string sliced = SliceOf(original, {.gpus = {90}, .form = form});
    EXPECT_THAT(Verify(original, sliced, {.gpus = {80}, .form = form}),
                FailsWith(ErrorCode::kInternal, HasSubstr("differs from its original")));
    EXPECT_THAT(Verify(original, sliced, {.gpus = {80, 90}, .form = form}),
                FailsWith(ErrorCode::kInternal, HasSubstr("elements instead of")));
  }
}

TEST(VerifySlice, FindsWhatIsMissing) {
  const SliceRequest request = CompactFor({90});
  const std::string original = Library(true).Build();
  const std::string sliced = SliceOf(original, request);
  EXPECT_THAT(Verify(original, original, request),
              FailsWith(ErrorCode::kInternal, HasSubstr("elements instead of")));
  EXPECT_FALSE(Verify(original, sliced.substr(0, sliced.size() - 64), request));
  EXPECT_FALSE(Verify(original, "text", request));
}

}  // namespace
}  // namespace ptpkg::elf::test
