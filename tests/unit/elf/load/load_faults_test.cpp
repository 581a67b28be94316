#include "elf/load/load_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "unit/elf/fixtures/linked_toys.h"

namespace ptpkg::elf::test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SegmentFaults : public ::testing::Test {
 protected:
  /// What is said of `name` once `change` was made to its segments in memory.
  std::vector<LoadFault> After(const std::string& name, const std::function<void(Segment&)>& change) {
    const auto file = toys_.fs().Open(toys_.Path(name), OpenMode::kRead);
    const auto read = ReadImage(**file);
    Image image = **read;
    for (Segment& segment : image.segments) change(segment);
    const auto faults = FindLoadFaults(**file, image);
    EXPECT_TRUE(faults);
    return faults ? *faults : std::vector<LoadFault>();
  }
  static std::function<void(Segment&)> Of(std::uint32_t type, const std::function<void(Segment&)>& change) {
    return [type, change, done = false](Segment& segment) mutable {
      if (segment.type != type || done) return;
      done = true;
      change(segment);
    };
  }

  LinkedToys toys_{"bfd"};
};

TEST_F(SegmentFaults, FeaturesThatNoVersionStatesHaveALowestGlibc) {
  const auto file = toys_.fs().Open(toys_.Path("libanswer.so"), OpenMode::kRead);
  Image image = **ReadImage(**file);
  EXPECT_THAT(FindLoaderNeeds(image), testing::Each(Field(&LoaderNeed::minor, testing::Lt(36U))));
  image.dynamic->entries.insert(image.dynamic->entries.begin(), {.tag = kDtRelr, .value = 0});
  EXPECT_THAT(FindLoaderNeeds(image), testing::Contains(LoaderNeed{.minor = 36, .what = "DT_RELR"}));
}

TEST_F(SegmentFaults, AProgramIsSoundAsItIs) {
  EXPECT_THAT(After("app", [](Segment&) {}), IsEmpty());
}

TEST_F(SegmentFaults, OfTheInterpreter) {
  const auto says = [](const char* text) { return ElementsAre(Field(&LoadFault::message, HasSubstr(text))); };
  EXPECT_THAT(After("app", Of(kSegmentInterp, [](Segment& s) { s.file_size = 1; })),
              says("PT_INTERP has 1 bytes"));
  EXPECT_THAT(After("app", Of(kSegmentInterp, [](Segment& s) { s.file_size = 4097; })),
              says("PT_INTERP has 4097 bytes, and the kernel takes 2 to 4096"));
  EXPECT_THAT(After("app", Of(kSegmentInterp, [](Segment& s) { s.file_size -= 1; })),
              says("PT_INTERP does not end with a NUL byte"));
}

TEST_F(SegmentFaults, OfThreadsAndRights) {
  const auto tls = [](std::uint64_t file_size, std::uint64_t memory_size) {
    return [=](Segment& segment) {
      segment = Segment{.type = 7,
                        .flags = kFlagRead,
                        .offset = segment.offset,
                        .vaddr = segment.vaddr,
                        .file_size = file_size,
                        .memory_size = memory_size,
                        .align = 8};
    };
  };
  EXPECT_THAT(After("app", Of(kSegmentGnuStack, tls(0, 1ULL << 46U))),
              ElementsAre(Field(&LoadFault::message, HasSubstr("PT_TLS asks for 70368744177664 bytes"))));
  EXPECT_THAT(After("app", Of(kSegmentGnuStack, tls(8, 0))),
              ElementsAre(Field(&LoadFault::message, HasSubstr("PT_TLS has initial values outside"))));
  const auto faults = After("app", Of(kSegmentLoad, [](Segment& segment) { segment.flags = 0; }));
  EXPECT_THAT(faults, ::testing::Contains(
                          Field(&LoadFault::message, HasSubstr("can be neither read, written nor run"))));
}

}  // namespace
}  // namespace ptpkg::elf::test
