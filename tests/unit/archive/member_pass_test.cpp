// Members read in one pass: what a visitor gets, whatever the threads, the memory and the damage.

#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

#include "archive/archive_member_pass.h"
#include "archive/deflate/deflate_chunk.h"
#include "support/fault_fs.h"
#include "support/files/read_only_file.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::FaultScope;
using ::ptpkg::test::IsOkAndHolds;
using ::ptpkg::test::MemFs;
using ::ptpkg::test::RunFaultLoop;
using ::ptpkg::test::TestEnv;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

const AbsPath kZip = AbsPath::Literal("/x.zip");

ZipMemberText Deflated(const std::string& name, const std::string& text) {
  DeflatePool pool(6);
  const auto packed = pool.Deflate(AsBytes(text), ChunkPlace::kLast);
  return {.name = name,
          .content = packed ? *packed : "",
          .method = 8,
          .crc = CrcOf(text),
          .size = static_cast<std::uint32_t>(text.size())};
}

Result<std::string> TextOf(File& file) {
  FileSource source(file);
  StringSink text;
  PTPKG_TRY([[maybe_unused]] const std::uint64_t bytes, Pump(source, text));
  return text.str();
}

/// "path=content" of all members, by index; digests and sizes are compared on the way.
Result<std::vector<std::string>> Pass(Env& env, const PassOptions& options = {}) {
  PTPKG_TRY(const ZipMembers zip, ZipMembers::Open(env, kZip, options.limits));
  std::vector<std::string> seen(zip.members().size());
  PTPKG_CHECK(zip.Visit(options, [&](const PassedMember& passed) -> Result<void> {
    PTPKG_TRY(const std::string text, TextOf(passed.content));
    EXPECT_EQ(text.size(), passed.member.size_bytes);
    if (passed.member.kind == FileKind::kRegular) {
      EXPECT_EQ(passed.sha256, options.hash ? HashText(text) : Sha256());
    }
    EXPECT_EQ(seen[passed.index], "") << "visited twice";
    seen[passed.index] = passed.member.path.str() + "=" +
                         (passed.member.link_target.empty() ? text : "->" + passed.member.link_target);
    return Ok();
  }));
  return seen;
}

