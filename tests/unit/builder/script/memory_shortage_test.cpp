#include "builder/script/memory_shortage.h"

#include <gmock/gmock.h>

namespace ptpkg::builder {
namespace {

using Kind = MemorySigns::Kind;
using ::testing::HasSubstr;

struct Line {
  const char* line;
  Kind kind;
  const char* program;
};

TEST(MemorySigns, KnowsWhatToolsPrint) {
  for (const Line& one : std::vector<Line>{
           {"c++: fatal error: Killed signal terminated program cc1plus", Kind::kKilled, "cc1plus"},
           {"g++: internal compiler error: Killed (program cc1plus)", Kind::kKilled, "cc1plus"},
           {"collect2: fatal error: ld terminated with signal 9 [Killed]", Kind::kKilled, "ld"},
           {"nvcc error   : 'cicc' died due to signal 9 (Kill signal)", Kind::kKilled, "cicc"},
           {"nvcc error   : 'ptxas' died due to signal 9 (Kill signal)", Kind::kKilled, "ptxas"},
           {"clang: error: unable to execute command: Killed", Kind::kKilled, "clang"},
           {"gcc: fatal error: Killed", Kind::kKilled, ""},
           {"/w/script: line 7:  4242 Killed                  c++ -c a.cpp", Kind::kKilled, ""},
           {"make[2]: *** [Makefile:3: a.o] Error 137", Kind::kKilled, ""},
           {"make: *** [Makefile:3: a.o] Killed", Kind::kKilled, ""},
           {"FAILED: [code=137] a.o", Kind::kKilled, ""},
           {"virtual memory exhausted: Cannot allocate memory", Kind::kRefused, ""},
           {"cc1plus: out of memory allocating 65536 bytes after a total of 1380352 bytes", Kind::kRefused,
            "cc1plus"},
           {"terminate called after throwing an instance of 'std::bad_alloc'", Kind::kRefused, ""},
           {"LLVM ERROR: out of memory", Kind::kRefused, ""},
           {"/usr/bin/ld: memory exhausted", Kind::kRefused, "ld"},
           {"Killed by the user", Kind::kNone, ""},
           {"tests: 3 passed, Killed mutants: 7", Kind::kNone, ""}}) {
    MemorySigns signs;
    signs.ReadOutputLine(one.line);
    EXPECT_EQ(signs.kind(), one.kind) << one.line;
    EXPECT_EQ(signs.program(), one.program) << one.line;
  }
}

TEST(MemorySigns, AProgramsNameOutweighsAStatus) {
  MemorySigns signs;
  signs.ReadOutputLine("FAILED: [code=137] a.o");
  signs.ReadOutputLine("c++: fatal error: Killed signal terminated program cc1plus");
  signs.ReadOutputLine("collect2: fatal error: ld terminated with signal 9 [Killed]");
  EXPECT_EQ(signs.program(), "cc1plus");
}

MemorySigns Signs(const char* line) {
  MemorySigns signs;
  signs.ReadOutputLine(line);
  return signs;
}

ExitStatus Ended(int code, int signal = 0) {
  ExitStatus status;
  status.code = code;
  status.signal = signal;
  return status;
}

constexpr const char* kKilled = "c++: fatal error: Killed signal terminated program cc1plus";

TEST(DiagnoseMemoryShortage, TheKernelsCounterMakesItCertain) {
  const MemoryFacts facts{.before = {.of_group = 1, .of_machine = 5},
                          .after = {.of_group = 3, .of_machine = 9},
                          .jobs = 6,
                          .bytes_per_job = 1'500'000'000,
                          .free_bytes = 4'000'000'000};
  const MemoryDiagnosis verdict = DiagnoseMemoryShortage(Signs(kKilled), Ended(1), facts);
  EXPECT_EQ(verdict.what, "'cc1plus' was killed: out of memory (the kernel ended 4 processes)");
  EXPECT_EQ(verdict.hint,
            "it ran with 6 jobs within 4.0 GB: try --jobs 2, and set the memory per job in the recipe "
            "(extra.ptpkg.memory_per_job)");
}

TEST(DiagnoseMemoryShortage, WithoutCountersItIsLikely) {
  EXPECT_EQ(DiagnoseMemoryShortage(Signs(kKilled), Ended(1), {.jobs = 8}).what,
            "'cc1plus' was killed (signal 9), probably because memory ran out");
}

TEST(DiagnoseMemoryShortage, CountersThatStandStillSpeakAgainstIt) {
  const MemoryFacts facts{.before = {.of_machine = 5}, .after = {.of_machine = 5}, .jobs = 8};
  const MemoryDiagnosis verdict = DiagnoseMemoryShortage(Signs(kKilled), Ended(1), facts);
  EXPECT_EQ(verdict.what, "'cc1plus' was killed (signal 9)");
  EXPECT_THAT(verdict.hint, HasSubstr("ended no process"));
}

TEST(DiagnoseMemoryShortage, AKillInTheOwnGroupCountsWithoutASign) {
  EXPECT_THAT(
      DiagnoseMemoryShortage({}, Ended(1), {.before = {.of_group = 0}, .after = {.of_group = 1}, .jobs = 2})
          .what,
      HasSubstr("killed: out of memory (the kernel ended 1 process)"));
  EXPECT_EQ(
      DiagnoseMemoryShortage({}, Ended(1), {.before = {.of_machine = 0}, .after = {.of_machine = 1}}).what,
      "")
      << "another container's, as far as anybody knows";
}

TEST(DiagnoseMemoryShortage, TheScriptItselfMayBeKilled) {
  EXPECT_THAT(DiagnoseMemoryShortage({}, Ended(0, 9), {.jobs = 2}).what, HasSubstr("was killed"));
  EXPECT_THAT(DiagnoseMemoryShortage({}, Ended(137), {.jobs = 2}).what, HasSubstr("was killed"));
  EXPECT_EQ(DiagnoseMemoryShortage({}, Ended(0, 15), {.jobs = 2}).what, "");
  EXPECT_EQ(DiagnoseMemoryShortage({}, Ended(1), {.jobs = 2}).what, "");
}

TEST(DiagnoseMemoryShortage, RefusedMemory) {
  EXPECT_EQ(
      DiagnoseMemoryShortage(Signs("cc1plus: out of memory allocating 65536 bytes"), Ended(1), {.jobs = 1})
          .what,
      "'cc1plus' ran out of memory");
}

TEST(JobsForMemory, IsUnderHalfAndWithinMemory) {
  EXPECT_EQ(JobsForMemory({.jobs = 8}), 4);
  EXPECT_EQ(JobsForMemory({.jobs = 8, .bytes_per_job = 3, .free_bytes = 7}), 2);
  EXPECT_EQ(JobsForMemory({.jobs = 8, .bytes_per_job = 9, .free_bytes = 7}), 1);
  EXPECT_EQ(JobsForMemory({.jobs = 2}), 1);
  EXPECT_EQ(JobsForMemory({.jobs = 1}), 0) << "no number would do";
}

}  // namespace
}  // namespace ptpkg::builder
