#include "publish/send.h"

#include <deque>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

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
using ::testing::IsEmpty;

Upload UploadOf(const std::string& name, const std::string& text) {
  Upload upload{.file = AbsPath::Literal("/a") / name};
  upload.digests.sha256 = HashText(text);
  upload.digests.size_bytes = text.size();
  return upload;
}

/// A server as a map of names, whose tries go as a test says.
class FakeRemote final : public Remote {
 public:
  enum class Try : std::uint8_t {
    kTaken,
    kLost,
    kTakenButCut,
    kRefused,
    kTakenButHidden,
    kIgnored,
    kOvertaken
  };

  [[nodiscard]] std::string Title() const override { return "the fake"; }
  [[nodiscard]] std::string ProfileName() const override { return "conda"; }
  [[nodiscard]] Result<void> CheckRules(const Upload& upload) const override {
    if (upload.Name().starts_with("bad")) return Error(ErrorCode::kRefused, upload.Name() + " is bad");
    return Ok();
  }
  [[nodiscard]] std::vector<std::string> Requests(const Upload&, bool) const override { return {}; }
  [[nodiscard]] bool CanReplace() const override { return can_replace; }
  Result<void> LogIn() override {
    log.emplace_back("log in");
    return Ok();
  }
  Result<std::optional<RemoteFile>> Find(const Upload& upload) override {
    log.push_back("find " + upload.Name());
    if (hidden > 0) {
      --hidden;
      return std::optional<RemoteFile>();
    }
    const auto found = files.find(upload.Name());
    if (found == files.end()) return std::optional<RemoteFile>();
    return std::optional(RemoteFile{.sha256 = found->second, .words = "nobody knows"});
  }
  Result<void> Send(const Upload& upload, bool replace, const std::function<void(std::uint64_t)>&) override {
    log.push_back((replace ? "replace " : "send ") + upload.Name());
    Try next = Try::kTaken;
    if (!tries.empty()) {
      next = tries.front();
      tries.pop_front();
    }
    if (next == Try::kRefused) return Error(ErrorCode::kRefused, "no");
    if (next == Try::kIgnored) return Ok();
    if (next != Try::kLost) files[upload.Name()] = sends_other ? "other" : upload.digests.sha256.Hex();
    if (next == Try::kOvertaken) return Error(ErrorCode::kRefused, "no right to overwrite");
    if (next == Try::kTakenButHidden) hidden = 2;
    if (next == Try::kLost || next == Try::kTakenButCut) return Error(ErrorCode::kNetwork, "cut");
    return Ok();
  }
  Result<void> Finish(const std::vector<const Upload*>& there) override {
    for (const Upload* upload : there) finished.push_back(upload->Name());
    return finishes ? Ok() : Result<void>(Error(ErrorCode::kNetwork, "no index"));
  }
  Result<void> CheckRoom(std::uint64_t bytes) override {
    asked_room = bytes;
    return bytes <= room ? Ok() : Result<void>(Error(ErrorCode::kRefused, "no room"));
  }
  Result<void> LogOut() override {
    ++logged_out;
    return logs_out ? Ok() : Result<void>(Error(ErrorCode::kNetwork, "cut"));
  }
  Result<void> CleanUp(const Upload& upload) override {
    log.push_back("clean up " + upload.Name());
    return Ok();
  }

  std::map<std::string, std::string> files;
  std::deque<Try> tries;
  int hidden = 0;
  bool sends_other = false;
  bool can_replace = true;
  bool finishes = true;
  std::uint64_t room = 1000;
  std::uint64_t asked_room = 0;
  int logged_out = 0;
  bool logs_out = true;
  std::vector<std::string> finished;
  std::vector<std::string> log;
};

using Try = FakeRemote::Try;

class SendTest : public ::testing::Test {
 protected:
  Result<std::vector<SendOutcome>> Send(const std::vector<Upload>& uploads, bool force = false) {
    return SendAll(env_, remote_, uploads, {.force = force, .at_once = 1});
  }

  test::TestEnv env_;
  FakeRemote remote_;
};

TEST_F(SendTest, WhatIsNotThereIsSentAndLookedAtAgain) {
  const auto sent = Send({UploadOf("a.conda", "A")});
  ASSERT_THAT(sent, IsOk());
  EXPECT_THAT(*sent, ElementsAre(AllOf(Field(&SendOutcome::result, UploadResult::kSent),
                                       Field(&SendOutcome::remote_sha256, HashText("A").Hex()))));
  EXPECT_THAT(remote_.log, ElementsAre("log in", "find a.conda", "send a.conda", "find a.conda"));
}

TEST_F(SendTest, TheSameFileThereIsSuccess) {
  remote_.files["a.conda"] = HashText("A").Hex();
  const auto sent = Send({UploadOf("a.conda", "A")});
  ASSERT_THAT(sent, IsOk());
  EXPECT_THAT(*sent, ElementsAre(Field(&SendOutcome::result, UploadResult::kWasThere)));
  EXPECT_THAT(remote_.log, ElementsAre("log in", "find a.conda"));
}

