// ReadPackageInfo and UnpackPackage, on our own packages and on hostile ones.
#include "conda/info/container.h"
#include "conda/info/noarch.h"
#include "conda/info/package_info.h"
#include "conda/package.h"
#include "support/matchers.h"
#include "support/process/console_script.h"
#include "unit/conda/package_builder.h"

namespace ptpkg::conda {
namespace {

using test::Bzip2;
using test::DemoInfo;
using test::DemoMetadata;
using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;
using test::MakeTar;
using test::MakeTarBz2;
using test::MakeTree;
using test::RawMember;
using test::TestEnv;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kUnpackedPrefix = "/build/" + std::string(248, 'p');

class UnpackTest : public ::testing::Test {
 protected:
  AbsPath Package(const std::vector<RawMember>& members) {
    return env_.dir().WriteFile("demo-1.0-0.tar.bz2", MakeTarBz2(members));
  }
  /// A package whose info/ fits `payload`.
  AbsPath PackageOf(const std::vector<RawMember>& payload) {
    std::vector<RawMember> members = DemoInfo(payload);
    members.insert(members.end(), payload.begin(), payload.end());
    return Package(members);
  }
  Result<PackageInfo> Unpack(const AbsPath& package, const UnpackOptions& options = {}) {
    return UnpackPackage(env_, package, prefix_, options);
  }
  /// What lies in the prefix.
  std::vector<std::string> Prefix() { return test::ListTree(env_->fs, prefix_); }

  void ExpectRefused(const AbsPath& package, const std::string& why) {
    EXPECT_THAT(Unpack(package), FailsWith(ErrorCode::kCorrupt, HasSubstr(why)));
    EXPECT_THAT(Prefix(), IsEmpty());
    ASSERT_OK(env_->fs.Remove(package));
  }

