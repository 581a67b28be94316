// Members that are copied as they are stored, beside new ones.

#include "archive/zip/zip_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "archive/extract.h"
#include "archive/zip/zip_directory.h"
#include "archive/zip/zip_file.h"
#include "archive/zip/zip_strict.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::IsOkAndHolds;
using ::ptpkg::test::TestEnv;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Entry Text(const char* name, std::string text) {
  return {.name = RelPath::Literal(name), .size_bytes = text.size(), .text = std::move(text)};
}

class ZipEditTest : public ::testing::Test {
 protected:
  AbsPath Write(const ZipText& zip) { return env_.dir().WriteFile("old.zip", ToText(zip)); }
  /// Writes new.zip, which every reader must take.
  Result<void> Edit(const AbsPath& zip, const ZipEdits& edits) {
    PTPKG_CHECK(WriteEditedZip(env_, zip, target_, ExistingFilePolicy::kReplace, edits));
    PTPKG_TRY(const std::unique_ptr<File> file, env_->fs.Open(target_, OpenMode::kRead));
    EXPECT_THAT(StrictZipProblems(*file), IsOkAndHolds(IsEmpty()));
    return Ok();
  }
  /// "name=content" of all members of new.zip, in order.
  std::vector<std::string> Members() {
    std::vector<std::string> out;
    const auto zip = ZipReader::Open(env_->fs, target_);
    EXPECT_THAT(zip, ::ptpkg::test::IsOk());
    for (const ZipReader::Member& member : zip->members()) {
      const auto text = zip->ReadText(member.name);
      EXPECT_THAT(text, ::ptpkg::test::IsOk()) << member.name;
      out.push_back(member.name + "=" + (text ? *text : ""));
    }
    return out;
  }

  TestEnv env_;
  AbsPath target_ = env_.dir() / "new.zip";
};

TEST_F(ZipEditTest, KeepsRenamesDropsAndAdds) {
  const AbsPath zip = Write({.members = {{.name = "a", .content = "1"},
                                         {.name = "b", .content = "2"},
                                         {.name = "c", .content = "3"},
                                         {.name = "d", .content = "4"}}});
  ASSERT_OK(
      Edit(zip, {.renamed = {{"b", "x/b"}}, .dropped = {"c"}, .added = {Text("z", "5"), Text("c", "6")}}));
  EXPECT_THAT(Members(), ElementsAre("a=1", "x/b=2", "d=4", "z=5", "c=6"));
  ASSERT_EQ(env_.reporter.tasks().size(), 1U);
  EXPECT_EQ(env_.reporter.tasks()[0].outcome, TaskOutcome::kDone);
  EXPECT_EQ(env_.reporter.tasks()[0].detail, "5 files");
}

TEST_F(ZipEditTest, WhatIsKeptFromTheStartKeepsItsBytes) {
  EntrySet entries;
  ASSERT_OK(entries.AddText(RelPath::Literal("a"), WordyText(3'000'000)));
  ASSERT_OK(entries.AddText(RelPath::Literal("b"), RandomText(2'000'000), 0755));
  ASSERT_OK(entries.AddText(RelPath::Literal("z"), "old"));
  const AbsPath zip = env_.dir() / "old.zip";
  ASSERT_OK(WriteZipArchive(env_, entries, zip));
  env_->source_date_epoch += 86400;
  ASSERT_OK(Edit(zip, {.dropped = {"z"}, .added = {Text("z", "new")}}));
  ASSERT_OK_AND_ASSIGN(const std::string before, ReadFile(env_->fs, zip));
  ASSERT_OK_AND_ASSIGN(const std::string after, ReadFile(env_->fs, target_));
  const std::size_t kept = before.find("PK\x03\x04", 2'000'000);
  ASSERT_NE(kept, std::string::npos);
  EXPECT_EQ(before.substr(0, kept), after.substr(0, kept));
  ASSERT_OK_AND_ASSIGN(const ZipReader reader, ZipReader::Open(env_->fs, target_));
  EXPECT_EQ(reader.Find("b")->mode, 0100755U);
  EXPECT_THAT(reader.ReadText("z"), IsOkAndHolds(std::string("new")));
}

