// Slices for every architecture, of libraries for both machines that have GPUs: what stays has the bytes that
// it had, whatever points to it follows, and nothing else changes.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

#include "support/matchers.h"
#include "unit/elf/fixtures/device_libraries.h"
#include "unit/elf/fixtures/kept_elements.h"
#include "unit/elf/fixtures/slice_of.h"

namespace ptpkg::elf::test {
namespace {

using ::testing::HasSubstr;

const Codec kWords(ElfClass::k64, ByteOrder::kLittle);
constexpr std::uint64_t kWrapperBytes = 24;

struct Built {
  std::uint16_t machine;
  std::uint64_t page_bytes;
  bool packed_relocations;
  bool spare_segment;

  [[nodiscard]] std::string Name() const {
    return fmt::format("{}_pages_{}k_{}{}", machine == kMachineAarch64 ? "aarch64" : "x86_64",
                       page_bytes / 1024, packed_relocations ? "relr" : "rela",
                       spare_segment ? "_spare" : "");
  }
  [[nodiscard]] WrappedLibrary Library() const {
    return {.containers = {},
            .packed_relocations = packed_relocations,
            .spare_segment = spare_segment,
            .machine = machine,
            .page_bytes = page_bytes};
  }
  friend std::ostream& operator<<(std::ostream& out, const Built& built) { return out << built.Name(); }
};

std::vector<Built> AllBuilt() {
  std::vector<Built> all;
  for (const std::uint16_t machine : {kMachineX8664, kMachineAarch64}) {
    for (const std::uint64_t page_bytes : {0x1000U, 0x10000U}) {
      for (const bool packed : {false, true}) {
        for (const bool spare : {false, true}) all.push_back({machine, page_bytes, packed, spare});
      }
    }
  }
  return all;
}

/// What nvcc can be asked for, newest last.
const std::vector<Element>& Architectures() {
  static const std::vector<Element> elements = [] {
    std::vector<Element> all;
    for (const std::uint32_t number : {50U, 52U, 53U, 60U, 61U, 62U, 70U, 72U, 75U, 80U, 86U, 87U, 89U, 90U,
                                       100U, 103U, 110U, 120U, 121U}) {
      all.push_back({.number = number});
      if (number >= 90) all.push_back({.number = number, .flags = 0x11 | kFlagA});
      if (number >= 100) all.push_back({.number = number, .flags = 0x11 | kFlagF});
    }
    for (const std::uint32_t number : {52U, 75U, 90U, 120U}) all.push_back({.kind = 1, .number = number});
    all.push_back({.kind = 1, .number = 90, .flags = 0x11 | kFlagA});
    all.push_back({.kind = 1, .number = 100, .flags = 0x11 | kFlagF});
    all.push_back({.kind = 8, .number = 90});
    return all;
  }();
  return elements;
}

/// Containers of some of the architectures each, with payloads that are never the same.
class Containers {
 public:
  std::string Next() {
    std::vector<Element> elements;
    for (const Element& one : Architectures()) {
      if (numbers_() % 3 == 0) elements.push_back(Filled(one));
    }
    if (elements.empty()) elements.push_back(Filled(Architectures().front()));
    return Container(elements);
  }

 private:
  Element Filled(Element element) {
    element.payload.resize(8 * (1 + numbers_() % 900));
    for (char& byte : element.payload) byte = static_cast<char>(numbers_());
    return element;
  }

