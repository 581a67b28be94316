#include "pipeline/remote_cache/remote_cache.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <thread>

#include "builder/resume/work_layout.h"
#include "pipeline/remote_cache/packed_object.h"
#include "pipeline/remote_cache/transfer_guard.h"
#include "support/fault_fs.h"
#include "unit/publish/fake_s3.h"

namespace ptpkg::pipeline {
namespace {

using graph::Node;
using graph::NodeResult;
using graph::RemoteStore;
using publish::FakeS3;
using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kKey = "1111111111111111111111111111111111111111111111111111111111111111";
constexpr const char* kOtherKey = "2222222222222222222222222222222222222222222222222222222222222222";

std::string ObjectOf(const std::string& key) { return "team/v1/build/" + key + ".tar.zst"; }

/// Time that passes as the test says. Any thread: a guard looks at it.
class SteppedClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point Now() override {
    ++looks_;
    return std::chrono::steady_clock::time_point(std::chrono::milliseconds(elapsed_ms_.load()));
  }
  std::chrono::system_clock::time_point WallNow() override { return {}; }
  void SleepFor(std::chrono::milliseconds duration) override { elapsed_ms_ += duration.count(); }
  void Set(std::chrono::seconds now) { elapsed_ms_ = std::chrono::milliseconds(now).count(); }
  [[nodiscard]] int looks() const { return looks_; }

 private:
  std::atomic<int> looks_{0};
  std::atomic<std::int64_t> elapsed_ms_{0};
};

/// Machines without a common disk, and one bucket.
class RemoteCacheTest : public ::testing::Test {
 protected:
  RemoteCacheTest() {
    node_.id = "build/toy-1.0-0";
    node_.stage = "build";
    node_.subject = "toy-1.0-0";
  }

  Env& NewMachine(Fs* fs = nullptr) {
    const std::string name = "machine" + std::to_string(machines_.size());
    return machines_.emplace_back(Env{.fs = fs == nullptr ? env_->fs : *fs,
                                      .process = env_->process,
                                      .http = s3_,
                                      .clock = clock_,
                                      .reporter = env_->reporter,
                                      .cancel = env_->cancel,
                                      .jobs = 2,
                                      .cache_dir = env_.dir().path() / name,
                                      .variables = {{"AWS_ACCESS_KEY_ID", "id-of-the-test"},
                                                    {"AWS_SECRET_ACCESS_KEY", "secret-of-the-test"},
                                                    {"AWS_ENDPOINT_URL", "http://h"},
                                                    {"HOME", env_.dir().path().str()}}});
  }

  std::unique_ptr<RemoteStore> Open(Env& machine, bool read_only = false) {
    auto opened = OpenRemoteCache(machine, {.url = "s3://bucket/team", .read_only = read_only});
    EXPECT_THAT(opened, IsOk());
    return opened ? *std::move(opened) : nullptr;
  }
  std::unique_ptr<RemoteStore> Open() { return Open(NewMachine()); }

  /// A result as a build has it.
  NodeResult Make(const std::string& text, const std::string& key = kKey) {
    const AbsPath root = env_.dir().path() / ("result" + std::to_string(results_++));
    EXPECT_THAT(env_->fs.MakeDirs(root / "tree/bin"), IsOk());
    EXPECT_THAT(WriteFile(env_->fs, root / "tree/bin/tool", text), IsOk());
    EXPECT_THAT(env_->fs.SetMode(root / "tree/bin/tool", 0755), IsOk());
    EXPECT_THAT(env_->fs.CreateSymlink("bin/tool", root / "tree/link"), IsOk());
    NodeResult result{.value = {{"prefix", std::string(builder::kPrefixLength, 'p')}, {"n", 7}}, .key = key};
    auto files = ScanTree(env_, root);
    EXPECT_THAT(files, IsOk());
    if (files) result.files = *std::move(files);
    return result;
  }