  TestEnv env_;
  AbsPath prefix_ = env_.dir().MakeDir("prefix");
};

TEST_F(UnpackTest, InstallsWhatWasPackedAndReplacesThePrefix) {
  const std::string nul(1, '\0');
  const StagedTree tree =
      MakeTree(env_, {{.name = "bin/tool", .content = "#!" + kUnpackedPrefix + "/bin/python\n", .mode = 0755},
                      {.name = "lib/libx.so.1", .content = "ELF" + nul + kUnpackedPrefix + "/lib" + nul},
                      {.name = "lib/libx.so", .content = "", .type = '2', .link_target = "libx.so.1"}});
  ASSERT_OK_AND_ASSIGN(
      const auto artifacts,
      WritePackages(env_, {.metadata = DemoMetadata(), .tree = tree, .prefix_placeholder = kUnpackedPrefix},
                    env_.dir().MakeDir("out"), {}));
  for (const Artifact& artifact : artifacts) {
    const AbsPath prefix = env_.dir().MakeDir(artifact.format == ArtifactFormat::kConda ? "c" : "t");
    ASSERT_OK_AND_ASSIGN(const PackageInfo info,
                         UnpackPackage(env_, artifact.path, prefix, {.prefix = "/opt/env"}));
    EXPECT_EQ(info.format, artifact.format);
    EXPECT_EQ(info.index["name"], "demo");
    EXPECT_THAT(ReadFile(env_->fs, prefix / "bin/tool"), IsOkAndHolds("#!/opt/env/bin/python\n"));
    ASSERT_OK_AND_ASSIGN(const FileStat stat, env_->fs.Lstat(prefix / "bin/tool"));
    EXPECT_EQ(stat.mode, 0755U);
    ASSERT_OK_AND_ASSIGN(const std::string library, ReadFile(env_->fs, prefix / "lib/libx.so"));
    EXPECT_EQ(library.size(), 3 + 1 + kUnpackedPrefix.size() + 4 + 1);
    EXPECT_EQ(std::string(library.c_str() + 4), "/opt/env/lib");
    EXPECT_THAT(env_->fs.ReadLink(prefix / "lib/libx.so"), IsOkAndHolds("libx.so.1"));
    const auto told = env_.reporter.tasks().back();
    EXPECT_EQ(told.info.stage, "unpack");
    EXPECT_EQ(told.info.subject, artifact.path.Name());
    EXPECT_EQ(told.info.total_bytes, artifact.digests.size_bytes);
    EXPECT_GT(told.done_bytes, told.info.total_bytes / 2) << "the zip around a .conda is not counted";
    EXPECT_LE(told.done_bytes, told.info.total_bytes);
    EXPECT_EQ(told.outcome, TaskOutcome::kDone);
  }
}

TEST_F(UnpackTest, LeavesPlaceholdersWithoutAPrefix) {
  const StagedTree tree = MakeTree(env_, {{.name = "f", .content = kUnpackedPrefix}});
  ASSERT_OK_AND_ASSIGN(
      const auto artifacts,
      WritePackages(env_, {.metadata = DemoMetadata(), .tree = tree, .prefix_placeholder = kUnpackedPrefix},
                    env_.dir().MakeDir("out"), {.conda = false}));
  ASSERT_THAT(Unpack(artifacts[0].path), IsOk());
  EXPECT_THAT(ReadFile(env_->fs, prefix_ / "f"), IsOkAndHolds(kUnpackedPrefix));
}

TEST_F(UnpackTest, RemovesEverythingWhenThePrefixIsTooLong) {
  const StagedTree tree =
      MakeTree(env_, {{.name = "d/f", .content = kUnpackedPrefix + std::string(1, '\0')}});
  ASSERT_OK_AND_ASSIGN(
      const auto artifacts,
      WritePackages(env_, {.metadata = DemoMetadata(), .tree = tree, .prefix_placeholder = kUnpackedPrefix},
                    env_.dir().MakeDir("out"), {.conda = false}));
  EXPECT_THAT(Unpack(artifacts[0].path, {.prefix = "/" + std::string(300, 'x')}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("placeholder")));
  EXPECT_THAT(Prefix(), IsEmpty());
}

TEST_F(UnpackTest, CopiesHardLinks) {
  const std::vector<RawMember> payload{{.name = "a", .content = "text"},
                                       {.name = "b", .content = "", .type = '1', .link_target = "a"}};
  std::vector<RawMember> described = payload;
  described[1].content = "text";
  std::vector<RawMember> members = DemoInfo(described);
  members.insert(members.end(), payload.begin(), payload.end());
  ASSERT_THAT(Unpack(Package(members)), IsOk());
  EXPECT_THAT(ReadFile(env_->fs, prefix_ / "b"), IsOkAndHolds("text"));
  ASSERT_OK_AND_ASSIGN(const FileStat stat, env_->fs.Lstat(prefix_ / "b"));
  EXPECT_EQ(stat.link_count, 1U);
}

TEST_F(UnpackTest, AddsToAPrefixThatHoldsOtherPackages) {
  env_.dir().WriteFile("prefix/lib/other", "x");
  ASSERT_THAT(Unpack(PackageOf({{.name = "lib/a", .content = "1"}})), IsOk());
  EXPECT_THAT(Prefix(), ElementsAre("lib/", "lib/a", "lib/other"));
}

TEST_F(UnpackTest, RefusesToClobberAndTakesItsFilesBack) {
  env_.dir().WriteFile("prefix/lib/b", "theirs");
  const AbsPath package = PackageOf({{.name = "bin/a", .content = "1"}, {.name = "lib/b", .content = "2"}});
  EXPECT_THAT(Unpack(package), FailsWith(ErrorCode::kAlreadyExists, HasSubstr("lib/b")));
  EXPECT_THAT(Prefix(), ElementsAre("lib/", "lib/b"));
  EXPECT_THAT(ReadFile(env_->fs, prefix_ / "lib/b"), IsOkAndHolds("theirs"));
}

TEST_F(UnpackTest, DoesNotWriteThroughALinkOfThePrefix) {
  env_.dir().MakeDir("outside");
  env_.dir().MakeSymlink("../outside", "prefix/lib");
  EXPECT_THAT(Unpack(PackageOf({{.name = "lib/a", .content = "1"}})),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("is below the symlink 'lib'")));
  EXPECT_THAT(test::ListTree(env_->fs, env_.dir() / "outside"), IsEmpty());
}

TEST_F(UnpackTest, RefusesAFileInTheWayOfAFolder) {
  env_.dir().WriteFile("prefix/lib", "x");
  EXPECT_THAT(Unpack(PackageOf({{.name = "lib/a", .content = "1"}})),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("is a file, not a directory")));
}

