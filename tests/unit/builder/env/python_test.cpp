#include "builder/env/python.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/fake_process.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "support/text/text.h"

namespace ptpkg::builder {
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

/// Interpreters called python3.N on PATH, and those of a version manager.
std::vector<AbsPath> AllInterpreters(Env& env) {
  std::vector<AbsPath> found;
  constexpr int kNewest = 16;
  for (int minor = 5; minor <= kNewest; ++minor) {
    if (auto path = FindProgram(fmt::format("python3.{}", minor), env.variables["PATH"]))
      found.push_back(*path);
  }
  const auto home = AbsPath::Parse(env.variables["HOME"]);
  const AbsPath versions = (home ? *home : AbsPath::Literal("/nonexistent")) / ".pyenv/versions";
  const auto installed = env.fs.ListDir(versions);
  for (const std::string& name : installed ? *installed : std::vector<std::string>()) {
    if (name.starts_with("3")) found.push_back(versions / name / "bin/python");
  }
  return found;
}

TEST(ProbePython, AsksEveryInterpreterOfTheMachine) {
  TestEnv env;
  int answers = 0;
  for (const AbsPath& path : AllInterpreters(env)) {
    SCOPED_TRACE(path.str());
    Command command;
    command.argv = {path.str(), "-I", "-c",
                    "import sys, sysconfig, pip; print('%d.%d.%d' % sys.version_info[:3], pip.__version__, "
                    "sysconfig.get_path('purelib'))"};
    ASSERT_OK_AND_ASSIGN(const ExitStatus told, env->process.Run(command));
    if (!told.ok()) continue;  // a shim of a version that is not installed, or no pip
    const std::vector<std::string> words = Split(Trim(told.output), ' ');
    ASSERT_EQ(words.size(), 3U);
    ASSERT_OK_AND_ASSIGN(const Python python, ProbePython(env, path, {"PIP", "no-such-distribution"}));
    EXPECT_EQ(python.version, words[0]);
    EXPECT_THAT(python.packages, ElementsAre(::testing::Pair("PIP", words[1])));
    EXPECT_TRUE(python.Fits(words[0]));
    ++answers;
  }
  if (answers == 0) GTEST_SKIP() << "no Python with pip";
}

TEST(ProbePython, FindsDistributionsAsTheyAreInstalled) {
  TestEnv env;
  const auto base = FindProgram("python3", env->variables["PATH"]);
  if (!base) GTEST_SKIP() << "no python3 on PATH";
  env.dir().WriteFile("venv/pyvenv.cfg", fmt::format("home = {}\n", base->Parent().str()));
  ASSERT_OK_AND_ASSIGN(const Python machine, ProbePython(env, *base, {}));
  const AbsPath venv = env.dir() / "venv";
  ASSERT_OK(env->fs.MakeDirs(venv / "bin"));
  ASSERT_OK(env->fs.CreateSymlink(machine.base_executable.str(), venv / "bin/python"));
  const std::string site = "venv/" + machine.SitePackages() + "/";
  env.dir().WriteFile(site + "Foo_Bar.baz-2.0.dist-info/METADATA",
                      "Metadata-Version: 2.1\nName: Foo_Bar.baz\nVersion: 2.0\n\nVersion: 9\n");
  env.dir().WriteFile(site + "old-1.0-py3.11.egg-info", "Metadata-Version: 1.0\nName: old\nVersion: 1.0\n");
  env.dir().WriteFile(site + "linked.egg-info/PKG-INFO", "Name: linked\nVersion: 3\n");
  env.dir().WriteFile(site + "egg-4-py3.11.egg/EGG-INFO/PKG-INFO", "Name: egg\nVersion: 4\n");
  env.dir().WriteFile(site + "broken-1.dist-info/RECORD", "");
  env.dir().WriteFile(site + "foo-1.dist-info/METADATA", "Name: foo\nVersion: 1\n");
  ASSERT_OK_AND_ASSIGN(const Python python, ProbePython(env, venv / "bin/python",
                                                        {"foo.bar-baz", "old", "linked", "egg", "broken"}));
  EXPECT_TRUE(python.is_virtual);
  EXPECT_EQ(python.packages, (std::map<std::string, std::string>{
                                 {"foo.bar-baz", "2.0"}, {"old", "1.0"}, {"linked", "3"}, {"egg", "4"}}));
}

// This machine's Python with the version, the grammar and the modules of 3.5.
constexpr std::string_view kDoubleOf35 = R"(#!{}
import ast, os, sys
own, isolated, option, code = sys.argv[:4]
assert (isolated, option) == ('-I', '-c')
ast.parse(code, feature_version=(3, 5))
sys.modules['importlib.metadata'] = None
sys.version_info = (3, 5, 3, 'final', 0)
sys._base_executable = None
sys.executable = own
sys.argv[:] = ['-c'] + sys.argv[4:]
sys.path.insert(0, os.path.join(os.path.dirname(own), 'packages'))
exec(compile(code, 'probe', 'exec'))
)";

TEST(ProbePython, AsksADoubleOfPython35) {
  TestEnv env;
  const auto base = FindProgram("python3", env->variables["PATH"]);
  if (!base) GTEST_SKIP() << "no python3 on PATH";
  const AbsPath path = env.dir().WriteFile("python3.5", fmt::format(kDoubleOf35, base->str()), 0755);
  env.dir().WriteFile("packages/Old.Name-1.0.dist-info/METADATA", "Name: Old.Name\nVersion: 1.0\n");
  ASSERT_OK_AND_ASSIGN(const Python python, ProbePython(env, path, {"old-name", "other"}));
  EXPECT_EQ(python.executable, path);
  EXPECT_EQ(python.version, "3.5.3");
  EXPECT_EQ(python.MinorVersion(), "3.5");
  EXPECT_EQ(python.SitePackages(), "lib/python3.5/site-packages");
  EXPECT_TRUE(python.Fits("3.5"));
  EXPECT_FALSE(python.Fits("3.6"));
  EXPECT_FALSE(python.free_threaded);
  EXPECT_THAT(python.packages, ElementsAre(::testing::Pair("old-name", "1.0")));
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
      FailsWith(ErrorCode::kCommandFailed,
                "'/shims/python3.12' is not a working Python 3.5 or later (it points to no interpreter)"));
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

TEST(Python, FitsByWholeComponents) {
  Python python;
  python.version = "3.11.2";
  for (const char* wanted : {"", "3", "3.11", "3.11.2"}) EXPECT_TRUE(python.Fits(wanted)) << wanted;
  for (const char* wanted : {"3.1", "3.11.20", "3.11t", "3.12", "2"})
    EXPECT_FALSE(python.Fits(wanted)) << wanted;
}

TEST(Python, AFreeThreadedOneHasFoldersAndAVersionOfItsOwn) {
  Python python;
  python.version = "3.13.1";
  python.free_threaded = true;
  EXPECT_EQ(python.MinorVersion(), "3.13");
  EXPECT_EQ(python.SitePackages(), "lib/python3.13t/site-packages");
  for (const char* wanted : {"", "3.13t", "3.13.1t"}) EXPECT_TRUE(python.Fits(wanted)) << wanted;
  for (const char* wanted : {"3.13", "3.1t", "3.14t"}) EXPECT_FALSE(python.Fits(wanted)) << wanted;
}

}  // namespace
}  // namespace ptpkg::builder
