#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "archive/extract.h"
#include "archive/zip/zip_strict.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "unit/wheel/wheel_fixture.h"
#include "wheel/wheel.h"

namespace ptpkg::wheel {
namespace {

using test::FailsWith;
using test::HasHint;
using test::TestEnv;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class WriteWheelTest : public testing::Test {
 protected:
  TestEnv env_;
  ToyProject project_{env_, env_.dir()};

  std::string Member(const Artifact& wheel, const std::string& name) {
    Result<archive::ZipReader> zip = archive::ZipReader::Open(*MakeOsFs(), wheel.path);
    EXPECT_THAT(zip, test::IsOk());
    if (!zip) return "";
    const Result<std::string> text = zip->ReadText(name);
    EXPECT_THAT(text, test::IsOk());
    return text ? *text : "";
  }
};

TEST_F(WriteWheelTest, LaysTheWheelOutAsTheFormatSays) {
  ASSERT_OK_AND_ASSIGN(const Artifact wheel, project_.Write(env_));
  EXPECT_EQ(wheel.format, ArtifactFormat::kWheel);
  EXPECT_EQ(wheel.path.Name(), "toy_project-1.0+cpu-cp311-cp311-linux_x86_64.whl");
  ASSERT_OK_AND_ASSIGN(const archive::ZipReader zip, archive::ZipReader::Open(*MakeOsFs(), wheel.path));
  std::vector<std::string> names;
  for (const archive::ZipReader::Member& member : zip.members()) names.push_back(member.name);
  const std::string info = "toy_project-1.0+cpu.dist-info/";
  EXPECT_THAT(names, ElementsAre("toy/__init__.py", "toy/lib/libtoy.so", "toy/lib/libtoy.so.1",
                                 "toy/odd, \"name\".txt", "toy_project-1.0+cpu.data/scripts/run",
                                 info + "METADATA", info + "WHEEL", info + "entry_points.txt",
                                 info + "licenses/LICENSE", info + "top_level.txt", info + "RECORD"));
  EXPECT_EQ(zip.members()[2].mode & 0777U, 0755U);
  EXPECT_EQ(zip.members()[0].mode & 0777U, 0644U);
  EXPECT_EQ(zip.members()[1].size_bytes, 100'000U) << "a symlink becomes a copy";
  EXPECT_EQ(
      Member(wheel, info + "WHEEL"),
      "Wheel-Version: 1.0\nGenerator: ptpkg 0.1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n");
}

TEST_F(WriteWheelTest, KeepsToTheStrictestReadersRules) {
  ASSERT_OK_AND_ASSIGN(const Artifact wheel, project_.Write(env_));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<File> file, env_->fs.Open(wheel.path, OpenMode::kRead));
  EXPECT_THAT(archive::StrictZipProblems(*file), test::IsOkAndHolds(IsEmpty()));
}

TEST_F(WriteWheelTest, TheReceiptHoldsTheDigestsOfTheFile) {
  ASSERT_OK_AND_ASSIGN(const Artifact wheel, project_.Write(env_));
  ASSERT_OK_AND_ASSIGN(const Digests digests, HashFile(env_->fs, wheel.path, {.md5 = true}));
  EXPECT_EQ(wheel.digests, digests);
}

TEST_F(WriteWheelTest, EqualInputGivesEqualBytes) {
  ASSERT_OK_AND_ASSIGN(const Artifact first, project_.Write(env_));
  TestEnv other({.jobs = 7});
  const ToyProject same(other, other.dir());
  ASSERT_OK_AND_ASSIGN(const Artifact second, same.Write(other));
  EXPECT_EQ(first.digests, second.digests);
}

TEST_F(WriteWheelTest, ReadsBackAsItWasGiven) {
  ASSERT_OK_AND_ASSIGN(const Artifact wheel, project_.Write(env_));
  const AbsPath folder = env_.dir().MakeDir("again");
  ASSERT_OK_AND_ASSIGN(const UnpackedWheel unpacked, UnpackWheelTree(env_, wheel.path, folder));
  EXPECT_EQ(unpacked.info.metadata.Get("Name"), "Toy.Project");
  EXPECT_EQ(unpacked.info.metadata.Get("Version"), "1.0+CPU");
  EXPECT_EQ(unpacked.info.metadata.description, "# Toy\n");
  EXPECT_EQ(unpacked.info.entry_points, project_.entry_points);
  EXPECT_THAT(unpacked.info.tags, ElementsAre(project_.tag));
  EXPECT_EQ(unpacked.tree.Find("toy/lib/libtoy.so")->sha256,
            project_.tree.Find("toy/lib/libtoy.so.1")->sha256);
  EXPECT_EQ(env_.dir().ReadFile("again/toy/odd, \"name\".txt"), "odd\n");
}

TEST_F(WriteWheelTest, NamesEveryLicenseFile) {
  project_.dist_info["licenses/third_party/NOTICE"] = "n\n";
  ASSERT_OK_AND_ASSIGN(const Artifact wheel, project_.Write(env_));
  const std::string metadata = Member(wheel, "toy_project-1.0+cpu.dist-info/METADATA");
  EXPECT_THAT(metadata, HasSubstr("Metadata-Version: 2.4\n"));
  EXPECT_THAT(metadata, HasSubstr("License-File: LICENSE\nLicense-File: third_party/NOTICE\n"));
}

TEST_F(WriteWheelTest, MovesALicenseFileOfOldMetadataToItsPlace) {
  project_.metadata.Add("License-File", "COPYING");
  project_.dist_info["COPYING"] = "old place\n";
  ASSERT_OK_AND_ASSIGN(const Artifact wheel, project_.Write(env_));
  EXPECT_EQ(Member(wheel, "toy_project-1.0+cpu.dist-info/licenses/COPYING"), "old place\n");
}

TEST_F(WriteWheelTest, LeavesOldMetadataWithoutLicenseFolderAlone) {
  project_.metadata.Add("License-File", "COPYING");
  project_.dist_info = {{"COPYING", "c\n"}};
  ASSERT_OK_AND_ASSIGN(const Artifact wheel, project_.Write(env_));
  EXPECT_THAT(Member(wheel, "toy_project-1.0+cpu.dist-info/METADATA"), HasSubstr("Metadata-Version: 2.1\n"));
  EXPECT_EQ(Member(wheel, "toy_project-1.0+cpu.dist-info/COPYING"), "c\n");
}

TEST_F(WriteWheelTest, RefusesALicenseFileThatIsNotThere) {
  project_.metadata.Set("Metadata-Version", "2.4");
  project_.metadata.Add("License-File", "MISSING");
  EXPECT_THAT(project_.Write(env_),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'MISSING', which is missing")));
}

TEST_F(WriteWheelTest, LeavesOutWhatOnlyInstallersWrite) {
  for (const char* const name : {"INSTALLER", "REQUESTED", "direct_url.json", "RECORD.jws", "RECORD.p7s"}) {
    project_.dist_info[name] = "x";
  }
  ASSERT_OK_AND_ASSIGN(const Artifact wheel, project_.Write(env_));
  const std::string record = Member(wheel, "toy_project-1.0+cpu.dist-info/RECORD");
  EXPECT_THAT(record, Not(HasSubstr("INSTALLER")));
  EXPECT_THAT(record, Not(HasSubstr("direct_url")));
  EXPECT_THAT(record, Not(HasSubstr("RECORD.jws")));
  EXPECT_THAT(record, Not(HasSubstr("__pycache__")));
  EXPECT_THAT(record, HasSubstr("\"toy/odd, \"\"name\"\".txt\",sha256="));
  EXPECT_TRUE(record.ends_with("toy_project-1.0+cpu.dist-info/RECORD,,\n")) << record;
}

TEST_F(WriteWheelTest, WritesSortedExpandedTagsAndTheBuild) {
  project_.tag = {"py3.py2", "none", "any"};
  WheelInput input = project_.Input();
  input.build = "2";
  input.root_is_purelib = true;
  ASSERT_OK_AND_ASSIGN(const Artifact wheel, WriteWheel(env_, input, project_.out()));
  EXPECT_EQ(wheel.path.Name(), "toy_project-1.0+cpu-2-py2.py3-none-any.whl");
  EXPECT_THAT(Member(wheel, "toy_project-1.0+cpu.dist-info/WHEEL"),
              HasSubstr("Root-Is-Purelib: true\nTag: py2-none-any\nTag: py3-none-any\nBuild: 2\n"));
}

TEST_F(WriteWheelTest, RefusesToOverwriteUnlessTold) {
  ASSERT_OK_AND_ASSIGN(const Artifact wheel, project_.Write(env_));
  EXPECT_THAT(project_.Write(env_), FailsWith(ErrorCode::kAlreadyExists, HasSubstr("already exists")));
  project_.dist_info["top_level.txt"] = "other\n";
  ASSERT_OK_AND_ASSIGN(const Artifact again,
                       project_.Write(env_, {.on_existing = ExistingFilePolicy::kReplace}));
  EXPECT_NE(again.digests, wheel.digests);
}

TEST_F(WriteWheelTest, RefusesBadNamesTagsAndFields) {
  const ToyProject good = project_;
  project_.metadata.Set("Version", "one");
  EXPECT_THAT(project_.Write(env_), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'one' is not a version")));
  project_.metadata = good.metadata;
  project_.metadata.Set("Name", "../evil");
  EXPECT_THAT(project_.Write(env_), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a")));
  project_.metadata = good.metadata;
  project_.tag.platform = "linux-x86_64";
  EXPECT_THAT(project_.Write(env_),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not the file name of a wheel")));
  project_.tag = good.tag;
  project_.metadata.Add("", "x");
  EXPECT_THAT(project_.Write(env_),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("expected 'Field: value'")));
  project_.metadata = good.metadata;
  project_.entry_points = "toy = toy:main\n";
  EXPECT_THAT(project_.Write(env_),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("precedes the first [group]")));
  project_.entry_points = good.entry_points;
  project_.dist_info["METADATA"] = "x";
  EXPECT_THAT(project_.Write(env_), FailsWith(ErrorCode::kInternal, HasSubstr("'METADATA'")));
  project_.dist_info = {{"../x", "x"}};
  EXPECT_THAT(project_.Write(env_), FailsWith(ErrorCode::kInvalidInput, HasSubstr("..")));
  EXPECT_THAT(env_.dir().List(), Not(testing::Contains(testing::MatchesRegex("out/.+"))));
}

TEST_F(WriteWheelTest, RefusesPayloadInAFolderThatIsNotItsOwn) {
  env_.dir().WriteFile("stage/other-1.0.dist-info/METADATA", "x");
  ASSERT_OK_AND_ASSIGN(project_.tree, ScanTree(env_, env_.dir() / "stage"));
  EXPECT_THAT(project_.Write(env_),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'other-1.0.dist-info/METADATA'")));
  env_.dir().WriteFile("stage2/toy-1.0.data/scripts/x", "x");
  ASSERT_OK_AND_ASSIGN(project_.tree, ScanTree(env_, env_.dir() / "stage2"));
  EXPECT_THAT(project_.Write(env_),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'toy-1.0.data/scripts/x'")));
}

// A file that changes after it was staged must not reach a wheel whose RECORD was planned otherwise.
TEST_F(WriteWheelTest, NoticesAFileThatChangedSize) {
  ASSERT_OK(
      WriteFile(env_->fs, env_.dir() / "stage/toy/__init__.py", "longer than it was when it was staged\n"));
  EXPECT_THAT(project_.Write(env_),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("changed while being packed")));
  EXPECT_THAT(env_.dir().List(), Not(testing::Contains(testing::MatchesRegex("out/.+"))));
}

// Full disk and I/O errors at every operation: an error comes back, and nothing half-written stays.
TEST(WriteWheel, LeavesNothingBehindWhateverFails) {
  const auto setup = [](test::MemFs& fs) {
    fs.AddFile("/stage/a.py", "x = 1\n");
    fs.AddFile("/stage/b.bin", std::string(3000, 'b'), 0755);
    fs.AddDir("/out");
  };
  const auto run = [](Fs& fs) -> Result<void> {
    TestEnv env({.fs = &fs, .jobs = 1});
    StagedTree tree;
    tree.root = AbsPath::Literal("/stage");
    for (const auto& [path, text, mode] : {std::tuple("a.py", std::string("x = 1\n"), 0644U),
                                           std::tuple("b.bin", std::string(3000, 'b'), 0755U)}) {
      TreeEntry entry{.path = RelPath::Literal(path),
                      .mode = mode,
                      .size_bytes = text.size(),
                      .sha256 = HashText(text),
                      .link_target = ""};
      tree.entries.push_back(std::move(entry));
    }
    PTPKG_TRY(const CoreMetadata metadata,
              ParseCoreMetadata("Metadata-Version: 2.1\nName: a\nVersion: 1\n", "M"));
    const WheelInput input{.metadata = metadata, .tag = {"py3", "none", "any"}, .tree = tree};
    PTPKG_CHECK(WriteWheel(env, input, AbsPath::Literal("/out")));
    return Ok();
  };
  test::FaultLoop loop;
  loop.sys_errno = 28;  // ENOSPC
  loop.setup = setup;
  loop.run = run;
  loop.check = [](test::MemFs& fs, const Error&) {
    for (const std::string& name : fs.List("/out")) EXPECT_THAT(name, Not(HasSubstr("ptpkg-tmp")));
  };
  EXPECT_GT(test::RunFaultLoop(loop), 5);
}

}  // namespace
}  // namespace ptpkg::wheel
