// Indexes of one backend each: which wheels they list, and how they follow the directory.
#include "index/simple_index/backend_directories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "index/index.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "unit/index/wheel_folder_fixture.h"

namespace ptpkg::index {
namespace {

using test::FailsWith;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(Backend, IsWhatTheLocalVersionBeginsWith) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"2.9.0+cpu", "cpu"},
      {"2.9.0+cpu.cxx11.abi", "cpu"},
      {"2.9.0+xpu", "xpu"},
      {"2.9.0+cu92", "cu92"},
      {"2.9.0+CU130", "cu130"},
      {"2.5.0+cu121-with-pypi-cudnn", "cu121"},
      {"2.9.0+rocm6.4", "rocm6.4"},
      {"2.9.0+rocm6.2.4", "rocm6.2.4"},
      {"2.9.0+rocm6.2.4.1", "rocm6.2.4"},
      {"2.9.0+rocm6.4.20250612", "rocm6.4"},
      {"2.9.0+rocm6.4.git123", "rocm6.4"},
      {"2.9.0+cu130.sm90", "cu130.sm90"},
      {"2.9.0+cu130.sm80.sm86", "cu130.sm80.sm86"},
      {"2.9.0+cu130.with.cudnn.sm90", "cu130.sm90"},
      {"2.9.0+sm90", "sm90"},
      {"2.9.0+git1.sm90", "sm90"},
  };
  for (const auto& [version, backend] : cases) {
    ASSERT_OK_AND_ASSIGN(const wheel::Version parsed, wheel::ParseVersion(version));
    EXPECT_EQ(BackendOf(parsed), backend) << version;
    EXPECT_TRUE(IsBackend(backend)) << backend;
  }
  for (const char* version :
       {"2.9.0", "2.9.0+git1a2b3c", "2.9.0+pt26cu126", "2.9.0+rocm", "2.9.0+rocm7", "2.9.0+rocm.6.4",
        "2.9.0+rocm640.1", "2.9.0+cu1", "2.9.0+cu1300", "2.9.0+cuda", "2.9.0+1.cpu", "2.9.0+cpu1"}) {
    ASSERT_OK_AND_ASSIGN(const wheel::Version parsed, wheel::ParseVersion(version));
    EXPECT_EQ(BackendOf(parsed), std::nullopt) << version;
  }
  for (const char* name : {"", ".", "simple", "cu", "cu12x", "rocm6", "rocm6.4.", "rocm6.4.git1", "cpu.cxx11",
                           "CPU", "sm", "sm90.", "sm90.cu130", "git1.sm90"})
    EXPECT_FALSE(IsBackend(name)) << name;
}

class WheelRootsTest : public WheelFolderTest {
 protected:
  IndexSummary Index(bool roots = true) {
    auto summary = IndexWheels(env_, root_, {.roots = roots});
    EXPECT_THAT(summary, test::IsOk());
    return summary ? *std::move(summary) : IndexSummary{};
  }
  std::vector<std::string> Urls(const std::string& project, const std::string& root) {
    std::vector<std::string> urls;
    const Json page = Page(project, root);
    for (const Json& file : page.at("files")) urls.push_back(file.at("url").get<std::string>());
    return urls;
  }
};

TEST_F(WheelRootsTest, ASliceIsInARootOfItsOwnWithWhatItsBackendHas) {
  AddWheel("torch", "2.9.0+cu130");
  AddWheel("torch", "2.9.0+cu130.sm90");
  AddWheel("torchvision", "0.24+cu130");
  AddWheel("torch", "2.9.0+cpu");
  AddWheel("toy", "1.0");
  AddWheel("toy", "1.0+sm90");
  EXPECT_THAT(Index().roots, ElementsAre("cpu", "cu130", "cu130.sm90", "sm90"));
  EXPECT_THAT(Urls("torch", "cu130"), ElementsAre("../../torch-2.9.0%2Bcu130-py3-none-any.whl"));
  EXPECT_THAT(Urls("torch", "cu130.sm90"), ElementsAre("../../torch-2.9.0%2Bcu130-py3-none-any.whl",
                                                       "../../torch-2.9.0%2Bcu130.sm90-py3-none-any.whl"));
  EXPECT_THAT(Urls("torchvision", "cu130.sm90"),
              ElementsAre("../../torchvision-0.24%2Bcu130-py3-none-any.whl"));
  EXPECT_THAT(Urls("toy", "sm90"),
              ElementsAre("../../toy-1.0-py3-none-any.whl", "../../toy-1.0%2Bsm90-py3-none-any.whl"));
  EXPECT_THAT(Urls("toy", "cu130"), ElementsAre("../../toy-1.0-py3-none-any.whl"));
}

