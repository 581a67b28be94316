#include "wheel/sbom.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/must.h"
#include "support/text/json.h"

namespace ptpkg::wheel {
namespace {

using test::FailsWith;
using test::Must;

using testing::HasSubstr;
using testing::MatchesRegex;

Sbom Sample() {
  Sbom sbom;
  sbom.subject = {.name = "toy",
                  .version = "1.0",
                  .purl = PackageUrl(
                      {.type = "pypi", .name_space = "", .name = "toy", .version = "1.0", .qualifiers = {}})};
  SbomComponent library{.name = "libz.so.1", .properties = {{"ptpkg:file", "toy.libs/libz-00000000.so.1"}}};
  library.AddHash(HashText("z"));
  SbomComponent source{.type = "file",
                       .name = "toy-1.0.tar.gz",
                       .license = "MIT",
                       .download = "https://example.org/toy-1.0.tar.gz"};
  source.patches = {"0001-a b.patch", "0002.patch"};
  sbom.components = {library, source, library};
  sbom.made_with = {{.type = "application", .name = "g++", .version = "12.2.0"}};
  sbom.tool = {{"ptpkg", "1"}};
  return sbom;
}

TEST(Sbom, SaysWhatIsInTheWheelAndWhatMadeIt) {
  const Json document = Must(ParseJson(Must(FormatSbom(Sample())), "sbom"));
  EXPECT_EQ(document["specVersion"], "1.6");
  EXPECT_EQ(document["metadata"]["component"]["purl"], "pkg:pypi/toy@1.0");
  EXPECT_THAT(document["serialNumber"].get<std::string>(),
              MatchesRegex("urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  ASSERT_EQ(document["components"].size(), 2U) << "the same component is there once";
  EXPECT_EQ(document["components"][0]["pedigree"]["patches"][0]["diff"]["url"], "0001-a%20b.patch");
  EXPECT_EQ(document["components"][1]["hashes"][0]["content"], HashText("z").Hex());
  EXPECT_EQ(document["dependencies"][0]["dependsOn"].size(), 2U);
  EXPECT_EQ(document["formulation"][0]["components"][0]["name"], "g++");
  EXPECT_FALSE(document["metadata"].contains("timestamp"));
}

TEST(Sbom, OrderOfComponentsDoesNotCountAndContentDoes) {
  Sbom other = Sample();
  std::reverse(other.components.begin(), other.components.end());
  EXPECT_EQ(Must(FormatSbom(Sample())), Must(FormatSbom(other)));
  other.subject.version = "1.1";
  const auto serial = [](const Sbom& sbom) {
    return Must(ParseJson(Must(FormatSbom(sbom)), "sbom"))["serialNumber"].get<std::string>();
  };
  EXPECT_NE(serial(Sample()), serial(other));
}

TEST(Sbom, ReferencesWithinTheDocumentAreUnique) {
  Sbom sbom = Sample();
  sbom.components = {{.name = "a", .description = "one"}, {.name = "a", .description = "two"}};
  const Json document = Must(ParseJson(Must(FormatSbom(sbom)), "sbom"));
  EXPECT_EQ(document["components"][0]["bom-ref"], "a");
  EXPECT_EQ(document["components"][1]["bom-ref"], "a-2");
}

TEST(Sbom, RefusesWhatCycloneDxDoesNotHave) {
  Sbom sbom = Sample();
  sbom.components = {{.name = ""}};
  EXPECT_THAT(FormatSbom(sbom), FailsWith(ErrorCode::kInvalidInput, HasSubstr("no name")));
  sbom.components = {{.type = "thing", .name = "a"}};
  EXPECT_THAT(FormatSbom(sbom), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'thing'")));
  sbom.components = {{.name = "a", .hashes = {{"SHA-256", "00"}}}};
  EXPECT_THAT(FormatSbom(sbom), FailsWith(ErrorCode::kInvalidInput, HasSubstr("SHA-256")));
  sbom.components = {{.name = "\xff"}};
  EXPECT_THAT(FormatSbom(sbom), FailsWith(ErrorCode::kInvalidInput, HasSubstr("UTF-8")));
}

TEST(Sbom, ComponentsAreReadAsTheyWereWritten) {
  Sbom sbom = Sample();
  sbom.components.push_back({.name = "magma",
                             .version = "2.9",
                             .description = "of an index",
                             .purl = "pkg:generic/magma@2.9",
                             .license = "BSD-3-Clause",
                             .download = "https://example.org/magma.tar.gz",
                             .repository = "https://example.org/magma.git",
                             .commit = std::string(40, 'a'),
                             .patches = {"fix 1.patch", "sub/100%.patch"}});
  std::vector<SbomComponent>& components = sbom.components;
  std::sort(components.begin(), components.end());
  components.erase(std::unique(components.begin(), components.end()), components.end());
  EXPECT_EQ(Must(ParseSbomComponents(Must(FormatSbom(sbom)), "sbom")), sbom.components);
}

TEST(Sbom, ComponentsOfWhatIsNoDocument) {
  EXPECT_THAT(ParseSbomComponents("{", "x.json"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("x.json")));
  for (const char* const text : {"[]", "{}", R"({"components": {}})"})
    EXPECT_THAT(ParseSbomComponents(text, "x.json"),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("'x.json' has no list of components")));
  EXPECT_THAT(ParseSbomComponents(R"({"components": [{"name": 1}, 2]})", "x.json"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("a component without a name")));
}

TEST(PackageUrl, EncodesItsParts) {
  EXPECT_EQ(PackageUrl({.type = "deb",
                        .name_space = "debian",
                        .name = "libstdc++6",
                        .version = "1:12.2.0-14",
                        .qualifiers = {{"arch", "amd64"}, {"distro", "debian 12"}}}),
            "pkg:deb/debian/libstdc%2B%2B6@1:12.2.0-14?arch=amd64&distro=debian%2012");
}

}  // namespace
}  // namespace ptpkg::wheel
