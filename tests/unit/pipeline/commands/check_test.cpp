// What `ptpkg check` hands to its renderers: outcomes per path, facts, and the options of its flags.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/commands/check_command.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "support/text/json.h"
#include "unit/elf/fixtures/device_container_bytes.h"
#include "unit/elf/fixtures/synthetic_elf.h"
#include "wheel/wheel.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::TestEnv;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Library(const std::string& needed, const std::string& version, const std::string& other = "") {
  elf::test::SyntheticElf elf;
  elf.needed = {needed};
  if (!other.empty()) elf.needed.push_back(other);
  elf.soname.reset();
  elf.version = version;
  elf.symbols = {"used"};
  return elf.Build();
}

std::vector<std::string> Ids(const CheckOutcome& outcome) {
  std::vector<std::string> ids;
  for (const Finding& finding : outcome.report.findings) ids.push_back(finding.id);
  return ids;
}

/// Of a run without a failure.
Result<std::vector<CheckOutcome>> OutcomesOf(Env& env, const CheckRequest& request) {
  PTPKG_TRY(CheckSummary summary, Check(env, request));
  if (summary.failure) return *std::move(summary.failure);
  return std::move(summary.outcomes);
}

TEST(Check, OneOutcomePerPathInOrder) {
  TestEnv env;
  const AbsPath clean = env.dir().MakeDir("clean");
  env.dir().WriteFile("clean/notes.txt", "text");
  const AbsPath junk = env.dir().WriteFile("toy-1.0+cpu-py3-none-any.whl", "junk");
  ASSERT_OK_AND_ASSIGN(const auto outcomes, OutcomesOf(env, {.paths = {junk, clean}}));
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].report.subject, junk.str());
  EXPECT_EQ(outcomes[0].profile, "pytorch-index");
  EXPECT_TRUE(outcomes[0].report.HasErrors());
  EXPECT_EQ(outcomes[1].profile, "tree");
  EXPECT_FALSE(outcomes[1].report.HasErrors());
  EXPECT_EQ(outcomes[1].floor, "");
  EXPECT_EQ(*outcomes[1].facts,
            (Json{{"floor", nullptr}, {"files", Json::array()}, {"device_code", Json::array()}}));
}

TEST(Check, AFolderThatOffersArtifactsStandsForThem) {
  TestEnv env;
  for (const char* file :
       {"dist/conda/noarch/a-1-0.conda", "dist/conda/linux-64/b-1-0.tar.bz2",
        "dist/wheels/c-1-py3-none-any.whl", "dist/notes.tar.bz2", "channel/noarch/a-1-0.conda",
        "flat/c-1-py3-none-any.whl", "prefix/lib/ensurepip/d-1-py3-none-any.whl", "dist/zip/d.zip",
        "dist/manifest.json", "prefix/zip/e.zip", "dist/wheels/cu130/f-1-py3-none-any.whl",
        "dist/wheels/docs/g-1-py3-none-any.whl", "roots/cu130/f-1-py3-none-any.whl",
        "roots/cpu/f-1-py3-none-any.whl", "roots/cpu/index.html", "roots/simple/index.json",
        "loose/h-1-0.tar.bz2", "loose/i-1-0.conda", "loose/sources.tar.bz2"})
    env.dir().WriteFile(file, "junk");
  const auto subjects = [&](const char* folder, const std::string& profile) {
    std::vector<std::string> names;
    const auto outcomes = OutcomesOf(env, {.paths = {env.dir() / folder}, .profile = profile});
    EXPECT_THAT(outcomes, test::IsOk());
    if (!outcomes) return names;
    for (const CheckOutcome& outcome : *outcomes) {
      names.push_back(outcome.report.subject.substr(env.dir().path().str().size() + 1) +
                      (outcome.report.HasErrors() ? " refused" : " ok"));
    }
    return names;
  };
  EXPECT_THAT(subjects("dist", ""),
              ElementsAre("dist/conda/linux-64/b-1-0.tar.bz2 refused",
                          "dist/conda/noarch/a-1-0.conda refused", "dist/wheels/c-1-py3-none-any.whl refused",
                          "dist/wheels/cu130/f-1-py3-none-any.whl refused", "dist/zip/d.zip refused"));
  EXPECT_THAT(subjects("dist/conda", ""), testing::SizeIs(2));
  EXPECT_THAT(subjects("dist/wheels", ""), testing::SizeIs(2));
  EXPECT_THAT(subjects("roots", ""), ElementsAre("roots/cpu/f-1-py3-none-any.whl refused",
                                                 "roots/cu130/f-1-py3-none-any.whl refused"));
  EXPECT_THAT(subjects("loose", ""), ElementsAre("loose/h-1-0.tar.bz2 refused", "loose/i-1-0.conda refused"));
  EXPECT_THAT(subjects("channel", ""), testing::SizeIs(1));
  EXPECT_THAT(subjects("flat", ""), testing::SizeIs(1));
  EXPECT_THAT(subjects("prefix", ""), ElementsAre("prefix ok"))
      << "wheels and zips among a prefix's files are files";
  EXPECT_THAT(subjects("dist", "tree"), ElementsAre("dist ok"));
}