TEST_F(WheelRootsTest, EachListsItsWheelsAndThoseOfNoBackend) {
  AddWheel("torch", "2.9.0+cpu");
  AddWheel("torch", "2.9.0+cu130");
  AddWheel("torch", "2.8.0+cu130");
  AddWheel("torch", "2.9.1");
  AddWheel("numpy", "2.0");
  AddWheel("local", "1.0+git1");
  const IndexSummary summary = Index();
  EXPECT_THAT(summary.roots, ElementsAre("cpu", "cu130"));
  EXPECT_EQ(summary.packages, 6U);
  EXPECT_THAT(summary.rootless,
              ElementsAre(root_ / "local-1.0+git1-py3-none-any.whl", root_ / "torch-2.9.1-py3-none-any.whl"));
  EXPECT_THAT(Urls("torch", "cpu"), ElementsAre("../../torch-2.9.0%2Bcpu-py3-none-any.whl"));
  EXPECT_THAT(Urls("torch", "cu130"), ElementsAre("../../torch-2.8.0%2Bcu130-py3-none-any.whl",
                                                  "../../torch-2.9.0%2Bcu130-py3-none-any.whl"));
  EXPECT_THAT(Urls("torch", "simple"), SizeIs(4));
  EXPECT_THAT(Urls("numpy", "cpu"), ElementsAre("../../numpy-2.0-py3-none-any.whl"));
  EXPECT_THAT(Text("cu130/index.html"), HasSubstr("<a href=\"torch/\">torch</a>"));
  EXPECT_THAT(Text("cu130/index.html"), Not(HasSubstr("local")));
  const Json file = Page("torch", "cpu").at("files").at(0);
  EXPECT_EQ(file, Page("torch").at("files").at(1)) << "with size, digest and metadata, as everywhere";
}

TEST_F(WheelRootsTest, AFolderOfABackendHoldsItsOwn) {
  AddWheel("numpy", "2.0");
  AddWheel("torch", "2.9.0+cu130");
  AddWheel("torch", "2.9.0", "", "cu130");
  AddWheel("torch", "2.9.0", "", "rocm6.4");
  AddWheel("torch", "2.8.0+rocm6.4", "", "rocm6.4");
  env_.dir().WriteFile("root/rocm6.4/gone-1-py3-none-any.whl.metadata", "of a wheel that is gone");
  EXPECT_THAT(Index().roots, ElementsAre("cu130", "rocm6.4"));
  EXPECT_THAT(Urls("torch", "rocm6.4"), ElementsAre("../../rocm6.4/torch-2.8.0%2Brocm6.4-py3-none-any.whl",
                                                    "../../rocm6.4/torch-2.9.0-py3-none-any.whl"));
  EXPECT_THAT(Urls("torch", "cu130"), ElementsAre("../../cu130/torch-2.9.0-py3-none-any.whl",
                                                  "../../torch-2.9.0%2Bcu130-py3-none-any.whl"));
  EXPECT_THAT(Urls("numpy", "rocm6.4"), ElementsAre("../../numpy-2.0-py3-none-any.whl"));
  EXPECT_THAT(Urls("torch", "simple"), ElementsAre("../../torch-2.9.0%2Bcu130-py3-none-any.whl"));
  EXPECT_EQ(Text("cu130/torch-2.9.0-py3-none-any.whl.metadata"),
            "Metadata-Version: 2.1\nName: torch\nVersion: 2.9.0\n");
  EXPECT_THAT(env_.dir().List(), Not(Contains(HasSubstr("gone"))));
}

