#include "builder/script/failure_blocks.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "support/text/text.h"

namespace ptpkg::builder {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

FailureBlocks Read(const std::string& text) {
  FailureBlocks blocks;
  for (const std::string& line : SplitLines(text)) blocks.ReadOutputLine(line);
  return blocks;
}

std::string Block(const std::string& text) { return Read(text).Block(); }

TEST(FailureBlocks, NinjasBlockEndsWithTheNextStep) {
  const std::string log =
      "[1/9] Building CXX object a.o\n"
      "[2/9] Building CXX object b.o\n"
      "FAILED: b.o \n"
      "/usr/bin/c++ -O2 -o b.o -c b.cpp\n"
      "b.cpp: In function 'int f()':\n"
      "b.cpp:3:3: error: 'x' was not declared in this scope\n"
      "    3 |   x;\n"
      "      |   ^\n"
      "[3/9] Building CXX object c.o\n"
      "c.cpp:1:1: warning: unused\n"
      "FAILED: d.o \n"
      "d.cpp:1:1: error: another\n"
      "ninja: build stopped: subcommand failed.\n";
  EXPECT_EQ(Block(log),
            "\n  FAILED: b.o\n  /usr/bin/c++ -O2 -o b.o -c b.cpp\n  b.cpp: In function 'int f()':\n"
            "  b.cpp:3:3: error: 'x' was not declared in this scope\n      3 |   x;\n        |   ^");
}

TEST(FailureBlocks, HundredsOfWarningsOfOtherJobsHideNothing) {
  std::string log = "[1/900] a\nFAILED: [code=1] a.o\nc++ -c a.cpp\na.cpp:1: error: the cause\n";
  for (int i = 2; i < 500; ++i) log += fmt::format("[{0}/900] b{0}\nb.cpp:{0}: warning: x\n", i);
  EXPECT_THAT(Block(log), EndsWith("error: the cause"));
}

TEST(FailureBlocks, ALongBlockKeepsItsBeginningAndItsFirstError) {
  std::string log = "FAILED: a.o\nc++ " + std::string(5000, 'x') + " -c a.cpp\n";
  for (int i = 0; i < 300; ++i) log += fmt::format("a.h:{}: warning: shadowed\n", i);
  log += "a.cpp:7:1: error: the cause\n";
  for (int i = 0; i < 300; ++i) log += fmt::format("a.h:{}: note: instantiated from here\n", i);
  const std::string block = Block(log);
  EXPECT_THAT(block, StartsWith("\n  FAILED: a.o\n  c++ xxx"));
  EXPECT_THAT(block, HasSubstr("\n  … 282 lines …\n  a.cpp:7:1: error: the cause\n"));
  EXPECT_LT(block.size(), 5000U);
}

TEST(FailureBlocks, MakeWithParallelJobs) {
  const std::string log =
      "[ 10%] Building CXX object a.o\n"
      "a.cpp: In function 'void g()':\n"
      "a.cpp:5:2: error: expected ';'\n"
      "    5 |   y\n"
      "b.cpp:9:1: warning: unused variable 'z'\n"
      "    9 |   int z;\n"
      "make[2]: *** [CMakeFiles/a.dir/build.make:76: CMakeFiles/a.dir/a.cpp.o] Error 1\n"
      "b.cpp:10:1: warning: again\n"
      "make[1]: *** [CMakeFiles/Makefile2:83: CMakeFiles/a.dir/all] Error 2\n"
      "make: *** [Makefile:91: all] Error 2\n";
  EXPECT_EQ(Block(log),
            "\n  a.cpp: In function 'void g()':\n  a.cpp:5:2: error: expected ';'\n      5 |   y\n"
            "  make[2]: *** [CMakeFiles/a.dir/build.make:76: CMakeFiles/a.dir/a.cpp.o] Error 1");
}

TEST(FailureBlocks, MakeWithoutAnyErrorOfACompilerShowsWhatWasBefore) {
  EXPECT_EQ(Block("sh gen.sh\ngen.sh: cannot go on\nmake: *** [Makefile:2: gen] Error 3\n"),
            "\n  sh gen.sh\n  gen.sh: cannot go on\n  make: *** [Makefile:2: gen] Error 3");
  EXPECT_THAT(Block("make: *** No rule to make target 'x', needed by 'all'.  Stop.\n"), HasSubstr("No rule"));
  EXPECT_EQ(Block("make: *** Waiting for unfinished jobs....\n"), "");
}

TEST(FailureBlocks, CMakeErrorsWithTheirCallStack) {
  EXPECT_EQ(Block("-- Detecting CXX\nCMake Error at cmake/Dependencies.cmake:12 (message):\n  No BLAS.\n\n"
                  "  Give one.\nCall Stack (most recent call first):\n  CMakeLists.txt:3 (include)\n\n\n"
                  "-- Configuring incomplete, errors occurred!\nCMake Error: second\n"),
            "\n  CMake Error at cmake/Dependencies.cmake:12 (message):\n    No BLAS.\n    Give one.\n"
            "  Call Stack (most recent call first):\n    CMakeLists.txt:3 (include)");
}

TEST(FailureBlocks, TheLastTracebackWithWhatCausedIt) {
  EXPECT_EQ(
      Block(
          "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: put up with\nworking on\n"
          "Traceback (most recent call last):\n  File \"b.py\", line 2\nKeyError: 'x'\n\n"
          "During handling of the above exception, another exception occurred:\n\n"
          "Traceback (most recent call last):\n  File \"c.py\", line 3, in f\n    g()\nRuntimeError: no g\n"
          "error: build failed\n"),
      "\n  Traceback (most recent call last):\n    File \"b.py\", line 2\n  KeyError: 'x'\n"
      "  During handling of the above exception, another exception occurred:\n"
      "  Traceback (most recent call last):\n    File \"c.py\", line 3, in f\n      g()\n  RuntimeError: no "
      "g");
}

TEST(FailureBlocks, ACommandCountsMoreThanTheTracebackThatItCaused) {
  const std::string block = Block(
      "      [1/2] c++ -c a.cpp\n      FAILED: a.o\n      c++ -c a.cpp\n      a.cpp:1: error: the cause\n"
      "      ninja: build stopped: subcommand failed.\n      Traceback (most recent call last):\n"
      "        File \"x.py\"\n      RuntimeError: Error compiling objects for extension\n");
  EXPECT_THAT(block, HasSubstr("the cause"));
  EXPECT_THAT(block, Not(HasSubstr("Traceback")));
}

TEST(FailureBlocks, ErrorsOfNoKnownCommandAreListed) {
  FailureBlocks blocks =
      Read("/usr/bin/ld: a.o: undefined reference to `f'\ncollect2: error: ld returned 1 exit status\n");
  EXPECT_EQ(blocks.Block(), "");
  ASSERT_THAT(blocks.errors(), SizeIs(2));
  EXPECT_THAT(blocks.errors()[0], HasSubstr("undefined reference to `f'"));
}

TEST(FailureBlocks, WhatFailedBeforeAnotherToolBeganWasPutUpWith) {
  FailureBlocks blocks =
      Read("FAILED: probe.o\nprobe.cpp:1: error: no such header\nninja: build stopped: x\n");
  blocks.Restart();
  EXPECT_EQ(blocks.Block(), "");
  EXPECT_THAT(blocks.errors(), IsEmpty());
}

TEST(FailureBlocks, AToolInsideOfAnotherStepDoesNotHideTheFailure) {
  FailureBlocks blocks =
      Read("[9/90] a\nFAILED: a.o\na.cpp:1: error: the cause\n[10/90] Performing build step\n");
  blocks.Restart();
  for (const char* line : {"[1/40] x", "[40/40] y", "ninja: build stopped: subcommand failed."})
    blocks.ReadOutputLine(line);
  EXPECT_THAT(blocks.Block(), HasSubstr("the cause"));
}

TEST(FailureBlocks, EscapeSequencesAreLeftOut) {
  EXPECT_EQ(Block("\x1b[31mFAILED: \x1b[0ma.o\n\x1b[1mx.cpp:1: \x1b[31merror:\x1b[0m y\n"),
            "\n  FAILED: a.o\n  x.cpp:1: error: y");
}

}  // namespace
}  // namespace ptpkg::builder