  /// The result that `store` has under the key, with its files in a new directory.
  Result<std::optional<NodeResult>> Fetch(RemoteStore& store, const std::string& key = kKey) {
    const AbsPath folder = env_.dir().path() / ("fetched" + std::to_string(results_++));
    PTPKG_CHECK(env_->fs.MakeDirs(folder));
    return store.Fetch(node_, key, folder);
  }
  void ExpectFetched(RemoteStore& store, const NodeResult& wanted) {
    ASSERT_OK_AND_ASSIGN(const std::optional<NodeResult> got, Fetch(store, wanted.key));
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->value, wanted.value);
    EXPECT_EQ(got->files.entries, wanted.files.entries);
    EXPECT_EQ(got->key, wanted.key);
    EXPECT_THAT(ScanTree(env_, got->files.root).has_value(), true);
  }
  void ExpectNothing(RemoteStore& store, const std::string& key = kKey) {
    ASSERT_OK_AND_ASSIGN(const std::optional<NodeResult> got, Fetch(store, key));
    EXPECT_FALSE(got.has_value());
  }

  [[nodiscard]] std::size_t Sent(const std::string& method) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        s3_.log, [&](const std::string& line) { return line.starts_with(method + " "); }));
  }

  /// Nothing of a request stays on the disk of a machine.
  void ExpectNoScratch() {
    for (const Env& machine : machines_) {
      const auto names = env_->fs.ListDir(machine.cache_dir / "work");
      if (names) {
        EXPECT_THAT(*names, IsEmpty());
      }
    }
  }

  test::TestEnv env_;
  SteppedClock clock_;
  FakeS3 s3_;
  std::list<Env> machines_;
  Node node_;
  int results_ = 0;
};

TEST_F(RemoteCacheTest, AResultComesBackAsItWas) {
  const NodeResult made = Make("#!/bin/sh\n");
  const auto first = Open();
  EXPECT_FALSE(first->Holds(node_, kKey));
  ExpectNothing(*first);
  EXPECT_TRUE(first->Upload(node_, made, false));
  EXPECT_THAT(s3_.objects, ElementsAre(::testing::Key(ObjectOf(kKey))));
  const auto second = Open();
  EXPECT_TRUE(second->Holds(node_, kKey));
  ExpectFetched(*second, made);
  ExpectNoScratch();
  EXPECT_THAT(env_.reporter.warnings(), IsEmpty());
}

TEST_F(RemoteCacheTest, AResultWithoutFilesComesBack) {
  NodeResult made = Make("x");
  made.files = {};
  EXPECT_TRUE(Open()->Upload(node_, made, false));
  ExpectFetched(*Open(), made);
}

TEST_F(RemoteCacheTest, TheSameResultGivesTheSameObject) {
  EXPECT_TRUE(Open()->Upload(node_, Make("x"), false));
  const std::string first = s3_.objects[ObjectOf(kKey)].text;
  EXPECT_TRUE(Open()->Upload(node_, Make("x"), true));
  EXPECT_EQ(s3_.objects[ObjectOf(kKey)].text, first);
}

TEST_F(RemoteCacheTest, TheFirstOfTwoWritersWins) {
  const NodeResult mine = Make("mine");
  const NodeResult other = Make("other");
  EXPECT_TRUE(Open()->Upload(node_, other, false));
  EXPECT_FALSE(Open()->Upload(node_, mine, false)) << "it is there";
  EXPECT_EQ(Sent("PUT"), 1U);
  // It comes between this run's look and its write.
  s3_.instead["HEAD " + ObjectOf(kKey)] = {FakeS3::ErrorAnswer(404, "NoSuchKey")};
  EXPECT_FALSE(Open()->Upload(node_, mine, false));
  EXPECT_EQ(Sent("PUT"), 2U);
  ExpectFetched(*Open(), other);
  EXPECT_THAT(env_.reporter.warnings(), IsEmpty());
  EXPECT_TRUE(Open()->Upload(node_, mine, true)) << "--refresh replaces it";
  ExpectFetched(*Open(), mine);
}

TEST_F(RemoteCacheTest, AStoreWithoutConditionsIsWrittenToWithout) {
  s3_.knows_conditions = false;
  const auto store = Open();
  EXPECT_TRUE(store->Upload(node_, Make("x"), false));
  EXPECT_TRUE(store->Upload(node_, Make("x", kOtherKey), false));
  EXPECT_EQ(Sent("PUT"), 3U) << "the condition is tried once";
  ExpectFetched(*Open(), Make("x"));
  EXPECT_THAT(env_.reporter.warnings(), IsEmpty());
}