TEST_F(WheelRootsTest, AWheelInAnotherBackendsFolderIsLeftOut) {
  AddWheel("torch", "2.9.0+cpu", "", "cu130");
  AddWheel("torch", "2.9.0+cu130", "", "cu130");
  AddWheel("torch", "2.9.0+cu130");
  const IndexSummary summary = Index();
  ASSERT_THAT(summary.left_out, SizeIs(2));
  EXPECT_THAT(summary.left_out[0].reason.message(),
              HasSubstr("belongs to 'cpu', but it is in the directory of 'cu130'"));
  EXPECT_THAT(summary.left_out[1].reason.message(), HasSubstr("a wheel of the same name"));
  EXPECT_THAT(Urls("torch", "cu130"), ElementsAre("../../torch-2.9.0%2Bcu130-py3-none-any.whl"));
}

TEST_F(WheelRootsTest, ASecondRunHashesAndWritesNothing) {
  AddWheel("torch", "2.9.0+cpu");
  const AbsPath below = AddWheel("torch", "2.9.0", "", "cu130");
  ASSERT_THAT(Index().written, Not(IsEmpty()));
  ASSERT_OK_AND_ASSIGN(const FileStat stat, env_->fs.Stat(below));
  EXPECT_THAT(Text(".cache/ptpkg-wheels.json"), HasSubstr("\"cu130/torch-2.9.0-py3-none-any.whl\""));
  EXPECT_THAT(Index().written, IsEmpty());
  EXPECT_EQ(Page("torch", "cu130").at("files").at(0).at("size"), stat.size_bytes);
}

TEST_F(WheelRootsTest, LaterRunsFollowWithoutBeingAsked) {
  AddWheel("torch", "2.9.0+cpu");
  EXPECT_THAT(Index(/*roots=*/false).roots, IsEmpty());
  EXPECT_THAT(env_.dir().List(), Not(Contains("root/cpu/")));
  Index();
  AddWheel("torch", "2.9.1+cpu");
  const AbsPath other = AddWheel("torch", "2.9.0+cu130");
  EXPECT_THAT(Index(/*roots=*/false).roots, ElementsAre("cpu", "cu130"));
  EXPECT_THAT(Urls("torch", "cpu"), SizeIs(2));
  ASSERT_OK(env_->fs.Remove(other));
  EXPECT_THAT(Index(/*roots=*/false).roots, ElementsAre("cpu"));
  EXPECT_THAT(env_.dir().List(), Not(Contains(HasSubstr("cu130"))));
}

TEST_F(WheelRootsTest, WhatIsToGoIsListedNowhere) {
  AddWheel("torch", "2.9.0+cpu");
  AddWheel("torch", "2.9.1+cpu");
  Index();
  ASSERT_OK(IndexWheels(env_, root_, {.without = {"torch-2.9.1+cpu-py3-none-any.whl"}}));
  EXPECT_THAT(Urls("torch", "cpu"), ElementsAre("../../torch-2.9.0%2Bcpu-py3-none-any.whl"));
}

TEST_F(WheelRootsTest, OtherFilesInTheFolderStay) {
  AddWheel("a", "1+cpu");
  AddWheel("b", "1+cpu");
  env_.dir().WriteFile("root/cpu/docs/index.html", "mine");
  env_.dir().WriteFile("root/xpu/index.html", "mine");
  Index();
  ASSERT_OK(env_->fs.Remove(root_ / "b-1+cpu-py3-none-any.whl"));
  Index();
  EXPECT_THAT(env_.dir().List(), Not(Contains("root/cpu/b/")));
  EXPECT_EQ(Text("cpu/docs/index.html"), "mine");
  EXPECT_EQ(Text("xpu/index.html"), "mine");
  ASSERT_OK(env_->fs.Remove(root_ / "a-1+cpu-py3-none-any.whl"));
  EXPECT_THAT(Index().roots, IsEmpty());
  EXPECT_THAT(env_.dir().List(), Not(Contains("root/cpu/index.json")));
  EXPECT_EQ(Text("cpu/docs/index.html"), "mine");
}

