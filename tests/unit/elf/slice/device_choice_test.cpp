// Which GPU runs what, and which elements of a container are kept for it.

#include "elf/slice/device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptpkg::elf::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr DeviceCodeKind kMachineCode = DeviceCodeKind::kSass;
constexpr DeviceCodeKind kPtxText = DeviceCodeKind::kPtx;

TEST(RunsOn, TheGuidesRules) {
  struct Row {
    DeviceCodeKind kind;
    DeviceArchitecture code;
    std::uint32_t gpu;
    bool runs;
  };
  const std::vector<Row> rows = {
      // The same major number, an equal or lower minor one.
      {kMachineCode, {80}, 80, true},
      {kMachineCode, {80}, 86, true},
      {kMachineCode, {86}, 80, false},
      {kMachineCode, {89}, 90, false},
      {kMachineCode, {90}, 80, false},
      {kMachineCode, {70}, 75, true},
      {kMachineCode, {100}, 103, true},
      {kMachineCode, {100}, 120, false},
      {kMachineCode, {120}, 121, true},
      {kMachineCode, {10}, 100, false},
      // One chip alone.
      {kMachineCode, {90, 'a'}, 90, true},
      {kMachineCode, {100, 'a'}, 103, false},
      {kMachineCode, {90, 'a'}, 89, false},
      // A family.
      {kMachineCode, {100, 'f'}, 100, true},
      {kMachineCode, {100, 'f'}, 103, true},
      {kMachineCode, {103, 'f'}, 100, false},
      {kMachineCode, {100, 'f'}, 120, false},
      // Tegra runs its own code alone, and nobody else does.
      {kMachineCode, {87}, 87, true},
      {kMachineCode, {80}, 87, false},
      {kMachineCode, {86}, 87, false},
      {kMachineCode, {87}, 89, false},
      {kMachineCode, {72}, 75, false},
      {kMachineCode, {70}, 72, false},
      {kMachineCode, {100, 'f'}, 101, false},
      {kMachineCode, {101, 'f'}, 101, true},
      {kMachineCode, {101, 'f'}, 103, false},
      {kMachineCode, {110}, 110, true},
      {kMachineCode, {53}, 53, true},
      {kMachineCode, {50}, 53, false},
      {kMachineCode, {60}, 62, false},
      // Text is compiled for anything not older.
      {kPtxText, {50}, 120, true},
      {kPtxText, {90}, 90, true},
      {kPtxText, {90}, 89, false},
      {kPtxText, {80}, 87, true},
      {kPtxText, {90, 'a'}, 90, true},
      {kPtxText, {90, 'a'}, 100, false},
      {kPtxText, {100, 'f'}, 103, true},
      {kPtxText, {100, 'f'}, 120, false},
      {DeviceCodeKind::kOther, {}, 90, false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(RunsOn(row.kind, row.code, row.gpu), row.runs)
        << (row.kind == kPtxText ? row.code.PtxName() : row.code.SassName()) << " on " << row.gpu;
  }
}

DeviceContainer ContainerOf(const std::vector<DeviceElement>& elements) { return {.elements = elements}; }

DeviceElement SassOf(std::uint32_t number, char suffix = '\0') {
  return {.kind = kMachineCode, .architecture = {number, suffix}};
}
DeviceElement PtxOf(std::uint32_t number, char suffix = '\0') {
  return {.kind = kPtxText, .architecture = {number, suffix}};
}

TEST(ChooseElements, TheHighestThatRunsInAllItsVariants) {
  const DeviceContainer container = ContainerOf(
      {SassOf(70), SassOf(80), SassOf(80), SassOf(86), SassOf(90), SassOf(90, 'a'), PtxOf(90), SassOf(90)});
  EXPECT_THAT(ChooseElements(container, {.gpus = {90}}).kept, ElementsAre(4, 5, 7));
  EXPECT_THAT(ChooseElements(container, {.gpus = {80}}).kept, ElementsAre(1, 2));
  EXPECT_THAT(ChooseElements(container, {.gpus = {89}}).kept, ElementsAre(3));
  EXPECT_THAT(ChooseElements(container, {.gpus = {75}}).kept, ElementsAre(0));
  EXPECT_THAT(ChooseElements(container, {.gpus = {89, 80, 80}}).kept, ElementsAre(1, 2, 3));
}

TEST(ChooseElements, WithoutMachineCodeTheHighestPtx) {
  const DeviceContainer container =
      ContainerOf({PtxOf(70), PtxOf(80), PtxOf(90, 'a'), SassOf(80), PtxOf(120)});
  EXPECT_THAT(ChooseElements(container, {.gpus = {90}}).kept, ElementsAre(2));
  EXPECT_THAT(ChooseElements(container, {.gpus = {100}}).kept, ElementsAre(1));
  EXPECT_THAT(ChooseElements(container, {.gpus = {75, 86}}).kept, ElementsAre(0, 3));
  EXPECT_THAT(ChooseElements(container, {.gpus = {100}}).gaps, IsEmpty());
}

TEST(ChooseElements, PtxIsKeptWhereAskedFor) {
  const DeviceContainer container = ContainerOf({SassOf(80), SassOf(90), PtxOf(80), PtxOf(90)});
  EXPECT_THAT(ChooseElements(container, {.gpus = {80}}).kept, ElementsAre(0));
  EXPECT_THAT(ChooseElements(container, {.gpus = {80}, .keep_ptx = true}).kept, ElementsAre(0, 3));
}

TEST(ChooseElements, AGapKeepsTheContainerWhole) {
  const DeviceContainer container = ContainerOf({SassOf(70), SassOf(80), PtxOf(90)});
  const DeviceChoice choice = ChooseElements(container, {.gpus = {80, 62, 60}});
  EXPECT_THAT(choice.kept, ElementsAre(0, 1, 2));
  EXPECT_THAT(choice.gaps, ElementsAre(60, 62));
  EXPECT_FALSE(choice.DropsElements(container));
}

TEST(ChooseElements, WhatIsNotKnownStays) {
  const DeviceContainer container = ContainerOf({{.kind = DeviceCodeKind::kOther}, SassOf(80), SassOf(90)});
  EXPECT_THAT(ChooseElements(container, {.gpus = {90}}).kept, ElementsAre(0, 2));
  const DeviceChoice only = ChooseElements(ContainerOf({{.kind = DeviceCodeKind::kOther}}), {.gpus = {90}});
  EXPECT_THAT(only.kept, ElementsAre(0));
  EXPECT_THAT(only.gaps, ElementsAre(90));
  EXPECT_THAT(ChooseElements(ContainerOf({}), {.gpus = {90}}).gaps, IsEmpty());
}

}  // namespace
}  // namespace ptpkg::elf::test
