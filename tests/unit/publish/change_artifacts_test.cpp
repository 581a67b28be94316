#include "publish/change_artifacts.h"

#include <deque>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "support/digest/hash.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::publish {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

const std::string kA = HashText("A").Hex();
const std::string kB = HashText("B").Hex();

/// A place as a map of names, in which "promoted" files have a mark.
class FakeStore final : public Store {
 public:
  enum class Attempt : std::uint8_t { kMade, kLost, kMadeButCut, kRefused, kMadeButHidden, kIgnored };
  struct File {
    std::string sha256;
    bool marked = false;
  };

  [[nodiscard]] std::string Title() const override { return "the fake"; }
  [[nodiscard]] bool AcceptsFormat(ArtifactFormat) const override { return true; }
  [[nodiscard]] Result<void> Check(const Change& change) const override {
    if (change.artifact.file_name.starts_with("bad"))
      return Error(ErrorCode::kRefused, change.artifact.file_name + " is bad");
    return Ok();
  }
  [[nodiscard]] std::vector<std::string> Requests(const Change&) const override { return {}; }
  [[nodiscard]] bool HasIndex() const override { return has_index; }
  Result<void> LogIn() override {
    log.emplace_back("log in");
    return Ok();
  }
  Result<RemoteStatus> QueryStatus(const Change& change) override {
    log.push_back("look " + change.artifact.file_name);
    const bool hides = hidden > 0;
    if (hides) --hidden;
    const auto& shown = hides ? before : files;
    const auto file = shown.find(change.artifact.file_name);
    if (file == shown.end()) return RemoteStatus{.state = ChangeState::kAbsent};
    const bool done = change.action == Action::kCopy && file->second.marked;
    return RemoteStatus{.state = done ? ChangeState::kDone : ChangeState::kToDo,
                        .sha256 = file->second.sha256};
  }
  Result<void> Edit(const std::vector<Change>& changes) override {
    log.push_back("edit " + std::to_string(changes.size()));
    return edits ? Ok() : Result<void>(Error(ErrorCode::kNetwork, "no index"));
  }
  Result<void> Make(const Change& change, const RemoteStatus&) override {
    const std::string& name = change.artifact.file_name;
    log.push_back("make " + name);
    Attempt next = Attempt::kMade;
    if (!tries.empty()) {
      next = tries.front();
      tries.pop_front();
    }
    if (next == Attempt::kRefused) return Error(ErrorCode::kRefused, "no");
    if (next == Attempt::kIgnored) return Ok();
    if (next == Attempt::kMadeButHidden) {
      before = files;
      hidden = 2;
    }
    if (next != Attempt::kLost && change.action == Action::kRemove) files.erase(name);
    if (next != Attempt::kLost && change.action == Action::kCopy) files[name].marked = true;
    if (!comes_instead.empty()) files[name] = {.sha256 = comes_instead};
    if (next == Attempt::kLost || next == Attempt::kMadeButCut) return Error(ErrorCode::kNetwork, "cut");
    return Ok();
  }

  std::map<std::string, File> files;
  std::map<std::string, File> before;
  std::deque<Attempt> tries;
  int hidden = 0;
  bool edits = true;
  bool has_index = false;
  std::string comes_instead;  // what another client puts under the name meanwhile
  std::vector<std::string> log;
};

using Attempt = FakeStore::Attempt;

Change ChangeOf(Action action, const std::string& name, const std::string& sha256) {
  return {.action = action, .artifact = {.file_name = name}, .sha256 = sha256};
}

class ChangeTest : public ::testing::Test {
 protected:
  Result<std::vector<ChangeOutcome>> Run(std::vector<Change> changes, bool any_digest = false) {
    return ChangeAll(env_, store_, std::move(changes), {.any_digest = any_digest, .at_once = 1});
  }

  test::TestEnv env_;
  FakeStore store_;
};

