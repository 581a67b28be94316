#include "wheel/file_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::wheel {
namespace {

using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;

using testing::HasSubstr;

TEST(FileName, TakesANameApart) {
  const Result<FileName> name =
      FileName::Parse("torch-2.15.0+cu130-2b-cp311-cp311-manylinux_2_28_x86_64.whl");
  ASSERT_THAT(name, IsOk());
  EXPECT_EQ(name->name, "torch");
  EXPECT_EQ(name->version, "2.15.0+cu130");
  EXPECT_EQ(name->build, "2b");
  EXPECT_EQ(name->tag, (Tag{"cp311", "cp311", "manylinux_2_28_x86_64"}));
  EXPECT_EQ(name->Stem(), "torch-2.15.0+cu130");
  EXPECT_EQ(name->str(), "torch-2.15.0+cu130-2b-cp311-cp311-manylinux_2_28_x86_64.whl");
}

TEST(FileName, MayHaveTheLabelOfAVariant) {
  const auto label = FileName::Parse("toy-1.0-cp311-cp311-linux_x86_64-sm90.x86_64_v3.whl");
  ASSERT_THAT(label, IsOk());
  EXPECT_EQ(label->build, "");
  EXPECT_EQ(label->tag, (Tag{"cp311", "cp311", "linux_x86_64"}));
  EXPECT_EQ(label->variant, "sm90.x86_64_v3");
  EXPECT_EQ(label->str(), "toy-1.0-cp311-cp311-linux_x86_64-sm90.x86_64_v3.whl");
  const auto both = FileName::Parse("toy-1.0-2b-py3-none-any-null.whl");
  ASSERT_THAT(both, IsOk());
  EXPECT_EQ(both->build, "2b");
  EXPECT_EQ(both->variant, "null");
  EXPECT_EQ(both->str(), "toy-1.0-2b-py3-none-any-null.whl");
}

TEST(FileName, NormalizesAllParts) {
  const Result<FileName> name = FileName::Parse("Foo.Bar__baz-1.0.RC1-py3.py2-none-b.a.a.whl");
  ASSERT_THAT(name, IsOk());
  EXPECT_EQ(name->str(), "foo_bar_baz-1.0rc1-py2.py3-none-a.b.whl");
  EXPECT_THAT(FileName::Parse(name->str()), IsOkAndHolds(*name));
}

TEST(FileName, NamesThePartThatIsWrong) {
  for (const auto& [text, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {"a-1-py3-none-any.zip", "does not end in '.whl'"},
           {"a-1-py3-none.whl", "4 parts"},
           {"a-1-1-py3-none-any-x-y.whl", "8 parts"},
           {"a-1-1-py3-none-any-X.whl", "'X' is not a variant label"},
           {"a-1-1-py3-none.whl", "it has no platform"},
           {"a-1-x-py3-none-any-y.whl", "'x' does not begin with a digit"},
           {"-1-py3-none-any.whl", "'' is not a name"},
           {"_a-1-py3-none-any.whl", "'_a' is not a name"},
           {"a/b-1-py3-none-any.whl", "'a/b' is not a name"},
           {"a-one-py3-none-any.whl", "'one' is not a version"},
           {"a-1-x-py3-none-any.whl", "'x' does not begin with a digit"},
           {"a-1-py3--any.whl", "not a compatibility tag"},
           {"a-1-py3-none-any..x.whl", "not a compatibility tag"}}) {
    EXPECT_THAT(FileName::Parse(text), FailsWith(ErrorCode::kInvalidInput, HasSubstr(why))) << text;
  }
}

}  // namespace
}  // namespace ptpkg::wheel
