#include "convert/wheel_target.h"

#include <set>

#include "support/matchers.h"

namespace ptpkg::convert {
namespace {

using test::FailsWith;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

wheel::WheelInfo Wheel(const std::vector<std::string>& tags, const std::string& requires_python = "") {
  wheel::WheelInfo info;
  for (const std::string& tag : tags) info.tags.push_back(*wheel::ParseTag(tag));
  if (!requires_python.empty()) info.metadata.Add("Requires-Python", requires_python);
  return info;
}

TEST(TargetOf, ExtensionWheel) {
  const auto target = TargetOf(
      Wheel({"cp311-cp311-manylinux_2_27_x86_64", "cp311-cp311-manylinux_2_28_x86_64"}, ">=3.11"), "");
  ASSERT_THAT(target, test::IsOk());
  EXPECT_THAT(TargetOf(Wheel({"cp311-cp311-manylinux_2_27_x86_64"}), "3.9"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("only for Python 3.11")));
  EXPECT_EQ(target->python, "3.11");
  EXPECT_EQ(target->subdir, "linux-64");
  EXPECT_EQ(target->site_packages, "lib/python3.11/site-packages");
  EXPECT_EQ(target->build_prefix, "py311");
  EXPECT_THAT(target->depends, ElementsAre("python >=3.11,<3.12.0a0", "__glibc >=2.27,<3.0.a0"));
  ASSERT_EQ(target->markers.size(), 1U);
  EXPECT_EQ(target->markers[0].find("python_version")->second, "3.11");
}

TEST(TargetOf, PureWheelIsNoarch) {
  const auto target = TargetOf(Wheel({"py3-none-any"}, ">=3.9"), "3.11");
  ASSERT_THAT(target, test::IsOk());
  EXPECT_TRUE(target->noarch);
  EXPECT_EQ(target->subdir, "noarch");
  EXPECT_THAT(target->depends, ElementsAre("python >=3.9"));
}

TEST(TargetOf, StableAbiGoesWithTheChosenPython) {
  const auto target = TargetOf(Wheel({"cp39-abi3-manylinux2014_aarch64"}), "3.12");
  ASSERT_THAT(target, test::IsOk());
  EXPECT_EQ(target->python, "3.12");
  EXPECT_EQ(target->subdir, "linux-aarch64");
  EXPECT_THAT(target->depends, Contains("__glibc >=2.17,<3.0.a0"));
  EXPECT_THAT(TargetOf(Wheel({"cp39-abi3-manylinux2014_aarch64"}), "3.8"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("3.9")));
}

TEST(TargetOf, StableAbiIsForEveryPythonFromItsOwn) {
  const auto target = TargetOf(Wheel({"cp39-abi3-manylinux2014_aarch64"}, "!=3.9.1,>=3.8"), "");
  ASSERT_THAT(target, test::IsOk());
  EXPECT_TRUE(target->noarch);
  EXPECT_EQ(target->subdir, "linux-aarch64");
  EXPECT_EQ(target->site_packages, "site-packages");
  EXPECT_EQ(target->build_prefix, "abi3");
  EXPECT_EQ(target->python, "3.9");
  EXPECT_THAT(target->depends, ElementsAre("python !=3.9.1,>=3.8,>=3.9", "_python_abi3_support 1.*",
                                           "__glibc >=2.17,<3.0.a0"));
  for (const wheel::MarkerEnvironment& markers : target->markers)
    EXPECT_EQ(markers.find("platform_machine")->second, "aarch64");
}

TEST(TargetOf, BinariesWithoutPythonAreForEveryPython) {
  const auto target = TargetOf(Wheel({"py3-none-manylinux_2_28_x86_64"}, ">=3.10"), "");
  ASSERT_THAT(target, test::IsOk());
  EXPECT_TRUE(target->noarch);
  EXPECT_EQ(target->subdir, "linux-64");
  EXPECT_EQ(target->build_prefix, "py");
  EXPECT_THAT(target->depends, ElementsAre("python >=3.10", "__glibc >=2.28,<3.0.a0"));
  EXPECT_THAT(TargetOf(Wheel({"py3-none-manylinux_2_28_x86_64"}, "<3.5"), ""),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("no Python satisfies")));
}

TEST(TargetOf, FreeThreadedPythonsHavePackagesOfTheirOwn) {
  const auto free = TargetOf(Wheel({"cp313-cp313t-manylinux_2_28_x86_64"}), "");
  const auto usual = TargetOf(Wheel({"cp313-cp313-manylinux_2_28_x86_64"}), "");
  const auto both = TargetOf(Wheel({"cp313-cp313.cp313t-manylinux_2_28_x86_64"}), "");
  ASSERT_THAT(free, test::IsOk());
  ASSERT_THAT(usual, test::IsOk());
  ASSERT_THAT(both, test::IsOk());
  EXPECT_EQ(free->python, "3.13");
  EXPECT_EQ(free->build_prefix, "cp313t");
  EXPECT_EQ(free->site_packages, "lib/python3.13t/site-packages");
  EXPECT_THAT(free->depends,
              ElementsAre("python >=3.13,<3.14.0a0", "python_abi 3.13.* *_cp313t", "__glibc >=2.28,<3.0.a0"));
  EXPECT_EQ(usual->build_prefix, "py313");
  EXPECT_EQ(usual->site_packages, "lib/python3.13/site-packages");
  EXPECT_THAT(usual->depends,
              ElementsAre("python >=3.13,<3.14.0a0", "python_abi 3.13.* *_cp313", "__glibc >=2.28,<3.0.a0"));
  EXPECT_EQ(both->depends, usual->depends);
  EXPECT_EQ(both->site_packages, usual->site_packages);
}

TEST(TargetOf, StableAbiOfOnePythonIsNotForFreeThreadedOnes) {
  const auto target = TargetOf(Wheel({"cp39-abi3-manylinux2014_x86_64"}), "3.14");
  ASSERT_THAT(target, test::IsOk());
  EXPECT_THAT(target->depends, Contains("python_abi 3.14.* *_cp314"));
}

TEST(TargetOf, RefusesAnAbiThatNoPackageOfPythonHas) {
  for (const char* tag : {"cp313-cp313d-manylinux_2_28_x86_64", "cp313-cp313td-manylinux_2_28_x86_64",
                          "cp315-abi3t-manylinux_2_28_x86_64", "cp313-cp314t-manylinux_2_28_x86_64"}) {
    EXPECT_THAT(TargetOf(Wheel({tag}), ""), FailsWith(ErrorCode::kUnsupported, HasSubstr(tag))) << tag;
  }
  const auto stable = TargetOf(Wheel({"cp315-abi3.abi3t-manylinux_2_28_x86_64"}), "");
  ASSERT_THAT(stable, test::IsOk());
  EXPECT_EQ(stable->build_prefix, "abi3");
  EXPECT_THAT(TargetOf(Wheel({"cp37-cp37m-manylinux1_x86_64"}), ""), test::IsOk());
  EXPECT_THAT(TargetOf(Wheel({"cp37-cp37m-manylinux1_x86_64"}), "2.7"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("only for Python 3.7, but --python is 2.7")));
}

TEST(TargetOf, APatchReleaseMeansItsMinorVersion) {
  const auto target = TargetOf(Wheel({"cp39-abi3-manylinux2014_x86_64"}), "3.11.7");
  ASSERT_THAT(target, test::IsOk());
  EXPECT_EQ(target->python, "3.11");
  EXPECT_EQ(target->site_packages, "lib/python3.11/site-packages");
  EXPECT_EQ(target->build_prefix, "py311");
  EXPECT_THAT(target->depends, Contains("python >=3.11,<3.12.0a0"));
  EXPECT_EQ(target->markers.at(0).find("python_full_version")->second, "3.11.0");
  const auto next = TargetOf(Wheel({"cp39-abi3-manylinux2014_x86_64"}), "3.9");
  ASSERT_THAT(next, test::IsOk());
  EXPECT_THAT(next->depends, Contains("python >=3.9,<3.10.0a0"));
}

TEST(TargetOf, RefusesAPythonThatIsNone) {
  for (const char* python : {"3", "3.x", "3.11.*", "3.12.0rc1", "311"}) {
    const auto failed = TargetOf(Wheel({"py3-none-any"}), python);
    ASSERT_THAT(failed, FailsWith(ErrorCode::kUsage, HasSubstr("--python: '"))) << python;
    EXPECT_EQ(failed.error().hint(), "write it as '3.11'");
  }
  EXPECT_THAT(TargetOf(Wheel({"cp3x-cp3x-manylinux_2_28_x86_64"}), "3.11"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("CPython")));
}

TEST(TargetOf, RequiresPythonMayExcludePatchReleases) {
  EXPECT_THAT(TargetOf(Wheel({"cp311-cp311-manylinux_2_28_x86_64"}, ">=3.11.4,<4"), "3.11"), test::IsOk());
  EXPECT_THAT(TargetOf(Wheel({"py3-none-any"}, "!=3.11.*"), "3.11"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("3.11 does not satisfy")));
}

TEST(TargetOf, RefusesWhatCondaHasNoPlaceFor) {
  EXPECT_THAT(TargetOf(Wheel({"cp311-cp311-win_amd64"}), "3.11"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("win_amd64")));
  EXPECT_THAT(TargetOf(Wheel({"pp310-pypy310_pp73-manylinux_2_28_x86_64"}), "3.11"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("CPython")));
}

TEST(TargetOf, ThePythonTagBoundsANoarchPackage) {
  const auto depends = [](const std::vector<std::string>& tags, const std::string& requires_python = "") {
    const auto target = TargetOf(Wheel(tags, requires_python), "");
    EXPECT_THAT(target, test::IsOk());
    EXPECT_TRUE(target && target->noarch);
    return target ? target->depends : std::vector<std::string>();
  };
  EXPECT_THAT(depends({"py2-none-any", "py3-none-any"}), ElementsAre("python"));
  EXPECT_THAT(depends({"py2.py3-none-any"}), ElementsAre("python"));
  EXPECT_THAT(depends({"py39-none-any"}), ElementsAre("python >=3.9"));
  EXPECT_THAT(depends({"py39-none-any"}, ">=3.9,<4"), ElementsAre("python <4,>=3.9"));
  EXPECT_THAT(depends({"cp39-none-any"}), ElementsAre("python <3.10.0a0,>=3.9"));
  EXPECT_THAT(depends({"cp39-none-any", "cp310-none-any", "cp312-none-any"}),
              ElementsAre("python !=3.11.*,<3.13.0a0,>=3.9"));
}

TEST(TargetOf, RefusesPureWheelsOfOtherPythons) {
  for (const char* tag : {"py2-none-any", "pp311-none-any", "cp27-none-any", "py27-none-any"}) {
    EXPECT_THAT(TargetOf(Wheel({tag}), "3.11"), FailsWith(ErrorCode::kUnsupported, HasSubstr(tag))) << tag;
  }
  EXPECT_THAT(TargetOf(Wheel({"py312-none-any"}), "3.11"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("3.12")));
}

TEST(TargetOf, APlatformWheelWithoutAbiKeepsToItsPythonTag) {
  const auto exact = TargetOf(Wheel({"cp39-none-manylinux_2_17_x86_64"}), "");
  ASSERT_THAT(exact, test::IsOk());
  EXPECT_EQ(exact->python, "3.9");
  const auto several =
      TargetOf(Wheel({"py2-none-manylinux_2_17_x86_64", "py3-none-manylinux_2_17_x86_64"}), "3.11");
  ASSERT_THAT(several, test::IsOk());
  EXPECT_EQ(several->python, "3.11");
}

TEST(TargetOf, SeveralPythonsWithoutTheirAbiShareAPackage) {
  const wheel::WheelInfo info =
      Wheel({"cp310-none-manylinux_2_17_x86_64", "cp312-none-manylinux_2_17_x86_64"}, ">=3.8");
  const auto target = TargetOf(info, "");
  ASSERT_THAT(target, test::IsOk());
  EXPECT_TRUE(target->noarch);
  EXPECT_EQ(target->subdir, "linux-64");
  EXPECT_EQ(target->build_prefix, "py");
  EXPECT_THAT(target->depends,
              ElementsAre("python !=3.11.*,<3.13.0a0,>=3.10,>=3.8", "__glibc >=2.17,<3.0.a0"));
  const auto chosen = TargetOf(info, "3.12");
  ASSERT_THAT(chosen, test::IsOk());
  EXPECT_EQ(chosen->site_packages, "lib/python3.12/site-packages");
  EXPECT_THAT(TargetOf(info, "3.11"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("only for Python 3.10, 3.12")));
}

TEST(TargetOf, SeveralAbisAskWhichPython) {
  const wheel::WheelInfo info = Wheel({"cp310.cp311-cp310.cp311-manylinux_2_17_x86_64"});
  const auto several = TargetOf(info, "");
  EXPECT_THAT(several,
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("Python 3.10, 3.11, which have different ABIs")));
  EXPECT_THAT(several, test::HasHint(HasSubstr("--python 3.10,3.11")));
  EXPECT_THAT(TargetOf(info, "3.11"), test::IsOk());
}