TEST_F(ChangeTest, WhatIsThereIsRemovedAndLookedAtAgain) {
  store_.files["a"] = {kA};
  const auto done = Run({ChangeOf(Action::kRemove, "a", kA)});
  ASSERT_THAT(done, IsOk());
  EXPECT_THAT(*done, ElementsAre(AllOf(Field(&ChangeOutcome::result, ChangeResult::kMade),
                                       Field(&ChangeOutcome::sha256, kA))));
  EXPECT_THAT(store_.log, ElementsAre("log in", "look a", "edit 1", "make a", "look a"));
}

TEST_F(ChangeTest, WhatIsNotThereNeedsNoRemoval) {
  const auto done = Run({ChangeOf(Action::kRemove, "a", kA)});
  ASSERT_THAT(done, IsOk());
  EXPECT_THAT(*done, ElementsAre(Field(&ChangeOutcome::result, ChangeResult::kNotThere)));
  // It may be listed all the same.
  EXPECT_THAT(store_.log, ElementsAre("log in", "look a", "edit 1"));
}

TEST_F(ChangeTest, WhatNoStoreCanDoIsToldOfAllChanges) {
  const auto done = Run({ChangeOf(Action::kRemove, "bad1", kA), ChangeOf(Action::kRemove, "bad2", kA)});
  EXPECT_THAT(done, FailsWith(ErrorCode::kRefused, HasSubstr("bad1 is bad; bad2 is bad")));
  EXPECT_TRUE(store_.log.empty());
}

TEST_F(ChangeTest, WhatWasNotRemovedAndIsNoLongerListedIsNamed) {
  store_.files["a"] = {kA};
  store_.has_index = true;
  store_.tries = {Attempt::kRefused};
  ASSERT_THAT(Run({ChangeOf(Action::kRemove, "a", kA)}), IsOk());
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("no longer in the index of the fake: 'a'")));
}

TEST_F(ChangeTest, WhatIsNotThereCannotBePromoted) {
  EXPECT_THAT(Run({ChangeOf(Action::kCopy, "a", kA)}),
              FailsWith(ErrorCode::kNotFound, HasSubstr("has no 'a'")));
}

TEST_F(ChangeTest, WhatIsSoAlreadyIsSuccess) {
  store_.files["a"] = {kA, true};
  const auto done = Run({ChangeOf(Action::kCopy, "a", kA)});
  ASSERT_THAT(done, IsOk());
  EXPECT_THAT(*done, ElementsAre(Field(&ChangeOutcome::result, ChangeResult::kWasSo)));
  EXPECT_THAT(store_.log, ElementsAre("log in", "look a"));
}

TEST_F(ChangeTest, AnotherDigestEndsItBeforeAnythingIsChanged) {
  store_.files["a"] = {kA};
  store_.files["b"] = {kA};
  const auto done = Run({ChangeOf(Action::kRemove, "a", kA), ChangeOf(Action::kRemove, "b", kB)});
  ASSERT_THAT(done, FailsWith(ErrorCode::kAlreadyExists, HasSubstr(kA)));
  EXPECT_THAT(done.error().message(), HasSubstr(kB));
  EXPECT_THAT(store_.log, ElementsAre("log in", "look a", "look b"));
}

TEST_F(ChangeTest, AllThatIsWrongIsTold) {
  store_.files["a"] = {kA};
  const auto done = Run({ChangeOf(Action::kCopy, "a", kB), ChangeOf(Action::kCopy, "b", kB)});
  ASSERT_FALSE(done.has_value());
  EXPECT_THAT(done.error().message(),
              AllOf(HasSubstr("nothing was changed"), HasSubstr("a different 'a'"), HasSubstr("has no 'b'")));
}

TEST_F(ChangeTest, ANameWithoutDigestIsNotRemovedByTheWay) {
  store_.files["a"] = {kA};
  const auto done = Run({ChangeOf(Action::kRemove, "a", "")});
  ASSERT_THAT(done, FailsWith(ErrorCode::kRefused, HasSubstr(kA)));
  EXPECT_THAT(done.error().hint(), HasSubstr("a#sha256=" + kA));
  ASSERT_THAT(Run({ChangeOf(Action::kRemove, "a", "")}, true), IsOk());
  EXPECT_TRUE(store_.files.empty());
}