TEST_F(WheelRootsTest, AFolderThatOnlyHasTheNameOfABackendStays) {
  AddWheel("numpy", "2.0");
  const std::map<std::string, std::string> foreign = {
      {"cpu/index.json", R"({"mine": 1})"},
      {"cpu/index.html", "mine"},
      {"cpu/docs/index.html", "mine"},
      {"cpu/docs/index.json", "[]"},
      {"cpu/gone-1-py3-none-any.whl.metadata", "mine"},
      // A simple index of another program.
      {"xpu/index.json", R"({"meta": {"api-version": "1.4"}, "projects": [{"name": "numpy"}]})"},
      {"xpu/index.html", "<!DOCTYPE html>\n<html>\n"},
      {"xpu/numpy/index.json",
       R"({"meta": {"api-version": "1.4"}, "name": "numpy", "versions": [], "files": [{"filename": "a.whl"}]})"},
      {"xpu/numpy/index.html", "mine"},
      {"rocm6.4/index.json", "{"},
      {"rocm6.4/numpy/index.json/x", "a folder"}};
  for (const auto& [path, text] : foreign) env_.dir().WriteFile("root/" + path, text);
  for (const char* run : {"the first", "another backend comes", "the last one goes"}) {
    const IndexSummary summary = Index(/*roots=*/std::string_view(run) == "another backend comes");
    if (summary.roots.empty()) AddWheel("torch", "2.9.0+cu130");
    for (const auto& [path, text] : foreign) EXPECT_EQ(Text(path), text) << path << ", " << run;
    if (summary.roots.empty()) continue;
    EXPECT_THAT(summary.roots, ElementsAre("cu130"));
    ASSERT_OK(env_->fs.Remove(root_ / "torch-2.9.0+cu130-py3-none-any.whl"));
  }
  EXPECT_THAT(env_.dir().List(), Not(Contains(HasSubstr("cu130/"))));
}

TEST_F(WheelRootsTest, OfTheLastWheelsPagesOnlyOursGo) {
  AddWheel("torch", "2.9.0+cpu");
  AddWheel("numpy", "2.0");
  Index();
  const std::map<std::string, std::string> foreign = {
      {"cpu/index.html", "mine"},         {"cpu/torch/notes.txt", "mine"},
      {"cpu/numpy/index.html", "mine"},   {"cpu/docs/index.json", R"({"mine": 1})"},
      {"simple/docs/index.html", "mine"}, {"simple/docs/index.json", R"({"mine": 1})"}};
  for (const auto& [path, text] : foreign) env_.dir().WriteFile("root/" + path, text);
  ASSERT_OK(env_->fs.Remove(root_ / "torch-2.9.0+cpu-py3-none-any.whl"));
  EXPECT_THAT(Index(/*roots=*/false).roots, IsEmpty());
  for (const auto& [path, text] : foreign) EXPECT_EQ(Text(path), text) << path;
  for (const char* page :
       {"cpu/index.json", "cpu/torch/index.json", "cpu/torch/index.html", "cpu/numpy/index.json"})
    EXPECT_THAT(env_.dir().List(), Not(Contains(std::string("root/") + page)));
}

TEST_F(WheelRootsTest, AForeignPageInTheWayIsRefusedByName) {
  AddWheel("torch", "2.9.0+cpu");
  for (const char* name : {"index.json", "index.html"}) {
    env_.dir().WriteFile(std::string("root/cpu/") + name, "mine");
    EXPECT_THAT(IndexWheels(env_, root_, {.roots = true}),
                FailsWith(ErrorCode::kInvalidInput,
                          HasSubstr(std::string("root/cpu/") + name + "' was not written by ptpkg")));
    EXPECT_EQ(Text(std::string("cpu/") + name), "mine");
    EXPECT_THAT(env_.dir().List(), Not(Contains("root/cpu/torch/")));
    ASSERT_OK(env_->fs.Remove(root_ / "cpu" / name));
  }
  EXPECT_THAT(Index().roots, ElementsAre("cpu"));
}

