// WritePackages: content, determinism, failure.
#include <algorithm>
#include <set>

#include "archive/zip/zip_strict.h"
#include "conda/info/container.h"
#include "conda/info/package_info.h"
#include "conda/package.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/text/json.h"
#include "unit/conda/package_builder.h"

namespace ptpkg::conda {
namespace {

using test::DemoMetadata;
using test::FailsWith;
using test::IsOk;
using test::MakeTree;
using test::RawMember;
using test::TestEnv;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kPrefix = "/build/" + std::string(248, 'p');

std::vector<RawMember> Files() {
  return {{.name = "bin/tool", .content = "#!" + kPrefix + "/bin/python\n", .mode = 0755},
          {.name = "lib/libx.so.1", .content = "ELF" + kPrefix + "/lib" + std::string(4, '\0')},
          {.name = "lib/libx.so", .content = "", .type = '2', .link_target = "libx.so.1"},
          {.name = "share/empty", .content = ""},
          {.name = "share/big", .content = std::string(300000, 'z')}};
}

struct Written {
  PackageInfo info;
  ContainerFacts facts;
  std::vector<std::string> members;             ///< In the order of reading.
  std::map<std::string, std::string> contents;  ///< Payload files.
};

Result<Written> ReadBack(Env& env, const AbsPath& package) {
  Written written;
  const auto on_member = [&](Part, const archive::TarMember& member, ByteSource& content) -> Result<bool> {
    written.members.push_back(member.name);
    PTPKG_TRY(written.contents[member.name], ReadText(content, 1U << 30U));
    return true;
  };
  PTPKG_TRY(written.facts, ReadContainer(env, package, on_member));
  PTPKG_TRY(written.info, ReadPackageInfo(env, package));
  return written;
}

class WritePackagesTest : public ::testing::Test {
 protected:
  Result<std::vector<Artifact>> Write(const PackageMetadata& metadata, const StagedTree& tree,
                                      const AbsPath& folder, const WriteOptions& options = {}) {
    return WritePackages(env_, {.metadata = metadata, .tree = tree, .prefix_placeholder = kPrefix}, folder,
                         options);
  }

