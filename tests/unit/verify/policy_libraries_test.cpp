#include "verify/policy_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::verify {
namespace {

using test::FailsWith;
using testing::HasSubstr;

TEST(PolicyLibraries, LaterPoliciesHaveMore) {
  ASSERT_OK_AND_ASSIGN(const auto libraries, PolicyLibraries::BuiltIn());
  EXPECT_TRUE(libraries.IsOfManylinux("libc.so.6", GlibcVersion{2, 5}));
  EXPECT_FALSE(libraries.IsOfManylinux("libexpat.so.1", GlibcVersion{2, 5}));
  EXPECT_TRUE(libraries.IsOfManylinux("libexpat.so.1", GlibcVersion{2, 12}));
  EXPECT_FALSE(libraries.IsOfManylinux("libmvec.so.1", GlibcVersion{2, 17}));
  EXPECT_TRUE(libraries.IsOfManylinux("libmvec.so.1", std::nullopt));
  EXPECT_TRUE(libraries.IsOfManylinux("ld-linux-x86-64.so.2", GlibcVersion{2, 5}));
  EXPECT_FALSE(libraries.IsOfManylinux("libcrypt.so.1", std::nullopt));
  EXPECT_TRUE(libraries.IsOfMusllinux("libc.musl-x86_64.so.1"));
  EXPECT_FALSE(libraries.IsOfMusllinux("libm.so.6"));
}

TEST(PolicyLibraries, TablesOfAnotherShapeAreRefused) {
  const auto parse = [](const std::string& text) { return PolicyLibraries::Parse(text, "t.yaml"); };
  EXPECT_OK(parse("manylinux: {\"2.5\": a}\nmusllinux: b\n"));
  EXPECT_THAT(parse("manylinux: {}\n"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'musllinux'")));
  EXPECT_THAT(parse("manylinux: {new: a}\nmusllinux: b\n"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'new' is no version of glibc")));
}

}  // namespace
}  // namespace ptpkg::verify
