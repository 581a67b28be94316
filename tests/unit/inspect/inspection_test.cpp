// The document of one artifact: graph, wanted GPU code, what --quick leaves out.

#include "inspect/inspection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"
#include "support/text/json.h"
#include "unit/archive/fixtures/builders.h"
#include "unit/elf/fixtures/device_container_bytes.h"
#include "unit/elf/fixtures/synthetic_elf.h"
#include "unit/wheel/wheel_fixture.h"

namespace ptpkg::inspect {
namespace {

using elf::test::SyntheticElf;
using ptpkg::test::FailsWith;

constexpr std::string_view kName = "toy-1.0-py3-none-any.whl";

std::string LibraryBytes(std::vector<std::string> needed, std::optional<std::string> runpath,
                         std::optional<std::string> rpath = {}) {
  SyntheticElf elf;
  elf.needed = std::move(needed);
  elf.runpath = std::move(runpath);
  elf.rpath = std::move(rpath);
  elf.soname.reset();
  elf.version = "";
  return elf.Build();
}

class InspectionTest : public testing::Test {
 protected:
  AbsPath Wheel(const std::vector<std::pair<std::string, std::string>>& files) {
    auto members = wheel::MinimalMembers();
    const auto record = members.back();
    members.pop_back();
    members.insert(members.end(), files.begin(), files.end());
    members.emplace_back(record.first, wheel::RecordOf(members, record.first));
    return wheel::WriteRawZip(env_, env_.dir() / kName, members);
  }
  Json Inspect(const AbsPath& artifact, const InspectOptions& options = {}) {
    auto inspection = InspectArtifact(env_, artifact, options);
    EXPECT_OK(inspection);
    return inspection ? *inspection->document : Json();
  }