  TestEnv env_;
  AbsPath out_ = env_.dir().MakeDir("out");
};

TEST_F(WritePackagesTest, WritesBothFormatsWithDigestsOfTheirBytes) {
  ASSERT_OK_AND_ASSIGN(const auto artifacts, Write(DemoMetadata(), MakeTree(env_, Files()), out_));
  ASSERT_THAT(artifacts, SizeIs(2));
  EXPECT_EQ(artifacts[0].path, out_ / "demo-1.0-0.conda");
  EXPECT_EQ(artifacts[1].path, out_ / "demo-1.0-0.tar.bz2");
  for (const Artifact& artifact : artifacts) {
    ASSERT_OK_AND_ASSIGN(const Digests digests, HashFile(env_->fs, artifact.path, {.md5 = true}));
    EXPECT_EQ(artifact.digests, digests);
  }
  EXPECT_THAT(env_.dir().List(), Contains("out/demo-1.0-0.conda"));
  ASSERT_OK_AND_ASSIGN(const auto names, env_->fs.ListDir(out_));
  EXPECT_THAT(names, ElementsAre("demo-1.0-0.conda", "demo-1.0-0.tar.bz2"));  // no temp file
}

TEST_F(WritePackagesTest, HoldsWhatItWasGiven) {
  ASSERT_OK_AND_ASSIGN(const auto artifacts, Write(DemoMetadata(), MakeTree(env_, Files()), out_));
  for (const Artifact& artifact : artifacts) {
    ASSERT_OK_AND_ASSIGN(const Written written, ReadBack(env_, artifact.path));
    EXPECT_THAT(written.members,
                ElementsAre("info/about.json", "info/files", "info/has_prefix", "info/hash_input.json",
                            "info/index.json", "info/licenses/LICENSE", "info/paths.json",
                            "info/used_build_tool.json", "bin/tool", "lib/libx.so", "lib/libx.so.1",
                            "share/big", "share/empty"));
    EXPECT_EQ(written.contents.at("share/big"), std::string(300000, 'z'));
    EXPECT_EQ(written.info.index["depends"], Json::array({"python >=3.11"}));
    EXPECT_EQ(written.info.index["timestamp"], env_->source_date_epoch * 1000);
    EXPECT_EQ(written.info.info_files.at("files"),
              "bin/tool\nlib/libx.so\nlib/libx.so.1\nshare/big\nshare/empty\n");
    EXPECT_EQ(written.info.info_files.at("has_prefix"),
              kPrefix + " text bin/tool\n" + kPrefix + " binary lib/libx.so.1\n");
    EXPECT_EQ(written.info.info_files.at("licenses/LICENSE"), "free\n");
    ASSERT_OK_AND_ASSIGN(const Json tool, ParseJson(written.info.info_files.at("used_build_tool.json"), "x"));
    EXPECT_EQ(tool["name"], "ptpkg");
    const Json& paths = written.info.paths["paths"];
    ASSERT_EQ(paths.size(), 5U);
    EXPECT_EQ(paths[0]["prefix_placeholder"], kPrefix);
    EXPECT_EQ(paths[0]["file_mode"], "text");
    EXPECT_EQ(paths[1]["path_type"], "softlink");
    EXPECT_EQ(paths[1]["sha256"], paths[2]["sha256"]);
    EXPECT_EQ(paths[1]["size_in_bytes"], paths[2]["size_in_bytes"]);
    EXPECT_EQ(paths[2]["file_mode"], "binary");
    EXPECT_FALSE(paths[4].contains("prefix_placeholder"));
    for (const auto& part : written.facts.parts) EXPECT_EQ(part.stream.streams, 1U);
  }
}

TEST_F(WritePackagesTest, LaysTheZipOutAsTheStrictestReadersWant) {
  ASSERT_OK_AND_ASSIGN(const auto artifacts,
                       Write(DemoMetadata(), MakeTree(env_, Files()), out_, {.tar_bz2 = false}));
  ASSERT_THAT(artifacts, SizeIs(1));
  ASSERT_OK_AND_ASSIGN(const Written written, ReadBack(env_, artifacts[0].path));
  std::vector<std::string> names;
  for (const auto& member : written.facts.zip_members) {
    names.push_back(member.name);
    EXPECT_TRUE(member.stored) << member.name;
  }
  EXPECT_THAT(names, ElementsAre("metadata.json", "pkg-demo-1.0-0.tar.zst", "info-demo-1.0-0.tar.zst"));
  EXPECT_EQ(written.facts.metadata, "{\"conda_pkg_format_version\": 2}");
  for (const auto& part : written.facts.parts) EXPECT_TRUE(part.stream.content_size_known);
  ASSERT_OK_AND_ASSIGN(const auto file, env_->fs.Open(artifacts[0].path, OpenMode::kRead));
  EXPECT_THAT(archive::StrictZipProblems(*file), test::IsOkAndHolds(IsEmpty()));
}

TEST_F(WritePackagesTest, GivesEqualBytesFromOtherFoldersAndJobs) {
  ASSERT_OK_AND_ASSIGN(const auto first, Write(DemoMetadata(), MakeTree(env_, Files()), out_));
  TestEnv other({.jobs = 5});
  std::vector<RawMember> shuffled = Files();
  std::reverse(shuffled.begin(), shuffled.end());
  const StagedTree tree = MakeTree(other, shuffled);
  for (const TreeEntry& entry : tree.entries) {
    if (entry.kind != FileKind::kRegular) continue;
    ASSERT_OK(other->fs.SetMtime(tree.root / entry.path, 1234567890123456789));
  }
  ASSERT_OK_AND_ASSIGN(
      const auto second,
      WritePackages(other, {.metadata = DemoMetadata(), .tree = tree, .prefix_placeholder = kPrefix},
                    other.dir().MakeDir("out"), {}));
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].digests, second[i].digests);
}