TEST_F(UnpackTest, RefusesHostileMembers) {
  ExpectRefused(Package({{.name = "../evil", .content = "x"}}), "../evil");
  ExpectRefused(Package({{.name = "/evil", .content = "x"}}), "/evil");
  ExpectRefused(Package({{.name = "a/../../evil", .content = "x"}}), "has '..' in its name");
  ExpectRefused(PackageOf({{.name = "a", .type = '2', .link_target = "/etc/passwd"}}),
                "links to the absolute path");
  ExpectRefused(PackageOf({{.name = "b/a", .type = '2', .link_target = "../../x"}}), "outside the package");
  ExpectRefused(PackageOf({{.name = "d", .type = '2', .link_target = "e"}, {.name = "d/x", .content = "1"}}),
                "is below the symlink 'd'");
  ExpectRefused(PackageOf({{.name = "a", .content = "1"}, {.name = "fifo", .type = '6'}}), "is a device");
  ExpectRefused(Package({{.name = "a", .content = "1"}, {.name = "a", .content = "2"}}), "occurs twice");
  ExpectRefused(Package({{.name = "a", .type = '1', .link_target = "/etc/passwd"}}), "has an absolute name");
  ExpectRefused(Package({{.name = "a", .content = "1"}, {.name = "a/b", .content = "2"}}),
                "is below 'a', which is a file");
  ExpectRefused(Package({{.name = "a/b", .content = "1"}, {.name = "a", .content = "2"}}),
                "is also the directory of other");
  ExpectRefused(Package({{.name = "a\tb", .content = "1"}}), "has a control character in its name");
}

TEST_F(UnpackTest, RefusesContentThatPathsJsonDoesNotDescribe) {
  const std::vector<RawMember> good{{.name = "a", .content = "1"}, {.name = "b", .content = "2"}};
  const auto with = [&](const std::vector<RawMember>& payload) {
    std::vector<RawMember> members = DemoInfo(good);
    members.insert(members.end(), payload.begin(), payload.end());
    return Package(members);
  };
  ExpectRefused(with({good[0]}), "'b' of paths.json is missing");
  ExpectRefused(with({good[0], good[1], {.name = "c", .content = ""}}), "'c' is not listed");
  ExpectRefused(with({good[0], {.name = "b", .content = "3"}}), "differs from paths.json");
  ExpectRefused(with({good[0], {.name = "b", .content = "22"}}), "'b' has 2 bytes");
  ExpectRefused(with({good[0], {.name = "b", .type = '2', .link_target = "a"}}), "has a different type");
  ExpectRefused(Package({DemoInfo({})[0]}), "has no 'info/paths.json'");
}

TEST_F(UnpackTest, RefusesPartsThatHoldEachOthersFiles) {
  const std::vector<RawMember> payload{{.name = "a", .content = "1"}};
  test::RawConda raw{.info = DemoInfo(payload), .payload = payload};
  raw.info.push_back({.name = "stray", .content = ""});
  test::WriteRawConda(env_, raw, env_.dir() / "demo-1.0-0.conda");
  ExpectRefused(env_.dir() / "demo-1.0-0.conda", "outside info/ in the info part");
  raw.info.pop_back();
  raw.payload.push_back({.name = "info/extra", .content = "{}"});
  test::WriteRawConda(env_, raw, env_.dir() / "demo-1.0-0.conda");
  ExpectRefused(env_.dir() / "demo-1.0-0.conda", "below info/ in the payload part");
}

