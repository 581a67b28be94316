#include "repair/fix_wheel.h"

#include "unit/repair/machine_fixture.h"

namespace ptpkg::repair {
namespace {

using ptpkg::test::FailsWith;
using test::kInfo;
using test::Library;
using test::Members;
using test::SyntheticElf;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using PlanFixTest = test::MachineTest;

TEST_F(PlanFixTest, AWheelThatIsAsItShouldBeIsNotTouched) {
  const AbsPath wheel = Wheel({.members = {{"toy/a.so", Glibc().Build()}}});
  ASSERT_OK_AND_ASSIGN(const WheelFix fix, PlanFix(env_, wheel));
  EXPECT_FALSE(fix.ChangesAnything());
  EXPECT_EQ(fix.name.str(), wheel.Name());
}

TEST_F(PlanFixTest, SearchPathsAreCleanedAndNothingIsCopied) {
  SyntheticElf sick = Glibc({"libx.so.1"});
  sick.runpath = "/opt/build:$ORIGIN/lib";
  AddHost("/opt/build/libx.so.1", Library({}));
  const AbsPath wheel =
      Wheel({.members = {{"toy/a.so", sick.Build()}, {"toy/lib/libx.so.1", Library({}).Build()}}});
  ASSERT_OK_AND_ASSIGN(const WheelFix fix, PlanFix(env_, wheel));
  EXPECT_EQ(fix.name.str(), wheel.Name());
  // A few bytes of it: the rest of the member is copied as it is stored.
  EXPECT_TRUE(fix.edits.spliced.contains("toy/a.so"));
  const auto content = Written(wheel, fix.edits);
  EXPECT_EQ(content.size(), 5U);
  EXPECT_THAT(content.at("toy/a.so"), AllOf(HasSubstr("$ORIGIN/lib"), Not(HasSubstr("/opt/build"))));
}

TEST_F(PlanFixTest, RecordBecomesTrueOfWhatIsThere) {
  const std::string record = std::string(kInfo) + "RECORD";
  Members members = {{"toy/there.py", "x = 1\n"}, {"toy/unlisted.py", "y = 2\n"}};
  for (auto& member : InfoOf({})) members.push_back(std::move(member));
  members.emplace_back(std::string(kInfo) + "RECORD.jws", "a signature");
  const Members listed = {{"toy/gone.py", ""}, {"toy/there.py", "another"}, members[2], members[3]};
  for (const std::string& text :
       {wheel::RecordOf(listed, record), std::string("no record\n"), std::string()}) {
    Members all = members;
    if (!text.empty()) all.emplace_back(record, text);
    const AbsPath wheel = Raw(all);
    ASSERT_OK_AND_ASSIGN(const WheelFix fix, PlanFix(env_, wheel));
    EXPECT_TRUE(fix.ChangesAnything());
    const auto content = Written(wheel, fix.edits);
    EXPECT_THAT(content.at(record), AllOf(HasSubstr("toy/unlisted.py,sha256="), Not(HasSubstr("gone.py"))));
    EXPECT_FALSE(content.contains(std::string(kInfo) + "RECORD.jws"));  // of another RECORD
  }
}

// Installers look for the directories that go with the file name, which is written in normal form.
TEST_F(PlanFixTest, FoldersAreRenamedWithTheFile) {
  const std::string stem = "TOY-1.0";
  Members members = {{stem + ".data/scripts/run", "#!python\n"},
                     {stem + ".dist-info/METADATA", "Metadata-Version: 2.1\nName: TOY\nVersion: 1.0\n"},
                     {stem + ".dist-info/WHEEL",
                      "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}};
  members.emplace_back(stem + ".dist-info/RECORD", wheel::RecordOf(members, stem + ".dist-info/RECORD"));
  const AbsPath wheel = wheel::WriteRawZip(env_, env_.dir().path() / (stem + "-py3-none-any.whl"), members);
  ASSERT_OK_AND_ASSIGN(const WheelFix fix, PlanFix(env_, wheel));
  EXPECT_TRUE(fix.ChangesAnything());
  EXPECT_EQ(fix.name.str(), "toy-1.0-py3-none-any.whl");
  const auto content = Written(wheel, fix.edits);
  EXPECT_TRUE(content.contains("toy-1.0.data/scripts/run"));
  EXPECT_TRUE(content.contains("toy-1.0.dist-info/METADATA"));
  EXPECT_THAT(content.at("toy-1.0.dist-info/RECORD"), Not(HasSubstr("TOY")));
}

TEST_F(PlanFixTest, MetadataVersionIsRaisedToWhatItsFieldsNeed) {
  const auto fixed = [&](const std::string& fields, const Members& more = {}) {
    Members members = {{"toy.py", ""}};
    for (auto& member : InfoOf({.members = {}, .metadata = fields})) members.push_back(std::move(member));
    members.insert(members.end(), more.begin(), more.end());
    const std::string record = std::string(kInfo) + "RECORD";
    members.emplace_back(record, wheel::RecordOf(members, record));
    const AbsPath wheel = Raw(members);
    Result<WheelFix> fix = PlanFix(env_, wheel);
    EXPECT_THAT(fix, ptpkg::test::IsOk());
    if (!fix || !fix->ChangesAnything()) return std::string();
    return Written(wheel, fix->edits).at(std::string(kInfo) + "METADATA");
  };
  EXPECT_THAT(fixed("Dynamic: Version\n"), HasSubstr("Metadata-Version: 2.2\n"));
  EXPECT_THAT(fixed("Dynamic: Version\nLicense-Expression: MIT\n"), HasSubstr("Metadata-Version: 2.4\n"));
  EXPECT_EQ(fixed("Summary: A toy.\n"), "");
  // From 2.4 on the file has to be there.
  const std::string license = "License-Expression: MIT\nLicense-File: LICENSE\n";
  EXPECT_EQ(fixed(license), "");
  EXPECT_THAT(fixed(license, {{std::string(kInfo) + "licenses/LICENSE", "free"}}),
              HasSubstr("Metadata-Version: 2.4\n"));
}

TEST_F(PlanFixTest, AnOrderOfItsOwnIsNoFault) {
  const std::string record = std::string(kInfo) + "RECORD";
  Members members = {{"toy/b.py", "x = 1\n"}, {"toy/a.py", "y = 2\n"}};
  for (auto& member : InfoOf({})) members.push_back(std::move(member));
  Members backwards = members;
  std::reverse(backwards.begin(), backwards.end());
  members.emplace_back(record, wheel::RecordOf(backwards, record));
  ASSERT_OK_AND_ASSIGN(const WheelFix fix, PlanFix(env_, Raw(members)));
  EXPECT_FALSE(fix.ChangesAnything());
}

TEST_F(PlanFixTest, WheelSaysWhatTheNameSays) {
  Members members = {{"toy.py", ""}};
  for (auto& member : InfoOf({})) members.push_back(std::move(member));
  const std::string record = std::string(kInfo) + "RECORD";
  members.emplace_back(record, wheel::RecordOf(members, record));
  const AbsPath wheel = wheel::WriteRawZip(
      env_, AbsPath::Literal("/named/Toy-1.0-3-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"),
      members);
  ASSERT_OK_AND_ASSIGN(const WheelFix fix, PlanFix(env_, wheel));
  EXPECT_EQ(fix.name.str(), "toy-1.0-3-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl");
  EXPECT_THAT(
      Written(wheel, fix.edits).at(std::string(kInfo) + "WHEEL"),
      HasSubstr("Tag: py3-none-manylinux2014_x86_64\nTag: py3-none-manylinux_2_17_x86_64\nBuild: 3\n"));
}

TEST_F(PlanFixTest, LinksInAWheelAreNotEdited) {
  ASSERT_OK_AND_ASSIGN(const WheelFix fix, PlanFix(env_, Linked()));
  EXPECT_FALSE(fix.ChangesAnything());
  EXPECT_THAT(PlanFix(env_, Linked("/opt/build")),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("'toy/libx.so' is a link or device")));
}

TEST_F(PlanFixTest, WhatCannotBeUnderstood) {
  EXPECT_THAT(PlanFix(env_, AbsPath::Literal("/none/toy-1.0-py3-none-any.whl")),
              FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
  fs_.AddFile("/junk/toy-1.0-py3-none-any.whl", "no zip");
  EXPECT_THAT(PlanFix(env_, AbsPath::Literal("/junk/toy-1.0-py3-none-any.whl")),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("zip")));
  fs_.AddFile("/junk/toy.whl", "no zip");
  EXPECT_THAT(PlanFix(env_, AbsPath::Literal("/junk/toy.whl")),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("toy.whl")));
  EXPECT_THAT(PlanFix(env_, Raw({{"toy.py", ""}})),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("it has no .dist-info directory")));
  std::string cut = Glibc().Build();
  cut.resize(100);
  EXPECT_THAT(PlanFix(env_, Wheel({.members = {{"toy/a.so", cut}}})),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("'toy/a.so'")));
  const AbsPath wheel = Module({});
  env_.cancel.Cancel();
  EXPECT_THAT(PlanFix(env_, wheel), FailsWith(ErrorCode::kCancelled, HasSubstr("interrupted")));
}

}  // namespace
}  // namespace ptpkg::repair