TEST_F(WritePackagesTest, PacksAPackageWithoutFiles) {
  ASSERT_OK_AND_ASSIGN(const auto artifacts, Write(DemoMetadata(), MakeTree(env_, {}), out_));
  for (const Artifact& artifact : artifacts) {
    ASSERT_OK_AND_ASSIGN(const Written written, ReadBack(env_, artifact.path));
    EXPECT_THAT(written.info.paths["paths"], IsEmpty());
    EXPECT_EQ(written.info.info_files.count("has_prefix"), 0U);
  }
}

TEST_F(WritePackagesTest, WritesRunExportsRecipeAndLinkFile) {
  PackageMetadata metadata = DemoMetadata();
  metadata.subdir = "noarch";
  metadata.noarch_python = true;
  metadata.entry_points = {"demo = demo.cli:main"};
  metadata.run_exports = {{"weak", {"demo >=1"}}, {"strong", {}}};
  metadata.license_files = {{"LICENSE", "Gr\xfc\xdf"}};
  metadata.info_files = {{"recipe/recipe.yaml", "a: b\n"}, {"recipe/patches/1.patch", "x"}};
  metadata.hash_input = Json{{"python", "3.11"}};
  const StagedTree tree = MakeTree(
      env_,
      {{.name = "lib/python3.11/site-packages/demo/__init__.py", .content = "1"},
       {.name = "lib/python3.11/site-packages/demo/__pycache__/__init__.cpython-311.pyc", .content = "2"},
       {.name = "bin/demo", .content = "of pip", .mode = 0755},
       {.name = "bin/other", .content = "3", .mode = 0755},
       {.name = "share/x", .content = "4"}});
  ASSERT_OK_AND_ASSIGN(const auto artifacts, Write(metadata, tree, out_));
  ASSERT_OK_AND_ASSIGN(const Written written, ReadBack(env_, artifacts[1].path));
  EXPECT_EQ(written.info.info_files.at("files"),
            "python-scripts/other\nshare/x\nsite-packages/demo/__init__.py\n");
  EXPECT_EQ(written.info.run_exports, (Json{{"weak", {"demo >=1"}}}));
  EXPECT_EQ(written.info.info_files.at("recipe/patches/1.patch"), "x");
  EXPECT_EQ(written.info.info_files.at("licenses/LICENSE"), "Gr\xfc\xdf");
  ASSERT_OK_AND_ASSIGN(const Json link, ParseJson(written.info.info_files.at("link.json"), "x"));
  const Json expected = {{"package_metadata_version", 1},
                         {"noarch", {{"type", "python"}, {"entry_points", {"demo = demo.cli:main"}}}}};
  EXPECT_EQ(link, expected);
  ASSERT_OK_AND_ASSIGN(const Json hash, ParseJson(written.info.info_files.at("hash_input.json"), "x"));
  EXPECT_EQ(hash, *metadata.hash_input);
}

TEST_F(WritePackagesTest, LeavesBinariesAloneWhenTheRecipeSaysSo) {
  const StagedTree tree = MakeTree(env_, Files());
  ASSERT_OK_AND_ASSIGN(const auto artifacts, WritePackages(env_,
                                                           {.metadata = DemoMetadata(),
                                                            .tree = tree,
                                                            .prefix_placeholder = kPrefix,
                                                            .binary_placeholders = false},
                                                           out_, {.conda = false}));
  ASSERT_OK_AND_ASSIGN(const Written written, ReadBack(env_, artifacts[0].path));
  EXPECT_EQ(written.info.info_files.at("has_prefix"), kPrefix + " text bin/tool\n");
  EXPECT_THAT(env_.reporter.notes(), ElementsAre(HasSubstr("1 binary file with the build prefix")));
}