TEST(Check, ALibraryOutsideEveryPolicyFitsNoPolicy) {
  TestEnv env;
  env.dir().WriteFile("own/a.so", Library("libc.so.6", "GLIBC_2.14"));
  env.dir().WriteFile("driver/a.so", Library("libc.so.6", "GLIBC_2.14", "libcuda.so.1"));
  env.dir().WriteFile("outside/a.so", Library("libc.so.6", "GLIBC_2.14", "libgomp.so.1"));
  for (const auto& [folder, fits] :
       {std::pair("own", "fits manylinux_2_17_x86_64"), std::pair("driver", "fits manylinux_2_17_x86_64"),
        std::pair("outside", "fits linux_x86_64: no manylinux policy allows 'libgomp.so.1'")}) {
    ASSERT_OK_AND_ASSIGN(const auto outcomes, OutcomesOf(env, {.paths = {env.dir() / folder}}));
    EXPECT_THAT(outcomes[0].floor, HasSubstr(fits)) << folder;
  }
}

TEST(Check, FactsAndTheLineForPeople) {
  TestEnv env;
  env.dir().WriteFile("tree/a.so", Library("libc.so.6", "GLIBC_2.14"));
  env.dir().WriteFile("tree/b.so", Library("libstdc++.so.6", "GLIBCXX_3.4.30"));
  ASSERT_OK_AND_ASSIGN(const auto outcomes, OutcomesOf(env, {.paths = {env.dir() / "tree"}}));
  EXPECT_EQ(outcomes[0].floor, "needs any glibc, fits manylinux_2_35_x86_64 (b.so: used@GLIBCXX_3.4.30)");
  const Json& facts = *outcomes[0].facts;
  EXPECT_EQ(facts["files"].size(), 2U);
  EXPECT_EQ(facts["files"][0]["glibc"], "2.14");
  EXPECT_EQ(facts["files"][0]["policy"], "manylinux_2_17_x86_64");
  EXPECT_EQ(facts["files"][0]["set_by"],
            Json::parse(R"([{"library": "libc.so.6", "version": "GLIBC_2.14"}])"));
  EXPECT_EQ(facts["files"][0]["isa"], nullptr);
  EXPECT_EQ(facts["files"][0]["needed"], Json::parse(R"({"libc.so.6": []})"));
  EXPECT_EQ(facts["floor"], facts["files"][1]);
  EXPECT_EQ(facts["floor"]["glibc"], nullptr);
  EXPECT_EQ(facts["floor"]["symbols"], Json::array({"used@GLIBCXX_3.4.30"}));
}

TEST(Check, GpuCodeOfTheFiles) {
  using elf::test::Container;
  TestEnv env;
  const auto check = [&](std::vector<std::string> asked) {
    return OutcomesOf(env, {.paths = {env.dir() / "tree"}, .device_code = std::move(asked)});
  };
  env.dir().WriteFile("tree/a.so",
                      elf::test::DeviceLibrary(Container({{.number = 100}, {.number = 90}, {.kind = 8}}),
                                               Container({{.number = 75}, {.kind = 1, .number = 75}})));
  ASSERT_OK_AND_ASSIGN(const auto one, check({"9.0;10.0"}));
  EXPECT_THAT(Ids(one[0]), IsEmpty());
  EXPECT_EQ(one[0].device_code, "GPU code of 1 file: sm_90 sm_100");
  EXPECT_EQ((*one[0].facts)["device_code"],
            Json::parse(R"([{"file": "a.so", "sass": ["sm_90", "sm_100"], "ptx": [],
      "embedded": {"sass": {"sm_100": {"elements": 1, "bytes": 72}, "sm_90": {"elements": 1, "bytes": 72}}, "ptx": {}, "other_bytes": 72, "containers": 1},
      "relocatable": {"sass": {"sm_75": {"elements": 1, "bytes": 72}}, "ptx": {"compute_75": {"elements": 1, "bytes": 72}}, "other_bytes": 0, "containers": 1}}])"));
  env.dir().WriteFile("tree/b.a",
                      elf::test::StaticArchive({{"b.o", elf::test::DeviceLibrary(Container({{}}))}}));
  ASSERT_OK_AND_ASSIGN(const auto two, check({"9.0"}));
  EXPECT_THAT(Ids(two[0]), ElementsAre("device-code-mismatch"));
  EXPECT_EQ(two[0].device_code, "GPU code of 2 files, for 2 sets of architectures (--json lists them)");
  EXPECT_THAT(check({"Hopper"}),
              FailsWith(ErrorCode::kUsage, HasSubstr("unknown GPU architecture 'Hopper'")));
}