TEST_F(ChangeTest, ANameWithoutDigestIsPromoted) {
  store_.files["a"] = {kA};
  const auto done = Run({ChangeOf(Action::kCopy, "a", "")});
  ASSERT_THAT(done, IsOk());
  EXPECT_THAT(*done, ElementsAre(Field(&ChangeOutcome::sha256, kA)));
}

TEST_F(ChangeTest, ARuleOfTheStoreEndsItFirst) {
  EXPECT_THAT(Run({ChangeOf(Action::kRemove, "bad", kA)}),
              FailsWith(ErrorCode::kRefused, HasSubstr("is bad")));
  EXPECT_TRUE(store_.log.empty());
}

TEST_F(ChangeTest, AnAnswerThatNeverCameIsAskedFor) {
  store_.files["a"] = {kA};
  store_.tries = {Attempt::kMadeButCut};
  const auto done = Run({ChangeOf(Action::kRemove, "a", kA)});
  ASSERT_THAT(done, IsOk());
  EXPECT_THAT(*done, ElementsAre(Field(&ChangeOutcome::result, ChangeResult::kMade)));
  EXPECT_THAT(store_.log, ElementsAre("log in", "look a", "edit 1", "make a", "look a"));
}

TEST_F(ChangeTest, ALostTryIsRepeatedFourTimesAtMost) {
  store_.files["a"] = {kA};
  store_.tries = {Attempt::kLost, Attempt::kMade};
  ASSERT_THAT(Run({ChangeOf(Action::kCopy, "a", kA)}), IsOk());
  store_.files["a"] = {kA};
  store_.log.clear();
  store_.tries = {Attempt::kLost, Attempt::kLost, Attempt::kLost, Attempt::kLost, Attempt::kMade};
  const auto done = Run({ChangeOf(Action::kCopy, "a", kA)});
  ASSERT_THAT(done, IsOk());
  EXPECT_EQ(done->front().result, ChangeResult::kFailed);
  EXPECT_EQ(done->front().error->code(), ErrorCode::kNetwork);
  EXPECT_EQ(std::count(store_.log.begin(), store_.log.end(), "make a"), 4);
}

TEST_F(ChangeTest, AFileThatTakesTheNameMeanwhileStays) {
  store_.files["a"] = {kA};
  store_.tries = {Attempt::kMadeButCut};
  store_.comes_instead = kB;
  const auto done = Run({ChangeOf(Action::kRemove, "a", kA)});
  ASSERT_THAT(done, IsOk());
  EXPECT_EQ(done->front().result, ChangeResult::kMade);
  EXPECT_EQ(store_.files["a"].sha256, kB);
}

TEST_F(ChangeTest, AFileThatSomebodyReplacesIsNotPromoted) {
  store_.files["a"] = {kA};
  store_.comes_instead = kB;
  const auto done = Run({ChangeOf(Action::kCopy, "a", kA)});
  ASSERT_THAT(done, IsOk());
  EXPECT_EQ(done->front().result, ChangeResult::kFailed);
  EXPECT_THAT(done->front().error->message(), HasSubstr("another client"));
}

TEST_F(ChangeTest, WhatTheStoreShowsLaterIsWaitedFor) {
  store_.files["a"] = {kA};
  store_.tries = {Attempt::kMadeButHidden};
  const auto done = Run({ChangeOf(Action::kCopy, "a", kA)});
  ASSERT_THAT(done, IsOk());
  EXPECT_EQ(done->front().result, ChangeResult::kMade);
  EXPECT_THAT(store_.log, ElementsAre("log in", "look a", "edit 1", "make a", "look a", "look a", "look a"));
}