  std::mt19937 numbers_{90};  // each run has the same ones
};

std::vector<Built> WithRela() {
  std::vector<Built> all = AllBuilt();
  std::erase_if(all, [](const Built& one) { return one.packed_relocations; });
  return all;
}

std::string NameOfBuilt(const ::testing::TestParamInfo<Built>& tested) { return tested.param.Name(); }

class SliceBytes : public ::testing::TestWithParam<Built> {};
INSTANTIATE_TEST_SUITE_P(Machines, SliceBytes, ::testing::ValuesIn(AllBuilt()), NameOfBuilt);

/// The words of DT_RELR are the pointers themselves, and have no types.
class SliceWithRela : public ::testing::TestWithParam<Built> {};
INSTANTIATE_TEST_SUITE_P(Machines, SliceWithRela, ::testing::ValuesIn(WithRela()), NameOfBuilt);

/// The bytes of `slice` outside of its containers and headers are those of the original, moved to the front
/// by what was dropped; the pointers lead to the containers.
void ExpectRestOfLayout(const WrappedLibrary& library, const std::string& original, const Sliced& sliced) {
  const std::uint64_t shift = original.size() - sliced.bytes.size();
  EXPECT_EQ(sliced.bytes.substr(library.places.tail - shift, 40), std::string(40, 't'));
  const std::vector<FoundContainer> containers = FindContainers(sliced.bytes);
  ASSERT_EQ(containers.size(), library.containers.size() + library.relocatable.size());
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const std::uint64_t wanted = containers[i].address;
    const std::uint64_t pointer = library.packed_relocations
                                      ? library.places.wrappers - shift + kWrapperBytes * i + 8
                                      : library.places.relocations + 24 * i + 16;
    EXPECT_EQ(kWords.Word(AsBytes(sliced.bytes), pointer), wanted) << i;
    const std::uint64_t symbol = library.places.symbols - shift + 24 * (i + 1);
    EXPECT_EQ(kWords.Word(AsBytes(sliced.bytes), symbol + 8), wanted) << i;
    if (library.packed_relocations) continue;
    EXPECT_EQ(sliced.bytes.substr(library.places.relocations + 24 * i, 16),
              original.substr(library.places.relocations + 24 * i, 16))
        << "place and type of relocation " << i;
  }
}

TEST_P(SliceBytes, OfEveryGpuInBothFormsAreTheOriginals) {
  Containers containers;
  WrappedLibrary library = GetParam().Library();
  for (int i = 0; i < 20; ++i) library.containers.push_back(containers.Next());
  for (int i = 0; i < 6; ++i) library.relocatable.push_back(containers.Next());
  const std::string original = library.Build();
  std::size_t compared = 0;
  for (const std::uint32_t gpu : {50U, 52U, 53U, 60U, 61U,  62U,  70U,  72U,  75U,  80U, 86U,
                                  87U, 88U, 89U, 90U, 100U, 101U, 103U, 110U, 120U, 121U}) {
    for (const SliceForm form : {SliceForm::kCompact, SliceForm::kInPlace}) {
      SCOPED_TRACE(fmt::format("{} {}", gpu, SliceFormName(form)));
      const SliceRequest request = {.gpus = {gpu}, .form = form, .keep_ptx = gpu % 2 == 0};
      ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(original, request));
      EXPECT_EQ(sliced.plan.form, form) << sliced.plan.not_compact;
      EXPECT_EQ(sliced.bytes.size() < original.size(), form == SliceForm::kCompact);
      compared += ExpectKept(original, sliced.bytes, request.gpus, request.keep_ptx);
      ExpectRestOfLayout(library, original, sliced);
    }
  }
  EXPECT_GT(compared, 1000U);
}

TEST_P(SliceBytes, OfPairsOfGpusToo) {
  Containers containers;
  WrappedLibrary library = GetParam().Library();
  for (int i = 0; i < 12; ++i) library.containers.push_back(containers.Next());
  const std::string original = library.Build();
  for (const std::vector<std::uint32_t>& gpus :
       {std::vector<std::uint32_t>{80, 86}, {75, 90}, {90, 100, 120}, {87, 110}}) {
    ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(original, CompactFor(gpus)));
    EXPECT_EQ(sliced.plan.form, SliceForm::kCompact) << sliced.plan.not_compact;
    EXPECT_GT(ExpectKept(original, sliced.bytes, gpus, false), 12U);
    ExpectRestOfLayout(library, original, sliced);
  }
}

/// What lld writes with --apply-dynamic-relocs: the loader does not read it, tools do.
TEST_P(SliceWithRela, WordsThatTheLinkerFilledFollow) {
  Containers containers;
  WrappedLibrary library = GetParam().Library();
  for (int i = 0; i < 20; ++i) library.containers.push_back(containers.Next());
  std::string original = library.Build();
  const auto target_of = [&](const std::string& bytes, std::size_t i) {
    return kWords.Word(AsBytes(bytes), library.places.relocations + 24 * i + 16);
  };
  const auto word_at = [&](std::size_t i) { return library.places.wrappers + kWrapperBytes * i + 8; };
  for (std::size_t i = 0; i < library.containers.size(); ++i)
    PokeWord(original, kWords, word_at(i), target_of(original, i));
  ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(original, CompactFor({90})));
  ASSERT_EQ(sliced.plan.form, SliceForm::kCompact) << sliced.plan.not_compact;
  const std::uint64_t shift = original.size() - sliced.bytes.size();
  for (std::size_t i = 0; i < library.containers.size(); ++i)
    EXPECT_EQ(kWords.Word(AsBytes(sliced.bytes), word_at(i) - shift), target_of(sliced.bytes, i)) << i;
}

/// R_X86_64_RELATIVE (8) and R_AARCH64_RELATIVE (1027) say nothing on the other machine.
TEST_P(SliceWithRela, ARelocationOfTheOtherMachineIsInTheWay) {
  Containers containers;
  WrappedLibrary library = GetParam().Library();
  for (int i = 0; i < 20; ++i) library.containers.push_back(containers.Next());
  std::string original = library.Build();
  const std::uint32_t other = library.machine == kMachineAarch64 ? 8 : 1027;
  PokeU32(original, kWords, library.places.relocations + 72 + 8, other);  // the fourth
  ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(original, CompactFor({90})));
  EXPECT_EQ(sliced.plan.form, SliceForm::kInPlace);
  EXPECT_THAT(sliced.plan.not_compact,
              HasSubstr(fmt::format("a relocation of type {} points into .nv_fatbin", other)));
  ExpectKept(original, sliced.bytes, {90}, false);
}

}  // namespace
}  // namespace ptpkg::elf::test