TEST(TargetOf, RequiresPythonIsAListOfConditions) {
  EXPECT_THAT(TargetOf(Wheel({"py3-none-any"}, "3.8"), "3.11"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("Requires-Python '3.8'")));
}

TEST(TargetOf, MuslIsNoLinuxOfConda) {
  EXPECT_THAT(TargetOf(Wheel({"cp311-cp311-musllinux_1_2_x86_64"}), "3.11"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("musllinux_1_2_x86_64")));
  const auto both =
      TargetOf(Wheel({"cp311-cp311-musllinux_1_2_x86_64", "cp311-cp311-manylinux_2_28_x86_64"}), "3.11");
  ASSERT_THAT(both, test::IsOk());
  EXPECT_THAT(both->depends, Contains("__glibc >=2.28,<3.0.a0"));
}

TEST(TargetOf, ANoarchPackageIsJudgedForEveryPythonThatItAdmits) {
  const auto target = TargetOf(Wheel({"py3-none-any"}, ">=3.9,<3.12"), "3.11");
  ASSERT_THAT(target, test::IsOk());
  std::set<std::string> pythons;
  for (const wheel::MarkerEnvironment& markers : target->markers) {
    pythons.insert(markers.find("python_version")->second);
  }
  EXPECT_THAT(pythons, ElementsAre("3.10", "3.11", "3.9"));
}

TEST(TargetOf, RefusesAPythonThatTheWheelExcludes) {
  EXPECT_THAT(TargetOf(Wheel({"py3-none-any"}, ">=3.13"), "3.11"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr(">=3.13")));
}

}  // namespace
}  // namespace ptpkg::convert
