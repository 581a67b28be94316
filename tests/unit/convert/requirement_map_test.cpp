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
  return MapRequirements(Requiring(requirements), kLinux311, names);
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
  EXPECT_THAT(mapped->not_applicable,
              ElementsAre("colorama; sys_platform == 'win32'", "pytest; extra == 'test'"));
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
