// Edited and stripped in any order, a library still finds what its own code looks for. PTPKG_SEED=n runs
// another sequence; the program labelled slow runs more of them.

#include <algorithm>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

#include "elf/edit/edit.h"
#include "support/matchers.h"
#include "support/process/process.h"
#include "unit/elf/fixtures/linked_toys.h"

namespace ptpkg::elf::test {
namespace {

constexpr int kSteps = 6;

struct Shape {
  std::string linker;
  std::string library;
};

std::vector<Shape> Shapes() {
  std::vector<Shape> shapes;
  for (const std::string& linker : InstalledLinkers()) {
    for (const std::string& library : ShapesOf(linker)) shapes.push_back({linker, library});
  }
  return shapes;
}

/// First seed and number of sequences for each shape.
std::pair<unsigned, unsigned> SequenceSeeds() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read once, before any thread
  if (const char* seed = std::getenv("PTPKG_SEED"))
    return {static_cast<unsigned>(std::strtoul(seed, nullptr, 10)), 1};
  return {1, PTPKG_SEQUENCES};
}

/// Programs that take a linked file apart and put it together again.
std::vector<std::vector<std::string>> InstalledTools() {
  std::vector<std::vector<std::string>> tools = {
      {"strip"}, {"objcopy"}, {"eu-strip"}, {"llvm-strip"}, {"llvm-objcopy", "--strip-unneeded"}};
  std::erase_if(tools, [](const auto& tool) {
    return !FindProgram(tool.front(), "/usr/local/bin:/usr/bin:/bin").has_value();
  });
  return tools;
}

class StripSequence : public ::testing::TestWithParam<Shape> {
 protected:
  Edits RandomEdit() {
    Edits edits;
    const auto text = [&](std::initializer_list<std::size_t> sizes) {
      const std::size_t size = sizes.begin()[random_() % sizes.size()];
      return std::string(size, static_cast<char>('a' + random_() % 26));
    };
    if (random_() % 4 != 0) {
      edits.search_path = SearchPath{.tag = random_() % 2 == 0 ? PathTag::kRpath : PathTag::kRunpath,
                                     .text = "$ORIGIN/" + text({1, 200, 2500, 9000, 30'000})};
    }
    if (random_() % 3 == 0) edits.soname = "lib" + text({3, 40, 3000}) + ".so";
    if (random_() % 5 == 0) edits.add_needed = {random_() % 2 == 0 ? "libdl.so.2" : "libm.so.6"};
    if (random_() % 5 == 0) edits.executable_stack = false;
    return edits;
  }

  std::mt19937 random_;
};

INSTANTIATE_TEST_SUITE_P(Shapes, StripSequence, ::testing::ValuesIn(Shapes()), [](const auto& tested) {
  std::string name = tested.param.linker + "_" + tested.param.library;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST_P(StripSequence, KeepsTheLibraryWorking) {
  const auto tools = InstalledTools();
  const auto [first, count] = SequenceSeeds();
  for (unsigned seed = first; seed < first + count; ++seed) {
    random_.seed(seed);
    LinkedToys toys(GetParam().linker);
    const AbsPath library = toys.AddShape(GetParam().linker, GetParam().library);
    ASSERT_EQ(toys.Load(library), 42);
    for (int step = 0; step < kSteps; ++step) {
      SCOPED_TRACE(::testing::Message() << "PTPKG_SEED=" << seed << " step " << step);
      const auto edited = EditFile(toys.fs(), library, RandomEdit());
      if (!edited) {
        ASSERT_EQ(edited.error().code(), ErrorCode::kUnsupported) << FormatError(edited.error());
        ASSERT_THAT(edited.error().message(), ::testing::HasSubstr("refers to it"));
      }
      ASSERT_EQ(toys.Load(library), 42) << "after the edit";
      auto tool = tools[random_() % tools.size()];
      SCOPED_TRACE(tool.front());
      tool.push_back(GetParam().library);
      toys.Output(tool);
      ASSERT_EQ(toys.Load(library), 42) << "after the tool";
    }
  }
}

}  // namespace
}  // namespace ptpkg::elf::test
