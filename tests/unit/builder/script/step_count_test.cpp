#include "builder/script/step_count.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace ptpkg::builder {
namespace {

using Change = StepCount::Change;

/// "part: done/total" after each line.
std::vector<std::string> Follow(const std::vector<std::string>& lines) {
  StepCount count;
  std::vector<std::string> states;
  for (const std::string& line : lines) {
    count.ReadOutputLine(line);
    const auto& state = count.state();
    states.push_back(std::to_string(state.part) + ": " + std::to_string(state.done) + "/" +
                     std::to_string(state.total));
  }
  return states;
}

TEST(ReadStepMark, Ninja) {
  const auto mark = ReadStepMark("[45/90] Building CXX object c10/CMakeFiles/c10.dir/core/Device.cpp.o");
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->kind, StepKind::kSteps);
  EXPECT_EQ(mark->done, 45U);
  EXPECT_EQ(mark->total, 90U);
  EXPECT_FALSE(mark->regenerates);
  EXPECT_TRUE(ReadStepMark("  [3/9] c++ -MMD -MF a.o.d -c a.cpp"))
      << "as pip -v indents what setuptools prints";
  EXPECT_TRUE(ReadStepMark("[0/1] Re-running CMake...")->regenerates);
  EXPECT_TRUE(ReadStepMark("[0/1] Regenerating build files.")->regenerates);
}

TEST(ReadStepMark, CMakesMakefiles) {
  const auto mark = ReadStepMark("[  4%] Building CXX object CMakeFiles/a.dir/a.cpp.o");
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->kind, StepKind::kPercent);
  EXPECT_EQ(mark->done, 4U);
  EXPECT_EQ(mark->total, 100U);
  EXPECT_EQ(ReadStepMark("[100%] Built target a")->done, 100U);
  EXPECT_FALSE(ReadStepMark("[101%] x"));
}

TEST(ReadStepMark, CallsOfCompilersAndSilentRules) {
  for (const char* line :
       {"g++ -O3 -fPIC -c -o src/zgetrf.o src/zgetrf.cpp", "/usr/local/cuda/bin/nvcc -O3 -c -o a.o a.cu",
        "x86_64-linux-gnu-gcc -Wall -c src/x.c -o build/x.o", "gcc-12 -c a.c", "  CC       src/a.lo",
        "  NVCC     kernel.o"}) {
    const auto mark = ReadStepMark(line);
    ASSERT_TRUE(mark) << line;
    EXPECT_EQ(mark->kind, StepKind::kCommand) << line;
  }
  for (const char* line : {"g++ --version", "gcc -o a a.o -lm", "checking for gcc... gcc", "  CC is gcc -c x",
                           "a gcc -c b", "make -c x", ""})
    EXPECT_FALSE(ReadStepMark(line)) << line;
}

TEST(ReadStepMark, OtherBracketsAreNone) {
  for (const char* line : {"[INFO] x", "[1/0] x", "[5/4] x", "[1/2", "[/2] x", "[ 1 / 2 ] x", "[-1/2] x", "[",
                           "[]", "[99999999999999999999999/2] x", "tests/a.py [ 45%]"})
    EXPECT_FALSE(ReadStepMark(line)) << line;
}

TEST(StepCount, RisesWithinOneTool) {
  EXPECT_EQ(Follow({"-- Configuring done", "[1/3] a", "warning: x", "[2/3] b", "[3/3] c"}),
            (std::vector<std::string>{"0: 0/0", "1: 1/3", "1: 1/3", "1: 2/3", "1: 3/3"}));
}

TEST(StepCount, StepsOfARegenerationAreNoProgress) {
  EXPECT_EQ(Follow({"[1/4] Generating x", "[2/4] Re-running CMake...", "-- Configuring done", "[1/90] a",
                    "[2/90] b"}),
            (std::vector<std::string>{"1: 1/4", "0: 0/0", "0: 0/0", "1: 1/90", "1: 2/90"}));
}

TEST(StepCount, AStepThatOwnsTheTerminalRepeatsACount) {
  EXPECT_EQ(Follow({"[1/3] a", "[2/3] b", "[2/3] Install the project..."}).back(), "1: 2/3");
}

TEST(StepCount, ATotalMayGrow) {
  EXPECT_EQ(Follow({"[1/3] a", "[2/5] b", "[3/5] c"}).back(), "1: 3/5");
  EXPECT_EQ(Follow({"[5/9] a", "[6/8] b"}).back(), "1: 6/8");
}

TEST(StepCount, ASecondToolStartsAPart) {
  EXPECT_EQ(Follow({"[1/2] a", "[2/2] b", "[1/30] c", "[2/30] d"}),
            (std::vector<std::string>{"1: 1/2", "1: 2/2", "2: 1/30", "2: 2/30"}));
  EXPECT_EQ(Follow({"[1/1] a", "[1/1] b"}).back(), "2: 1/1");
}

TEST(StepCount, AnInstallationAfterTheBuildDoesNotEmptyTheBar) {
  EXPECT_EQ(Follow({"[1/90] a", "[90/90] b", "[0/1] Install the project...", "[1/1] x"}).back(), "1: 90/90");
}

TEST(StepCount, ABuildInsideOfAStepEndsWithIt) {
  EXPECT_EQ(Follow({"[10/90] Performing build step for 'gloo'", "[1/40] a", "[40/40] b", "[11/90] c"}),
            (std::vector<std::string>{"1: 10/90", "2: 1/40", "2: 40/40", "1: 11/90"}));
}

TEST(StepCount, PercentMayFallALittle) {
  EXPECT_EQ(Follow({"[ 45%] a", "[ 44%] b", "[ 46%] c"}),
            (std::vector<std::string>{"1: 45/100", "1: 45/100", "1: 46/100"}));
  EXPECT_EQ(Follow({"[100%] a", "[  3%] b"}).back(), "2: 3/100");
}

TEST(StepCount, CommandsAreCountedWithoutTotal) {
  EXPECT_EQ(Follow({"gcc -c a.c", "gcc -c b.c", "ar rcs x.a a.o"}).back(), "1: 2/0");
  EXPECT_EQ(Follow({"gcc -c probe.c", "[1/9] c++ -c a.cpp", "c++ -c b.cpp"}).back(), "1: 1/9")
      << "a probe is no part, and a command of a counted step no step";
}

TEST(StepCount, SaysWhenAToolStartsAnew) {
  StepCount count;
  EXPECT_EQ(count.ReadOutputLine("x"), Change::kNone);
  EXPECT_EQ(count.ReadOutputLine("[1/90] a"), Change::kRestarted);
  EXPECT_EQ(count.ReadOutputLine("[2/90] a"), Change::kAdvanced);
  EXPECT_EQ(count.ReadOutputLine("[1/2] hidden"), Change::kRestarted);
  EXPECT_EQ(count.ReadOutputLine("[2/2] hidden"), Change::kNone);
}

}  // namespace
}  // namespace ptpkg::builder
