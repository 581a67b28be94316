#include "publish/output/output_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/digest/hash.h"
#include "support/fault_fs.h"
#include "support/files/lock_file.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::publish {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOk;
using test::IsOkAndHolds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A file that waits in the cache, as a packing stage leaves it.
PublishItem Waiting(Env& env, const AbsPath& root, const std::string& name, const std::string& text,
                    const std::string& publication = "p1", std::uint64_t size = 2) {
  const AbsPath file = root.Parent() / "waiting" / (HashText(text).Hex() + name);
  EXPECT_THAT(env.fs.MakeDirs(file.Parent()), IsOk());
  EXPECT_THAT(WriteFile(env.fs, file, text), IsOk());
  return {.file = file,
          .record = {.path = "wheels/" + name,
                     .format = "wheel",
                     .sha256 = HashText(text).Hex(),
                     .md5 = std::string(32, '0'),
                     .size_bytes = text.size(),
                     .key = "k-" + name + text,
                     .checks = {"c-" + name},
                     .publication = publication,
                     .publication_size = size}};
}

/// The same, as a file beside an artifact.
PublishItem Beside(PublishItem item) {
  item.record.format = kSignatureFormat;
  return item;
}

class OutputFolderTest : public ::testing::Test {
 protected:
  OutputFolder Open() {
    auto output = OutputFolder::Open(env_, root_);
    EXPECT_THAT(output, IsOk());
    EXPECT_THAT(output->Prepare(), IsOk());
    return *std::move(output);
  }
  PublishItem Item(const std::string& name, const std::string& text, const std::string& publication = "p1",
                   std::uint64_t size = 2) {
    return Waiting(env_, root_, name, text, publication, size);
  }
  Result<std::string> Read(const std::string& path) { return ReadFile(env_->fs, root_ / path); }

  test::TestEnv env_;
  AbsPath root_ = env_.dir().path() / "dist";
};

TEST_F(OutputFolderTest, OpeningWritesNothing) {
  ASSERT_THAT(OutputFolder::Open(env_, root_), IsOk());
  EXPECT_THAT(Exists(env_->fs, root_), IsOkAndHolds(false));
}

TEST_F(OutputFolderTest, PublishesAllUnderTheirNamesAndInTheManifest) {
  OutputFolder output = Open();
  ASSERT_THAT(output.Publish({Item("a.whl", "one"), Item("b.whl", "two")}, ForeignFilePolicy::kRefuse),
              IsOk());
  EXPECT_THAT(Read("wheels/a.whl"), IsOkAndHolds(Eq("one")));
  EXPECT_THAT(Read("wheels/b.whl"), IsOkAndHolds(Eq("two")));
  OutputFolder later = Open();
  EXPECT_THAT(later.ArtifactsOfPublication("p1"), IsOkAndHolds(SizeIs(2)));
  EXPECT_THAT(later.ArtifactsOfNode("k-a.whlone"), IsOkAndHolds(SizeIs(1)));
  EXPECT_THAT(later.CheckedArtifacts("c-b.whl"), SizeIs(1));
  EXPECT_THAT(later.ArtifactsOfPublication("other"), IsOkAndHolds(IsEmpty()));
}

TEST_F(OutputFolderTest, APublicationOfWhichAPartIsGoneOrChangedIsNone) {
  OutputFolder output = Open();
  ASSERT_THAT(output.Publish({Item("a.whl", "one"), Item("b.whl", "two")}, ForeignFilePolicy::kRefuse),
              IsOk());
  ASSERT_THAT(env_->fs.Remove(root_ / "wheels/b.whl"), IsOk());
  EXPECT_THAT(Open().ArtifactsOfPublication("p1"), IsOkAndHolds(IsEmpty()));
  ASSERT_THAT(WriteFile(env_->fs, root_ / "wheels/b.whl", "owt"), IsOk());
  EXPECT_THAT(Open().ArtifactsOfPublication("p1"), IsOkAndHolds(IsEmpty())) << "same size, other bytes";
  OutputFolder again = Open();
  ASSERT_THAT(again.Publish({Item("b.whl", "new", "p2", 1)}, ForeignFilePolicy::kReplace), IsOk());
  EXPECT_THAT(Open().ArtifactsOfPublication("p1"), IsOkAndHolds(IsEmpty()))
      << "one belongs to another publication now";
  EXPECT_THAT(Open().ArtifactsOfPublication("p2"), IsOkAndHolds(SizeIs(1)));
}