  test::TestEnv env_;
};

TEST_F(InspectionTest, TheGraphNamesTheRuleOfEachLibrary) {
  const AbsPath artifact =
      Wheel({{"toy/_C.so", LibraryBytes({"liba.so", "libb.so", "libc.so.6"}, "$ORIGIN/lib")},
             {"toy/lib/liba.so", LibraryBytes({"libb.so"}, {}, "$ORIGIN")},
             {"toy/lib/libb.so", LibraryBytes({"libnowhere.so"}, {})}});
  const Json document = Inspect(artifact);
  ASSERT_EQ(document["elf"].size(), 3U);
  const Json& module = document["elf"][0];
  EXPECT_EQ(module["file"], "toy/_C.so");
  EXPECT_EQ(module["machine"], "x86_64");
  EXPECT_EQ(module["search_path"]["tag"], "RUNPATH");
  EXPECT_EQ(module["search_path"]["entries"][0], (Json{{"text", "$ORIGIN/lib"}, {"kind", "in tree"}}));
  EXPECT_EQ(module["needed"][0]["state"], "found");
  EXPECT_EQ(module["needed"][0]["files"][0],
            (Json{{"path", "toy/lib/liba.so"}, {"rule", "RUNPATH $ORIGIN/lib"}}));
  EXPECT_EQ(module["needed"][2]["state"], "system");
  const Json& second = document["elf"][1];
  EXPECT_EQ(second["needed"][0]["files"][0], (Json{{"path", "toy/lib/libb.so"}, {"rule", "already loaded"}}));
  const Json& missing = document["elf"][2]["needed"][0];
  EXPECT_EQ(missing["state"], "missing");
  EXPECT_THAT(missing["problem"].get<std::string>(), testing::HasSubstr("libnowhere.so"));
}

TEST_F(InspectionTest, ADamagedSectionHeaderHidesNothingElse) {
  SyntheticElf elf;
  elf.needed = {"libc.so.6"};
  elf.runpath = "$ORIGIN";
  elf.version = "";
  std::string bytes = elf.Build();
  elf::test::PokeWord(bytes, elf.codec(), elf.places.section_headers + elf.codec().SectionSize() + 32,
                      1ULL << 40U);
  const Json document = Inspect(Wheel({{"toy/_C.so", bytes}}));
  ASSERT_EQ(document["elf"].size(), 1U);
  const Json& file = document["elf"][0];
  EXPECT_EQ(file["search_path"]["entries"][0]["text"], "$ORIGIN");
  EXPECT_EQ(file["needed"][0]["name"], "libc.so.6");
  EXPECT_EQ(file["sections"], Json::array());
  ASSERT_EQ(file["damage"].size(), 1U);
  EXPECT_THAT(file["damage"][0].get<std::string>(), testing::HasSubstr("1099511627776 bytes"));
}

TEST_F(InspectionTest, RpathOfTheLoadingFileIsNamed) {
  const AbsPath artifact = Wheel({{"toy/_C.so", LibraryBytes({"liba.so"}, {}, "$ORIGIN/lib")},
                                  {"toy/lib/liba.so", LibraryBytes({"libb.so"}, {})},
                                  {"toy/lib/libb.so", LibraryBytes({}, {})}});
  const Json document = Inspect(artifact);
  EXPECT_EQ(document["elf"][1]["needed"][0]["files"][0]["rule"], "RPATH $ORIGIN/lib of toy/_C.so");
}

TEST_F(InspectionTest, QuickReadsNoPayload) {
  const AbsPath artifact = Wheel({{"toy/data.txt", "12345"}});
  auto bytes = ReadFile(env_->fs, artifact);
  ASSERT_OK(bytes);
  ASSERT_NE(bytes->find("12345"), std::string::npos);
  bytes->replace(bytes->find("12345"), 5, "12x45");
  ASSERT_OK(WriteFile(env_->fs, artifact, *bytes));
  const auto quick = InspectArtifact(env_, artifact, {.quick = true});
  ASSERT_OK(quick);
  EXPECT_THAT(quick->report.findings, testing::IsEmpty());
  EXPECT_EQ((*quick->document)["metadata"]["name"], "toy");
  const auto full = InspectArtifact(env_, artifact, {});
  ASSERT_OK(full);
  EXPECT_THAT(full->report.findings, testing::Contains(testing::AllOf(
                                         testing::Field(&Finding::id, "artifact-unreadable"),
                                         testing::Field(&Finding::message, testing::HasSubstr("data.txt")))));
}

TEST_F(InspectionTest, QuickSaysTheSameAsFarAsItGoes) {
  const AbsPath artifact = Wheel({{"toy/_C.so", LibraryBytes({"liba.so"}, {})}});
  const Json document = Inspect(artifact, {.quick = true});
  EXPECT_EQ(document["quick"], true);
  for (const char* key : {"elf", "device_code", "floor"}) EXPECT_TRUE(document[key].is_null()) << key;
  const Json full = Inspect(artifact);
  EXPECT_EQ(document["unpacked_bytes"], full["unpacked_bytes"]);
  EXPECT_EQ(document["files"].size(), full["files"].size());
  EXPECT_EQ(document["metadata"], full["metadata"]);
}

TEST_F(InspectionTest, GpuCodeIsComparedWithWhatIsWanted) {
  const std::string library = elf::test::DeviceLibrary(
      elf::test::Container({{.number = 80}, {.number = 90, .flags = elf::test::kFlagA}}));
  const AbsPath artifact = Wheel({{"toy/libgpu.so", library}});
  InspectOptions options;
  options.check.device_code = {"8.0;10.0+PTX"};
  const Json document = Inspect(artifact, options);
  ASSERT_EQ(document["device_code"].size(), 1U);
  EXPECT_EQ(document["device_code"][0]["wanted"]["missing"], (Json{"sm_100", "compute_100"}));
  EXPECT_EQ(document["device_code"][0]["wanted"]["extra"], (Json{"sm_90a"}));
  EXPECT_TRUE(Inspect(artifact)["device_code"][0]["wanted"].is_null());
}

TEST_F(InspectionTest, PathsOfAZipWithOneFolderAreThoseOfTheArchive) {
  const std::string module = LibraryBytes({"liba.so"}, {}, "$ORIGIN/lib");
  const std::vector<archive::test::ZipMemberText> members = {
      {.name = "toy/_C.so", .content = module},
      {.name = "toy/data.txt", .content = "12345"},
      {.name = "toy/lib/liba.so", .content = LibraryBytes({"libb.so"}, {})},
      {.name = "toy/lib/libb.so", .content = LibraryBytes({}, {})},
      {.name = "toy/link", .content = "data.txt", .unix_mode = 0120777}};
  const AbsPath artifact = env_.dir() / "toy.zip";
  ASSERT_OK(WriteFile(env_->fs, artifact, archive::test::ToText(archive::test::ZipText{.members = members})));
  const Json quick = Inspect(artifact, {.quick = true});
  const Json full = Inspect(artifact);
  ASSERT_EQ(quick["files"].size(), members.size());
  ASSERT_EQ(full["files"].size(), members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    EXPECT_EQ(quick["files"][i]["path"], members[i].name);
    for (const char* key : {"path", "size_bytes", "stored_bytes", "kind"}) {
      EXPECT_EQ(quick["files"][i][key], full["files"][i][key]) << key;
    }
  }
  EXPECT_EQ(full["files"][4]["size_bytes"], 0);
  EXPECT_EQ(quick["unpacked_bytes"], full["unpacked_bytes"]);
  EXPECT_EQ(full["elf"][0]["file"], "toy/_C.so");
  EXPECT_EQ(full["elf"][1]["needed"][0]["files"][0],
            (Json{{"path", "toy/lib/libb.so"}, {"rule", "RPATH $ORIGIN/lib of toy/_C.so"}}));
}

TEST_F(InspectionTest, FilesAreOfTheKindThatTheirContentIs) {
  const AbsPath artifact =
      Wheel({{"toy/program", LibraryBytes({}, {})}, {"toy/libscript.so", "INPUT(-lx)\n"}});
  const Json document = Inspect(artifact);
  for (const Json& file : document["files"]) {
    if (file["path"] == "toy/program") {
      EXPECT_EQ(file["kind"], "elf");
    } else if (file["path"] == "toy/libscript.so") {
      EXPECT_EQ(file["kind"], "data");
    }
  }
}

TEST_F(InspectionTest, AnArtifactThatIsNotThereIsAnError) {
  EXPECT_THAT(InspectArtifact(env_, env_.dir() / "none.whl", {}),
              FailsWith(ErrorCode::kNotFound, testing::HasSubstr("none.whl")));
}

}  // namespace
}  // namespace ptpkg::inspect
