// Slices of libraries that real linkers made, judged by the loader, strip and eu-elflint.

#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf/edit/edit.h"
#include "elf/slice/slice_verify.h"
#include "support/matchers.h"
#include "support/text/text.h"
#include "unit/elf/fixtures/edits_of.h"
#include "unit/elf/fixtures/kept_elements.h"
#include "unit/elf/fixtures/linked_toys.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;

// What device_loader prints of the slices of fixtures/elf/device.S.
constexpr std::string_view kFor90 =
    "answer 42 notes 1\n2:90:40000:90 2:90:8000:9a \n2:75:10000:75 \n1:80:1000:88 \n2:90:64:91 2:90:72:92 \n"
    "2:90:3000:93 \n";
constexpr std::string_view kFor80And86WithPtx =
    "answer 42 notes 1\n2:80:200000:80 1:90:24:99 \n2:75:10000:75 \n2:86:150000:86 1:80:1000:88 \n"
    "2:80:150000:81 \n2:80:100000:82 \n";

/// Plans a slice of `from`, verifies it, and writes it to `to`.
SlicePlan SliceToy(LinkedToys& toys, std::string_view from, std::string_view to,
                   const SliceRequest& request) {
  SlicePlan plan;
  const auto run = [&]() -> Result<void> {
    PTPKG_TRY(const auto file, toys.fs().Open(toys.Path(from), OpenMode::kRead));
    PTPKG_TRY(plan, PlanSlice(*file, request));
    PTPKG_TRY(const auto sliced, MakeSlicedFile(*file, plan));
    PTPKG_CHECK(VerifySlice(*file, *sliced, request));
    PTPKG_TRY(const auto target, toys.fs().Open(toys.Path(to), OpenMode::kCreateNew));
    PTPKG_CHECK(WriteSlice(*file, plan, *target));
    PTPKG_CHECK(VerifySlice(*file, *target, request, 2));
    return target->Close();
  };
  EXPECT_OK(run());
  return plan;
}

class LinkedSlice : public ::testing::TestWithParam<std::string> {
 protected:
  SlicePlan Slice(std::string_view from, std::string_view to, const SliceRequest& request) {
    return SliceToy(toys_, from, to, request);
  }

  std::string Loaded(std::string_view name) {
    return toys_.Output({toys_.Path("device_loader").str(), toys_.Path(name).str()});
  }

  /// Links `inputs` as the library was; returns the new one's name.
  std::string Link(const std::string& inputs) {
    const std::string linker = GetParam().substr(7, GetParam().find('-', 7) - 7);
    toys_.Output(
        {"sh", "-c",
         fmt::format("g++ -shared -fuse-ld={} {} -o linked.so -Wl,--build-id=sha1", linker, inputs)});
    return "linked.so";
  }

  /// Findings of eu-elflint, without the numbers that count program headers. Left out: those of sections
  /// without bytes, to which mold gives the file offset 0, so that they seem to lie in another segment.
  std::vector<std::string> Findings(std::string_view name) {
    const std::string text = toys_.Output(
        {"sh", "-c", fmt::format("eu-elflint --gnu-ld {} 2>&1 | sed 's/ entry [0-9]*//'; true", name)});
    std::vector<std::string> findings = SplitLines(text);
    std::erase_if(findings, [](const std::string& line) {
      return line.find("'.bss'") != std::string::npos || line.find("'.relro_padding'") != std::string::npos ||
             line == "No errors";
    });
    return findings;
  }

  LinkedToys toys_{GetParam()};
};

std::string SetName(const ::testing::TestParamInfo<std::string>& tested) {
  return ReplaceAll(tested.param, "-", "_");
}

INSTANTIATE_TEST_SUITE_P(Sets, LinkedSlice, ::testing::ValuesIn(DeviceSets()), SetName);

TEST_P(LinkedSlice, CompactLoadsWithWhatIsKept) {
  const SlicePlan plan = Slice("libdevice.so", "slice.so", CompactFor({90}));
  EXPECT_EQ(plan.not_compact, "");
  EXPECT_EQ(plan.form, SliceForm::kCompact);
  EXPECT_LT(plan.new_size, plan.old_size / 2);
  EXPECT_EQ(Loaded("slice.so"), kFor90);
  EXPECT_LT(SectionBytes(toys_.Bytes("slice.so"), "__nv_relfatbin").size(), 4000U);
  EXPECT_THAT(Findings("slice.so"), IsSubsetOf(Findings("libdevice.so")));
  EXPECT_EQ(toys_.Output({"readelf", "-nW", "slice.so"}).find("readelf: "), std::string::npos);
  ASSERT_EQ(plan.untouched.size(), 1U);
  EXPECT_THAT(plan.untouched[0].gaps, ElementsAre(90));
}