TEST_F(OutputFolderTest, WhatIsPublishedCanBeMadeToStay) {
  ASSERT_THAT(Open().Publish({Item("a.whl", "one")}, ForeignFilePolicy::kRefuse), IsOk());
  EXPECT_THAT(Open().Publish({Item("a.whl", "two", "p2", 1)}, ForeignFilePolicy::kRefuseAny),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("already exists with different content")));
  EXPECT_THAT(Read("wheels/a.whl"), IsOkAndHolds(Eq("one")));
  EXPECT_THAT(Open().Publish({Item("a.whl", "one", "p3", 1)}, ForeignFilePolicy::kRefuseAny), IsOk());
}

TEST_F(OutputFolderTest, ListsItsArtifactsIfAllAreThereUnchanged) {
  ASSERT_THAT(Open().Publish({Item("a.whl", "one"), Item("b.whl", "two")}, ForeignFilePolicy::kRefuse),
              IsOk());
  EXPECT_THAT(Open().Listed(), IsOkAndHolds(SizeIs(2)));
  ASSERT_THAT(WriteFile(env_->fs, root_ / "wheels/b.whl", "owt"), IsOk());
  EXPECT_THAT(Open().Listed(), FailsWith(ErrorCode::kHashMismatch, HasSubstr("wheels/b.whl")));
  ASSERT_THAT(env_->fs.Remove(root_ / "wheels/b.whl"), IsOk());
  EXPECT_THAT(Open().Listed(), FailsWith(ErrorCode::kNotFound, HasSubstr("wheels/b.whl")));
}

TEST_F(OutputFolderTest, LeavesEqualBytesAlone) {
  OutputFolder output = Open();
  ASSERT_THAT(output.Publish({Item("a.whl", "one")}, ForeignFilePolicy::kRefuse), IsOk());
  const auto before = env_->fs.Lstat(root_ / "wheels/a.whl");
  ASSERT_THAT(output.Publish({Item("a.whl", "one", "p2", 1)}, ForeignFilePolicy::kRefuse), IsOk());
  EXPECT_EQ(env_->fs.Lstat(root_ / "wheels/a.whl")->inode, before->inode);
  EXPECT_THAT(Open().ArtifactsOfPublication("p2"), IsOkAndHolds(SizeIs(1)));
}

TEST_F(OutputFolderTest, AForeignFileStopsAllUnlessItMayBeReplaced) {
  OutputFolder output = Open();
  ASSERT_THAT(WriteFile(env_->fs, root_ / "wheels/b.whl", "foreign"), IsOk());
  EXPECT_THAT(output.Publish({Item("a.whl", "one"), Item("b.whl", "two")}, ForeignFilePolicy::kRefuse),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("manifest.json")));
  EXPECT_THAT(Exists(env_->fs, root_ / "wheels/a.whl"), IsOkAndHolds(false));
  EXPECT_THAT(Read("wheels/b.whl"), IsOkAndHolds(Eq("foreign")));
  ASSERT_THAT(output.Publish({Item("a.whl", "one"), Item("b.whl", "two")}, ForeignFilePolicy::kReplace),
              IsOk());
  EXPECT_THAT(Read("wheels/b.whl"), IsOkAndHolds(Eq("two")));
}

