#include "wheel/metadata/requirement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::wheel {
namespace {

using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(ParseRequirement, TakesEverythingApart) {
  const Result<Requirement> requirement = ParseRequirement(
      "cuda-toolkit[nvrtc, cudart]>=13.0.2,!=13.1.*,<14 ; platform_system == 'Linux' and python_version >= "
      "\"3.10\"");
  ASSERT_THAT(requirement, IsOk());
  EXPECT_EQ(requirement->name, "cuda-toolkit");
  EXPECT_THAT(requirement->extras, ElementsAre("nvrtc", "cudart"));
  EXPECT_THAT(requirement->specifiers,
              ElementsAre(Pair(">=", "13.0.2"), Pair("!=", "13.1.*"), Pair("<", "14")));
  EXPECT_EQ(requirement->marker, "platform_system == 'Linux' and python_version >= \"3.10\"");
  EXPECT_EQ(requirement->url, "");
  EXPECT_EQ(requirement->str(),
            "cuda-toolkit[nvrtc,cudart]>=13.0.2,!=13.1.*,<14 ; platform_system == 'Linux' and python_version "
            ">= \"3.10\"");
}

TEST(ParseRequirement, TakesTheOlderForms) {
  const Result<Requirement> parenthesised = ParseRequirement("numpy (>=1.2,<3); extra=='test'");
  ASSERT_THAT(parenthesised, IsOk());
  EXPECT_THAT(parenthesised->specifiers, ElementsAre(Pair(">=", "1.2"), Pair("<", "3")));
  EXPECT_EQ(parenthesised->marker, "extra=='test'");
  EXPECT_THAT(ParseRequirement("typing.extensions~=4.10")->specifiers, ElementsAre(Pair("~=", "4.10")));
  EXPECT_THAT(ParseRequirement("x===odd-1")->specifiers, ElementsAre(Pair("===", "odd-1")));
  EXPECT_THAT(ParseRequirement(" jinja2 ")->specifiers, IsEmpty());
  EXPECT_THAT(ParseRequirement("x[]")->extras, IsEmpty());
}

TEST(ParseRequirement, KeepsASemicolonThatBelongsToTheUrl) {
  const Result<Requirement> requirement =
      ParseRequirement("a[b] @ https://host/p;x=1#egg=a ; os_name=='posix'");
  ASSERT_THAT(requirement, IsOk());
  EXPECT_EQ(requirement->url, "https://host/p;x=1#egg=a");
  EXPECT_EQ(requirement->marker, "os_name=='posix'");
}

TEST(ParseRequirement, ParsesWhatItWrites) {
  for (const char* const text :
       {"a", "a>=1", "a[b,c]==1.*,<2 ; extra == 'x'", "a @ file:///b ; os_name == 'nt'"}) {
    const Result<Requirement> requirement = ParseRequirement(text);
    ASSERT_THAT(requirement, IsOk()) << text;
    EXPECT_EQ(requirement->str(), text);
    EXPECT_THAT(ParseRequirement(requirement->str()), IsOkAndHolds(*requirement));
  }
}

// Each was put to packaging 26.3.
TEST(ParseSpecifiers, TakesWhatPackagingTakes) {
  for (const char* const text :
       {"", ">=1,", "==2.0+cpu", "!=2.0+cpu", "~=2.0", "~=2.0a1", "~=1!2.0", "~=2.0.post1", "==1!2.*",
        "==v2.*", "== 2.*", "===foo", "~= v2.0", ">=1.0-1"}) {
    EXPECT_THAT(ParseSpecifiers(text), IsOk()) << text;
  }
  for (const char* const text : {"(>=3.8)", ">=3.8;x", "3", ">=3 <4", ">=3.8.*", "~=3", ",", ">=1.0-"}) {
    EXPECT_THAT(ParseSpecifiers(text), FailsWith(ErrorCode::kInvalidInput, testing::_)) << text;
  }
}

TEST(ParseSpecifiers, NormalFormIsSortedAndSpelledOnce) {
  const auto normal = [](const char* text) {
    const auto specifiers = ParseSpecifiers(text);
    EXPECT_THAT(specifiers, IsOk()) << text;
    return specifiers ? NormalSpecifiers(*specifiers) : Specifiers{};
  };
  EXPECT_THAT(normal("< 4,>=v3.9, !=3.10.*,<4"),
              ElementsAre(Pair("!=", "3.10.*"), Pair("<", "4"), Pair(">=", "3.9")));
  EXPECT_THAT(normal("===A.1"), ElementsAre(Pair("===", "A.1")));
}

struct Bad {
  const char* text;
  const char* why;
};

TEST(Requirement, OfAnExtraWhereItsMarkerLooksAtOne) {
  const auto of_an_extra = [](const std::string& text) {
    const auto requirement = ParseRequirement(text);
    EXPECT_THAT(requirement, IsOk()) << text;
    return requirement && requirement->IsOfAnExtra();
  };
  EXPECT_TRUE(of_an_extra("a ; extra == 'gpu'"));
  EXPECT_TRUE(of_an_extra("a ; (python_version > '3.9') and extra=='gpu'"));
  EXPECT_TRUE(of_an_extra("a ; 'gpu' == extra"));
  EXPECT_FALSE(of_an_extra("a[extra]"));
  EXPECT_FALSE(of_an_extra("extra ; python_version > '3.9'"));
  EXPECT_FALSE(of_an_extra("a ; platform_release == 'an extra one'"));
}

TEST(ParseRequirement, SaysWhatIsWrong) {
  const std::vector<Bad> cases = {{"", "begin with a name"},
                                  {"-a", "begin with a name"},
                                  {"a-", "begin with a name"},
                                  {"a[b", "not closed by ']'"},
                                  {"a[b c]", "not an extra's name"},
                                  {"a (>=1", "not closed by ')'"},
                                  {"a 1.0", "comparison"},
                                  {"a>=", "not a version"},
                                  {"a>=1.*", "not a version"},
                                  {"a>=1,,<2", "comparison"},
                                  {"a,>=1", "comparison"},
                                  {"a>=2.6+cpu", "local version"},
                                  {"a<2.6+cpu", "local version"},
                                  {"a~=2.0+cpu", "local version"},
                                  {"a~=2", "two numbers"},
                                  {"a~=1!2", "two numbers"},
                                  {"a~=2.0.*", "not a version"},
                                  {"a==2.0.dev1.*", "follows more than numbers"},
                                  {"a==2.post1.*", "follows more than numbers"},
                                  {"a==2-1.*", "follows more than numbers"},
                                  {"a==2.0+cpu.*", "follows more than numbers"},
                                  {"a==2.0 .*", "not a version"},
                                  {"a==2.*.*", "not a version"},
                                  {"a==*", "not a version"},
                                  {"a @ ", "no URL"},
                                  {"a (>=1) b", "unexpected"},
                                  {"a ; python_version", "expected a comparison"},
                                  {"a ;", "ends too early"}};
  for (const Bad& bad : cases) {
    EXPECT_THAT(ParseRequirement(bad.text), FailsWith(ErrorCode::kInvalidInput, HasSubstr(bad.why)))
        << bad.text;
  }
}

}  // namespace
}  // namespace ptpkg::wheel