TEST_F(UnpackTest, PlacesNoarchPythonForAnInterpreter) {
  PackageMetadata metadata = DemoMetadata();
  metadata.subdir = "noarch";
  metadata.noarch_python = true;
  metadata.entry_points = {"demo = demo.cli:App.main"};
  const StagedTree tree = MakeTree(env_, {{.name = "lib/python3.9/site-packages/demo/cli.py", .content = "1"},
                                          {.name = "bin/demo", .content = "of pip", .mode = 0755},
                                          {.name = "bin/other", .content = "3", .mode = 0755}});
  ASSERT_OK_AND_ASSIGN(const auto artifacts,
                       WritePackages(env_, {.metadata = metadata, .tree = tree, .prefix_placeholder = ""},
                                     env_.dir().MakeDir("out"), {.tar_bz2 = false}));
  ASSERT_THAT(Unpack(artifacts[0].path, {.prefix = "/opt/env", .python_version = "3.12"}), IsOk());
  EXPECT_THAT(Prefix(), ElementsAre("bin/", "bin/demo", "bin/other", "lib/", "lib/python3.12/",
                                    "lib/python3.12/site-packages/", "lib/python3.12/site-packages/demo/",
                                    "lib/python3.12/site-packages/demo/cli.py"));
  EXPECT_THAT(
      ReadFile(env_->fs, prefix_ / "bin/demo"),
      IsOkAndHolds(ConsoleScriptText({.prefix = "/opt/env", .module = "demo.cli", .object = "App.main"})));
}

TEST(MakeEntryPoint, RefusesNamesThatLeaveBin) {
  for (const char* text : {"../x = a:b", "x", "x = a", "= a:b", "x = :b"}) {
    EXPECT_THAT(MakeEntryPoint(text, "/p"), FailsWith(ErrorCode::kCorrupt, HasSubstr("entry point"))) << text;
  }
}

TEST(MakeEntryPoint, GoesThroughTheShellWhereTheKernelCutsTheFirstLine) {
  const auto first_line = [](const std::string& prefix) {
    const auto script = MakeEntryPoint("tool = a.b:main", prefix);
    EXPECT_THAT(script, IsOk());
    return script ? script->text.substr(0, script->text.find("# -*-")) : std::string();
  };
  const std::string longest = "/" + std::string(113, 'p');  // the first line has 127 bytes without its break
  EXPECT_EQ(first_line(longest), "#!" + longest + "/bin/python\n");
  for (const std::string& prefix : {longest + "p", std::string("/opt/my env")}) {
    EXPECT_EQ(first_line(prefix), "#!/bin/sh\n'''exec' \"" + prefix + "/bin/python\" \"$0\" \"$@\"\n' '''\n");
  }
}

class ReadTest : public UnpackTest {};

TEST_F(ReadTest, TakesTheFormatFromTheContent) {
  const AbsPath package = env_.dir().WriteFile("odd.conda", MakeTarBz2(DemoInfo({})));
  ASSERT_OK_AND_ASSIGN(const PackageInfo info, ReadPackageInfo(env_, package));
  EXPECT_EQ(info.format, ArtifactFormat::kTarBz2);
}

TEST_F(ReadTest, FindsInfoThatComesAfterThePayload) {
  std::vector<RawMember> members{{.name = "a", .content = "1"}};
  for (const RawMember& member : DemoInfo(members)) members.push_back(member);
  ASSERT_OK_AND_ASSIGN(const PackageInfo info, ReadPackageInfo(env_, Package(members)));
  EXPECT_EQ(info.index["name"], "demo");
  EXPECT_TRUE(info.run_exports.is_null());
}

TEST_F(ReadTest, StopsBehindInfo) {
  // What follows info/ is cut off: a reader that goes on would fail.
  std::vector<RawMember> members = DemoInfo({});
  members.push_back({.name = "a", .content = std::string(3U << 20U, 'x')});
  std::string tar = MakeTar(members);
  tar.resize(1U << 20U);
  const AbsPath package = env_.dir().WriteFile("x.tar.bz2", Bzip2(tar));
  EXPECT_THAT(ReadPackageInfo(env_, package), IsOk());
  EXPECT_THAT(UnpackPackage(env_, package, prefix_, {}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("tar is damaged")));
}

