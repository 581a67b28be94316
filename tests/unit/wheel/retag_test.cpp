#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "archive/extract.h"
#include "support/matchers.h"
#include "unit/archive/fixtures/builders.h"
#include "unit/wheel/wheel_fixture.h"
#include "wheel/retag_wheel.h"

namespace ptpkg::wheel {
namespace {

using test::FailsWith;
using test::HasHint;
using test::TestEnv;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Members = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kToyName = "toy-1.0-py3-none-any.whl";

class RetagTest : public testing::Test {
 protected:
  /// A wheel with these members, and a RECORD that fits unless they have one.
  AbsPath Wheel(Members members, const std::string& name = kToyName, const std::string& stem = "toy-1.0") {
    const std::string record = stem + ".dist-info/RECORD";
    bool has_record = false;
    for (const auto& [path, text] : members) has_record = has_record || path == record;
    if (!has_record) members.emplace_back(record, RecordOf(members, record));
    return WriteRawZip(env_, env_.dir() / std::to_string(++count_) / name, members);
  }
  static Members Toy(const std::string& wheel_more = "", const std::string& metadata_more = "") {
    Members members = MinimalMembers();
    members.pop_back();
    members[1].second += metadata_more;
    members[2].second += wheel_more;
    return members;
  }

  /// The retagged wheel, of which every row of RECORD is right.
  Result<AbsPath> Retag(const AbsPath& wheel, const RetagRequest& request) {
    PTPKG_TRY(const Retagging plan, PlanRetag(env_, wheel, request));
    const AbsPath to = env_.dir().MakeDir("to" + std::to_string(++count_)) / plan.name.str();
    PTPKG_CHECK(archive::WriteEditedZip(env_, wheel, to, ExistingFilePolicy::kRefuse, plan.edits));
    const auto unpacked = UnpackWheelTree(env_, to, env_.dir().MakeDir("tree" + std::to_string(++count_)));
    EXPECT_THAT(unpacked, test::IsOk());
    return to;
  }
  Result<std::string> TextOf(const AbsPath& wheel, const std::string& member) {
    PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env_->fs, wheel));
    return zip.ReadText(member);
  }
  std::vector<std::string> NamesIn(const AbsPath& wheel) {
    std::vector<std::string> names;
    const auto zip = archive::ZipReader::Open(env_->fs, wheel);
    EXPECT_THAT(zip, test::IsOk());
    for (const auto& member : zip->members()) names.push_back(member.name);
    return names;
  }

  TestEnv env_;
  int count_ = 0;
};

TEST_F(RetagTest, TagsChangeInNameAndWheelFile) {
  const AbsPath wheel = Wheel(Toy("X-Of-Others: kept\n"));
  ASSERT_OK_AND_ASSIGN(const AbsPath to,
                       Retag(wheel, {.python = "cp312.cp311", .abi = "abi3", .platform = "linux_x86_64"}));
  EXPECT_EQ(to.Name(), "toy-1.0-cp311.cp312-abi3-linux_x86_64.whl");
  ASSERT_OK_AND_ASSIGN(const std::string text, TextOf(to, "toy-1.0.dist-info/WHEEL"));
  EXPECT_EQ(text,
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: cp311-abi3-linux_x86_64\n"
            "Tag: cp312-abi3-linux_x86_64\nX-Of-Others: kept\n");
  EXPECT_THAT(NamesIn(to), ElementsAre("toy.py", "toy-1.0.dist-info/METADATA", "toy-1.0.dist-info/WHEEL",
                                       "toy-1.0.dist-info/RECORD"));
}

TEST_F(RetagTest, APureWheelBecomesOneOfAMachine) {
  const AbsPath wheel = Wheel(Toy());
  ASSERT_OK_AND_ASSIGN(const AbsPath to, Retag(wheel, {.root_is_purelib = false}));
  EXPECT_EQ(to.Name(), kToyName);
  ASSERT_OK_AND_ASSIGN(const std::string text, TextOf(to, "toy-1.0.dist-info/WHEEL"));
  EXPECT_EQ(text, "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: py3-none-any\n");
}

