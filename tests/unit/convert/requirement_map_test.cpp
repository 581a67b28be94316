#include "convert/requirement_map.h"

#include "support/matchers.h"

namespace ptpkg::convert {
namespace {

using test::FailsWith;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const wheel::MarkerEnvironment kLinux311 = {
    {"platform_system", "Linux"}, {"sys_platform", "linux"}, {"python_version", "3.11"}};

wheel::CoreMetadata Requiring(const std::vector<std::string>& requirements) {
  wheel::CoreMetadata metadata;
  for (const std::string& requirement : requirements) metadata.Add("Requires-Dist", requirement);
  return metadata;
}

Result<MappedRequirements> Map(const std::vector<std::string>& requirements) {
  PTPKG_TRY(const CondaNames names, BuiltInCondaNames());
  return MapRequirements(Requiring(requirements), {kLinux311}, names);
}

/// For several Pythons at once.
Result<MappedRequirements> MapNoarch(const std::vector<std::string>& requirements) {
  PTPKG_TRY(const CondaNames names, BuiltInCondaNames());
  std::vector<wheel::MarkerEnvironment> environments;
  for (const char* python : {"3.9", "3.10", "3.11"}) {
    environments.push_back(
        {{"platform_system", "Linux"}, {"sys_platform", "linux"}, {"python_version", python}});
  }
  return MapRequirements(Requiring(requirements), environments, names);
}

TEST(MapRequirements, TakesNamesFromTheTable) {
  const auto mapped = Map({"torch>=2.1,<3", "typing-extensions>=4.13.0", "Jinja2"});
  ASSERT_THAT(mapped, test::IsOk());
  EXPECT_THAT(mapped->depends, ElementsAre("jinja2", "pytorch <3,>=2.1", "typing_extensions >=4.13.0"));
  EXPECT_THAT(mapped->unknown, IsEmpty());
}

TEST(MapRequirements, KeepsAnUnknownNameAndReportsIt) {
  const auto mapped = Map({"Some_Private.Thing==1.0"});
  ASSERT_THAT(mapped, test::IsOk());
  EXPECT_THAT(mapped->depends, ElementsAre("some-private-thing ==1.0"));
  EXPECT_THAT(mapped->unknown, ElementsAre("Some_Private.Thing==1.0"));
}

TEST(MapRequirements, LeavesOutWhatItsMarkerExcludes) {
  const auto mapped =
      Map({"colorama; sys_platform == 'win32'", "pytest; extra == 'test'", "numpy; python_version >= '3.9'"});
  ASSERT_THAT(mapped, test::IsOk());
  EXPECT_THAT(mapped->depends, ElementsAre("numpy"));
  EXPECT_THAT(mapped->not_applicable, ElementsAre("colorama; sys_platform == 'win32'"));
}

TEST(MapRequirements, KeepsWhatSomePythonNeeds) {
  const auto mapped = MapNoarch({"tomli>=2; python_version < '3.11'", "idna", "old; python_version < '3.8'"});
  ASSERT_THAT(mapped, test::IsOk());
  EXPECT_THAT(mapped->depends, ElementsAre("idna", "tomli >=2"));
  EXPECT_THAT(mapped->widened, ElementsAre("tomli>=2; python_version < '3.11'"));
  EXPECT_THAT(mapped->not_applicable, ElementsAre("old; python_version < '3.8'"));
}

TEST(MapRequirements, AllowsWhatAnyPythonAllows) {
  const auto mapped =
      MapNoarch({"numpy<2; python_version < '3.10'", "numpy>=2.1,<3; python_version >= '3.10'", "scipy>=1",
                 "scipy<1.14; python_version == '3.9'"});
  ASSERT_THAT(mapped, test::IsOk());
  EXPECT_THAT(mapped->depends, ElementsAre("numpy <2|<3,>=2.1", "scipy >=1"));
}

TEST(MapRequirements, APythonWithoutConditionsAllowsEveryVersion) {
  const auto mapped = MapNoarch({"attrs", "attrs>=20; python_version < '3.10'"});
  ASSERT_THAT(mapped, test::IsOk());
  EXPECT_THAT(mapped->depends, ElementsAre("attrs"));
}

TEST(MapRequirements, WritesVersionsInTheirNormalForm) {
  const auto mapped = Map({"d==2.0-rc1", "v>=v1.0", "w==v2.*", "t===1.0-x", "nvidia-nccl-cu13==v2.30.7"});
  ASSERT_THAT(mapped, test::IsOk());
  EXPECT_THAT(mapped->depends, ElementsAre("d ==2.0rc1", "nccl 2.30.7.*", "t ==1.0-x", "v >=1.0", "w 2.*"));
}

TEST(MapRequirements, SpreadsTheCudaToolkitOverItsParts) {
  const auto mapped = Map({"cuda-toolkit[cublas,nvrtc]==13.2.2; platform_system == 'Linux'"});
  ASSERT_THAT(mapped, test::IsOk());
  EXPECT_THAT(mapped->depends, ElementsAre("cuda-nvrtc", "cuda-version 13.2.*", "libcublas"));
}

TEST(MapRequirements, ReportsAnUnknownExtraOfTheToolkit) {
  const auto mapped = Map({"cuda-toolkit[warp]==13.2.2"});
  ASSERT_THAT(mapped, test::IsOk());
  EXPECT_THAT(mapped->unknown, ElementsAre("cuda-toolkit[warp]"));
}

TEST(MapRequirements, WidensPinsOfPackagesWhoseCondaVersionIsLonger) {
  const auto mapped = Map({"nvidia-nccl-cu13==2.30.7", "nvidia-cudnn-cu13==9.26.0.51"});
  ASSERT_THAT(mapped, test::IsOk());
  EXPECT_THAT(mapped->depends, ElementsAre("cudnn ==9.26.0.51", "nccl 2.30.7.*"));
}

TEST(MapRequirements, RefusesADirectUrl) {
  EXPECT_THAT(Map({"private @ https://example.org/private.whl"}),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("URL")));
}

TEST(MapRequirements, RefusesAMalformedRequirement) {
  EXPECT_THAT(Map({"numpy >>"}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("numpy >>")));
}

TEST(CondaConstraint, TranslatesOperators) {
  EXPECT_EQ(CondaConstraint({{"==", "1.2.*"}}), "1.2.*");
  EXPECT_EQ(CondaConstraint({{"===", "1.2"}}), "==1.2");
  EXPECT_EQ(CondaConstraint({{">=", "1"}, {"<", "2"}}), "<2,>=1");
  EXPECT_EQ(CondaConstraint({}), "");
}

TEST(ParseCondaNames, RefusesWhatIsNotANameTable) {
  EXPECT_THAT(ParseCondaNames("- a\n", "t.yaml"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("mapping")));
  EXPECT_THAT(ParseCondaNames("Some_Name: x\n", "t.yaml"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("PEP 503")));
  EXPECT_THAT(ParseCondaNames("a: {pin: prefix}\n", "t.yaml"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("package")));
  EXPECT_THAT(ParseCondaNames("a: {pakage: b}\n", "t.yaml"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("pakage")));
}

}  // namespace
}  // namespace ptpkg::convert
