#include "wheel/metadata/marker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::wheel {
namespace {

using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;

using testing::HasSubstr;

const MarkerEnvironment& LinuxPython311() {
  static const MarkerEnvironment kEnvironment = {{"python_version", "3.11"},
                                                 {"python_full_version", "3.11.7"},
                                                 {"os_name", "posix"},
                                                 {"sys_platform", "linux"},
                                                 {"platform_system", "Linux"},
                                                 {"platform_machine", "x86_64"},
                                                 {"platform_release", "6.1.0-18-amd64"},
                                                 {"platform_python_implementation", "CPython"}};
  return kEnvironment;
}

struct Case {
  const char* marker;
  bool holds;
};

class EvaluateMarkerTest : public testing::TestWithParam<Case> {};

TEST_P(EvaluateMarkerTest, Evaluates) {
  EXPECT_THAT(CheckMarker(GetParam().marker), IsOk());
  EXPECT_THAT(EvaluateMarker(GetParam().marker, LinuxPython311()), IsOkAndHolds(GetParam().holds));
}

INSTANTIATE_TEST_SUITE_P(
    Markers, EvaluateMarkerTest,
    testing::Values(Case{"python_version >= '3.9'", true}, Case{"python_version < '3.9'", false},
                    Case{"'3.9' < python_version", true}, Case{"python_version == '3.*'", true},
                    Case{"python_version != '3.11.*'", false}, Case{"python_full_version ~= '3.11.2'", true},
                    Case{"python_full_version ~= '3.10.2'", false}, Case{"platform_system == 'Linux'", true},
                    Case{"platform_system == 'linux'", false},
                    Case{"platform_machine in 'x86_64 AMD64'", true},
                    Case{"platform_machine not in 'x86_64 AMD64'", false},
                    Case{"platform_system=='Windows' or os_name=='posix' and sys_platform=='linux'", true},
                    Case{"(platform_system=='Windows' or os_name=='posix') and sys_platform=='win32'", false},
                    Case{"extra == 'test'", false}, Case{"extra != 'test'", true},
                    Case{"os.name == \"posix\"", true}, Case{"python_implementation == 'CPython'", true},
                    Case{"platform_release >= '5'", true}));

// The answers of Specifier(op + bound).contains(version, prereleases=True) in packaging 26.3.
TEST(EvaluateMarker, ComparesVersionsAsPackaging) {
  struct Comparison {
    const char* version;
    const char* op;
    const char* bound;
    bool holds;
  };
  const Comparison comparisons[] = {{"3.13rc1", "<", "3.13", false},
                                    {"3.13.dev0", "<", "3.13", false},
                                    {"3.12.9", "<", "3.13", true},
                                    {"3.13a1", "<", "3.13rc1", true},
                                    {"3.13.post1.dev0", "<", "3.13.post1", false},
                                    {"3.13", "<", "3.13.post1", true},
                                    {"3.13.post1", ">", "3.13", false},
                                    {"3.13+local", ">", "3.13", false},
                                    {"3.13.1", ">", "3.13", true},
                                    {"3.13.post2", ">", "3.13.post1", true},
                                    {"3.13rc1.post1", ">", "3.13rc1", false},
                                    {"3.13rc2", ">", "3.13rc1", true},
                                    {"3.13", ">", "3.13rc1", true},
                                    {"3.13.post1", ">", "3.13.dev1", true},
                                    {"3.13+local", "==", "3.13", true},
                                    {"3.13+local", "!=", "3.13", false},
                                    {"3.13+local", "<=", "3.13", true},
                                    {"3.13+local", ">=", "3.13", true},
                                    {"3.13+other", "==", "3.13+local", false}};
  for (const Comparison& one : comparisons) {
    const std::string marker = std::string("python_full_version ") + one.op + " '" + one.bound + "'";
    EXPECT_THAT(EvaluateMarker(marker, {{"python_full_version", one.version}}), IsOkAndHolds(one.holds))
        << one.version << ": " << marker;
  }
}

TEST(EvaluateMarker, ComparesExtrasByNormalName) {
  MarkerEnvironment environment = LinuxPython311();
  environment["extra"] = "opt-einsum";
  EXPECT_THAT(EvaluateMarker("extra == 'Opt_Einsum'", environment), IsOkAndHolds(true));
}

TEST(EvaluateMarker, NoMarkerAlwaysHolds) {
  EXPECT_THAT(EvaluateMarker(" ", LinuxPython311()), IsOkAndHolds(true));
}

TEST(EvaluateMarker, FailsForAnUnknownValue) {
  EXPECT_THAT(EvaluateMarker("platform_version == 'x'", LinuxPython311()),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'platform_version' is not known")));
  EXPECT_THAT(EvaluateMarker("os_name ~= 'posix'", LinuxPython311()),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("compares versions")));
}

TEST(ExtrasOf, FindsWhatExtraIsComparedWith) {
  EXPECT_THAT(ExtrasOf(""), IsOkAndHolds(testing::IsEmpty()));
  EXPECT_THAT(ExtrasOf("sys_platform == 'extra'"), IsOkAndHolds(testing::IsEmpty()));
  EXPECT_THAT(ExtrasOf("os_name == 'posix' and (extra == 'A_b' or 'c' == extra) and extra != 'd'"),
              IsOkAndHolds(testing::ElementsAre(ExtraCondition{"!=", "d"}, ExtraCondition{"==", "a-b"},
                                                ExtraCondition{"==", "c"})));
  EXPECT_THAT(ExtrasOf("extra =="), FailsWith(ErrorCode::kInvalidInput, HasSubstr("ends too early")));
}

TEST(CheckMarker, SaysWhatIsWrong) {
  for (const auto& [marker, why] : std::initializer_list<std::pair<std::string, const char*>>{
           {"python_version", "expected a comparison"},
           {"'a' == 'b'", "two constants"},
           {"colour == 'red'", "not a marker variable"},
           {"(os_name == 'a'", "')' is missing"},
           {"os_name == 'a' xor os_name == 'b'", "unexpected"},
           {"os_name == 'a", "quote is not closed"},
           {"os_name == ", "ends too early"},
           {"os_name not 'a'", "expected a comparison"},
           {"os_name == ,", "expected a name"},
           {std::string(100, '(') + "os_name == 'a'", "deeper than the 64 levels that ptpkg reads"}}) {
    EXPECT_THAT(CheckMarker(marker), FailsWith(ErrorCode::kInvalidInput, HasSubstr(why))) << marker;
  }
}

TEST(Marker, NormalFormIsOneForOneMeaning) {
  const auto normal = [](std::string_view marker) {
    const auto text = NormalMarker(marker);
    EXPECT_THAT(text, test::IsOk()) << marker;
    return text ? *text : std::string();
  };
  for (const char* const marker :
       {"python_version<'3.9'", "( python_version<'3.9' )", "python_version < \"3.9\""})
    EXPECT_EQ(normal(marker), "python_version < \"3.9\"") << marker;
  EXPECT_EQ(normal(""), "");
  EXPECT_EQ(normal("extra == 'A_b'"), "extra == \"a-b\"");
  EXPECT_EQ(normal("os.name=='a\"b'"), "os_name == 'a\"b'");
  EXPECT_EQ(normal("(os_name=='a' or os_name=='b')and(os_name!='c'and(os_name!='d'))"),
            "(os_name == \"a\" or os_name == \"b\") and os_name != \"c\" and os_name != \"d\"");
  EXPECT_EQ(normal("os_name  not  in 'a' or (os_name=='b' and os_name=='c')"),
            "os_name not in \"a\" or os_name == \"b\" and os_name == \"c\"");
  EXPECT_THAT(NormalMarker("os_name"), test::FailsWith(ErrorCode::kInvalidInput, testing::_));
}

}  // namespace
}  // namespace ptpkg::wheel