TEST_F(WheelRootsTest, ARootThatIsRefusedLeavesNothingBehind) {
  AddWheel("torch", "2.9.0+cpu");
  AddWheel("torch", "2.9.0+cu130");
  env_.dir().WriteFile("root/cu130/index.html", "mine");
  const std::vector<std::string> before = env_.dir().List();
  const auto refused = IndexWheels(env_, root_, {.roots = true});
  ASSERT_THAT(refused, FailsWith(ErrorCode::kInvalidInput, HasSubstr("root/cu130/index.html'")));
  EXPECT_EQ(refused.error().hint(), "move it away, or remove --per-backend");
  std::vector<std::string> after = env_.dir().List();
  std::erase(after, "root/.ptpkg-lock");
  EXPECT_EQ(after, before);
  EXPECT_THAT(Index(/*roots=*/false).roots, IsEmpty()) << "the hint is true";
  // Not where another backend has its index: later runs keep these up to date.
  ASSERT_OK(env_->fs.Remove(root_ / "cu130/index.html"));
  Index();
  AddWheel("torch", "2.9.0+xpu");
  env_.dir().WriteFile("root/xpu/index.html", "mine");
  for (const bool roots : {false, true}) {
    const auto again = IndexWheels(env_, root_, {.roots = roots});
    ASSERT_THAT(again, FailsWith(ErrorCode::kInvalidInput, HasSubstr("root/xpu/index.html'")));
    EXPECT_EQ(again.error().hint(), "move it away");
  }
}

TEST_F(WheelRootsTest, AnIndexWithoutTheMarkOfItsRootIsKnownByItsProjects) {
  AddWheel("torch", "2.9.0+cpu");
  Index();
  env_.dir().WriteFile("root/cpu/index.json",
                       R"({"meta": {"api-version": "1.4"}, "projects": [{"name": "torch"}]})");
  EXPECT_THAT(Index(/*roots=*/false).roots, ElementsAre("cpu"));
  env_.dir().WriteFile("root/cpu/index.json",
                       R"({"meta": {"api-version": "1.4"}, "projects": [{"name": "torch"}]})");
  ASSERT_OK(env_->fs.Remove(root_ / "torch-2.9.0+cpu-py3-none-any.whl"));
  Index(/*roots=*/false);
  EXPECT_THAT(env_.dir().List(), Not(Contains("root/cpu/")));
}

TEST_F(WheelRootsTest, AYankIsSaidInEachIndexThatListsTheWheel) {
  AddWheel("torch", "2.9.0+cpu");
  AddWheel("torch", "2.9.0+cu130");
  AddWheel("numpy", "2.0");
  Index();
  const Yank torch{.file_name = "torch-2.9.0+cpu-py3-none-any.whl", .project = "torch", .reason = "broken"};
  const Yank numpy{.file_name = "numpy-2.0-py3-none-any.whl", .project = "numpy", .reason = ""};
  ASSERT_OK(YankWheels(env_, root_, {torch, numpy}));
  EXPECT_TRUE(IsYanked(Page("torch", "cpu"), torch));
  EXPECT_FALSE(Page("torch", "cu130").at("files").at(0).contains("yanked"));
  for (const char* root : {"simple", "cpu", "cu130"})
    EXPECT_TRUE(IsYanked(Page("numpy", root), numpy)) << root;
  EXPECT_THAT(Index().written, IsEmpty()) << "it stays";
}