TEST_F(RetagTest, ABuildComesAndGoes) {
  const AbsPath wheel = Wheel(Toy());
  ASSERT_OK_AND_ASSIGN(const AbsPath built, Retag(wheel, {.build = "2cu"}));
  EXPECT_EQ(built.Name(), "toy-1.0-2cu-py3-none-any.whl");
  ASSERT_OK_AND_ASSIGN(const std::string text, TextOf(built, "toy-1.0.dist-info/WHEEL"));
  EXPECT_THAT(text, HasSubstr("Tag: py3-none-any\nBuild: 2cu\n"));
  ASSERT_OK_AND_ASSIGN(const AbsPath again, Retag(built, {.build = ""}));
  EXPECT_EQ(again.Name(), kToyName);
  ASSERT_OK_AND_ASSIGN(const std::string plain, TextOf(again, "toy-1.0.dist-info/WHEEL"));
  EXPECT_THAT(plain, Not(HasSubstr("Build")));
}

TEST_F(RetagTest, TheLocalVersionRenamesFoldersAndNothingElse) {
  Members members = Toy("", "Requires-Dist: numpy\n\nThe text says 1.0 too.\n");
  members.emplace_back("toy-1.0.data/scripts/run", "#!python\n");
  members.emplace_back("other-1.0.txt", "1.0");
  ASSERT_OK_AND_ASSIGN(const AbsPath to, Retag(Wheel(members), {.local = "CU130"}));
  EXPECT_EQ(to.Name(), "toy-1.0+cu130-py3-none-any.whl");
  EXPECT_THAT(NamesIn(to), ElementsAre("toy.py", "toy-1.0+cu130.dist-info/WHEEL",
                                       "toy-1.0+cu130.data/scripts/run", "other-1.0.txt",
                                       "toy-1.0+cu130.dist-info/METADATA", "toy-1.0+cu130.dist-info/RECORD"));
  ASSERT_OK_AND_ASSIGN(const std::string text, TextOf(to, "toy-1.0+cu130.dist-info/METADATA"));
  EXPECT_EQ(text,
            "Metadata-Version: 2.1\nName: toy\nVersion: 1.0+cu130\nRequires-Dist: numpy\n\nThe text says 1.0 "
            "too.\n");
  ASSERT_OK_AND_ASSIGN(const AbsPath back, Retag(to, {.local = ""}));
  EXPECT_EQ(back.Name(), kToyName);
  ASSERT_OK_AND_ASSIGN(const WheelInfo info, ReadWheelInfo(env_, back));
  EXPECT_EQ(info.metadata.Get("Version"), "1.0");
}

TEST_F(RetagTest, RequirementsOnTheSameProjectAreReplaced) {
  const AbsPath wheel =
      Wheel(Toy("",
                "Requires-Dist: a>=1\nRequires-Dist: Some_Thing==1; sys_platform == 'linux'\n"
                "Requires-Dist: some.thing==0; sys_platform != 'linux'\n"
                "Requires-Dist: some-thing[x]; extra == 'x'\n"));
  ASSERT_OK_AND_ASSIGN(
      const AbsPath to,
      Retag(wheel, {.requirements = {"some-thing==2", "new>=1", "some_thing<9; python_version > '3'"}}));
  ASSERT_OK_AND_ASSIGN(const WheelInfo info, ReadWheelInfo(env_, to));
  EXPECT_THAT(info.metadata.GetAll("Requires-Dist"),
              ElementsAre("a>=1", "some-thing==2", "some_thing<9 ; python_version > '3'",
                          "some-thing[x]; extra == 'x'", "new>=1"));
  EXPECT_EQ(to.Name(), kToyName);
}