TEST_F(ChangeTest, WhatIsAgreedToAndNeverShownHasFailed) {
  store_.files["a"] = {kA};
  store_.tries = {Attempt::kIgnored};
  const auto done = Run({ChangeOf(Action::kCopy, "a", kA)});
  ASSERT_THAT(done, IsOk());
  EXPECT_EQ(done->front().result, ChangeResult::kFailed);
  EXPECT_THAT(done->front().error->message(), HasSubstr("does not show it"));
}

TEST_F(ChangeTest, OneThatFailsKeepsNoOtherBack) {
  store_.files["a"] = {kA};
  store_.files["b"] = {kB};
  store_.tries = {Attempt::kRefused, Attempt::kMade};
  const auto done = Run({ChangeOf(Action::kRemove, "a", kA), ChangeOf(Action::kRemove, "b", kB)});
  ASSERT_THAT(done, IsOk());
  EXPECT_THAT(*done, ElementsAre(Field(&ChangeOutcome::result, ChangeResult::kFailed),
                                 Field(&ChangeOutcome::result, ChangeResult::kMade)));
}

TEST_F(ChangeTest, WithoutItsIndexNothingIsRemoved) {
  store_.files["a"] = {kA};
  store_.edits = false;
  EXPECT_THAT(Run({ChangeOf(Action::kRemove, "a", kA)}),
              FailsWith(ErrorCode::kNetwork, HasSubstr("no index")));
  EXPECT_TRUE(store_.files.contains("a"));
}

TEST_F(ChangeTest, AnInterruptEndsItBeforeTheNextOne) {
  store_.files["a"] = {kA};
  env_.cancel.Cancel();
  EXPECT_THAT(Run({ChangeOf(Action::kRemove, "a", kA)}), FailsWith(ErrorCode::kCancelled, HasSubstr("")));
  EXPECT_TRUE(store_.files.contains("a"));
}

TEST(ArtifactIdTest, NamesAsAChannelAndAnIndexWriteThem) {
  const auto package = ParseArtifactId("linux-64/a-b-1.0-h1_0.conda");
  ASSERT_THAT(package, IsOk());
  EXPECT_THAT(*package, AllOf(Field(&ArtifactId::package, "a-b"), Field(&ArtifactId::version, "1.0"),
                              Field(&ArtifactId::subdir, "linux-64")));
  EXPECT_EQ(package->ChannelPath(), "linux-64/a-b-1.0-h1_0.conda");
  const auto wheel = ParseArtifactId("Toy_Pure-1.0-py3-none-any.whl");
  ASSERT_THAT(wheel, IsOk());
  EXPECT_THAT(*wheel, AllOf(Field(&ArtifactId::package, "toy-pure"), Field(&ArtifactId::version, "1.0"),
                            Field(&ArtifactId::format, ArtifactFormat::kWheel)));
  const auto below = ParseArtifactId("rocm6.4/toy-1.0-py3-none-any.whl");
  ASSERT_THAT(below, IsOk());
  EXPECT_THAT(*below, AllOf(Field(&ArtifactId::file_name, "toy-1.0-py3-none-any.whl"),
                            Field(&ArtifactId::backend, "rocm6.4"), Field(&ArtifactId::subdir, "")));
  EXPECT_EQ(below->ChannelPath(), "rocm6.4/toy-1.0-py3-none-any.whl");
}

TEST(ArtifactIdTest, WhatIsNoneIsTold) {
  for (const char* text :
       {"toy-1.0-0.conda", "../toy-1.0-0.conda", "linux-64/toy.conda", "linux-64/a/b-1-0.conda",
        "simple/toy-1.0-py3-none-any.whl", "cpu/cpu/toy-1.0-py3-none-any.whl", "/toy-1.0-py3-none-any.whl",
        "cpu/toy.whl", "toy.whl", ""}) {
    EXPECT_THAT(ParseArtifactId(text), FailsWith(ErrorCode::kUsage, HasSubstr("is not an artifact name")))
        << text;
  }
}

}  // namespace
}  // namespace ptpkg::publish