TEST_F(SendTest, RoomIsAskedForWhatIsNotThereBeforeAnythingIsSent) {
  remote_.files["a.conda"] = HashText("A").Hex();
  remote_.room = 4;
  const std::vector<Upload> uploads = {UploadOf("a.conda", "A"), UploadOf("b.conda", "BBB"),
                                       UploadOf("c.conda", "CC")};
  EXPECT_THAT(Send(uploads), FailsWith(ErrorCode::kRefused, HasSubstr("no room")));
  EXPECT_EQ(remote_.asked_room, 5U);
  EXPECT_EQ(remote_.files.size(), 1U);
  remote_.room = 5;
  EXPECT_THAT(Send(uploads), IsOk());
}

TEST_F(SendTest, TheLoginEndsWhateverCameOfIt) {
  ASSERT_THAT(Send({UploadOf("a.conda", "A")}), IsOk());
  EXPECT_EQ(remote_.logged_out, 1);
  EXPECT_FALSE(Send({UploadOf("a.conda", "other")}).has_value());
  EXPECT_EQ(remote_.logged_out, 2);
  env_.cancel.Cancel();
  static_cast<void>(Send({UploadOf("b.conda", "B")}));
  EXPECT_EQ(remote_.logged_out, 3);
}

TEST_F(SendTest, ALoginThatDoesNotEndIsWarnedOf) {
  remote_.logs_out = false;
  const auto sent = Send({UploadOf("a.conda", "A")});
  ASSERT_THAT(sent, IsOk());
  EXPECT_EQ(sent->front().result, UploadResult::kSent);
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("cannot revoke the token")));
}

TEST_F(SendTest, AnotherFileThereIsAConflictBeforeAnythingIsSent) {
  remote_.files["b.conda"] = HashText("other").Hex();
  const auto sent = Send({UploadOf("a.conda", "A"), UploadOf("b.conda", "B")});
  ASSERT_THAT(sent, FailsWith(ErrorCode::kAlreadyExists, HasSubstr(HashText("other").Hex())));
  EXPECT_THAT(sent.error().message(), HasSubstr(HashText("B").Hex()));
  EXPECT_THAT(remote_.log, ElementsAre("log in", "find a.conda", "find b.conda"));
}

TEST_F(SendTest, WithForceTheOtherFileGoes) {
  remote_.files["a.conda"] = HashText("other").Hex();
  const auto sent = Send({UploadOf("a.conda", "A")}, true);
  ASSERT_THAT(sent, IsOk());
  EXPECT_THAT(*sent, ElementsAre(Field(&SendOutcome::result, UploadResult::kSent)));
  EXPECT_THAT(remote_.log, ElementsAre("log in", "find a.conda", "replace a.conda", "find a.conda"));
}

TEST_F(SendTest, ACutTryThatArrivedIsNotRepeated) {
  remote_.tries = {Try::kTakenButCut};
  const auto sent = Send({UploadOf("a.conda", "A")});
  ASSERT_THAT(sent, IsOk());
  EXPECT_THAT(*sent, ElementsAre(Field(&SendOutcome::result, UploadResult::kSent)));
  EXPECT_THAT(remote_.log, ElementsAre("log in", "find a.conda", "send a.conda", "find a.conda"));
}

TEST_F(SendTest, ACutTryThatWasLostIsRepeated) {
  remote_.tries = {Try::kLost, Try::kLost, Try::kTaken};
  const auto sent = Send({UploadOf("a.conda", "A")});
  ASSERT_THAT(sent, IsOk());
  EXPECT_THAT(*sent, ElementsAre(Field(&SendOutcome::result, UploadResult::kSent)));
  EXPECT_THAT(remote_.log, ElementsAre("log in", "find a.conda", "send a.conda", "find a.conda",
                                       "send a.conda", "find a.conda", "send a.conda", "find a.conda"));
}

TEST_F(SendTest, AfterFourLostTriesItHasFailed) {
  remote_.tries = {Try::kLost, Try::kLost, Try::kLost, Try::kLost};
  const auto sent = Send({UploadOf("a.conda", "A"), UploadOf("b.conda", "B")});
  ASSERT_THAT(sent, IsOk());
  EXPECT_THAT(*sent, ElementsAre(Field(&SendOutcome::result, UploadResult::kFailed),
                                 Field(&SendOutcome::result, UploadResult::kSent)));
  EXPECT_EQ((*sent)[0].error->code(), ErrorCode::kNetwork);
}

TEST_F(SendTest, ARefusalIsFinalAndWhatWasMadeIsTakenBack) {
  remote_.tries = {Try::kRefused};
  const auto sent = Send({UploadOf("a.conda", "A")});
  ASSERT_THAT(sent, IsOk());
  EXPECT_THAT(*sent, ElementsAre(Field(&SendOutcome::result, UploadResult::kFailed)));
  EXPECT_THAT(remote_.log,
              ElementsAre("log in", "find a.conda", "send a.conda", "find a.conda", "clean up a.conda"));
}