TEST_P(LinkedSlice, AnObjectIsSlicedBeforeItIsLinked) {
  const SlicePlan plan = Slice("device.o", "slice.o", {.gpus = {90}});
  EXPECT_TRUE(plan.Changes());
  EXPECT_EQ(plan.new_size, plan.old_size);
  EXPECT_EQ(toys_.Output({"sh", "-c", "readelf -aW slice.o 2>&1"}).find("readelf: "), std::string::npos);
  EXPECT_EQ(Loaded(Link("host.o slice.o")), kFor90);
  // Tools that write objects anew understand it.
  toys_.Output({"objcopy", "--strip-debug", "slice.o", "copied.o"});
  toys_.Output({"ld", "-r", "host.o", "copied.o", "-o", "merged.o"});
  EXPECT_EQ(Loaded(Link("merged.o")), kFor90);
}

TEST_P(LinkedSlice, AnArchiveIsSlicedBeforeItIsLinked) {
  const SlicePlan plan = Slice("libdevice.a", "slice.a", {.gpus = {90}});
  EXPECT_TRUE(plan.Changes());
  EXPECT_EQ(plan.new_size, plan.old_size);
  const auto index_of = [&](const char* archive) {
    return toys_.Output({"sh", "-c", fmt::format("nm -s {} | sed -n '/^Archive index/,/^$/p'", archive)});
  };
  EXPECT_THAT(index_of("libdevice.a"), HasSubstr("device_answer in host.o"));
  EXPECT_EQ(index_of("slice.a"), index_of("libdevice.a"));
  EXPECT_EQ(Loaded(Link("-Wl,--whole-archive slice.a -Wl,--no-whole-archive")), kFor90);
  // By its table of symbols: what is asked for brings the containers along.
  EXPECT_EQ(Loaded(Link("-Wl,--undefined=device_answer slice.a")), kFor90);
}

TEST_P(LinkedSlice, InPlaceLoadsWithWhatIsKept) {
  const SlicePlan plan = Slice("libdevice.so", "slice.so", {.gpus = {90}, .form = SliceForm::kInPlace});
  EXPECT_EQ(plan.new_size, plan.old_size);
  EXPECT_EQ(Loaded("slice.so"), kFor90);
  EXPECT_EQ(Findings("slice.so"), Findings("libdevice.so"));
}

TEST_P(LinkedSlice, ForTwoGpusWithPtx) {
  for (const SliceForm form : {SliceForm::kCompact, SliceForm::kInPlace}) {
    const std::string name = fmt::format("{}.so", SliceFormName(form));
    Slice("libdevice.so", name, {.gpus = {80, 86}, .form = form, .keep_ptx = true});
    EXPECT_EQ(Loaded(name), kFor80And86WithPtx) << name;
  }
}

TEST_P(LinkedSlice, OfEveryGpuInBothFormsElementsHaveTheBytesOfTheOriginal) {
  const std::string original = toys_.Bytes("libdevice.so");
  std::size_t compared = 0;
  // Its own architectures; Tegra's 8.7 and later ones have PTX alone.
  for (const std::uint32_t gpu : {75U, 80U, 86U, 87U, 89U, 90U, 100U, 120U}) {
    for (const SliceForm form : {SliceForm::kCompact, SliceForm::kInPlace}) {
      for (const bool keep_ptx : {false, true}) {
        const std::string name = fmt::format("{}-{}-{}.so", gpu, SliceFormName(form), keep_ptx);
        SCOPED_TRACE(name);
        const SliceRequest request = {.gpus = {gpu}, .form = form, .keep_ptx = keep_ptx};
        EXPECT_EQ(Slice("libdevice.so", name, request).form, form);
        compared += ExpectKept(original, toys_.Bytes(name), request.gpus, keep_ptx);
      }
    }
  }
  EXPECT_GT(compared, 8U * 2 * 2 * 4);
}

TEST_P(LinkedSlice, StripUnderstandsIt) {
  Slice("libdevice.so", "slice.so", CompactFor({90}));
  toys_.Output({"strip", "slice.so"});
  EXPECT_EQ(Loaded("slice.so"), kFor90);
}

