#include "builder/env/python_prefix.h"

#include <gtest/gtest.h>

#include "support/fake_process.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "support/text/json.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using test::TestEnv;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST(MakePythonPrefix, IsAnInterpreterOfItsOwnThatSeesTheMachines) {
  TestEnv env;
  const auto found = FindProgram("python3", env->variables["PATH"]);
  if (!found) GTEST_SKIP() << "no python3 on PATH";
  ASSERT_OK_AND_ASSIGN(const Python base, ProbePython(env, *found, {"pip"}));
  const AbsPath prefix = env.dir().MakeDir("prefix");
  ASSERT_OK_AND_ASSIGN(const PythonPrefix made, MakePythonPrefix(env, base, prefix));
  EXPECT_EQ(made.python.executable, prefix / "bin/python");
  EXPECT_EQ(made.python.prefix, prefix);
  EXPECT_EQ(made.python.version, base.version);
  EXPECT_EQ(made.python.packages, base.packages);
  EXPECT_EQ(made.python.program_folder, base.executable.Parent());
  EXPECT_THAT(made.helpers, Contains(RelPath::Literal("bin/python3")));
  EXPECT_EQ(made.helpers.size(), base.packages.contains("pip") ? 8U : 5U);
  for (const RelPath& helper : made.helpers) {
    EXPECT_THAT(Exists(env->fs, prefix / helper), test::IsOkAndHolds(true)) << helper.str();
  }
}

TEST(MakePythonPrefix, ReportsAnInterpreterThatKeepsItsPrefix) {
  test::FakeProcess process;
  TestEnv env({.process = &process});
  process.Answer("python", 0,
                 Json{{"executable", "/p/bin/python"},
                      {"version", "3.11.2"},
                      {"prefix", "/usr"},
                      {"base_executable", "/usr/bin/python3"},
                      {"packages", Json::object()}}
                     .dump());
  Python base;
  base.version = "3.11.2";
  base.base_executable = AbsPath::Literal("/usr/bin/python3");
  EXPECT_THAT(MakePythonPrefix(env, base, env.dir().MakeDir("prefix")),
              FailsWith(ErrorCode::kCommandFailed, HasSubstr("it reports the prefix '/usr'")));
}

}  // namespace
}  // namespace ptpkg::builder