TEST_F(RemoteCacheTest, AnotherWriterInAStoreWithoutConditionsIsNoError) {
  s3_.ignores_conditions = true;
  const NodeResult mine = Make("mine");
  const NodeResult other = Make("other, and longer");
  EXPECT_TRUE(Open()->Upload(node_, other, false));
  const FakeS3::Object of_other = s3_.objects[ObjectOf(kKey)];
  s3_.objects.clear();
  // Between this run's write and its look at what came of that.
  const auto store = Open();
  s3_.on_call = [&](const std::string& line) {
    if (line.starts_with("HEAD ") && Sent("PUT") == 2) s3_.objects[ObjectOf(kKey)] = of_other;
  };
  EXPECT_TRUE(store->Upload(node_, mine, false));
  EXPECT_THAT(env_.reporter.warnings(), IsEmpty());
  ExpectFetched(*Open(), other);
}

TEST_F(RemoteCacheTest, AStoreThatLosesWritesGetsNoMore) {
  s3_.loses = ".tar.zst";
  const auto store = Open();
  EXPECT_FALSE(store->Upload(node_, Make("x"), false));
  EXPECT_FALSE(store->Upload(node_, Make("x", kOtherKey), false));
  EXPECT_EQ(Sent("PUT"), 1U);
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("does not have the bytes")));
}

TEST_F(RemoteCacheTest, ADamagedObjectIsNamedAndReplaced) {
  const NodeResult made = Make("x");
  EXPECT_TRUE(Open()->Upload(node_, made, false));
  const std::string whole = s3_.objects[ObjectOf(kKey)].text;
  std::string changed = whole;
  changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
  const std::string cut = whole.substr(0, whole.size() / 2);
  std::size_t warnings = 0;
  for (const std::string& damaged : {changed, cut, std::string(), std::string("no archive")}) {
    // The digest that it was sent with is right, wrong or missing.
    for (const std::string& told : {HashText(damaged).Hex(), HashText(whole).Hex(), std::string()}) {
      s3_.objects[ObjectOf(kKey)] = {.text = damaged, .headers = {}};
      if (!told.empty()) s3_.objects[ObjectOf(kKey)].headers["x-amz-meta-sha256"] = told;
      const auto store = Open();
      ExpectNothing(*store);
      ASSERT_THAT(env_.reporter.warnings(), SizeIs(++warnings));
      EXPECT_THAT(env_.reporter.warnings().back(), AllOf(HasSubstr(ObjectOf(kKey)), HasSubstr("damaged")));
      ExpectNothing(*store);
      EXPECT_THAT(env_.reporter.warnings(), SizeIs(warnings)) << "it is named once";
      EXPECT_TRUE(store->Upload(node_, made, false));
      ExpectFetched(*Open(), made);
    }
  }
  ExpectNoScratch();
}

TEST_F(RemoteCacheTest, ADamagedObjectThatAnotherRunReplacedStays) {
  const NodeResult made = Make("x");
  EXPECT_TRUE(Open()->Upload(node_, made, false));
  const FakeS3::Object whole = s3_.objects[ObjectOf(kKey)];
  s3_.objects[ObjectOf(kKey)].text = "damaged";
  const auto store = Open();
  ExpectNothing(*store);
  s3_.objects[ObjectOf(kKey)] = whole;
  EXPECT_FALSE(store->Upload(node_, Make("y"), false));
  ExpectFetched(*Open(), made);
}

TEST_F(RemoteCacheTest, AnObjectUnderAnotherKeyOrStageIsRefused) {
  EXPECT_TRUE(Open()->Upload(node_, Make("x"), false));
  s3_.objects[ObjectOf(kOtherKey)] = s3_.objects[ObjectOf(kKey)];
  ExpectNothing(*Open(), kOtherKey);
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("another key")));
  s3_.objects[std::string("team/v1/pack/") + kKey + ".tar.zst"] = s3_.objects[ObjectOf(kKey)];
  node_.stage = "pack";
  ExpectNothing(*Open());
  EXPECT_THAT(env_.reporter.warnings(), SizeIs(2));
}