TEST_P(LinkedSlice, AnEditOfNamesBeforeOrAfterIt) {
  const std::string path = "$ORIGIN/" + std::string(3000, 'x');
  ASSERT_OK(toys_.fs().CopyFile(toys_.Path("libdevice.so"), toys_.Path("edited.so")));
  ASSERT_OK(EditFile(toys_.fs(), toys_.Path("edited.so"), SetPath(path)));
  EXPECT_EQ(Slice("edited.so", "edited-slice.so", CompactFor({90})).not_compact, "");
  EXPECT_EQ(Loaded("edited-slice.so"), kFor90);
  Slice("libdevice.so", "slice.so", CompactFor({90}));
  ASSERT_OK(EditFile(toys_.fs(), toys_.Path("slice.so"), SetPath(path)));
  EXPECT_EQ(Loaded("slice.so"), kFor90);
}

TEST_P(LinkedSlice, ASliceOfASlice) {
  Slice("libdevice.so", "both.so", {.gpus = {80, 90}, .form = SliceForm::kInPlace});
  EXPECT_EQ(Slice("both.so", "slice.so", CompactFor({90})).not_compact, "");
  EXPECT_EQ(Loaded("slice.so"), kFor90);
  EXPECT_FALSE(Slice("slice.so", "again.so", CompactFor({90})).Changes());
  EXPECT_EQ(toys_.Bytes("slice.so"), toys_.Bytes("again.so"));
}

/// The addends of all R_AARCH64_RELATIVE, as readelf prints them.
std::vector<std::uint64_t> RelativeAddends(LinkedToys& toys, const std::string& name) {
  std::vector<std::uint64_t> addends;
  for (const std::string& line : SplitLines(toys.Output({"readelf", "-rW", name}))) {
    if (line.find(" R_AARCH64_RELATIVE ") == std::string::npos) continue;
    addends.push_back(std::stoull(line.substr(line.rfind(' ') + 1), nullptr, 16));
  }
  return addends;
}

/// What the wrappers hold in the file: the pointers of DT_RELR, and those that lld fills.
std::vector<std::uint64_t> WordsOfWrappers(const std::string& file) {
  const std::string wrappers = SectionBytes(file, ".nvFatBinSegment");
  const Codec codec(ElfClass::k64, ByteOrder::kLittle);
  std::vector<std::uint64_t> words;
  for (std::size_t at = 8; at + 16 <= wrappers.size(); at += 24)
    words.push_back(codec.Word(AsBytes(wrappers), at));
  return words;
}

TEST(LinkedDevices, OfAarch64AreSlicedToo) {
  const std::vector<std::string> sets = Aarch64Sets();
  if (sets.empty()) GTEST_SKIP() << "no clang and lld were found when the tests were built";
  for (const std::string& set : sets) {
    LinkedToys toys(set);
    const std::string original = toys.Bytes("libdevice.so");
    for (const SliceForm form : {SliceForm::kCompact, SliceForm::kInPlace}) {
      for (const std::uint32_t gpu : {75U, 80U, 86U, 90U}) {
        const std::string name = fmt::format("{}-{}.so", gpu, SliceFormName(form));
        SCOPED_TRACE(set + " " + name);
        const SlicePlan plan = SliceToy(toys, "libdevice.so", name, {.gpus = {gpu}, .form = form});
        EXPECT_EQ(plan.form, form) << plan.not_compact;
        const std::string slice = toys.Bytes(name);
        EXPECT_EQ(slice.size() < original.size(), form == SliceForm::kCompact);
        ExpectKept(original, slice, {gpu}, false);
        std::vector<std::uint64_t> places;
        for (const FoundContainer& one : FindContainers(slice)) places.push_back(one.address);
        ASSERT_EQ(places.size(), 5U);
        if (set != "aarch64-lld-relr") {
          EXPECT_EQ(RelativeAddends(toys, name), places);
        }
        if (set != "aarch64-lld") {
          EXPECT_EQ(WordsOfWrappers(slice), places);
        }
        EXPECT_EQ(toys.Output({"readelf", "-ahW", name}).find("readelf: "), std::string::npos);
      }
    }
  }
}

TEST(LinkedDevices, EveryInstalledLinkerHasOne) {
  std::vector<std::string> wanted;
  for (const std::string& linker : InstalledLinkers()) wanted.push_back("device-" + linker);
  EXPECT_THAT(wanted, IsSubsetOf(DeviceSets()));
}

}  // namespace
}  // namespace ptpkg::elf::test
