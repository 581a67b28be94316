#include "verify/wheel/policy_libraries.h"

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

TEST(PolicyLibraries, TheOldestPolicyThatListsALibrary) {
  ASSERT_OK_AND_ASSIGN(const auto libraries, PolicyLibraries::BuiltIn());
  EXPECT_EQ(libraries.OldestManylinux("libc.so.6"), (GlibcVersion{2, 5}));
  EXPECT_EQ(libraries.OldestManylinux("libexpat.so.1"), (GlibcVersion{2, 12}));
  EXPECT_EQ(libraries.OldestManylinux("libelse.so.1"), std::nullopt);
}

TEST(PolicyLibraries, SymbolsThatAreNoInterface) {
  ASSERT_OK_AND_ASSIGN(const auto libraries, PolicyLibraries::BuiltIn());
  EXPECT_THAT(libraries.InternalSymbols("libz.so.1"), testing::Contains("zcalloc"));
  EXPECT_THAT(libraries.InternalSymbols("libc.so.6"), testing::IsEmpty());
  EXPECT_TRUE(libraries.FindForbiddenSymbol("libz.so.1", "zcalloc", false).forbidden);
  EXPECT_EQ(libraries.FindForbiddenSymbol("libz.so.1", "zcalloc", false).until, std::nullopt);
  EXPECT_EQ(libraries.FindForbiddenSymbol("libz.so.1", "uncompress2", false).until, (GlibcVersion{2, 34}));
  EXPECT_EQ(libraries.FindForbiddenSymbol("libz.so.1", "uncompress2", true).until, std::nullopt);
  EXPECT_FALSE(libraries.FindForbiddenSymbol("libz.so.1", "inflate", false).forbidden);
}

TEST(PolicyLibraries, TablesOfAnotherShapeAreRefused) {
  const auto parse = [](const std::string& text) { return PolicyLibraries::Parse(text, "t.yaml"); };
  EXPECT_OK(parse("manylinux: {\"2.5\": a}\nmusllinux: b\n"));
  EXPECT_THAT(parse("manylinux: {}\n"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'musllinux'")));
  EXPECT_THAT(parse("manylinux: {new: a}\nmusllinux: b\n"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'new' is not a glibc version")));
  EXPECT_THAT(parse("manylinux: {\"2.5\": a}\nmusllinux: b\ninternal_symbols: {manylinux: {a: {ever: f}}}\n"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'ever' is not a glibc version")));
}

}  // namespace
}  // namespace ptpkg::verify