TEST_F(OutputFolderTest, ReplacesWhatTheManifestKnowsUnlessItWasChangedSince) {
  ASSERT_THAT(Open().Publish({Item("a.whl", "one", "p1", 1)}, ForeignFilePolicy::kRefuse), IsOk());
  ASSERT_THAT(Open().Publish({Item("a.whl", "two", "p2", 1)}, ForeignFilePolicy::kRefuse), IsOk());
  EXPECT_THAT(Read("wheels/a.whl"), IsOkAndHolds(Eq("two")));
  ASSERT_THAT(WriteFile(env_->fs, root_ / "wheels/a.whl", "own"), IsOk());  // same size, other bytes
  EXPECT_THAT(Open().Publish({Item("a.whl", "six", "p3", 1)}, ForeignFilePolicy::kRefuse),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("changed or damaged")));
}

TEST_F(OutputFolderTest, AZipOfAnotherVariantIsNotReplacedByTheWay) {
  const auto publish = [&](const std::string& variant, const std::string& text, const std::string& number,
                           ForeignFilePolicy on_foreign = ForeignFilePolicy::kRefuse) {
    PublishItem item = Item("toy.zip", text, "p-" + variant + text, 1);
    item.record.path = "zip/toy.zip";
    item.record.format = "zip";
    item.record.variant = variant;
    item.build_number = number;
    return Open().Publish({item}, on_foreign);
  };
  ASSERT_OK(publish("toy-1.0-x_0", "one", "0"));
  EXPECT_THAT(publish("toy-1.0-y_0", "two", "0"),
              AllOf(FailsWith(ErrorCode::kAlreadyExists,
                              HasSubstr("'toy-1.0-y_0' would replace the zip published by 'toy-1.0-x_0'")),
                    HasHint(HasSubstr("another output directory"))));
  EXPECT_THAT(Read("zip/toy.zip"), IsOkAndHolds(Eq("one")));
  ASSERT_OK(publish("toy-1.0-x_0", "two", "0")) << "its own";
  ASSERT_OK(publish("toy-1.0-x_12", "three", "12")) << "another build number of the same";
  EXPECT_THAT(publish("toy-1.0-x_13", "four", "0"), FailsWith(ErrorCode::kAlreadyExists, HasSubstr("x_12")))
      << "13 is no build number";
  EXPECT_THAT(Read("zip/toy.zip"), IsOkAndHolds(Eq("three")));
  ASSERT_OK(publish("toy-1.0-y_0", "three", "0")) << "the same bytes";
  ASSERT_OK(publish("toy-1.0-x_0", "five", "0", ForeignFilePolicy::kReplace));
  ASSERT_OK(env_->fs.Remove(root_ / "zip/toy.zip"));
  ASSERT_OK(publish("toy-1.0-y_0", "six", "0")) << "nothing is there";
}

TEST_F(OutputFolderTest, OnePublishesAtATimeAndLosesNothing) {
  OutputFolder one = Open();
  OutputFolder other = Open();
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<File> lock, WaitForLock(env_, root_ / ".ptpkg/lock", "other"));
  env_.clock.OnSleep([&] {
    if (lock == nullptr) return;
    EXPECT_THAT(Exists(env_->fs, root_ / "wheels/a.whl"), IsOkAndHolds(false)) << "it waits";
    lock.reset();
    EXPECT_THAT(other.Publish({Item("b.whl", "two", "p2", 1)}, ForeignFilePolicy::kRefuse), IsOk());
  });
  ASSERT_THAT(one.Publish({Item("a.whl", "one", "p1", 1)}, ForeignFilePolicy::kRefuse), IsOk());
  EXPECT_THAT(Open().ArtifactsOfPublication("p1"), IsOkAndHolds(SizeIs(1)));
  EXPECT_THAT(Open().ArtifactsOfPublication("p2"), IsOkAndHolds(SizeIs(1)));
}