TEST_F(WheelRootsTest, AYankOfAWheelInABackendsFolderIsOfThatOneAlone) {
  AddWheel("torch", "2.9.0", "", "cu130");
  AddWheel("torch", "2.9.0", "", "rocm6.4");
  const std::string name = "torch-2.9.0-py3-none-any.whl";
  const Yank yank{.file_name = name, .folder = "cu130", .project = "torch", .reason = "broken"};
  EXPECT_THAT(YankWheels(env_, root_, {yank}),
              FailsWith(ErrorCode::kNotFound, HasSubstr("has no index of 'cu130'")));
  Index();
  ASSERT_OK(YankWheels(env_, root_, {yank}));
  EXPECT_TRUE(IsYanked(Page("torch", "cu130"), yank));
  EXPECT_THAT(Text("cu130/torch/index.html"), HasSubstr("data-yanked=\"broken\""));
  EXPECT_FALSE(Page("torch", "rocm6.4").at("files").at(0).contains("yanked"));
  EXPECT_THAT(Index().written, IsEmpty()) << "it stays";
  Yank undone = yank;
  undone.reason.reset();
  ASSERT_OK(YankWheels(env_, root_, {undone}));
  EXPECT_FALSE(Page("torch", "cu130").at("files").at(0).contains("yanked"));
  // One of the same name above it is the one that is listed.
  AddWheel("torch", "2.9.0+cu130");
  AddWheel("torch", "2.9.0+cu130", "", "cu130");
  Index();
  EXPECT_THAT(YankWheels(env_, root_,
                         {{.file_name = "torch-2.9.0+cu130-py3-none-any.whl",
                           .folder = "cu130",
                           .project = "torch",
                           .reason = ""}}),
              FailsWith(ErrorCode::kNotFound, HasSubstr("does not list")));
}

TEST_F(WheelRootsTest, WhatIsToGoFromABackendsFolderIsListedNowhere) {
  AddWheel("torch", "2.9.0", "", "cu130");
  AddWheel("torch", "2.8.0", "", "cu130");
  AddWheel("torch", "2.9.0", "", "rocm6.4");
  Index();
  ASSERT_OK(IndexWheels(env_, root_, {.without = {"cu130/torch-2.9.0-py3-none-any.whl"}}));
  EXPECT_THAT(Urls("torch", "cu130"), ElementsAre("../../cu130/torch-2.8.0-py3-none-any.whl"));
  EXPECT_THAT(Urls("torch", "rocm6.4"), SizeIs(1));
  EXPECT_THAT(env_.dir().List(), Contains("root/cu130/torch-2.9.0-py3-none-any.whl"));
  EXPECT_THAT(env_.dir().List(), Not(Contains("root/cu130/torch-2.9.0-py3-none-any.whl.metadata")));
}

TEST_F(WheelRootsTest, ADamagedPageEndsAYank) {
  AddWheel("torch", "2.9.0+cpu");
  Index();
  env_.dir().WriteFile("root/cpu/torch/index.json", "[");
  EXPECT_THAT(
      YankWheels(env_, root_, {{.file_name = "torch-2.9.0+cpu-py3-none-any.whl", .project = "torch"}}),
      FailsWith(ErrorCode::kInvalidInput, HasSubstr("cpu/torch/index.json")));
}

TEST_F(WheelRootsTest, NothingIsWrittenThroughALink) {
  AddWheel("torch", "2.9.0+cpu");
  env_.dir().MakeDir("elsewhere");
  env_.dir().MakeSymlink("../elsewhere", "root/cpu");
  EXPECT_THAT(IndexWheels(env_, root_, {.roots = true}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("root/cpu' is not a directory")));
  EXPECT_THAT(env_.dir().List(), Not(Contains(HasSubstr("elsewhere/torch"))));
}

/// Paths below "root", and what the pages say.
std::map<std::string, std::string> StateOf(test::TestEnv& env, const std::string& root) {
  std::map<std::string, std::string> state;
  for (const std::string& path : env.dir().List()) {
    if (!path.starts_with(root + "/") || path.ends_with(".ptpkg-lock")) continue;
    if (path.find("/.cache/") != std::string::npos) continue;  // has the times of the wheels
    state[path.substr(root.size())] = path.ends_with("/") ? "" : env.dir().ReadFile(path);
  }
  return state;
}