// Installers derive the directories from the file name, which is written in normal form.
TEST_F(RetagTest, FoldersGetTheNamesOfTheFileNameInNormalForm) {
  Members members = {
      {"toy_box.py", ""},
      {"Toy_Box-1.0.data/scripts/run", "#!python\n"},
      {"TOY.Box-1.data/data/x", "1"},
      {"other-1.0.data/data/x", "2"},
      {"Toy_Box-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: Toy.Box\nVersion: 1.0\n"},
      {"Toy_Box-1.0.dist-info/WHEEL", Toy()[2].second}};
  const AbsPath wheel = Wheel(members, "Toy_Box-1.0-py3-none-any.whl", "Toy_Box-1.0");
  ASSERT_OK_AND_ASSIGN(const AbsPath to, Retag(wheel, {.requirements = {"numpy"}}));
  EXPECT_EQ(to.Name(), "toy_box-1.0-py3-none-any.whl");
  EXPECT_THAT(NamesIn(to), ElementsAre("toy_box.py", "toy_box-1.0.data/scripts/run", "TOY.Box-1.data/data/x",
                                       "other-1.0.data/data/x", "toy_box-1.0.dist-info/WHEEL",
                                       "toy_box-1.0.dist-info/METADATA", "toy_box-1.0.dist-info/RECORD"));
}

