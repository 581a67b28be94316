#include "builder/script/known_failures.h"

#include <set>

#include "support/matchers.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using ::testing::HasSubstr;

TEST(KnownFailures, EachExampleFindsItsRow) {
  ASSERT_OK_AND_ASSIGN(const KnownFailures table, KnownFailures::BuiltIn());
  std::set<std::string> ids;
  for (const KnownFailure& row : table.rows()) {
    ids.insert(row.id);
    const KnownFailure* found = table.Match(row.example);
    ASSERT_NE(found, nullptr) << row.id;
    EXPECT_EQ(found->id, row.id) << row.example;
    EXPECT_FALSE(row.hint.ends_with('.')) << row.id;
    EXPECT_EQ(row.hint.find('\n'), std::string::npos) << row.id;
  }
  for (const char* id :
       {"relocation-overflow", "empty-submodules", "cmake-4-policy", "host-compiler-too-new-for-cuda",
        "stub-libcuda-missing", "cuda-error-804", "disk-full", "nvml-header", "nvtx-target", "cub-removed",
        "clock-rate", "magma-minor-version", "python-header"})
    EXPECT_TRUE(ids.contains(id)) << id;
}

TEST(KnownFailures, OrdinaryLinesFitNone) {
  ASSERT_OK_AND_ASSIGN(const KnownFailures table, KnownFailures::BuiltIn());
  for (const char* line : {"", "[1/90] Building CXX object a.o", "a.cpp:1:1: error: expected ';'",
                           "-- Found CUDA: /usr/local/cuda (found version \"13.0\")",
                           "In file included from /w/src/c10/core/Device.h:3,"})
    EXPECT_EQ(table.Match(line), nullptr) << line;
}

TEST(KnownFailures, TextsFollowOneAnother) {
  ASSERT_OK_AND_ASSIGN(
      const KnownFailures table,
      KnownFailures::Parse("failures: {a: {line: [x, y], hint: h, source: s, example: xy}}", "t.yaml"));
  EXPECT_NE(table.Match("1 x 2 y 3"), nullptr);
  EXPECT_EQ(table.Match("1 y 2 x 3"), nullptr);
  EXPECT_EQ(table.Match("x"), nullptr);
}

TEST(KnownFailures, ATableWithMistakesIsRefused) {
  const auto parse = [](const char* text) { return KnownFailures::Parse(text, "t.yaml"); };
  EXPECT_THAT(parse("[]"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("no 'failures'")));
  EXPECT_THAT(parse("failures: {a: {line: [x]}}"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'a' has no line")));
  EXPECT_THAT(parse("failures: {a: {lines: [x]}}"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'lines'")));
  EXPECT_THAT(parse("failures: {a: {line: x}}"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("a list")));
  EXPECT_THAT(parse("failures: {a: {line: [[x]]}}"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("must be text")));
  EXPECT_THAT(parse("failures: {a: {hint: []}}"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'hint'")));
}

}  // namespace
}  // namespace ptpkg::builder
