// TransmutePackage: equal members, equal bytes, failures.
#include "conda/transmute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conda/info/container.h"
#include "conda/info/package_info.h"
#include "conda/package.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "unit/conda/package_builder.h"

namespace ptpkg::conda {
namespace {

using test::DemoInfo;
using test::DemoMetadata;
using test::FailsWith;
using test::IsOkAndHolds;
using test::MakeTarBz2;
using test::RawMember;
using test::TestEnv;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kConda = "demo-1.0-0.conda";
constexpr const char* kTarBz2 = "demo-1.0-0.tar.bz2";

/// Members with everything that other builders write: own modes and times, hard links, directories.
const std::vector<RawMember> kForeign = {
    {.name = "bin", .type = '5', .mode = 0755},
    {.name = "bin/tool", .content = "#!/bin/sh\n", .mode = 0775, .mtime = 1500000000},
    {.name = "bin/same", .type = '1', .link_target = "bin/tool", .mode = 0775, .mtime = 1500000000},
    {.name = "lib/x.py", .content = "x = 1\n", .mode = 0664, .mtime = 1600000000},
    {.name = "lib/x", .type = '2', .link_target = "x.py", .mtime = 5}};

/// "name mode time content", links as "name -> target", in the order of reading.
Result<std::vector<std::string>> Lines(Env& env, const AbsPath& package) {
  std::vector<std::string> lines;
  const auto on_member = [&](Part, const archive::TarMember& member, ByteSource& content) -> Result<bool> {
    PTPKG_TRY(const std::string text, ReadText(content, 1U << 20U));
    const bool symlink = member.kind == archive::TarKind::kSymlink;
    std::string line = fmt::format("{} {:o} {}", member.name, symlink ? 0 : member.mode, member.mtime);
    if (!member.link_target.empty()) line += (symlink ? " -> " : " = ") + member.link_target;
    if (!member.name.starts_with("info/")) line += " " + text;
    lines.push_back(line);
    return true;
  };
  PTPKG_CHECK(ReadContainer(env, package, on_member));
  return lines;
}

std::vector<RawMember> Joined(std::vector<RawMember> first, const std::vector<RawMember>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class TransmuteTest : public ::testing::Test {
 protected:
  /// A hard link has the content of its target in paths.json, and none in the tar.
  static std::vector<RawMember> Info() {
    std::vector<RawMember> files(kForeign.begin() + 1, kForeign.end());
    files[1] = {.name = "bin/same", .content = files[0].content};
    files.back().content = files[2].content;
    return DemoInfo(files);
  }
  std::vector<std::string> Names(const AbsPath& folder) {
    auto names = env_->fs.ListDir(folder);
    return names ? *names : std::vector<std::string>{"unreadable"};
  }

  TestEnv env_;
  AbsPath in_ = env_.dir().MakeDir("in");
  AbsPath out_ = env_.dir().MakeDir("out");
};

TEST_F(TransmuteTest, MakesTheBytesOfTheWriter) {
  const std::string prefix = "/build/" + std::string(100, 'p');
  const StagedTree tree =
      test::MakeTree(env_, {{.name = "bin/tool", .content = "#!" + prefix + "/bin/sh\n", .mode = 0755},
                            {.name = "lib/" + std::string(150, 'n'), .content = std::string(300000, 'z')},
                            {.name = "lib/link", .type = '2', .link_target = "gone"}});
  ASSERT_OK_AND_ASSIGN(
      const auto written,
      WritePackages(env_, {.metadata = DemoMetadata(), .tree = tree, .prefix_placeholder = prefix}, in_, {}));
  ASSERT_OK_AND_ASSIGN(const Artifact tar, TransmutePackage(env_, in_ / kConda, out_ / kTarBz2));
  ASSERT_OK_AND_ASSIGN(const Artifact conda, TransmutePackage(env_, in_ / kTarBz2, out_ / kConda));
  EXPECT_EQ(conda.digests, written[0].digests);
  EXPECT_EQ(tar.digests, written[1].digests);
  EXPECT_EQ(conda.unpacked_bytes, written[0].unpacked_bytes);
  for (const char* name : {kConda, kTarBz2}) {
    EXPECT_EQ(env_.dir().ReadFile(std::string("in/") + name),
              env_.dir().ReadFile(std::string("out/") + name));
  }
  EXPECT_THAT(Names(out_), ElementsAre(kConda, kTarBz2));
}

TEST_F(TransmuteTest, KeepsModesTimesAndLinksAndDropsDirectories) {
  const AbsPath tar =
      env_.dir().WriteFile(std::string("in/") + kTarBz2, MakeTarBz2(Joined(Info(), kForeign)));
  ASSERT_OK(TransmutePackage(env_, tar, out_ / kConda));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> lines, Lines(env_, out_ / kConda));
  ASSERT_EQ(lines.size(), Info().size() + kForeign.size() - 1);
  EXPECT_THAT(std::vector<std::string>(lines.end() - 4, lines.end()),
              ElementsAre("bin/tool 775 1500000000 #!/bin/sh\n", "bin/same 775 1500000000 = bin/tool ",
                          "lib/x.py 664 1600000000 x = 1\n", "lib/x 0 5 -> x.py "));
  ASSERT_OK(TransmutePackage(env_, out_ / kConda, out_ / kTarBz2));
  EXPECT_THAT(Lines(env_, out_ / kTarBz2), IsOkAndHolds(lines));
}

TEST_F(TransmuteTest, PutsLateInfoIntoItsPart) {
  const AbsPath tar =
      env_.dir().WriteFile(std::string("in/") + kTarBz2, MakeTarBz2(Joined(kForeign, Info())));
  ASSERT_OK(TransmutePackage(env_, tar, out_ / kConda));
  EXPECT_OK(ReadPackageInfo(env_, out_ / kConda));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> lines, Lines(env_, out_ / kConda));
  EXPECT_THAT(lines.front(), HasSubstr("info/"));
  EXPECT_THAT(lines.back(), HasSubstr("lib/x"));
}

TEST_F(TransmuteTest, RefusesAndLeavesNothing) {
  const std::string whole = MakeTarBz2(Joined(Info(), kForeign));
  env_.dir().WriteFile(std::string("out/") + kConda, "old");
  const AbsPath good = env_.dir().WriteFile(std::string("in/") + kTarBz2, whole);
  EXPECT_THAT(TransmutePackage(env_, good, out_ / kConda),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr(kConda)));
  EXPECT_EQ(env_.dir().ReadFile(std::string("out/") + kConda), "old");
  EXPECT_THAT(TransmutePackage(env_, good, out_ / kTarBz2),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is a .tar.bz2 file")));
  EXPECT_THAT(TransmutePackage(env_, good, out_ / "demo"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("demo")));
  ASSERT_OK(env_->fs.Remove(out_ / kConda));
  const AbsPath cut = env_.dir().WriteFile("in/cut.tar.bz2", whole.substr(0, whole.size() / 2));
  EXPECT_THAT(TransmutePackage(env_, cut, out_ / kConda),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("in the middle of a stream")));
  const AbsPath pipe =
      env_.dir().WriteFile("in/pipe.tar.bz2", MakeTarBz2(Joined(Info(), {{.name = "pipe", .type = '6'}})));
  EXPECT_THAT(TransmutePackage(env_, pipe, out_ / kConda),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("'pipe'")));
  test::WriteRawConda(env_, {.info = Info(), .payload = {{.name = "info/evil", .content = "x"}}},
                      in_ / kConda);
  EXPECT_THAT(TransmutePackage(env_, in_ / kConda, out_ / kTarBz2),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("'info/evil' is in the wrong part")));
  env_.cancel.Cancel();
  EXPECT_THAT(TransmutePackage(env_, good, out_ / kConda), FailsWith(ErrorCode::kCancelled, "interrupted"));
  EXPECT_THAT(Names(out_), IsEmpty());
}

