#include "verify/conda/conda_container_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptpkg::verify {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

auto WithId(const std::string& id) { return Field(&Finding::id, id); }

TEST(CheckCondaContainer, JudgesStreamsAndStorage) {
  conda::ContainerFacts facts;
  facts.metadata = "{\"conda_pkg_format_version\": 2}";
  archive::ZipReader::Member info;
  info.name = "info-x-1-0.tar.zst";
  info.stored = false;
  facts.zip_members = {info};
  conda::PartFacts part{.part = conda::Part::kInfo, .member = info.name, .stream = {}};
  part.stream.streams = 2;
  part.stream.window_bytes = (1ULL << 27U) + 1;
  part.stream.content_size_known = false;
  facts.parts = {part};
  std::vector<Finding> findings;
  CheckCondaContainer(facts, "x-1-0", findings);
  EXPECT_THAT(findings, ElementsAre(WithId("conda-zstd-frames"), WithId("conda-zstd-window"),
                                    WithId("conda-zstd-size"), WithId("conda-zip-stored")));
  EXPECT_EQ(findings[0].severity, Severity::kError);
  facts.parts[0].part = conda::Part::kPayload;
  findings.clear();
  CheckCondaContainer(facts, "x-1-0", findings);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  facts.parts[0].stream = {.streams = 1, .window_bytes = 1ULL << 27U};
  facts.zip_members[0].stored = true;
  findings.clear();
  CheckCondaContainer(facts, "x-1-0", findings);
  EXPECT_THAT(findings, IsEmpty());
}

TEST(CheckCondaContainer, AnEmptyMetadataFileIsThere) {
  conda::ContainerFacts facts;
  archive::ZipReader::Member member;
  member.name = "info-x-1-0.tar.zst";
  member.stored = true;
  facts.zip_members = {member};
  std::vector<Finding> findings;
  CheckCondaContainer(facts, "x-1-0", findings);
  EXPECT_THAT(findings, ElementsAre(Field(&Finding::message, HasSubstr("has no 'metadata.json'"))));
  member.name = "metadata.json";
  facts.zip_members.insert(facts.zip_members.begin(), member);
  findings.clear();
  CheckCondaContainer(facts, "x-1-0", findings);
  EXPECT_THAT(findings, ElementsAre(Field(&Finding::message, HasSubstr("'metadata.json' does not say"))));
}

}  // namespace
}  // namespace ptpkg::verify