TEST_F(OutputFolderTest, TimesReplaceThoseOfTheLastRunAndGoneFilesAreForgotten) {
  OutputFolder output = Open();
  ASSERT_THAT(output.Publish({Item("a.whl", "one", "p1", 1)}, ForeignFilePolicy::kRefuse), IsOk());
  ASSERT_THAT(env_->fs.Remove(root_ / "wheels/a.whl"), IsOk());
  ASSERT_THAT(output.WriteTimes({{.stage = "wheel", .subject = "x", .ran = true}}), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::string text, Read("manifest.json"));
  ASSERT_OK_AND_ASSIGN(const Json manifest, ParseJson(text, "manifest.json"));
  EXPECT_THAT(manifest["artifacts"], IsEmpty());
  EXPECT_EQ(manifest["stages"][0]["stage"], "wheel");
}

TEST_F(OutputFolderTest, ADamagedManifestIsAnErrorWithARemedy) {
  Open();
  for (const char* text :
       {"{", "[]", "{}", R"({"artifacts": []})", R"({"artifacts": 1, "manifest_version": 2})",
        R"({"artifacts": [{"path": "../up"}], "manifest_version": 2})",
        R"({"artifacts": [{"path": "x"}], "manifest_version": 2})"}) {
    ASSERT_THAT(WriteFile(env_->fs, root_ / "manifest.json", text), IsOk());
    const auto output = OutputFolder::Open(env_, root_);
    EXPECT_THAT(output, FailsWith(ErrorCode::kCorrupt, HasSubstr("damaged"))) << text;
    EXPECT_THAT(output, HasHint(HasSubstr("remove it"))) << text;
  }
}

TEST_F(OutputFolderTest, AManifestOfAnotherVersionIsNotOverwritten) {
  Open();
  ASSERT_THAT(WriteFile(env_->fs, root_ / "manifest.json", R"({"artifacts": [], "manifest_version": 99})"),
              IsOk());
  EXPECT_THAT(OutputFolder::Open(env_, root_), FailsWith(ErrorCode::kCorrupt, HasSubstr("version 99")));
}

class InterruptedPublication : public OutputFolderTest {
 protected:
  /// "a" was published; a publication of a new "a" and of "b" was killed when "a" had its name.
  void SetUp() override {
    ASSERT_THAT(Open().Publish({Item("a.whl", "old a", "p1", 1)}, ForeignFilePolicy::kRefuse), IsOk());
    for (const char* name : {"a.whl", "b.whl"})
      items_.push_back(Item(name, std::string("new ") + name, "p2"));
    Json list = Json::array();
    for (const PublishItem& item : items_) {
      const std::string from = ".ptpkg/incoming/" + item.record.sha256;
      ASSERT_THAT(env_->fs.MakeDirs(root_ / ".ptpkg/incoming"), IsOk());
      ASSERT_THAT(env_->fs.CreateHardLink(item.file, root_ / RelPath::Literal(from)), IsOk());
      list.push_back({{"from", from}, {"record", ArtifactRecordToJson(item.record)}});
    }
    ASSERT_THAT(WriteFile(env_->fs, Journal(), DumpJson({{"items", list}})), IsOk());
    ASSERT_THAT(env_->fs.Rename(root_ / "wheels/a.whl", root_ / ".ptpkg/replaced-0"), IsOk());
    ASSERT_THAT(env_->fs.Rename(Incoming(0), root_ / "wheels/a.whl"), IsOk());
  }
  [[nodiscard]] AbsPath Incoming(std::size_t item) const {
    return root_ / ".ptpkg/incoming" / items_[item].record.sha256;
  }
  [[nodiscard]] AbsPath Journal() const { return root_ / ".ptpkg/publication.json"; }
  void ExpectAsBefore() {
    EXPECT_THAT(Read("wheels/a.whl"), IsOkAndHolds(Eq("old a")));
    EXPECT_THAT(Exists(env_->fs, root_ / "wheels/b.whl"), IsOkAndHolds(false));
    EXPECT_THAT(Exists(env_->fs, Journal()), IsOkAndHolds(false));
    EXPECT_THAT(Open().ArtifactsOfPublication("p1"), IsOkAndHolds(SizeIs(1)));
  }