TEST_F(RemoteCacheTest, AnObjectWithOtherFilesThanItsRecordIsRefused) {
  NodeResult made = Make("x");
  made.files.entries[0].sha256 = HashText("y");
  const AbsPath scratch = env_.dir().path() / "scratch";
  const AbsPath folder = scratch / "folder";
  ASSERT_THAT(env_->fs.MakeDirs(folder), IsOk());
  ASSERT_THAT(PackObject(NewMachine(), node_, made, scratch / "object"), IsOk());
  EXPECT_THAT(UnpackObject(NewMachine(), node_, kKey, scratch / "object", folder),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("tree/bin/tool")));
  EXPECT_THAT(env_->fs.ListDir(folder), IsOkAndHolds(IsEmpty()));
}

TEST_F(RemoteCacheTest, RefusedUploadsCostOneWarning) {
  const NodeResult made = Make("x");
  EXPECT_TRUE(Open()->Upload(node_, made, false));
  s3_.instead["PUT " + ObjectOf(kOtherKey)] = {FakeS3::ErrorAnswer(403, "AccessDenied")};
  const auto store = Open();
  EXPECT_FALSE(store->Upload(node_, Make("x", kOtherKey), false));
  EXPECT_FALSE(store->Upload(node_, Make("x", kOtherKey), false));
  EXPECT_EQ(Sent("PUT"), 2U);
  EXPECT_THAT(env_.reporter.warnings(),
              ElementsAre(AllOf(HasSubstr("403"), HasSubstr("--remote-cache-read-only"))));
  ExpectFetched(*store, made);
}

TEST_F(RemoteCacheTest, ReadOnlyUploadsNothing) {
  const auto store = Open(NewMachine(), true);
  EXPECT_FALSE(store->Upload(node_, Make("x"), false));
  EXPECT_THAT(s3_.log, IsEmpty());
  EXPECT_THAT(env_.reporter.warnings(), IsEmpty());
}

TEST_F(RemoteCacheTest, AServerThatFailsCostsOneWarning) {
  const Error gone(ErrorCode::kNetwork, "no connection");
  for (const Result<HttpAnswer>& answer :
       {Result<HttpAnswer>(gone), Result<HttpAnswer>(FakeS3::ErrorAnswer(503, "SlowDown")),
        Result<HttpAnswer>(FakeS3::ErrorAnswer(403, "InvalidAccessKeyId")),
        Result<HttpAnswer>(FakeS3::ErrorAnswer(404, "NoSuchBucket"))}) {
    const auto store = Open();
    s3_.instead["GET " + ObjectOf(kKey)] = std::vector(99, answer);
    const std::size_t before = env_.reporter.warnings().size();
    ExpectNothing(*store);
    const std::size_t sent = s3_.log.size();
    ExpectNothing(*store);
    EXPECT_FALSE(store->Upload(node_, Make("x"), false));
    EXPECT_FALSE(store->Holds(node_, kKey));
    EXPECT_EQ(s3_.log.size(), sent) << "nothing is asked any more";
    ASSERT_THAT(env_.reporter.warnings(), SizeIs(before + 1));
    EXPECT_THAT(env_.reporter.warnings().back(),
                AllOf(HasSubstr("continuing without it"), Not(HasSubstr("secret"))));
  }
}

TEST_F(RemoteCacheTest, AServerThatFailsOnceIsAskedAgain) {
  const NodeResult made = Make("x");
  s3_.instead["PUT " + ObjectOf(kKey)] = {FakeS3::ErrorAnswer(503, "SlowDown"),
                                          Error(ErrorCode::kNetwork, "the connection was cut")};
  EXPECT_TRUE(Open()->Upload(node_, made, false));
  s3_.instead["GET " + ObjectOf(kKey)] = {Error(ErrorCode::kNetwork, "the connection was cut")};
  ExpectFetched(*Open(), made);
  EXPECT_THAT(env_.reporter.warnings(), IsEmpty());
}

TEST_F(RemoteCacheTest, AnInterruptIsNoFailureOfTheServer) {
  const auto store = Open();
  const NodeResult made = Make("x");
  s3_.on_call = [&](const std::string&) { env_.cancel.Cancel(); };
  EXPECT_THAT(Fetch(*store), FailsWith(ErrorCode::kCancelled, _));
  EXPECT_FALSE(store->Upload(node_, made, false));
  EXPECT_THAT(env_.reporter.warnings(), IsEmpty());
}