std::string SampleZip() {
  return ToText({.members = {{.name = "d/", .unix_mode = 040755},
                             Deflated("d/big", WordyText(300'000)),
                             {.name = "./d/stored", .content = RandomText(5000), .unix_mode = 0100755},
                             {.name = "d/link", .content = "big", .unix_mode = 0120777},
                             Deflated("empty", ""),
                             Deflated("small", "text")}});
}

TEST(MemberPass, GivesEveryMemberWhateverTheJobsAndTheMemory) {
  const std::vector<std::string> expected = {"d/big=" + WordyText(300'000), "d/stored=" + RandomText(5000),
                                             "d/link=->big", "empty=", "small=text"};
  for (const int jobs : {1, 2, 7}) {
    for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{10}, std::uint64_t{1} << 20U}) {
      MemFs fs;
      fs.AddFile("/x.zip", SampleZip());
      TestEnv env({.fs = &fs, .jobs = jobs});
      ASSERT_OK_AND_ASSIGN(const auto seen, Pass(env, {.memory_bytes = memory, .hash = jobs != 2}));
      EXPECT_TRUE(seen == expected) << jobs << " jobs, memory " << memory;
      EXPECT_TRUE(fs.List(env->cache_dir.str()).empty()) << "a scratch file stayed";
      ASSERT_EQ(env.reporter.tasks().size(), 1U);
      EXPECT_EQ(env.reporter.tasks()[0].done_bytes, 305'004U);
    }
  }
}

TEST(MemberPass, LargeOnesComeFirstHoweverTheyAreStored) {
  const std::string zip = ToText({.members = {Deflated("small", WordyText(100)),
                                              Deflated("large", WordyText(200'000)),
                                              {.name = "stored", .content = RandomText(50'000)},
                                              Deflated("middle", WordyText(10'000)),
                                              Deflated("larger", WordyText(300'000)),
                                              Deflated("same", WordyText(10'000))}});
  // Through scratch files all, the two large ones, none.
  for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{100'000}, kPassMemoryBytes}) {
    MemFs fs;
    fs.AddFile("/x.zip", zip);
    TestEnv env({.fs = &fs, .jobs = 1});
    ASSERT_OK_AND_ASSIGN(const ZipMembers members, ZipMembers::Open(env, kZip));
    std::vector<std::string> seen;
    ASSERT_OK(members.Visit({.memory_bytes = memory}, [&](const PassedMember& passed) -> Result<void> {
      seen.push_back(passed.member.path.str());
      return Ok();
    }));
    EXPECT_THAT(seen, ElementsAre("larger", "large", "stored", "middle", "same", "small")) << memory;
  }
}

TEST(MemberPass, TogetherTheyStayWithinTheMemory) {
  ZipText zip;
  for (std::uint64_t i = 0; i < 40; ++i)
    zip.members.push_back(Deflated("m" + std::to_string(i), WordyText(20'000 + i * 1000, i)));
  MemFs fs;
  fs.AddFile("/x.zip", ToText(zip));
  TestEnv env({.fs = &fs, .jobs = 8});
  ASSERT_OK_AND_ASSIGN(const ZipMembers members, ZipMembers::Open(env, kZip));
  constexpr std::uint64_t kMemory = 100'000;
  std::atomic<std::uint64_t> held = 0;
  std::atomic<std::uint64_t> most = 0;
  std::atomic<int> visits = 0;
  ASSERT_OK(members.Visit({.memory_bytes = kMemory}, [&](const PassedMember& passed) -> Result<void> {
    const std::uint64_t now = held += passed.member.size_bytes;
    for (std::uint64_t before = most; now > before && !most.compare_exchange_weak(before, now);) {
    }
    ++visits;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    held -= passed.member.size_bytes;
    return Ok();
  }));
  EXPECT_EQ(visits, 40);
  EXPECT_LE(most, kMemory);
  EXPECT_GE(most, 59'000U) << "the largest";
}

TEST(MemberPass, TellsModesSizesAndCrc) {
  MemFs fs;
  fs.AddFile("/x.zip", SampleZip());
  TestEnv env({.fs = &fs});
  ASSERT_OK_AND_ASSIGN(const ZipMembers zip, ZipMembers::Open(env, kZip));
  const std::vector<ArchiveMember>& members = zip.members();
  ASSERT_EQ(members.size(), 5U);
  EXPECT_EQ(members[0].crc32, CrcOf(WordyText(300'000)));
  EXPECT_LT(members[0].stored_bytes, 200'000U);
  EXPECT_EQ(members[0].mode, 0644U);
  EXPECT_EQ(members[1].mode, 0755U);
  EXPECT_EQ(members[1].stored_bytes, 5000U);
  EXPECT_EQ(members[2].kind, FileKind::kSymlink);
  ASSERT_OK_AND_ASSIGN(const auto again, zip.OpenMember(4));
  EXPECT_EQ(*TextOf(*again), "text");
  EXPECT_THAT(again->WriteAt(0, AsBytes("x")), FailsWith(ErrorCode::kInternal, HasSubstr("is read-only")));
  EXPECT_THAT(zip.OpenMember(2), FailsWith(ErrorCode::kInvalidInput, HasSubstr("symlink")));
}

TEST(MemberPass, RefusesWhatDoesNotInflateAsDeclared) {
  struct Case {
    const char* what;
    ZipMemberText member;
    const char* message;
  };
  const ZipMemberText good = Deflated("g", WordyText(3000));
  std::vector<Case> cases(6, {"", good, ""});
  cases[0] = {"longer", good, "'g' does not unpack to the 100 bytes"};
  cases[0].member.size = 100;
  cases[1] = {"shorter", good, "'g' does not unpack to the 3001 bytes"};
  cases[1].member.size = 3001;
  cases[2] = {"far shorter", good, "'g' does not unpack to the 4000000000 bytes"};
  cases[2].member.size = 4'000'000'000;
  cases[3] = {"crc", good, "'g' cannot be read: CRC error"};
  cases[3].member.crc = 1;
  cases[4] = {"stored crc", {.name = "s", .content = "abc", .crc = 1}, "'s' cannot be read: CRC error"};
  // One 'a', then a length symbol that fixed codes do not define: libdeflate copies 258 bytes, zlib ends.
  cases[5] = {"undefined code", good, "'g' cannot be read: Zlib error"};
  cases[5].member.content = std::string("\x4B\x1C\x03\x00", 4);
  cases[5].member.size = 259;
  cases[5].member.crc = CrcOf(std::string(259, 'a'));
  for (const Case& bad : cases) {
    for (const std::uint64_t memory : {std::uint64_t{0}, kPassMemoryBytes}) {
      MemFs fs;
      fs.AddFile("/x.zip", ToText({.members = {bad.member}}));
      TestEnv env({.fs = &fs});
      EXPECT_THAT(Pass(env, {.memory_bytes = memory}), FailsWith(ErrorCode::kCorrupt, HasSubstr(bad.message)))
          << bad.what << ", memory " << memory;
    }
  }
}

TEST(MemberPass, SaysWhatIsUnsupported) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  fs.AddFile("/x.zip", ToText({.members = {{.name = "a", .content = "0123456789abc", .flags = 1}}}));
  EXPECT_THAT(Pass(env), FailsWith(ErrorCode::kUnsupported, HasSubstr("'a' cannot be read")));
  fs.AddFile("/x.zip", ToText({.members = {{.name = "b", .content = "x", .method = 10}}}));
  EXPECT_THAT(Pass(env), FailsWith(ErrorCode::kUnsupported, HasSubstr("'b' cannot be read")));
}

TEST(MemberPass, KeepsTheLimits) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  fs.AddFile("/x.zip", ToText({.members = {Deflated("bomb", std::string(66U << 20U, '\0'))}}));
  EXPECT_THAT(Pass(env), FailsWith(ErrorCode::kCorrupt, HasSubstr("more than 200 times its size")));
  EXPECT_THAT(Pass(env, {.memory_bytes = 0}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("more than 200 times its size")));
  EXPECT_THAT(Pass(env, {.limits = {.max_bytes = 1000}}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("more than 1000 bytes")));
}

TEST(MemberPass, TheFirstOfSeveralErrorsIsTold) {
  // The last member is the largest, so it is begun first.
  MemFs fs;
  fs.AddFile("/x.zip", ToText({.members = {Deflated("a", WordyText(10)), Deflated("b", WordyText(1000)),
                                           Deflated("c", WordyText(100'000))}}));
  for (const int jobs : {1, 3}) {
    for (int round = 0; round < 20; ++round) {
      TestEnv env({.fs = &fs, .jobs = jobs});
      ASSERT_OK_AND_ASSIGN(const ZipMembers zip, ZipMembers::Open(env, kZip));
      EXPECT_THAT(zip.Visit({},
                            [](const PassedMember& passed) -> Result<void> {
                              if (passed.index == 0) return Ok();
                              return Error(ErrorCode::kInvalidInput, passed.member.path.str() + " is bad");
                            }),
                  FailsWith(ErrorCode::kInvalidInput, HasSubstr("b is bad")));
    }
  }
}

TEST(MemberPass, StopsWhenCancelled) {
  MemFs fs;
  fs.AddFile("/x.zip", SampleZip());
  TestEnv env({.fs = &fs});
  ASSERT_OK_AND_ASSIGN(const ZipMembers zip, ZipMembers::Open(env, kZip));
  env.cancel.Cancel();
  EXPECT_THAT(zip.Visit({}, [](const PassedMember&) { return Ok(); }),
              FailsWith(ErrorCode::kCancelled, HasSubstr("interrupted")));
}

TEST(MemberPass, EveryFaultIsReported) {
  for (const std::uint64_t memory : {std::uint64_t{0}, kPassMemoryBytes}) {
    const int faults = RunFaultLoop({.setup = [](MemFs& fs) { fs.AddFile("/x.zip", SampleZip()); },
                                     .run = [&](Fs& fs) -> Result<void> {
                                       TestEnv env({.fs = &fs, .jobs = 1});
                                       PTPKG_TRY(const auto seen, Pass(env, {.memory_bytes = memory}));
                                       EXPECT_EQ(seen.size(), 5U);
                                       return Ok();
                                     },
                                     .check = {},
                                     // A scratch directory that cannot be removed is left to a later run.
                                     .may_swallow = memory == 0});
    EXPECT_GE(faults, 10);
  }
}

class StreamPassTest : public ::testing::Test {
 protected:
  Result<void> Run(const std::vector<std::string>& texts, const PassOptions& options, int jobs = 3) {
    TestEnv env({.jobs = jobs});
    seen_.assign(texts.size(), "");
    StreamPass pass(env, "x.tar", packed_bytes_, options, [this](const PassedMember& passed) -> Result<void> {
      PTPKG_TRY(seen_[passed.index], TextOf(passed.content));
      EXPECT_EQ(passed.sha256, options_hash_ ? HashText(seen_[passed.index]) : Sha256());
      if (seen_[passed.index] == bad_) return Error(ErrorCode::kInvalidInput, "bad text");
      return Ok();
    });
    options_hash_ = options.hash;
    for (const std::string& text : texts) {
      StringSource source(text);
      PTPKG_CHECK(
          pass.Add({.path = RelPath::Literal("m"), .size_bytes = text.size() + declared_more_}, source));
    }
    return pass.Finish();
  }

  std::uint64_t packed_bytes_ = 0;
  std::uint64_t declared_more_ = 0;
  std::string bad_ = "none";
  bool options_hash_ = true;
  std::vector<std::string> seen_;
};

TEST_F(StreamPassTest, VisitsInSlotsOfTheirOrder) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 50; ++i) texts.push_back(WordyText(i * 997, i));
  for (const int jobs : {1, 4}) {
    for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{20'000}, kPassMemoryBytes}) {
      ASSERT_OK(Run(texts, {.memory_bytes = memory}, jobs));
      EXPECT_TRUE(seen_ == texts) << jobs << " " << memory;
    }
  }
}

TEST_F(StreamPassTest, RefusesOtherSizesBombsAndWhatTheVisitorRefuses) {
  declared_more_ = 1;
  for (const std::uint64_t memory : {std::uint64_t{0}, kPassMemoryBytes}) {
    EXPECT_THAT(Run({"abc"}, {.memory_bytes = memory}),
                FailsWith(ErrorCode::kCorrupt, HasSubstr("'m' does not have the 4 bytes that it declares")));
  }
  declared_more_ = static_cast<std::uint64_t>(-1);
  EXPECT_THAT(Run({"abc"}, {}), FailsWith(ErrorCode::kCorrupt, HasSubstr("does not have the 2 bytes")));
  declared_more_ = 0;
  packed_bytes_ = 1000;
  EXPECT_THAT(Run({std::string(70U << 20U, 'x')}, {}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("'x.tar' unpacks to more than 200 times its size")));
  packed_bytes_ = 0;
  bad_ = "b";
  EXPECT_THAT(Run({"a", "b", "c"}, {}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("bad text")));
}

TEST(ZipMembers, KnownOnesAreNeitherInflatedNorVisited) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  ZipMemberText broken = Deflated("broken", "what nobody can inflate");
  broken.content.resize(3);  // the directory says so
  fs.AddFile(kZip.str(), ToText({.members = {Deflated("a", "text of a"),
                                             broken,
                                             {.name = "link", .content = "a", .unix_mode = 0120777}}}));
  PassOptions options;
  std::mutex mutex;
  std::vector<std::size_t> asked;
  options.is_known = [&](std::size_t index) -> Result<bool> {
    const std::lock_guard lock(mutex);
    asked.push_back(index);
    return index == 1;
  };
  EXPECT_THAT(Pass(env, options), IsOkAndHolds(ElementsAre("a=text of a", "", "link=->a")));
  std::sort(asked.begin(), asked.end());
  EXPECT_THAT(asked, ElementsAre(0, 1)) << "regular files alone";
  options.is_known = [](std::size_t index) -> Result<bool> {
    if (index == 0) return Error(ErrorCode::kIo, "cannot tell");
    return true;
  };
  EXPECT_THAT(Pass(env, options), FailsWith(ErrorCode::kIo, "cannot tell"));
}

TEST(ZipMembers, AreStoredAlikeOnlyByteForByte) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  const std::string text = WordyText(700'000);
  DeflatePool fast(1);
  ZipMemberText other_level = Deflated("other_level", text);
  other_level.content = *fast.Deflate(AsBytes(text), ChunkPlace::kLast);
  ZipMemberText flipped = Deflated("flipped", text);
  flipped.content.back() = static_cast<char>(flipped.content.back() ^ 1);
  ZipMemberText other_crc = Deflated("other_crc", text);
  other_crc.crc = *other_crc.crc + 1;
  const ZipMemberText plain{.name = "stored", .content = text};
  fs.AddFile(kZip.str(), ToText({.members = {Deflated("a", text), plain}}));
  const AbsPath second = AbsPath::Literal("/y.zip");
  fs.AddFile(second.str(), ToText({.members = {{.name = "first", .content = "moves the others"},
                                               Deflated("renamed", text),
                                               other_level,
                                               flipped,
                                               other_crc,
                                               plain}}));
  ASSERT_OK_AND_ASSIGN(const ZipMembers model, ZipMembers::Open(env, kZip));
  ASSERT_OK_AND_ASSIGN(const ZipMembers zip, ZipMembers::Open(env, second));
  std::vector<bool> alike;
  for (std::size_t i = 0; i < zip.members().size(); ++i) {
    ASSERT_OK_AND_ASSIGN(const bool one, zip.HasSameStoredBytes(i, model, 0));
    alike.push_back(one);
  }
  EXPECT_THAT(alike, ElementsAre(false, true, false, false, false, false));
  EXPECT_THAT(zip.HasSameStoredBytes(5, model, 1), IsOkAndHolds(true));
}

TEST(ZipMembers, GiveTheDigestOfAContentThatIsEqualInAllOfIt) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  const std::string text = WordyText(700'000);
  ZipMemberText damaged = Deflated("damaged", text);
  damaged.crc = 1;
  fs.AddFile(kZip.str(),
             ToText({.members = {Deflated("a", text), {.name = "stored", .content = text}, damaged}}));
  ASSERT_OK_AND_ASSIGN(const ZipMembers zip, ZipMembers::Open(env, kZip));
  std::string flipped = text;
  flipped[600'000] = '\0';
  struct Row {
    std::string content;
    bool is_same;
  };
  for (const Row& row : std::vector<Row>{{text, true},
                                         {flipped, false},
                                         {text + "x", false},
                                         {text.substr(0, 699'999), false},
                                         {"", false}}) {
    MemoryFile content(AsBytes(row.content));
    const auto digest = row.is_same ? std::optional(HashText(text)) : std::nullopt;
    EXPECT_THAT(zip.DigestIfSame(0, content), IsOkAndHolds(digest)) << row.content.size();
    EXPECT_THAT(zip.DigestIfSame(1, content), IsOkAndHolds(digest)) << row.content.size();
  }
  MemoryFile content{AsBytes(text)};
  EXPECT_THAT(zip.DigestIfSame(2, content), FailsWith(ErrorCode::kCorrupt, HasSubstr("CRC")));
}

}  // namespace
}  // namespace ptpkg::archive::test