  std::vector<PublishItem> items_;
};

TEST_F(InterruptedPublication, IsCompletedByTheNextRun) {
  EXPECT_THAT(Open().ArtifactsOfPublication("p2"), IsOkAndHolds(SizeIs(2)));
  EXPECT_THAT(Read("wheels/b.whl"), IsOkAndHolds(Eq("new b.whl")));
  EXPECT_THAT(Exists(env_->fs, Journal()), IsOkAndHolds(false));
}

TEST_F(InterruptedPublication, IsTakenBackWhenItsFilesAreGone) {
  ASSERT_THAT(env_->fs.Remove(Incoming(1)), IsOk());
  Open();
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("rolling back")));
  ExpectAsBefore();
}

TEST_F(InterruptedPublication, IsCompletedThoughTheCacheIsGone) {
  for (const PublishItem& item : items_) ASSERT_THAT(env_->fs.Remove(item.file), IsOk());
  ASSERT_THAT(OutputFolder::RecoverPublication(env_, root_), IsOk());
  EXPECT_THAT(Read("wheels/a.whl"), IsOkAndHolds(Eq("new a.whl")));
  EXPECT_THAT(Read("wheels/b.whl"), IsOkAndHolds(Eq("new b.whl")));
  EXPECT_THAT(env_->fs.ListDir(root_ / ".ptpkg"), IsOkAndHolds(ElementsAre("lock")));
}

TEST_F(OutputFolderTest, TheRootDirectoryIsNone) {
  auto output = OutputFolder::Open(env_, AbsPath::Literal("/"));
  ASSERT_THAT(output, IsOk());
  EXPECT_THAT(output->Prepare(), FailsWith(ErrorCode::kUsage, HasSubstr("'/'")));
}

TEST_F(OutputFolderTest, WhereNothingWasInterruptedNothingIsWritten) {
  ASSERT_THAT(OutputFolder::RecoverPublication(env_, root_), IsOk());
  EXPECT_THAT(Exists(env_->fs, root_), IsOkAndHolds(false));
}

TEST_F(OutputFolderTest, FilesOfAPublicationThatWasKilledBeforeItsJournalGo) {
  Open();
  ASSERT_THAT(env_->fs.MakeDirs(root_ / ".ptpkg/incoming"), IsOk());
  ASSERT_THAT(WriteFile(env_->fs, root_ / ".ptpkg/incoming/0", "half"), IsOk());
  Open();
  EXPECT_THAT(env_->fs.ListDir(root_ / ".ptpkg"), IsOkAndHolds(ElementsAre("lock")));
}

TEST_F(OutputFolderTest, EveryFileGetsTheModeOfANewOne) {
  OutputFolder output = Open();
  const PublishItem item = Item("a.whl", "one", "p1", 1);
  for (const std::uint32_t mode : {0600U, 0755U, 0444U}) {
    ASSERT_THAT(env_->fs.SetMode(item.file, mode), IsOk());
    ASSERT_THAT(output.Publish({item}, ForeignFilePolicy::kRefuse), IsOk());
    ASSERT_OK_AND_ASSIGN(const FileStat artifact, env_->fs.Lstat(root_ / "wheels/a.whl"));
    ASSERT_OK_AND_ASSIGN(const FileStat manifest, env_->fs.Lstat(root_ / "manifest.json"));
    EXPECT_EQ(artifact.mode, manifest.mode);
    ASSERT_THAT(env_->fs.Remove(root_ / "wheels/a.whl"), IsOk());
  }
}