TEST_F(WritePackagesTest, TheRecipeSaysWhatHoldsThePrefixAndWhatIsCopied) {
  const StagedTree tree = MakeTree(env_, {{.name = "a", .content = kPrefix + "/x"},
                                          {.name = "b", .content = kPrefix + "/x"},
                                          {.name = "c", .content = kPrefix + std::string("\0x", 2)},
                                          {.name = "d", .content = kPrefix + "/x"}});
  ASSERT_OK_AND_ASSIGN(const auto artifacts, WritePackages(env_,
                                                           {.metadata = DemoMetadata(),
                                                            .tree = tree,
                                                            .prefix_placeholder = kPrefix,
                                                            .keeps_placeholder = {"a"},
                                                            .force_text = {"c"},
                                                            .force_binary = {"b"},
                                                            .no_link = {"d"}},
                                                           out_, {.conda = false}));
  ASSERT_OK_AND_ASSIGN(const Written written, ReadBack(env_, artifacts[0].path));
  EXPECT_EQ(written.info.info_files.at("has_prefix"),
            kPrefix + " binary b\n" + kPrefix + " text c\n" + kPrefix + " text d\n");
  for (const Json& row : written.info.paths["paths"])
    EXPECT_EQ(row.value("no_link", false), row["_path"] == "d") << row;
}

TEST_F(WritePackagesTest, ReportsBytesAndWarnsAboutNames) {
  const StagedTree tree = MakeTree(
      env_, {{.name = "A", .content = "1"},
             {.name = "a", .content = "2"},
             {.name = "x/" + std::string(90, 'y') + "/" + std::string(90, 'y') + "/" + std::string(30, 'n'),
              .content = ""},
             {.name = "caf\xc3\xa9", .content = "3"}});
  const std::size_t before = env_.reporter.tasks().size();
  ASSERT_THAT(Write(DemoMetadata(), tree, out_), IsOk());
  EXPECT_THAT(
      env_.reporter.warnings(),
      ElementsAre(HasSubstr("is longer than 200 bytes"),
                  HasSubstr("'A' and 'a' are one name on macOS and Windows"), HasSubstr("is not ASCII")));
  ASSERT_THAT(env_.reporter.tasks(), SizeIs(before + 1));
  const auto task = env_.reporter.tasks().back();
  EXPECT_EQ(task.info.stage, "conda");
  EXPECT_EQ(task.outcome, TaskOutcome::kDone);
  EXPECT_EQ(task.done_bytes, task.info.total_bytes);
}

TEST_F(WritePackagesTest, KeepsNamesThatAreNotAscii) {
  const std::string deep = std::string(120, 'd') + "/" + std::string(120, 'f') + "\xc3\xa9";
  ASSERT_OK_AND_ASSIGN(
      const auto artifacts,
      Write(DemoMetadata(),
            MakeTree(env_, {{.name = deep, .content = "3"}, {.name = "\xe6\x97\xa5", .content = "4"}}),
            out_));
  for (const Artifact& artifact : artifacts) {
    ASSERT_OK_AND_ASSIGN(const Written written, ReadBack(env_, artifact.path));
    EXPECT_EQ(written.contents.at(deep), "3");
    EXPECT_EQ(written.contents.at("\xe6\x97\xa5"), "4");
  }
}

TEST_F(WritePackagesTest, RefusesToReplaceUnlessTold) {
  const StagedTree tree = MakeTree(env_, Files());
  env_.dir().WriteFile("out/demo-1.0-0.tar.bz2", "old");
  EXPECT_THAT(Write(DemoMetadata(), tree, out_),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("already exists")));
  EXPECT_EQ(env_.dir().ReadFile("out/demo-1.0-0.tar.bz2"), "old");
  EXPECT_THAT(env_->fs.ListDir(out_), test::IsOkAndHolds(ElementsAre("demo-1.0-0.tar.bz2")));
  EXPECT_THAT(Write(DemoMetadata(), tree, out_, {.on_existing = ExistingFilePolicy::kReplace}), IsOk());
  EXPECT_NE(env_.dir().ReadFile("out/demo-1.0-0.tar.bz2"), "old");
}