TEST_F(ZipEditTest, ASloppyHeaderIsWrittenAnew) {
  // Each one alone is refused or criticised by a strict reader; Edit looks at what comes out.
  const std::string extra = std::string("\x99\x99\x02\x00hi", 6);
  const std::vector<ZipMemberText> sloppy = {
      {.name = "flags", .content = "1", .flags = zip::kFlagUtf8},
      {.name = "version", .content = "2", .version_needed = 45},
      {.name = "extra", .content = "3", .local_extra = extra, .central_extra = extra},
      {.name = "no-mode", .content = "4", .unix_mode = 0},
  };
  const AbsPath zip = Write({.members = sloppy});
  ASSERT_OK(Edit(zip, {}));
  EXPECT_THAT(Members(), ElementsAre("flags=1", "version=2", "extra=3", "no-mode=4"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<File> file, env_->fs.Open(target_, OpenMode::kRead));
  ASSERT_OK_AND_ASSIGN(const zip::Directory directory, zip::ReadDirectory(*file, "new.zip"));
  for (const zip::CentralRecord& record : directory.records) {
    EXPECT_EQ(record.flags, 0) << record.name;
    EXPECT_EQ(record.version_needed, 20) << record.name;
    EXPECT_EQ(record.extra, "") << record.name;
    EXPECT_EQ(record.UnixMode(), 0100644U) << record.name;
  }
}

TEST_F(ZipEditTest, ADataDescriptorGoes) {
  const AbsPath zip = env_.dir() / "old.zip";
  // Python writes descriptors to what it cannot seek in.
  const std::optional<ExitStatus> made = RunTool(
      env_,
      {"python3", "-c",
       "import sys, zipfile\n"
       "class Pipe:\n"
       "    def __init__(self, file): self.file = file\n"
       "    def write(self, data): return self.file.write(data)\n"
       "    def flush(self): self.file.flush()\n"
       "with open('old.zip', 'wb') as file, zipfile.ZipFile(Pipe(file), 'w', zipfile.ZIP_DEFLATED) as z:\n"
       "    z.writestr('a', 'a' * 5000)\n"
       "    z.writestr('b', 'b' * 50)\n"},
      env_.dir().path());
  if (!made) GTEST_SKIP() << "python3 is not installed";
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<File> file, env_->fs.Open(zip, OpenMode::kRead));
  ASSERT_OK_AND_ASSIGN(const zip::LocalRecord local, zip::ReadLocal(*file, 0, "old.zip"));
  ASSERT_NE(local.flags & zip::kFlagDescriptor, 0);
  ASSERT_OK(Edit(zip, {.dropped = {"b"}}));
  EXPECT_THAT(Members(), ElementsAre("a=" + std::string(5000, 'a')));
}

TEST_F(ZipEditTest, SplicesMembers) {
  EntrySet entries;
  std::string text = WordyText(3'000'000);
  ASSERT_OK(entries.AddText(RelPath::Literal("a"), text, 0755));
  ASSERT_OK(entries.AddText(RelPath::Literal("b"), "stored"));
  ASSERT_OK(entries.AddText(RelPath::Literal("c"), "kept"));
  const AbsPath zip = env_.dir() / "old.zip";
  ASSERT_OK(WriteZipArchive(env_, entries, zip));
  text.replace(1'000'000, 3, "new");
  text += "end";
  ASSERT_OK(Edit(zip, {.renamed = {{"b", "x/b"}},
                       .spliced = {{"a",
                                    {.edits = {.replaced = {{1'000'000, "new"}}, .appended = "end"},
                                     .sha256 = HashText(text)}},
                                   {"b", {.edits = {.replaced = {{0, "S"}}}, .sha256 = HashText("Stored")}}},
                       .added = {Text("d", "6")}}));
  EXPECT_THAT(Members(), ElementsAre("a=" + text, "x/b=Stored", "c=kept", "d=6"));
  ASSERT_OK_AND_ASSIGN(const ZipReader reader, ZipReader::Open(env_->fs, target_));
  EXPECT_EQ(reader.Find("a")->mode, 0100755U);
}

TEST_F(ZipEditTest, ASplicedMemberMustHaveTheDigestThatIsTold) {
  const ContentEdits edits{.replaced = {{0, "2"}}};
  const AbsPath zip = Write({.members = {{.name = "a", .content = "1"}}});
  ASSERT_OK(Edit(zip, {.spliced = {{"a", {.edits = edits, .sha256 = HashText("2")}}}}));
  EXPECT_THAT(Members(), ElementsAre("a=2"));
  ASSERT_OK(env_->fs.Remove(target_));
  EXPECT_THAT(
      Edit(zip, {.spliced = {{"a", {.edits = edits, .sha256 = HashText("3")}}}}),
      FailsWith(ErrorCode::kCorrupt, HasSubstr("member 'a' becomes a file with sha256 " +
                                               HashText("2").Hex() + ", not the " + HashText("3").Hex())));
  EXPECT_THAT(env_->fs.ListDir(env_->cache_dir), IsOkAndHolds(ElementsAre()));
  EXPECT_THAT(env_->fs.ListDir(env_.dir().path()),
              IsOkAndHolds(ElementsAre(env_->cache_dir.Name(), "old.zip")));
}

TEST_F(ZipEditTest, WhatIsAddedComesLastAndTheLastFolderBehindIt) {
  const AbsPath zip = Write({.members = {{.name = "i/b", .content = "1"},
                                         {.name = "a", .content = "2"},
                                         {.name = "i/a", .content = "3"},
                                         {.name = "c", .content = "4"}}});
  ASSERT_OK(Edit(zip, {.dropped = {"c"},
                       .spliced = {{"a", {.edits = {.replaced = {{0, "5"}}}, .sha256 = HashText("5")}}},
                       .added = {Text("i/z", "6"), Text("x", "7"), Text("c", "8"), Text("i/c", "9")},
                       .last_folder = "i/"}));
  EXPECT_THAT(Members(), ElementsAre("a=5", "x=7", "c=8", "i/b=1", "i/a=3", "i/z=6", "i/c=9"));
}

