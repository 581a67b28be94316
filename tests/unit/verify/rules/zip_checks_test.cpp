// Plain zips as people unpack them.

#include "verify/rules/zip_checks.h"

#include "archive/zip/zip_file.h"
#include "unit/archive/fixtures/builders.h"
#include "unit/verify/fixtures/memory_tree.h"

namespace ptpkg::verify {
namespace {

using test::Is;
using test::Library;
using test::TestEnv;
using testing::ElementsAre;
using testing::IsEmpty;

class ZipChecksTest : public ::testing::Test {
 protected:
  void Add(const std::string& name, std::string text) {
    ASSERT_OK(entries_.AddText(RelPath::Literal(name), std::move(text)));
  }
  Examination Examine(const CheckOptions& options = {}) {
    EXPECT_OK(archive::WriteZipArchive(env_, entries_, zip_));
    auto examination = ExamineArtifact(env_, zip_, options);
    EXPECT_OK(examination);
    return examination ? *std::move(examination) : Examination();
  }

  TestEnv env_;
  archive::EntrySet entries_;
  AbsPath zip_ = env_.dir() / "toy-1.0.zip";
};

TEST_F(ZipChecksTest, WhatItsFilesNeedIsInIt) {
  Add("toy/lib/liba.so", Library({"libb.so"}, "$ORIGIN").Build());
  Add("toy/lib/libb.so", Library({"libgone.so"}).Build());
  const Examination examination = Examine();
  EXPECT_EQ(examination.profile, Profile::kZip);
  EXPECT_THAT(examination.report.findings,
              ElementsAre(Is("elf-unresolved-needed", Severity::kError, "lib/libb.so", "'libgone.so'")));
  ASSERT_EQ(examination.files.size(), 2U);
  EXPECT_EQ(examination.files[0].file, "lib/liba.so");
}

TEST_F(ZipChecksTest, ADeadSearchPathIsAnError) {
  Add("toy/lib/liba.so", Library({}, "$ORIGIN:$ORIGIN/../other").Build());
  EXPECT_THAT(Examine().report.findings,
              ElementsAre(Is("elf-search-path-dead", Severity::kError, "lib/liba.so", "'$ORIGIN/../other'")));
}

TEST_F(ZipChecksTest, TheTopFolderMayLieAnywhere) {
  // One level up is where the user has unpacked it.
  Add("toy/lib/liba.so", Library({}, "$ORIGIN/../..").Build());
  EXPECT_THAT(Examine().report.findings,
              ElementsAre(Is("elf-search-path-escapes", Severity::kError, "lib/liba.so", "'$ORIGIN/../..'")));
}

TEST_F(ZipChecksTest, WithoutATopFolderNamesAreThoseOfTheMembers) {
  Add("lib/liba.so", Library({}, "$ORIGIN/x").Build());
  Add("README", "x");
  EXPECT_THAT(Examine().report.findings,
              ElementsAre(Is("elf-search-path-dead", Severity::kError, "lib/liba.so", "'$ORIGIN/x'")));
}

TEST_F(ZipChecksTest, KnowsWhatTheRecipeLeavesToTheMachine) {
  Add("toy/lib/liba.so", Library({"libgone.so"}).Build());
  Add("toy/ptpkg.json", R"({"allow_unresolved": ["libgone.so"]})");
  EXPECT_THAT(Examine().report.findings,
              ElementsAre(Is("elf-allowed-needed", Severity::kInfo, "lib/liba.so", "'libgone.so'")));
}

TEST_F(ZipChecksTest, AFileCalledLikeTheNoteElsewhereIsTheProjectsOwn) {
  Add("toy/lib/liba.so", Library({"libgone.so"}).Build());
  for (const char* const place :
       {"toy/info/ptpkg.json", "toy/x-1.dist-info/ptpkg.json", "toy/lib/ptpkg.json"})
    Add(place, R"({"allow_unresolved": ["*"]})");
  EXPECT_THAT(Examine().report.findings,
              ElementsAre(Is("elf-unresolved-needed", Severity::kError, "lib/liba.so", "'libgone.so'")));
}

TEST_F(ZipChecksTest, WithoutATopFolderThereIsNoNote) {
  Add("lib/liba.so", Library({"libgone.so"}).Build());
  Add("ptpkg.json", R"({"allow_unresolved": ["*"]})");
  EXPECT_THAT(Examine().report.findings,
              ElementsAre(Is("elf-unresolved-needed", Severity::kError, "lib/liba.so", "'libgone.so'")));
}

TEST_F(ZipChecksTest, APartOfAPrefixKeepsItsName) {
  // "lib" means something to the library in it, and the recipe may want it for the top directory.
  Add("lib/liba.so", Library({"libgone.so"}, "$ORIGIN/../lib").Build());
  Add("lib/ptpkg.json", R"({"allow_unresolved": ["libgone.so"]})");
  EXPECT_THAT(Examine().report.findings,
              ElementsAre(Is("elf-allowed-needed", Severity::kInfo, "lib/liba.so", "'libgone.so'")));
}

TEST_F(ZipChecksTest, BuildPathsAreLookedFor) {
  Add("toy/a.cmake", "set(x /build/x)");
  EXPECT_THAT(Examine({.forbidden_paths = {"/build/x"}}).report.findings,
              ElementsAre(Is("artifact-build-path", Severity::kError, "a.cmake", "'/build/x'")));
}

TEST_F(ZipChecksTest, OfAnotherProgramWhatReadersDifferIn) {
  const AbsPath zip = env_.dir().WriteFile(
      "other.zip", archive::test::ToText(archive::test::ZipText{
                       .members = {{.name = "toy/a", .content = "x", .comment = "why not"},
                                   {.name = "toy/link", .content = "a", .unix_mode = 0120777}}}));
  ASSERT_OK_AND_ASSIGN(const Report report, CheckArtifact(env_, zip));
  EXPECT_THAT(report.findings, ElementsAre(Is("zip-strict", Severity::kWarning, "", "comment"),
                                           Is("zip-symlink", Severity::kWarning, "link", "symbolic link")));
  const AbsPath split = env_.dir().WriteFile(
      "split.zip", archive::test::ToText(archive::test::ZipText{
                       .members = {{.name = "toy/a", .content = "x", .local_name = "toy/b"}}}));
  ASSERT_OK_AND_ASSIGN(const Report two_readings, CheckArtifact(env_, split));
  EXPECT_THAT(two_readings.findings, testing::Contains(Is("zip-strict", Severity::kError, "", "toy/b")));
}

TEST_F(ZipChecksTest, WhatIsNoZipCannotBeRead) {
  const AbsPath junk = env_.dir().WriteFile("junk.zip", "junk");
  ASSERT_OK_AND_ASSIGN(const Report report, CheckArtifact(env_, junk));
  EXPECT_THAT(report.findings, ElementsAre(Is("artifact-unreadable", Severity::kError, "", "junk.zip")));
}

TEST_F(ZipChecksTest, AnEmptyZipHasNoFindings) { EXPECT_THAT(Examine().report.findings, IsEmpty()); }

}  // namespace
}  // namespace ptpkg::verify