TEST_F(RetagTest, ARequirementOfAnExtraTakesTheRoomOfItsKindAlone) {
  const AbsPath wheel = Wheel(Toy("",
                                  "Requires-Dist: torch>=2\nProvides-Extra: Big.One\n"
                                  "Requires-Dist: torch>=3; extra == 'Big_One'\n"));
  const auto after = [&](std::vector<std::string> requirements) {
    const auto to = Retag(wheel, {.requirements = std::move(requirements)});
    EXPECT_THAT(to, test::IsOk());
    const auto info = ReadWheelInfo(env_, *to);
    EXPECT_THAT(info, test::IsOk());
    std::vector<std::string> fields = info->metadata.GetAll("Requires-Dist");
    for (const std::string& extra : info->metadata.GetAll("Provides-Extra")) fields.push_back(extra);
    return fields;
  };
  EXPECT_THAT(after({"torch>=4; extra == \"GPU\""}),
              ElementsAre("torch>=2", "torch>=3; extra == 'Big_One'", "torch>=4 ; extra == \"GPU\"",
                          "Big.One", "gpu"));
  EXPECT_THAT(
      after({"torch>=4; extra == 'big-one' and sys_platform == 'linux'", "torch==5"}),
      ElementsAre("torch==5", "torch>=4 ; extra == 'big-one' and sys_platform == 'linux'", "Big.One"));
  EXPECT_THAT(Retag(wheel, {.requirements = {"a; extra == 'no name'"}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'no name' is not the name of an extra")));
}

TEST_F(RetagTest, MetadataOfAnotherDistributionIsNotMadeThisOnes) {
  Members version = Toy();
  version[1].second = "Metadata-Version: 2.1\nName: toy\nVersion: 2.0+x\n";
  Members name = Toy();
  name[1].second = "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n";
  for (const Members& members : {version, name}) {
    const AbsPath wheel = Wheel(members);
    EXPECT_THAT(Retag(wheel, {.local = "cpu"}),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("METADATA says")));
    EXPECT_THAT(Retag(wheel, {.requirements = {"numpy"}}),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("the file name 'toy 1.0'")));
  }
}

TEST_F(RetagTest, TagsAreWrittenInLowerCase) {
  ASSERT_OK_AND_ASSIGN(const AbsPath to,
                       Retag(Wheel(Toy()), {.python = "CP311", .abi = "ABI3", .platform = "Linux_x86_64"}));
  EXPECT_EQ(to.Name(), "toy-1.0-cp311-abi3-linux_x86_64.whl");
}

TEST_F(RetagTest, AVersionIsNoTag) {
  const auto version = Retag(Wheel(Toy()), {.python = "3.11"});
  EXPECT_THAT(version, FailsWith(ErrorCode::kInvalidInput, HasSubstr("'3.11' is not a valid python tag")));
  EXPECT_THAT(version, HasHint(HasSubstr("cp311")));
  EXPECT_THAT(Retag(Wheel(Toy()), {.abi = "3"}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'3' is not a valid ABI tag")));
  EXPECT_THAT(Retag(Wheel(Toy()), {.platform = "any."}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'any.' is not a valid platform tag")));
}

TEST_F(RetagTest, WhatTheRequestDoesNotNameKeepsItsBytes) {
  // A space that another writer would leave out, and a tag set that is not expanded.
  Members members = Toy("Tag: py2.py3-none-any\n", "Summary:  two spaces\n");
  const AbsPath wheel = Wheel(members);
  ASSERT_OK_AND_ASSIGN(const AbsPath local, Retag(wheel, {.local = "x"}));
  EXPECT_THAT(TextOf(local, "toy-1.0+x.dist-info/WHEEL"), test::IsOkAndHolds(members[2].second));
  ASSERT_OK_AND_ASSIGN(const AbsPath build, Retag(wheel, {.build = "1"}));
  EXPECT_THAT(TextOf(build, "toy-1.0.dist-info/METADATA"), test::IsOkAndHolds(members[1].second));
}

// One METADATA of each version with the fields that came with it, in forms that nobody writes twice the same
// way.
TEST_F(RetagTest, FieldsOfEachMetadataVersionKeepTheirBytes) {
  const std::string body =
      "\r\nB\xC3\xB6"
      "dy: \xE2\x9C\x93\r\n\nVersion: 1.0 is no field here";
  const std::map<std::string, std::string> fields = {
      {"2.1",
       "Description-Content-Type:text/markdown; charset=UTF-8\r\nProvides-Extra: Some_Extra\n"
       "Requires-Dist: b; extra == 'Some_Extra'\r\n"},
      {"2.2", "Dynamic: Requires-Dist\nDynamic:  license\r\n"},
      {"2.3", "Provides-Extra: some-extra\r\nRequires-Dist: b; extra == \"some-extra\"\n"},
      {"2.4",
       "License-Expression:MIT OR Apache-2.0\r\nLicense-File: LICENSE\nLicense-File: third_party/x "
       "y.txt\r\n"},
      {"2.5", "Import-Name: toy\r\nImport-Name: _toy ; private\nImport-Namespace:\ttoys\r\n"},
      {"2.6", "Of-Tomorrow: unknown\r\n  and folded\r\n"}};
  for (const auto& [version, more] : fields) {
    SCOPED_TRACE(version);
    const std::string head = "Metadata-Version: " + version + "\r\nname: toy\r\n";
    const std::string rest = "Summary:  two\r\n\tlines\nX-Unknown: \xC3\xBC\r\n" + more;
    Members members = Toy();
    members[1].second = head + "Version:1.0\r\n" + rest + body;
    if (version == "2.4") {
      members.emplace_back("toy-1.0.dist-info/licenses/LICENSE", "text");
      members.emplace_back("toy-1.0.dist-info/licenses/third_party/x y.txt", "text");
    }
    const AbsPath wheel = Wheel(members);
    ASSERT_OK_AND_ASSIGN(const AbsPath local, Retag(wheel, {.local = "cpu"}));
    ASSERT_OK_AND_ASSIGN(std::string text, TextOf(local, "toy-1.0+cpu.dist-info/METADATA"));
    EXPECT_EQ(text, head + "Version: 1.0+cpu\r\n" + rest + body);
    ASSERT_OK_AND_ASSIGN(const AbsPath more_needed, Retag(wheel, {.requirements = {"numpy>=2"}}));
    ASSERT_OK_AND_ASSIGN(text, TextOf(more_needed, "toy-1.0.dist-info/METADATA"));
    EXPECT_EQ(text, head + "Version:1.0\r\n" + rest + "Requires-Dist: numpy>=2\r\n" + body);
  }
}

TEST_F(RetagTest, ATagLeavesTheOtherBytesOfWheel) {
  Members members = Toy();
  members[2].second =
      "Wheel-Version:1.0\r\ngenerator:  other (1)\r\nRoot-Is-Purelib: TRUE\r\nTag: py3-none-any\r\nX-Own: "
      "1\n\r\n";
  ASSERT_OK_AND_ASSIGN(const AbsPath to, Retag(Wheel(members), {.python = "py2.py3", .build = "1"}));
  ASSERT_OK_AND_ASSIGN(const std::string text, TextOf(to, "toy-1.0.dist-info/WHEEL"));
  EXPECT_EQ(text,
            "Wheel-Version:1.0\r\ngenerator:  other (1)\r\nRoot-Is-Purelib: TRUE\r\nTag: py2-none-any\r\n"
            "Tag: py3-none-any\r\nX-Own: 1\nBuild: 1\r\n\r\n");
}

TEST_F(RetagTest, SignaturesOfTheOldRecordGo) {
  Members members = Toy();
  members.emplace_back("toy-1.0.dist-info/RECORD", RecordOf(members, "toy-1.0.dist-info/RECORD"));
  members.emplace_back("toy-1.0.dist-info/RECORD.jws", "{}");
  ASSERT_OK_AND_ASSIGN(const AbsPath to, Retag(Wheel(members), {.build = "1"}));
  EXPECT_THAT(NamesIn(to), Not(testing::Contains("toy-1.0.dist-info/RECORD.jws")));
}

TEST_F(RetagTest, ARecordThatDoesNotFitIsNotTakenOver) {
  const std::string record = "toy-1.0.dist-info/RECORD";
  Members unlisted = Toy();
  unlisted.emplace_back(record, RecordOf(unlisted, record));
  unlisted.emplace_back("more.py", "");
  Members missing = Toy();
  missing.emplace_back("gone.py", "");
  const std::string text = RecordOf(missing, record);
  missing.pop_back();
  missing.emplace_back(record, text);
  Members other = Toy();
  other.emplace_back(record, RecordOf(other, record));
  other[0].second += "y = 2\n";
  Members undigested = Toy();
  undigested.emplace_back(
      record, "toy.py,,\ntoy-1.0.dist-info/METADATA,,\ntoy-1.0.dist-info/WHEEL,,\n" + record + ",,\n");
  const std::vector<std::pair<Members, const char*>> cases = {
      {unlisted, "'more.py' is not listed in RECORD"},
      {missing, "'gone.py' is listed in RECORD but not in the wheel"},
      {other, "'toy.py' has 12 bytes, RECORD says 6"},
      {undigested, "'toy.py' has no digest in RECORD"},
  };
  for (const auto& [members, why] : cases) {
    const auto plan = PlanRetag(env_, Wheel(members), {.build = "1"});
    EXPECT_THAT(plan, FailsWith(ErrorCode::kCorrupt, HasSubstr(why)));
    EXPECT_THAT(plan, HasHint(HasSubstr("ptpkg check")));
  }
}

class NewContentTest : public RetagTest {
 protected:
  /// A file of the wheel with `text` as its new content.
  NewFile File(const std::string& path, const std::string& text) {
    const AbsPath file = env_.dir().WriteFile("new" + std::to_string(++count_), text);
    return {
        .path = RelPath::Literal(path), .file = file, .sha256 = HashText(text), .size_bytes = text.size()};
  }
  /// The edited wheel, of which every row of RECORD is right.
  Result<AbsPath> Edit(const AbsPath& wheel, const RetagRequest& request, const NewContent& content) {
    PTPKG_TRY(const Retagging plan, PlanRetag(env_, wheel, request, content));
    const AbsPath to = env_.dir().MakeDir("to" + std::to_string(++count_)) / plan.name.str();
    PTPKG_CHECK(archive::WriteEditedZip(env_, wheel, to, ExistingFilePolicy::kRefuse, plan.edits));
    EXPECT_THAT(UnpackWheelTree(env_, to, env_.dir().MakeDir("tree" + std::to_string(++count_))),
                test::IsOk());
    return to;
  }
};

TEST_F(NewContentTest, FilesAreReplacedAndAddedAndDistInfoComesLast) {
  Members members = Toy();
  members.emplace_back("toy.libs/old.so", "old");
  const AbsPath wheel = Wheel(members);
  ASSERT_OK_AND_ASSIGN(
      const AbsPath to,
      Edit(wheel, {}, {.files = {File("toy.libs/new.so", "new"), File("toy.py", "changed")}}));
  EXPECT_EQ(to.Name(), kToyName);
  EXPECT_THAT(NamesIn(to),
              ElementsAre("toy.libs/old.so", "toy.libs/new.so", "toy.py", "toy-1.0.dist-info/METADATA",
                          "toy-1.0.dist-info/WHEEL", "toy-1.0.dist-info/RECORD"));
  EXPECT_THAT(TextOf(to, "toy.py"), test::IsOkAndHolds("changed"));
  EXPECT_THAT(TextOf(to, "toy.libs/new.so"), test::IsOkAndHolds("new"));
}

TEST_F(NewContentTest, FilesOfDistInfoKeepTheirModes) {
  archive::test::ZipText zip;
  const std::string record = "toy-1.0.dist-info/RECORD";
  for (const auto& [name, text] : Toy())
    zip.members.push_back({.name = name, .content = text, .unix_mode = 0600});
  zip.members.push_back({.name = record, .content = RecordOf(Toy(), record), .unix_mode = 0});
  const AbsPath wheel = env_.dir().WriteFile(kToyName, archive::test::ToText(zip));
  ASSERT_OK_AND_ASSIGN(const AbsPath to, Edit(wheel, {.build = "1", .local = "cu130"}, {}));
  ASSERT_OK_AND_ASSIGN(const archive::ZipReader made, archive::ZipReader::Open(env_->fs, to));
  for (const archive::ZipReader::Member& member : made.members())
    EXPECT_EQ(member.mode & 0777U, member.name.ends_with("/RECORD") ? 0644U : 0600U) << member.name;
}

TEST_F(NewContentTest, ModesAreThoseOfTheFiles) {
  NewFile program = File("toy/prog", "x");
  program.mode = 0755;
  ASSERT_OK_AND_ASSIGN(const AbsPath to,
                       Edit(Wheel(Toy()), {}, {.files = {program, File("toy/lib.so", "y")}}));
  ASSERT_OK_AND_ASSIGN(const archive::ZipReader zip, archive::ZipReader::Open(env_->fs, to));
  EXPECT_EQ(zip.Find("toy/prog")->mode & 0777U, 0755U);
  EXPECT_EQ(zip.Find("toy/lib.so")->mode & 0777U, 0644U);
}

TEST_F(NewContentTest, AFewBytesAreSpliced) {
  Members members = Toy();
  const std::string old(100'000, 'a');
  members.emplace_back("toy/big.so", old);
  NewFile file = File("toy/big.so", "b" + old.substr(1) + "end");
  file.splice = archive::ContentEdits{.replaced = {{.offset = 0, .bytes = "b"}}, .appended = "end"};
  const AbsPath wheel = Wheel(members);
  ASSERT_OK_AND_ASSIGN(const Retagging plan, PlanRetag(env_, wheel, {}, {.files = {file}}));
  EXPECT_TRUE(plan.edits.spliced.contains("toy/big.so"));
  EXPECT_FALSE(plan.edits.dropped.contains("toy/big.so"));
  ASSERT_OK_AND_ASSIGN(const AbsPath to, Edit(wheel, {}, {.files = {file}}));
  EXPECT_THAT(TextOf(to, "toy/big.so"), test::IsOkAndHolds("b" + old.substr(1) + "end"));
}

TEST_F(NewContentTest, DocumentsAreReplacedAndAdded) {
  Members members = Toy();
  members.emplace_back("toy-1.0.dist-info/sboms/a.json", "old");
  ASSERT_OK_AND_ASSIGN(const AbsPath to, Edit(Wheel(members), {},
                                              {.documents = {{"sboms/a.json", "A"}, {"sboms/b.json", "B"}}}));
  EXPECT_THAT(TextOf(to, "toy-1.0.dist-info/sboms/a.json"), test::IsOkAndHolds("A"));
  EXPECT_THAT(TextOf(to, "toy-1.0.dist-info/sboms/b.json"), test::IsOkAndHolds("B"));
}

TEST_F(NewContentTest, PathsAreThoseBeforeAnotherVersion) {
  Members members = Toy();
  members.emplace_back("toy-1.0.data/platlib/toy/a.so", "old");
  members.emplace_back("toy-1.0.data/platlib/toy/b.so", std::string(1000, 'b'));
  NewFile spliced = File("toy-1.0.data/platlib/toy/b.so", std::string(1000, 'b') + "c");
  spliced.splice = archive::ContentEdits{.replaced = {}, .appended = "c"};
  ASSERT_OK_AND_ASSIGN(const AbsPath to,
                       Edit(Wheel(members), {.platform = "linux_x86_64", .local = "cpu"},
                            {.files = {File("toy-1.0.data/platlib/toy/a.so", "new"), spliced},
                             .documents = {{"sboms/a.json", "A"}}}));
  EXPECT_EQ(to.Name(), "toy-1.0+cpu-py3-none-linux_x86_64.whl");
  EXPECT_THAT(TextOf(to, "toy-1.0+cpu.data/platlib/toy/a.so"), test::IsOkAndHolds("new"));
  EXPECT_THAT(TextOf(to, "toy-1.0+cpu.data/platlib/toy/b.so"), test::IsOkAndHolds(HasSubstr("bbc")));
  EXPECT_THAT(TextOf(to, "toy-1.0+cpu.dist-info/sboms/a.json"), test::IsOkAndHolds("A"));
}

TEST_F(NewContentTest, RowsThatAreGivenAreTakenForThoseOfRecord) {
  Members members = Toy();
  members.emplace_back("toy/unlisted.py", "x");
  members.emplace_back("toy-1.0.dist-info/RECORD", "no record at all\n");
  const AbsPath wheel = Wheel(members);
  EXPECT_THAT(PlanRetag(env_, wheel, {.build = "1"}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("RECORD")));
  NewContent content = {.files = {File("toy.py", "changed")}};
  content.rows.emplace();
  for (const auto& [path, text] : members) {
    if (path == "toy-1.0.dist-info/RECORD") continue;
    const Sha256 digest = HashText(text);
    content.rows->push_back({path, Base64UrlUnpadded(std::as_bytes(std::span(digest.bytes))), text.size()});
  }
  ASSERT_OK_AND_ASSIGN(const AbsPath to, Edit(wheel, {.build = "1"}, content));
  EXPECT_THAT(TextOf(to, "toy.py"), test::IsOkAndHolds("changed"));
}

TEST_F(NewContentTest, LinksCannotBeHeld) {
  archive::test::ZipText zip;
  for (const auto& [name, text] : Toy()) zip.members.push_back({.name = name, .content = text});
  zip.members.push_back({.name = "link.py", .content = "toy.py", .unix_mode = 0120777});
  const AbsPath wheel = env_.dir().WriteFile(kToyName, archive::test::ToText(zip));
  NewContent content;
  content.rows.emplace();
  EXPECT_THAT(PlanRetag(env_, wheel, {.build = "1"}, content),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("'link.py' is a link or device")));
}

TEST_F(RetagTest, RefusesWhatIsNone) {
  const AbsPath wheel = Wheel(Toy());
  const std::vector<std::pair<RetagRequest, const char*>> cases = {
      {{.platform = "linux-x86"}, "linux-x86"},
      {{.python = ""}, "'' is not a valid python tag"},
      {{.build = "cu"}, "toy-1.0-cu-py3-none-any.whl"},
      {{.build = "1-2"}, "toy-1.0-1-2-py3-none-any.whl"},
      {{.local = "a b"}, "1.0+a b"},
      {{.local = "1+2"}, "1.0+1+2"},
      {{.requirements = {"a >>1"}}, "a >>1"},
  };
  for (const auto& [request, why] : cases)
    EXPECT_THAT(PlanRetag(env_, wheel, request), FailsWith(ErrorCode::kInvalidInput, HasSubstr(why))) << why;
}

}  // namespace
}  // namespace ptpkg::wheel