TEST_F(ZipEditTest, RefusesToSpliceWhatIsNotThereOrDamaged) {
  const AbsPath zip = Write({.members = {{.name = "a", .content = "1", .crc = 5}}});
  EXPECT_THAT(Edit(zip, {.spliced = {{"a", {.edits = {.replaced = {{0, "2"}}}}}}}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("member 'a' has another CRC")));
  EXPECT_THAT(Edit(zip, {.spliced = {{"b", {}}}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is missing")));
  EXPECT_THAT(Edit(zip, {.dropped = {"a"}, .spliced = {{"a", {}}}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("or removed")));
  EXPECT_THAT(Edit(zip, {.spliced = {{"a", {.edits = {.replaced = {{1, "2"}}}}}}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("an edit of 1 bytes at 1")));
}

TEST_F(ZipEditTest, RefusesWhatNoCopyCanHold) {
  const std::vector<std::pair<ZipMemberText, const char*>> cases = {
      {{.name = "a", .method = 12}, "compression method 12"},
      {{.name = "a", .flags = zip::kFlagEncrypted}, "encrypted"},
      {{.name = "a", .content = "b", .unix_mode = 0120777}, "not a regular file"},
  };
  for (const auto& [member, why] : cases) {
    EXPECT_THAT(Edit(Write({.members = {member}}), {}), FailsWith(ErrorCode::kUnsupported, HasSubstr(why)));
    EXPECT_THAT(Edit(Write({.members = {member}}), {.dropped = {"a"}}), ::ptpkg::test::IsOk()) << why;
  }
}

TEST_F(ZipEditTest, TwoMembersOfOneNameAreRefused) {
  const AbsPath zip = Write({.members = {{.name = "a"}, {.name = "b"}}});
  EXPECT_THAT(Edit(zip, {.renamed = {{"b", "a"}}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'a' was already added")));
  EXPECT_THAT(Edit(zip, {.added = {Text("b", "")}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'b' was already added")));
}

TEST_F(ZipEditTest, HostileNamesAreRefused) {
  EXPECT_THAT(Edit(Write({.members = {{.name = "../a"}}}), {}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("../a")));
}

TEST_F(ZipEditTest, FoldersAreLeftOut) {
  ASSERT_OK(
      Edit(Write({.members = {{.name = "d/", .unix_mode = 040755}, {.name = "d/a", .content = "1"}}}), {}));
  EXPECT_THAT(Members(), ElementsAre("d/a=1"));
}

TEST_F(ZipEditTest, ReplacesItsOwnInputAndLeavesNothingBesides) {
  const AbsPath zip = Write({.members = {{.name = "a", .content = "1"}, {.name = "b", .content = "2"}}});
  EXPECT_THAT(WriteEditedZip(env_, zip, zip, ExistingFilePolicy::kRefuse, {.dropped = {"a"}}),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("old.zip")));
  ASSERT_OK(WriteEditedZip(env_, zip, zip, ExistingFilePolicy::kReplace, {.dropped = {"a"}}));
  ASSERT_OK_AND_ASSIGN(const ZipReader reader, ZipReader::Open(env_->fs, zip));
  EXPECT_EQ(reader.members().size(), 1U);
  EXPECT_THAT(env_->fs.ListDir(env_.dir().path()), IsOkAndHolds(ElementsAre("old.zip")));
}

TEST_F(ZipEditTest, EachFailureOfTheDiskLeavesTheOldOneAlone) {
  const std::string before = ToText(ZipText{.members = {{.name = "a", .content = RandomText(2'000'000)}}});
  const AbsPath zip = AbsPath::Literal("/old.zip");
  const int faults = ::ptpkg::test::RunFaultLoop(
      {.setup = [&](::ptpkg::test::MemFs& fs) { ASSERT_OK(WriteFile(fs, zip, before)); },
       .run = [&](Fs& fs) -> Result<void> {
         TestEnv env({.fs = &fs});
         return WriteEditedZip(env, zip, zip, ExistingFilePolicy::kReplace, {.added = {Text("b", "1")}});
       },
       .check =
           [&](::ptpkg::test::MemFs& fs, const Error&) {
             const std::string now = fs.Content("/old.zip");
             // The last operations come after the new one has its name.
             if (now == before) return;
             const auto reader = ZipReader::Open(fs, zip);
             ASSERT_THAT(reader, ::ptpkg::test::IsOk());
             EXPECT_THAT(reader->ReadText("b"), IsOkAndHolds(std::string("1")));
           }});
  EXPECT_GT(faults, 10);
}

}  // namespace
}  // namespace ptpkg::archive::test