TEST_F(InterruptedPublication, ADamagedJournalDoesNotBlockTheFolder) {
  for (const char* text : {"{", R"({"items": [{"from": 1}]})"}) {
    ASSERT_THAT(WriteFile(env_->fs, Journal(), text), IsOk());
    ASSERT_THAT(WriteFile(env_->fs, root_ / ".ptpkg/replaced-0", "of a publication that nobody knows"),
                IsOk());
    Open();
    EXPECT_THAT(Exists(env_->fs, root_ / ".ptpkg/replaced-0"), IsOkAndHolds(false)) << text;
    EXPECT_THAT(env_.reporter.warnings().back(), HasSubstr("damaged")) << text;
    EXPECT_THAT(Exists(env_->fs, Journal()), IsOkAndHolds(false)) << text;
  }
}

TEST_F(OutputFolderTest, PreparingRemovesWhatAKilledRunLeft) {
  Open();
  ASSERT_THAT(env_->fs.MakeDirs(root_ / ".ptpkg-pack-999999999-0/half"), IsOk());
  ASSERT_THAT(WriteFile(env_->fs, root_ / ".manifest.json.999999999-1.ptpkg-tmp", ""), IsOk());
  Open();
  EXPECT_THAT(env_->fs.ListDir(root_), IsOkAndHolds(ElementsAre(".ptpkg", "conda", "logs", "wheels")));
}

TEST_F(OutputFolderTest, WhatLiesBesideAReplacedArtifactGoesWithIt) {
  OutputFolder output = Open();
  ASSERT_THAT(output.Publish({Item("a.whl", "one"), Beside(Item("a.whl.sig", "about one"))},
                             ForeignFilePolicy::kRefuse),
              IsOk());
  ASSERT_THAT(output.Publish({Item("a.whl", "one", "p2", 1)}, ForeignFilePolicy::kRefuse), IsOk());
  EXPECT_THAT(Read("wheels/a.whl.sig"), IsOkAndHolds(Eq("about one"))) << "the artifact is the same";
  ASSERT_THAT(output.Publish({Item("a.whl", "two", "p3", 1)}, ForeignFilePolicy::kRefuse), IsOk());
  EXPECT_THAT(Exists(env_->fs, root_ / "wheels/a.whl.sig"), IsOkAndHolds(false));
  EXPECT_THAT(Open().Listed(), IsOkAndHolds(SizeIs(1)));
}

TEST_F(OutputFolderTest, WhatIsNewBesideAReplacedArtifactStays) {
  OutputFolder output = Open();
  ASSERT_THAT(output.Publish({Item("a.whl", "one"), Beside(Item("a.whl.sig", "about one"))},
                             ForeignFilePolicy::kRefuse),
              IsOk());
  ASSERT_THAT(output.Publish({Item("a.whl", "two", "p2"), Beside(Item("a.whl.sig", "about two", "p2"))},
                             ForeignFilePolicy::kRefuse),
              IsOk());
  EXPECT_THAT(Read("wheels/a.whl.sig"), IsOkAndHolds(Eq("about two")));
  EXPECT_THAT(Open().ArtifactsOfPublication("p2"), IsOkAndHolds(SizeIs(2)));
}

TEST_F(OutputFolderTest, AFileOfSomebodyElseBesideAReplacedArtifactStays) {
  OutputFolder output = Open();
  ASSERT_THAT(output.Publish({Item("a.whl", "one", "p1", 1)}, ForeignFilePolicy::kRefuse), IsOk());
  ASSERT_THAT(WriteFile(env_->fs, root_ / "wheels/a.whl.sig", "somebody's"), IsOk());
  ASSERT_THAT(output.Publish({Item("a.whl", "two", "p2", 1)}, ForeignFilePolicy::kRefuse), IsOk());
  EXPECT_THAT(Read("wheels/a.whl.sig"), IsOkAndHolds(Eq("somebody's")));
}

TEST_F(OutputFolderTest, AnUnwritablePlaceIsNamed) {
  ASSERT_THAT(WriteFile(env_->fs, root_, "a file"), IsOk());
  auto output = OutputFolder::Open(env_, root_);
  ASSERT_THAT(output, IsOk());
  const auto prepared = output->Prepare();
  ASSERT_FALSE(prepared.has_value());
  EXPECT_THAT(FormatError(prepared.error()), HasSubstr("while preparing the output directory"));
}