TEST_F(ReadTest, SaysWhatIsMissingOrWrong) {
  const auto read = [&](const std::vector<RawMember>& members) {
    const AbsPath package = Package(members);
    auto info = ReadPackageInfo(env_, package);
    EXPECT_THAT(env_->fs.Remove(package), IsOk());
    return info;
  };
  EXPECT_THAT(read({{.name = "a", .content = ""}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("has no 'info/index.json'")));
  EXPECT_THAT(read({{.name = "./info/index.json", .content = "{}"}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("has no 'info/index.json'")));
  EXPECT_THAT(read({{.name = "info/index.json", .content = "{"}}),
              FailsWith(ErrorCode::kInvalidInput, testing::_));
  EXPECT_THAT(read({{.name = "info/index.json", .content = "{}"}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("name")));
  EXPECT_THAT(
      read({{.name = "info/index.json", .content = "{}"}, {.name = "info/index.json", .content = "{}"}}),
      FailsWith(ErrorCode::kCorrupt, HasSubstr("occurs twice")));
  EXPECT_THAT(read({{.name = "info/../x", .content = "{}"}}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("has '..' in its name")));
}

TEST_F(ReadTest, RefusesFilesThatAreNoPackages) {
  int count = 0;
  const auto read = [&](std::string_view content) {
    return ReadPackageInfo(env_, env_.dir().WriteFile("n" + std::to_string(++count), content));
  };
  EXPECT_THAT(read(""), FailsWith(ErrorCode::kCorrupt, HasSubstr("neither a .conda")));
  EXPECT_THAT(read("hello"), FailsWith(ErrorCode::kCorrupt, HasSubstr("neither a .conda")));
  EXPECT_THAT(read("BZh9"), FailsWith(ErrorCode::kCorrupt, HasSubstr("bzip2 data is damaged")));
  EXPECT_THAT(read("PK\3\4"), FailsWith(ErrorCode::kCorrupt, testing::_));
  EXPECT_THAT(read(Bzip2("no tar at all, but long enough to be looked at")),
              FailsWith(ErrorCode::kCorrupt, testing::_));
  EXPECT_THAT(ReadPackageInfo(env_, env_.dir() / "none"), FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
}

TEST_F(ReadTest, NoticesEveryCutOfATarBz2) {
  const std::string whole = MakeTarBz2(DemoInfo({{.name = "a", .content = "1"}}));
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    const AbsPath package = env_.dir().WriteFile("cut" + std::to_string(size), whole.substr(0, size));
    EXPECT_THAT(UnpackPackage(env_, package, prefix_, {}), FailsWith(ErrorCode::kCorrupt, testing::_))
        << size;
  }
}

TEST_F(ReadTest, NeedsBothPartsOnce) {
  const auto read = [&](test::RawConda raw, const std::string& name) {
    test::WriteRawConda(env_, raw, env_.dir() / name);
    return ReadPackageInfo(env_, env_.dir() / name);
  };
  test::RawConda raw{.info = DemoInfo({}), .payload = {}};
  EXPECT_THAT(read(raw, "good.conda"), IsOk());
  raw.extra_members = {"info-other.tar.zst"};
  EXPECT_THAT(read(raw, "two.conda"),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("two members 'info-*.tar.zst'")));
  raw.extra_members = {};
  raw.stem = "x";
  raw.metadata = "";
  EXPECT_THAT(read(raw, "nometa.conda"), IsOk());  // a finding, no failure
}

TEST_F(ReadTest, RefusesABomb) {
  ContainerOptions options;
  options.limits.max_ratio = 50;
  const AbsPath package =
      env_.dir().WriteFile("bomb", MakeTarBz2({{.name = "a", .content = std::string(80U << 20U, '\0')}}));
  const auto ignore = [](Part, const archive::TarMember&, ByteSource&) -> Result<bool> { return true; };
  EXPECT_THAT(ReadContainer(env_, package, ignore, options),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("decompression bomb")));
  options.limits = {.max_bytes = 1000};
  EXPECT_THAT(ReadContainer(env_, package, ignore, options),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("decompression bomb")));
  options.limits = {.max_entries = 0};
  EXPECT_THAT(ReadContainer(env_, package, ignore, options),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("more than 0 members")));
}

TEST_F(ReadTest, CountsStreams) {
  const std::string tar = MakeTar(DemoInfo({}));
  const AbsPath package = env_.dir().WriteFile("two", Bzip2(tar.substr(0, 700)) + Bzip2(tar.substr(700)));
  const auto ignore = [](Part, const archive::TarMember&, ByteSource&) -> Result<bool> { return true; };
  ASSERT_OK_AND_ASSIGN(const ContainerFacts facts, ReadContainer(env_, package, ignore));
  EXPECT_EQ(facts.parts.at(0).stream.streams, 2U);
}

}  // namespace
}  // namespace ptpkg::conda
