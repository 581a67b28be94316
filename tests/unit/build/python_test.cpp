#include "build/python.h"

#include <gtest/gtest.h>

#include "support/fake_process.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::build {
namespace {

using test::FailsWith;
using test::TestEnv;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ProbePython, AsksARealInterpreter) {
  TestEnv env;
  const auto python = FindProgram("python3", env->variables["PATH"]);
  if (!python) GTEST_SKIP() << "no python3 on PATH";
  ASSERT_OK_AND_ASSIGN(const Python probed, ProbePython(env, *python, {"pip", "no-such-distribution"}));
  EXPECT_THAT(probed.version, ::testing::StartsWith("3."));
  EXPECT_EQ(probed.SitePackages(), "lib/python" + probed.MinorVersion() + "/site-packages");
  EXPECT_THAT(Exists(env->fs, probed.base_executable), test::IsOkAndHolds(true));
  EXPECT_THAT(probed.package_folders, ::testing::Not(::testing::IsEmpty()));
  EXPECT_FALSE(probed.packages.contains("no-such-distribution"));
}

TEST(ProbePython, ReadsTheLastLine) {
  test::FakeProcess process;
  process.Answer(
      "python", 0,
      "a site hook printed this\n"
      R"({"executable": "/v/bin/python", "version": "3.11.2", "prefix": "/v", "base_executable": "/usr/bin/python3", )"
      R"("virtual": true, "externally_managed": false, "folders": ["/v/lib"], "packages": {"pip": "23.0"}})"
      "\n");
  TestEnv env({.process = &process});
  ASSERT_OK_AND_ASSIGN(const Python python, ProbePython(env, AbsPath::Literal("/usr/bin/python"), {"pip"}));
  EXPECT_EQ(python.executable.str(), "/v/bin/python");
  EXPECT_EQ(python.MinorVersion(), "3.11");
  EXPECT_EQ(python.packages.at("pip"), "23.0");
  EXPECT_TRUE(python.is_virtual);
  EXPECT_FALSE(python.externally_managed);
  EXPECT_EQ(python.program_folder.str(), "/v/bin");
  EXPECT_EQ(python.base_executable.str(), "/usr/bin/python3");
  EXPECT_THAT(python.package_folders, ElementsAre("/v/lib"));
}

TEST(ProbePython, ThePassphraseIsNotForAnInterpreter) {
  test::FakeProcess process;
  process.Answer("python", 1, "");
  TestEnv env({.process = &process});
  env->variables["PTPKG_SIGN_PASSPHRASE"] = "secret words";
  env->variables["OTHER"] = "seen";
  EXPECT_FALSE(ProbePython(env, AbsPath::Literal("/usr/bin/python"), {}));
  ASSERT_EQ(process.commands().size(), 1U);
  EXPECT_FALSE(process.commands()[0].env.contains("PTPKG_SIGN_PASSPHRASE"));
  EXPECT_TRUE(process.commands()[0].env.contains("OTHER"));
}

TEST(ProbePython, ReportsWhatDoesNotWork) {
  test::FakeProcess process;
  TestEnv env({.process = &process});
  const AbsPath path = AbsPath::Literal("/usr/bin/python");
  process.Answer("python", 1, "Traceback\nAttributeError: no get_preferred_scheme\n");
  EXPECT_THAT(ProbePython(env, path, {}),
              FailsWith(ErrorCode::kCommandFailed, HasSubstr("no get_preferred_scheme")));
  process.Answer("python", 1, "");
  EXPECT_THAT(ProbePython(env, path, {}), FailsWith(ErrorCode::kCommandFailed, HasSubstr("/usr/bin/python")));
  process.Answer("python", 0, "Python 3\n");
  EXPECT_THAT(ProbePython(env, path, {}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("/usr/bin/python")));
  process.Answer(
      "python", 0,
      R"({"executable": "/p", "version": "3", "prefix": "/", "base_executable": "/p", "packages": 1})");
  EXPECT_THAT(ProbePython(env, path, {}), FailsWith(ErrorCode::kCorrupt, HasSubstr("lists no packages")));
}

TEST(ProbePython, LeavesAVersionManagersPageOut) {
  test::FakeProcess process;
  TestEnv env({.process = &process});
  process.Answer("python3.12", 127,
                 "pyenv: python3.12: command not found\n\nThe `python3.12' command exists in: 3.12.1\n");
  EXPECT_THAT(
      ProbePython(env, AbsPath::Literal("/shims/python3.12"), {}),
      FailsWith(
          ErrorCode::kCommandFailed,
          "'/shims/python3.12' is not a working Python 3.10 or later (there is no interpreter behind it)"));
}

TEST(PythonCandidates, PreferTheWantedVersion) {
  TestEnv env;
  for (const char* name : {"bin/python3.11", "bin/python3", "bin/python"})
    env.dir().WriteFile(name, "#!/bin/sh\n", 0755);
  env->variables["PATH"] = (env.dir() / "bin").str();
  EXPECT_THAT(PythonCandidates(env, "", "3.11"),
              ElementsAre(env.dir() / "bin/python3.11", env.dir() / "bin/python3", env.dir() / "bin/python"));
  EXPECT_THAT(PythonCandidates(env, "", "3.12"),
              ElementsAre(env.dir() / "bin/python3", env.dir() / "bin/python"));
  env->variables["PTPKG_PYTHON"] = "/opt/a/python:python3.11";
  EXPECT_THAT(PythonCandidates(env, "", "3.12"),
              ElementsAre(AbsPath::Literal("/opt/a/python"), env.dir() / "bin/python3.11"));
  EXPECT_THAT(PythonCandidates(env, "/opt/b/python", "3.12"), ElementsAre(AbsPath::Literal("/opt/b/python")));
}

TEST(IsPythonVersion, ComparesWholeComponents) {
  EXPECT_TRUE(IsPythonVersion("3.11.2", "3.11"));
  EXPECT_TRUE(IsPythonVersion("3.11.2", "3.11.2"));
  EXPECT_TRUE(IsPythonVersion("3.11.2", ""));
  EXPECT_FALSE(IsPythonVersion("3.11.2", "3.1"));
  EXPECT_FALSE(IsPythonVersion("3.1.2", "3.11"));
}

}  // namespace
}  // namespace ptpkg::build