TEST(TransmuteFaults, LeaveNothingBehindWhateverFails) {
  for (const auto& [from, to] : {std::pair(kTarBz2, kConda), std::pair(kConda, kTarBz2)}) {
    test::FaultLoop loop;
    const AbsPath source = AbsPath::Literal(std::string("/in/") + from);
    const AbsPath target = AbsPath::Literal(std::string("/out/") + to);
    loop.setup = [&](test::MemFs& fs) {
      fs.AddDir("/in");
      fs.AddDir("/out");
      TestEnv env({.fs = &fs, .jobs = 1});
      if (source.Name() == kTarBz2) {
        fs.AddFile(source.str(), MakeTarBz2(Joined(DemoInfo({}), kForeign)));
      } else {
        test::WriteRawConda(env, {.info = DemoInfo({}), .payload = kForeign}, source);
      }
    };
    loop.run = [&](Fs& fs) -> Result<void> {
      TestEnv env({.fs = &fs, .jobs = 1});
      PTPKG_CHECK(TransmutePackage(env, source, target));
      return Ok();
    };
    loop.check = [&](test::MemFs& fs, const Error&) { EXPECT_THAT(Exists(fs, target), IsOkAndHolds(false)); };
    loop.may_swallow = true;  // the clean-up of scratch
    EXPECT_GT(test::RunFaultLoop(loop), 10) << to;
  }
}

TEST(TransmuteFaults, AResultThatReadsBackOtherwiseDoesNotStay) {
  const AbsPath source = AbsPath::Literal(std::string("/in/") + kTarBz2);
  const AbsPath target = AbsPath::Literal(std::string("/out/") + kConda);
  const std::vector<RawMember> other = {{.name = "bin/other", .content = "x"}};
  int noticed = 0;
  for (std::uint64_t number = 1;; ++number) {
    test::MemFs files;
    files.AddDir("/in");
    files.AddDir("/out");
    files.AddFile(source.str(), MakeTarBz2(Joined(DemoInfo({}), kForeign)));
    test::FaultFs fs(files, {});
    bool reached = false;
    fs.Before(number, [&] {
      reached = true;
      if (!*Exists(files, target)) return;
      ASSERT_OK(files.Remove(target));
      TestEnv env({.fs = &files, .jobs = 1});
      test::WriteRawConda(env, {.info = DemoInfo(other), .payload = other}, target);
    });
    TestEnv env({.fs = &fs, .jobs = 1});
    const auto done = TransmutePackage(env, source, target);
    if (!reached) break;
    if (done || done.error().message().find("differs from its source") == std::string::npos) continue;
    EXPECT_EQ(done.error().code(), ErrorCode::kCorrupt);
    EXPECT_THAT(Exists(files, target), IsOkAndHolds(false));
    ++noticed;
  }
  EXPECT_GT(noticed, 0);
}

}  // namespace
}  // namespace ptpkg::conda