/// Old "a" and a new publication of "a" and "b", on a file system that breaks at each operation in turn.
class PublishFaults : public ::testing::TestWithParam<test::FaultAfter> {};

TEST_P(PublishFaults, AllAppearsOrNothing) {
  test::FaultLoop loop;
  loop.after = GetParam();
  loop.may_swallow = true;  // the removal of what a publication leaves behind
  loop.setup = [](test::MemFs& fs) {
    test::TestEnv env({.fs = &fs});
    const AbsPath root = AbsPath::Literal("/dist");
    fs.AddDir("/dist");
    auto output = OutputFolder::Open(env, root);
    ASSERT_THAT(output, IsOk());
    ASSERT_THAT(output->Prepare(), IsOk());
    ASSERT_THAT(output->Publish({Waiting(env, root, "a.whl", "old a"),
                                 Beside(Waiting(env, root, "a.whl.sig", "about old a"))},
                                ForeignFilePolicy::kRefuse),
                IsOk());
    Waiting(env, root, "a.whl", "new a");
    Waiting(env, root, "b.whl", "new b");
  };
  loop.run = [](Fs& fs) -> Result<void> {
    test::TestEnv env({.fs = &fs});
    const AbsPath root = AbsPath::Literal("/dist");
    PTPKG_TRY(OutputFolder output, OutputFolder::Open(env, root));
    PTPKG_CHECK(output.Prepare());
    std::vector<PublishItem> items;
    for (const char* name : {"a.whl", "b.whl"}) {
      const std::string text = std::string("new ") + name[0];
      items.push_back({.file = AbsPath::Literal("/waiting") / (HashText(text).Hex() + name),
                       .record = {.path = std::string("wheels/") + name,
                                  .format = "wheel",
                                  .sha256 = HashText(text).Hex(),
                                  .size_bytes = text.size(),
                                  .publication = "p2",
                                  .publication_size = 2}});
    }
    return output.Publish(std::move(items), ForeignFilePolicy::kRefuse);
  };
  loop.check = [](test::MemFs& fs, const Error& error) {
    SCOPED_TRACE(FormatError(error));
    // The next run finds the directory as it was, or completes the publication: never a mix.
    test::TestEnv env({.fs = &fs});
    auto output = OutputFolder::Open(env, AbsPath::Literal("/dist"));
    ASSERT_THAT(output, IsOk());
    ASSERT_THAT(output->Prepare(), IsOk());
    const auto there = Exists(fs, AbsPath::Literal("/dist/wheels/b.whl"));
    ASSERT_THAT(there, IsOk());
    EXPECT_EQ(fs.Content("/dist/wheels/a.whl"), *there ? "new a" : "old a");
    EXPECT_THAT(Exists(fs, AbsPath::Literal("/dist/wheels/a.whl.sig")), IsOkAndHolds(!*there));
    EXPECT_THAT(output->ArtifactsOfPublication(*there ? "p2" : "p1"), IsOkAndHolds(SizeIs(2)));
    EXPECT_THAT(Exists(fs, AbsPath::Literal("/dist/.ptpkg/publication.json")), IsOkAndHolds(false));
    EXPECT_THAT(fs.ListDir(AbsPath::Literal("/dist/.ptpkg")), IsOkAndHolds(ElementsAre("lock")));
    EXPECT_THAT(fs.ListDir(AbsPath::Literal("/waiting")), IsOkAndHolds(SizeIs(4))) << "what waits stays";
  };
  EXPECT_GT(test::RunFaultLoop(loop), 15);
}

INSTANTIATE_TEST_SUITE_P(Ways, PublishFaults,
                         ::testing::Values(test::FaultAfter::kRecover, test::FaultAfter::kDead));

}  // namespace
}  // namespace ptpkg::publish