TEST_F(WritePackagesTest, RefusesBadInput) {
  const StagedTree tree = MakeTree(env_, {{.name = "info/x", .content = ""}});
  EXPECT_THAT(Write(DemoMetadata(), tree, out_),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'info/x' is in info/")));
  PackageMetadata metadata = DemoMetadata();
  metadata.name = "Demo";
  EXPECT_THAT(Write(metadata, {}, out_), FailsWith(ErrorCode::kInvalidInput, HasSubstr("package name")));
  metadata = DemoMetadata();
  metadata.depends = {"Numpy"};
  EXPECT_THAT(Write(metadata, {}, out_),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'Numpy' is not a requirement")));
  metadata = DemoMetadata();
  metadata.license_files = {{"../x", "y"}};
  EXPECT_THAT(Write(metadata, {}, out_), FailsWith(ErrorCode::kInvalidInput, HasSubstr("../x")));
  metadata = DemoMetadata();
  metadata.info_files = {{"../x", "y"}};
  EXPECT_THAT(Write(metadata, {}, out_), FailsWith(ErrorCode::kInvalidInput, HasSubstr("../x")));
  metadata.info_files = {{"index.json", "y"}};
  EXPECT_THAT(Write(metadata, {}, out_), FailsWith(ErrorCode::kInvalidInput, HasSubstr("index.json")));
  EXPECT_THAT(Write(DemoMetadata(), {}, out_, {.conda = false, .tar_bz2 = false}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("no package format")));
  EXPECT_THAT(env_->fs.ListDir(out_), test::IsOkAndHolds(IsEmpty()));
}

TEST_F(WritePackagesTest, NoticesAFileThatChangedMeanwhile) {
  StagedTree tree = MakeTree(env_, {{.name = "a", .content = "12"}});
  ASSERT_OK(WriteFile(env_->fs, tree.root / "a", "123"));
  EXPECT_THAT(Write(DemoMetadata(), tree, out_),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("changed while being packed")));
  ASSERT_OK(env_->fs.Remove(tree.root / "a"));
  EXPECT_THAT(Write(DemoMetadata(), tree, out_), FailsWith(ErrorCode::kNotFound, HasSubstr("a'")));
  EXPECT_THAT(env_->fs.ListDir(out_), test::IsOkAndHolds(IsEmpty()));
}

TEST_F(WritePackagesTest, StopsWhenCancelled) {
  const StagedTree tree = MakeTree(env_, Files());
  env_.cancel.Cancel();
  EXPECT_THAT(Write(DemoMetadata(), tree, out_), FailsWith(ErrorCode::kCancelled, "interrupted"));
  EXPECT_THAT(env_->fs.ListDir(out_), test::IsOkAndHolds(IsEmpty()));
}

TEST(WritePackagesFaults, LeaveNothingBehindWhateverFails) {
  StagedTree tree;
  tree.root = AbsPath::Literal("/tree");
  tree.entries = {{.path = RelPath::Literal("a"),
                   .kind = FileKind::kRegular,
                   .mode = 0644,
                   .size_bytes = 3,
                   .sha256 = HashText("abc"),
                   .link_target = {}}};
  test::FaultLoop loop;
  loop.setup = [](test::MemFs& fs) {
    fs.AddFile("/tree/a", "abc");
    fs.AddDir("/out");
  };
  loop.run = [&](Fs& fs) -> Result<void> {
    TestEnv env({.fs = &fs});
    PTPKG_TRY(const auto artifacts,
              WritePackages(env, {.metadata = DemoMetadata(), .tree = tree, .prefix_placeholder = "/p"},
                            AbsPath::Literal("/out"), {}));
    return artifacts.size() == 2 ? Ok() : Error(ErrorCode::kInternal, "not two packages");
  };
  loop.check = [](test::MemFs& fs, const Error&) {
    for (const std::string& name : fs.List("/out")) ADD_FAILURE() << "left behind: " << name;
  };
  EXPECT_GT(test::RunFaultLoop(loop), 10);
}

}  // namespace
}  // namespace ptpkg::conda