TEST(Check, FlagsReachTheChecks) {
  TestEnv env;
  env.dir().WriteFile("tree/a.so", Library("libcudnn.so.9", ""));
  env.dir().WriteFile("tree/notes", "/b/work");
  CheckRequest request{.paths = {env.dir() / "tree"}};
  const auto ids = [&] {
    const auto outcomes = OutcomesOf(env, request);
    EXPECT_OK(outcomes);
    return outcomes ? Ids(outcomes->front()) : std::vector<std::string>{"error"};
  };
  EXPECT_THAT(ids(), ElementsAre("elf-unresolved-needed"));
  request.allow_unresolved = {"libcudnn.so.*"};
  EXPECT_THAT(ids(), IsEmpty());
  request.allow_unresolved.clear();
  request.dependencies = {"NVIDIA_cudnn.cu13"};
  EXPECT_THAT(ids(), IsEmpty());
  request.forbidden_paths = {"/b/work"};
  EXPECT_THAT(ids(), ElementsAre("artifact-build-path"));
}

TEST(Check, ProfileByName) {
  TestEnv env;
  env.dir().WriteFile("tree/notes.txt", "text");
  for (const std::string& name : ProfileNames()) {
    ASSERT_OK_AND_ASSIGN(const auto outcomes,
                         OutcomesOf(env, {.paths = {env.dir() / "tree"}, .profile = name}));
    EXPECT_EQ(outcomes[0].profile, name);
  }
  EXPECT_THAT(OutcomesOf(env, {.paths = {env.dir() / "tree"}, .profile = "pypi"}),
              FailsWith(ErrorCode::kUsage, HasSubstr("unknown profile 'pypi'")));
}

TEST(Check, AFolderWithNothingToCheckIsRefused) {
  TestEnv env;
  env.dir().MakeDir("empty/wheels/cu130");
  for (const char* profile : {"", "tree"}) {
    EXPECT_THAT(OutcomesOf(env, {.paths = {env.dir() / "empty"}, .profile = profile}),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("empty' is empty")));
  }
  env.dir().MakeSymlink("nowhere", "empty/wheels/cu130/link");
  EXPECT_OK(OutcomesOf(env, {.paths = {env.dir() / "empty"}}));
}

TEST(Check, WheelsOfTwoBackendsMayDiffer) {
  TestEnv env;
  const auto add = [&](const std::string& folder, const std::string& python,
                       const std::string& requires_dist) {
    wheel::CoreMetadata metadata = *wheel::ParseCoreMetadata(
        "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\nRequires-Dist: " + requires_dist + "\n", "METADATA");
    StagedTree tree;
    EXPECT_OK(wheel::WriteWheel(
        env, {.metadata = metadata, .tag = {python, "none", "any"}, .root_is_purelib = true, .tree = tree},
        env.dir().MakeDir("dist/" + folder)));
  };
  const auto warned = [&] {
    std::vector<std::string> wheels;
    const auto outcomes = OutcomesOf(env, {.paths = {env.dir() / "dist"}});
    EXPECT_OK(outcomes);
    if (!outcomes) return wheels;
    for (const CheckOutcome& outcome : *outcomes) {
      for (const std::string& id : Ids(outcome)) {
        if (id == "wheel-matrix-requirements") wheels.push_back(outcome.report.subject);
      }
    }
    return wheels;
  };
  add("cpu", "py3", "a");
  add("cu130", "py3", "b");
  EXPECT_THAT(warned(), IsEmpty());
  add("cu130", "py2", "c");
  EXPECT_THAT(warned(), ElementsAre(HasSubstr("cu130/toy-1.0-py3")));
}

TEST(Check, WhatIsNoArtifactAndWhatIsNotThere) {
  TestEnv env;
  const AbsPath text = env.dir().WriteFile("a.txt", "x");
  EXPECT_THAT(OutcomesOf(env, {.paths = {text}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a conda package, wheel or zip")));
  EXPECT_THAT(OutcomesOf(env, {.paths = {env.dir() / "none"}}),
              FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
}

TEST(Check, OneBadPathCostsNoResultOfTheOthers) {
  TestEnv env;
  const AbsPath clean = env.dir().WriteFile("clean/a", "x").Parent();
  const AbsPath text = env.dir().WriteFile("a.txt", "x");
  const AbsPath other = env.dir().WriteFile("other/b", "x").Parent();
  ASSERT_OK_AND_ASSIGN(const CheckSummary summary,
                       Check(env, {.paths = {clean, text, env.dir() / "none", other}}));
  std::vector<std::string> subjects;
  for (const CheckOutcome& outcome : summary.outcomes) subjects.push_back(outcome.report.subject);
  EXPECT_THAT(subjects, ElementsAre(clean.str(), other.str()));
  ASSERT_TRUE(summary.failure.has_value());
  EXPECT_EQ(summary.failure->code(), ErrorCode::kNotFound);  // paths are looked for before one is read
}

TEST(Check, AnEmptyListOfTargetsIsNoRequest) {
  TestEnv env;
  EXPECT_THAT(Check(env, {.paths = {}, .targets = ""}),
              FailsWith(ErrorCode::kUsage, HasSubstr("empty target")));
}

}  // namespace
}  // namespace ptpkg::pipeline