TEST_F(SendTest, WhatAnotherRunHasSentMeanwhileIsNoRefusal) {
  for (const bool same : {true, false}) {
    remote_ = FakeRemote();
    remote_.tries = {Try::kOvertaken};
    remote_.sends_other = !same;
    const auto sent = Send({UploadOf("a.conda", "A")});
    ASSERT_THAT(sent, IsOk());
    EXPECT_THAT(*sent, ElementsAre(Field(&SendOutcome::result,
                                         same ? UploadResult::kSent : UploadResult::kConflict)));
  }
}

TEST_F(SendTest, AFileThatIsShownLaterIsWaitedFor) {
  remote_.tries = {Try::kTakenButHidden};
  const auto sent = Send({UploadOf("a.conda", "A")});
  ASSERT_THAT(sent, IsOk());
  EXPECT_EQ((*sent)[0].remote_sha256, HashText("A").Hex());
}

TEST_F(SendTest, WhatIsTakenAndNeverShownIsNotSent) {
  remote_.tries = {Try::kIgnored};
  const auto sent = Send({UploadOf("a.conda", "A")});
  ASSERT_THAT(sent, IsOk());
  EXPECT_THAT(*sent, ElementsAre(Field(&SendOutcome::result, UploadResult::kFailed)));
  EXPECT_THAT((*sent)[0].error->message(), HasSubstr("does not show it"));
}

TEST_F(SendTest, AServerThatIgnoresForceIsNotBelieved) {
  remote_.files["a.conda"] = HashText("other").Hex();
  remote_.tries = {Try::kIgnored};
  const auto sent = Send({UploadOf("a.conda", "A")}, true);
  ASSERT_THAT(sent, IsOk());
  EXPECT_THAT(*sent, ElementsAre(AllOf(Field(&SendOutcome::result, UploadResult::kConflict),
                                       Field(&SendOutcome::remote_sha256, HashText("other").Hex()))));
}

TEST_F(SendTest, ForceIsAConflictWhereNothingCanBeReplaced) {
  remote_.files["b.conda"] = HashText("other").Hex();
  remote_.can_replace = false;
  EXPECT_THAT(Send({UploadOf("a.conda", "A"), UploadOf("b.conda", "B")}, true),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("b.conda")));
  EXPECT_THAT(remote_.log, ElementsAre("log in", "find a.conda", "find b.conda"));
}

TEST_F(SendTest, AFileWithoutADigestIsAnotherOne) {
  remote_.files["a.conda"] = "";
  EXPECT_THAT(Send({UploadOf("a.conda", "A")}),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("nobody knows")));
  EXPECT_THAT(Send({UploadOf("a.conda", "A")}, true), IsOk());
  EXPECT_EQ(remote_.files["a.conda"], HashText("A").Hex());
}

TEST_F(SendTest, AServerThatKeepsOtherBytesIsNotBelieved) {
  remote_.sends_other = true;
  const auto sent = Send({UploadOf("a.conda", "A")});
  ASSERT_THAT(sent, IsOk());
  EXPECT_THAT(*sent, ElementsAre(Field(&SendOutcome::result, UploadResult::kConflict)));
}

TEST_F(SendTest, AllThatBreakARuleAreToldWithoutARequest) {
  EXPECT_THAT(CheckRules(remote_, {UploadOf("a.conda", "A"), UploadOf("bad1.conda", "B"),
                                   UploadOf("bad2.conda", "C")}),
              FailsWith(ErrorCode::kRefused, AllOf(HasSubstr("bad1.conda"), HasSubstr("bad2.conda"))));
  EXPECT_THAT(remote_.log, IsEmpty());
}

TEST_F(SendTest, AfterAnInterruptNothingIsSent) {
  env_.cancel.Cancel();
  const auto sent = Send({UploadOf("a.conda", "A")});
  if (sent) {
    EXPECT_THAT(*sent, ElementsAre(Field(&SendOutcome::result, UploadResult::kNotTried)));
  }
  EXPECT_THAT(remote_.files, IsEmpty());
}

TEST_F(SendTest, WhatTheServerHasIsFinishedAndNothingElse) {
  remote_.files["b.conda"] = HashText("B").Hex();
  remote_.tries = {Try::kTaken, Try::kRefused};
  EXPECT_THAT(Send({UploadOf("a.conda", "A"), UploadOf("b.conda", "B"), UploadOf("c.conda", "C")}), IsOk());
  EXPECT_THAT(remote_.finished, ElementsAre("a.conda", "b.conda"));
}

TEST_F(SendTest, WhatNobodyFindsIsNotPublished) {
  remote_.finishes = false;
  const auto sent = Send({UploadOf("a.conda", "A")});
  ASSERT_THAT(sent, IsOk());
  EXPECT_THAT(*sent, ElementsAre(Field(&SendOutcome::result, UploadResult::kFailed)));
  EXPECT_EQ(sent->front().error->message(), "no index");
}

}  // namespace
}  // namespace ptpkg::publish
