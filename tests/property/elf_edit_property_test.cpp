// Whatever is edited in whatever order, the file loads, says what was asked for, and a repeated edit changes
// nothing. Seeds are fixed; PTPKG_SEED=n runs another one.

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

#include "elf/edit/edit.h"
#include "support/matchers.h"
#include "unit/elf/fixtures/linked_toys.h"

namespace ptpkg::elf::test {
namespace {

constexpr int kEditsPerSeed = 12;

std::vector<unsigned> Seeds() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read once, before any thread
  if (const char* seed = std::getenv("PTPKG_SEED"))
    return {static_cast<unsigned>(std::strtoul(seed, nullptr, 10))};
  return {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
}

/// Makes edits that leave the toys loadable: the directory of libdeep stays in the path, renamed libraries
/// exist.
class RandomEdits {
 public:
  RandomEdits(unsigned seed, LinkedToys& toys) : random_(seed), toys_(toys) {}

  Edits Next(bool first) {
    Edits edits;
    if (first || Chance(2)) {
      edits.search_path = SearchPath{.tag = Chance(2) ? PathTag::kRpath : PathTag::kRunpath, .text = Path()};
    }
    if (Chance(3)) edits.soname = "lib" + Text(Pick({3, 20, 300, 2500})) + ".so";
    if (Chance(4)) edits.add_needed = {Chance(2) ? "libdl.so.2" : "libpthread.so.0"};
    if (Chance(4)) edits.remove_needed = {Chance(2) ? "libdl.so.2" : "libpthread.so.0"};
    if (Chance(4)) Rename(edits);
    if (Chance(5)) edits.executable_stack = false;
    return edits;
  }

 private:
  bool Chance(unsigned one_in) { return random_() % one_in == 0; }
  std::size_t Pick(std::initializer_list<std::size_t> choices) {
    return choices.begin()[random_() % choices.size()];
  }
  std::string Text(std::size_t size) { return std::string(size, static_cast<char>('a' + random_() % 26)); }

  std::string Path() {
    std::string path = "$ORIGIN/deps";
    for (std::size_t i = random_() % 4; i > 0; --i) {
      const std::string more = "$ORIGIN/" + Text(Pick({1, 30, 200, 1500}));
      path = Chance(2) ? more + ":" + path : path + ":" + more;
    }
    return path;
  }

  void Rename(Edits& edits) {
    const std::string name = "libdeep-" + Text(Pick({4, 8, 120})) + ".so.1";
    const AbsPath link = toys_.root() / ("deps/" + name);
    if (!*Exists(toys_.fs(), link)) {
      EXPECT_OK(toys_.fs().CreateSymlink("libdeep.so", link));
    }
    edits.replace_needed = {{deep_, name}};
    deep_ = name;
  }

  std::mt19937 random_;
  LinkedToys& toys_;
  std::string deep_ = "libdeep.so.1";
};

class EditSequence : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Linkers, EditSequence, ::testing::ValuesIn(InstalledLinkers()),
                         [](const auto& tested) { return tested.param; });

TEST_P(EditSequence, KeepsTheLibraryLoadable) {
  for (const unsigned seed : Seeds()) {
    LinkedToys toys(GetParam());
    RandomEdits source(seed, toys);
    const AbsPath library = toys.Path("libanswer.so");
    for (int i = 0; i < kEditsPerSeed; ++i) {
      SCOPED_TRACE(::testing::Message() << "PTPKG_SEED=" << seed << " edit " << i);
      const Edits edits = source.Next(i == 0);
      ASSERT_OK_AND_ASSIGN(const EditPlan plan, EditFile(toys.fs(), library, edits));
      ASSERT_EQ(toys.Load(library), 42);
      const std::string bytes = toys.Bytes("libanswer.so");
      ASSERT_EQ(bytes.size(), plan.new_size);
      Edits again = edits;
      again.replace_needed.clear();  // the old name is gone
      if (!again.add_needed.empty() && again.add_needed == again.remove_needed) again.remove_needed.clear();
      ASSERT_OK_AND_ASSIGN(const EditPlan rerun, EditFile(toys.fs(), library, again));
      ASSERT_EQ(rerun.tier, WriteTier::kNothing);
      ASSERT_EQ(toys.Bytes("libanswer.so"), bytes);
    }
    const auto file = toys.fs().Open(library, OpenMode::kRead);
    const auto image = ReadImage(**file);
    const auto loads = std::count_if((*image)->segments.begin(), (*image)->segments.end(),
                                     [](const Segment& s) { return s.type == kSegmentLoad; });
    EXPECT_LE(loads, 6) << "growth reuses the segment that was added first";
  }
}

}  // namespace
}  // namespace ptpkg::elf::test