TEST_F(WheelRootsTest, ARunThatIsKilledAnywhereIsMadeGoodByTheNext) {
  const std::vector<AbsPath> wheels = {AddWheel("torch", "2.9.0+cpu"), AddWheel("numpy", "2.0")};
  Index();
  const auto whole = StateOf(env_, "root");
  std::uint64_t number = 1;
  for (bool fired = true; fired; ++number) {
    const std::string name = fmt::format("try{}", number);
    const AbsPath root = env_.dir().MakeDir(name);
    for (const AbsPath& wheel : wheels) ASSERT_OK(env_->fs.CopyFile(wheel, root / wheel.Name()));
    const test::FaultPlan plan = {
        .number = number, .scope = test::FaultScope::kMutating, .after = test::FaultAfter::kDead};
    test::FaultFs faulty(env_->fs, plan);
    test::TestEnv env({.fs = &faulty, .jobs = 1});
    const auto killed = IndexWheels(env, root, {.roots = true});
    fired = faulty.fired();
    EXPECT_EQ(killed.has_value(), !fired) << number;
    ASSERT_OK(IndexWheels(env_, root, {.roots = true}));
    EXPECT_EQ(StateOf(env_, name), whole) << number;
  }
  EXPECT_GT(number, 30U);
}

TEST_F(WheelRootsTest, ARemovalThatIsKilledAnywhereLeavesNoDeadLink) {
  const std::vector<AbsPath> wheels = {AddWheel("torch", "2.9.0+cpu"), AddWheel("numpy", "2.0")};
  std::uint64_t number = 1;
  for (bool fired = true; fired; ++number) {
    const std::string name = fmt::format("try{}", number);
    const AbsPath root = env_.dir().MakeDir(name);
    for (const AbsPath& wheel : wheels) ASSERT_OK(env_->fs.CopyFile(wheel, root / wheel.Name()));
    ASSERT_OK(IndexWheels(env_, root, {.roots = true}));
    ASSERT_OK(env_->fs.Remove(root / wheels.front().Name()));
    const test::FaultPlan plan = {
        .number = number, .scope = test::FaultScope::kMutating, .after = test::FaultAfter::kDead};
    test::FaultFs faulty(env_->fs, plan);
    test::TestEnv env({.fs = &faulty, .jobs = 1});
    const auto killed = IndexWheels(env, root);
    fired = faulty.fired();
    EXPECT_EQ(killed.has_value(), !fired) << number;
    const std::vector<std::string> left = env_.dir().List();
    const bool has_root_page = std::count(left.begin(), left.end(), name + "/cpu/index.json") +
                                   std::count(left.begin(), left.end(), name + "/cpu/index.html") >
                               0;
    for (const char* page :
         {"numpy/index.json", "numpy/index.html", "torch/index.json", "torch/index.html"}) {
      if (!has_root_page) continue;
      EXPECT_THAT(left, Contains(fmt::format("{}/cpu/{}", name, page))) << number;
    }
    ASSERT_OK(IndexWheels(env_, root));
    for (const std::string& path : env_.dir().List()) {
      const bool gone = path.starts_with(name + "/cpu/") || path.starts_with(name + "/simple/torch/");
      EXPECT_FALSE(gone && !path.ends_with('/')) << path << ", " << number;
    }
  }
  EXPECT_GT(number, 10U);
}

TEST_F(WheelRootsTest, AChannelMayHaveAFolderOfABackendsName) {
  env_.dir().WriteFile("root/linux-64/repodata.json", "{}");
  env_.dir().WriteFile("root/cpu/index.json", R"({"mine": 1})");
  EXPECT_OK(IndexFolder(env_, root_));
  EXPECT_THAT(IndexFolder(env_, root_, {.roots = true}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is a conda channel")));
  EXPECT_EQ(Text("cpu/index.json"), R"({"mine": 1})");
}

TEST_F(WheelRootsTest, IndexFolderTakesAFolderOfBackendsAlone) {
  AddWheel("torch", "2.9.0", "", "cu130");
  EXPECT_THAT(IndexFolder(env_, root_), FailsWith(ErrorCode::kInvalidInput, HasSubstr("no wheels")));
  ASSERT_OK_AND_ASSIGN(const IndexSummary asked, IndexFolder(env_, root_, {.roots = true}));
  EXPECT_THAT(asked.roots, ElementsAre("cu130"));
  ASSERT_OK_AND_ASSIGN(const IndexSummary again, IndexFolder(env_, root_));
  EXPECT_THAT(again.roots, ElementsAre("cu130"));
  EXPECT_THAT(again.written, IsEmpty());
}

}  // namespace
}  // namespace ptpkg::index