TEST_F(RemoteCacheTest, WithoutKeysOrNetworkThereIsNone) {
  Env& offline = NewMachine();
  offline.offline = true;
  EXPECT_EQ(Open(offline), nullptr);
  EXPECT_THAT(env_.reporter.warnings(), IsEmpty());
  Env& poor = NewMachine();
  poor.variables.erase("AWS_ACCESS_KEY_ID");
  poor.variables.erase("AWS_SECRET_ACCESS_KEY");
  EXPECT_EQ(Open(poor), nullptr);
  EXPECT_THAT(env_.reporter.warnings(),
              ElementsAre(AllOf(HasSubstr("no key"), HasSubstr("AWS_ACCESS_KEY_ID"))));
  ASSERT_OK_AND_ASSIGN(const auto none, OpenRemoteCache(poor, {}));
  EXPECT_EQ(none, nullptr);
}

/// Roots of its work directories can be longer than the usual ones, and results would not go together.
TEST_F(RemoteCacheTest, ACacheDirectoryWithALongPathHasNone) {
  Env& machine = NewMachine();
  const std::string here = machine.cache_dir.str() + "/";
  machine.cache_dir = AbsPath::Literal(here + std::string(139 - here.size(), 'c'));
  EXPECT_NE(Open(machine), nullptr);
  machine.cache_dir = AbsPath::Literal(machine.cache_dir.str() + "c");
  EXPECT_EQ(Open(machine), nullptr);
  EXPECT_THAT(env_.reporter.warnings(),
              ElementsAre(AllOf(HasSubstr("more than 139 bytes"), HasSubstr("--cache-dir"))));
}

TEST_F(RemoteCacheTest, AUrlThatIsNoBucketIsRefused) {
  Env& machine = NewMachine();
  for (const char* url : {"bucket", "s3:bucket", "https://bucket", "s3://", "s3://a/../b", "s3://b"}) {
    EXPECT_THAT(CheckRemoteCache(machine, {.url = url}), FailsWith(ErrorCode::kUsage, _)) << url;
  }
  EXPECT_THAT(CheckRemoteCache(machine, {.url = "ftp://x"}),
              FailsWith(ErrorCode::kUsage, HasSubstr("--remote-cache")));
  EXPECT_THAT(CheckRemoteCache(machine, {.url = "s3://bucket/a/b/"}), IsOk());
  EXPECT_THAT(CheckRemoteCache(machine, {}), IsOk());
  EXPECT_THAT(CheckRemoteCache(machine, {.read_only = true}),
              FailsWith(ErrorCode::kUsage, HasSubstr("needs --remote-cache")));
}

TEST_F(RemoteCacheTest, ResultsOfADirectoryWithALongPathStayThere) {
  NodeResult made = Make("x");
  made.value["prefix"] = std::string(builder::kPrefixLength + 1, 'p');
  EXPECT_FALSE(Open()->Upload(node_, made, false));
  EXPECT_THAT(s3_.log, IsEmpty());
}

TEST_F(RemoteCacheTest, MoreFilesThanAReaderTakesAreNotUploaded) {
  NodeResult made = Make("x");
  const TreeEntry entry = made.files.entries.front();  // tree/bin/tool
  made.files.entries.resize(limits::kMembers - 3, entry);
  EXPECT_FALSE(Open()->Upload(node_, made, false));
  EXPECT_THAT(s3_.log, IsEmpty());
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("1000001 files and directories")));
}

TEST_F(RemoteCacheTest, ADiskThatFailsGivesNoWrongResult) {
  const NodeResult made = Make("x");
  EXPECT_TRUE(Open()->Upload(node_, made, false));
  const std::string whole = s3_.objects[ObjectOf(kKey)].text;
  bool fired = true;
  for (std::uint64_t number = 1; fired; ++number) {
    test::FaultFs fs(env_->fs, {.number = number, .sys_errno = ENOSPC});
    const std::size_t before = env_.reporter.warnings().size();
    const auto store = OpenRemoteCache(NewMachine(&fs), {.url = "s3://bucket/team"});
    if (!store) continue;  // the file of the keys
    ASSERT_OK_AND_ASSIGN(const std::optional<NodeResult> got, Fetch(**store));
    if (got) {
      EXPECT_EQ(got->files.entries, made.files.entries);
    } else {
      EXPECT_THAT(env_.reporter.warnings(), SizeIs(before + 1)) << number;
    }
    fired = fs.fired();
  }
  fired = true;
  for (std::uint64_t number = 1; fired; ++number) {
    s3_.objects.clear();
    test::FaultFs fs(env_->fs, {.number = number, .sys_errno = ENOSPC});
    const auto store = OpenRemoteCache(NewMachine(&fs), {.url = "s3://bucket/team"});
    if (!store) continue;
    const bool uploaded = (*store)->Upload(node_, made, false);
    EXPECT_EQ(uploaded, s3_.objects.contains(ObjectOf(kKey)));
    if (uploaded) {
      EXPECT_EQ(s3_.objects[ObjectOf(kKey)].text, whole);
    }
    fired = fs.fired();
  }
}

class TransferGuardTest : public ::testing::Test {
 protected:
  TransferGuardTest()
      : with_clock_{.fs = env_->fs,
                    .process = env_->process,
                    .http = env_->http,
                    .clock = clock_,
                    .reporter = env_->reporter,
                    .cancel = env_->cancel,
                    .variables = {}},
        guard_(with_clock_, std::chrono::seconds(30)) {}

  void WaitUntilCancelled() {
    while (!guard_.token().cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  /// Until the guard has looked at the transfer as it is now, or has ended it.
  void WaitUntilSeen() {
    for (const int before = clock_.looks(); clock_.looks() < before + 2 && !guard_.token().cancelled();)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  test::TestEnv env_;
  SteppedClock clock_;
  Env with_clock_;
  TransferGuard guard_;
};

TEST_F(TransferGuardTest, ATransferThatStandsStillEnds) {
  const TransferGuard::Transfer transfer(guard_);
  clock_.Set(std::chrono::seconds(31));
  WaitUntilCancelled();
}

TEST_F(TransferGuardTest, ATransferThatCrawlsEnds) {
  TransferGuard::Transfer transfer(guard_);
  clock_.Set(std::chrono::seconds(29));
  transfer.Moved(1);
  clock_.Set(std::chrono::seconds(31));
  WaitUntilCancelled();
}

TEST_F(TransferGuardTest, AnswersThatKeepTheRunWaitingEnd) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(guard_.token().cancelled());
    const TransferGuard::Transfer transfer(guard_);
    clock_.Set(std::chrono::seconds(20 * (i + 1)));  // each is fast enough
  }
  WaitUntilCancelled();
  EXPECT_THAT(guard_.Reason(), HasSubstr("kept this run waiting for more than 60 s"));
}

TEST_F(TransferGuardTest, UsualAnswersCanBeMany) {
  for (int i = 1; i <= 1000; ++i) {
    const TransferGuard::Transfer transfer(guard_);
    clock_.Set(std::chrono::seconds(i));
  }
  const TransferGuard::Transfer last(guard_);
  WaitUntilSeen();
  EXPECT_FALSE(guard_.token().cancelled());
}

TEST_F(TransferGuardTest, AnInterruptEndsTransfers) {
  const TransferGuard::Transfer transfer(guard_);
  env_.cancel.Cancel();
  WaitUntilCancelled();
}

TEST_F(TransferGuardTest, ATransferThatMovesGoesOn) {
  {
    TransferGuard::Transfer transfer(guard_);
    for (int i = 1; i <= 10; ++i) {
      clock_.Set(std::chrono::seconds(20 * i));
      transfer.Moved(kLeastBytesPerSecond * 20 * static_cast<unsigned>(i));
    }
    EXPECT_FALSE(guard_.token().cancelled());
  }
  clock_.Set(std::chrono::seconds(1000));  // nothing is under way
  EXPECT_FALSE(guard_.token().cancelled());
}

TEST_F(TransferGuardTest, ATransferThatWasCutHasItsTimeAgain) {
  TransferGuard::Transfer transfer(guard_);
  for (int i = 1; i <= 5; ++i) {
    clock_.Set(std::chrono::seconds(20 * i));
    transfer.Moved(kLeastBytesPerSecond * 20 * static_cast<unsigned>(i));
  }
  transfer.Moved(1);
  WaitUntilSeen();
  EXPECT_FALSE(guard_.token().cancelled());
}

}  // namespace
}  // namespace ptpkg::pipeline
