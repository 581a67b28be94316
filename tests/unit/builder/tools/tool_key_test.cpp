#include "builder/tools/tool_key.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using test::IsOkAndHolds;
using ::testing::Ne;

/// Machines with a tool each, in directories of their own.
class ToolKeyTest : public ::testing::Test {
 protected:
  ToolKeyTest() { recipe_.requirements.build = {{.name = "ninja", .version = "", .build = ""}}; }

  void Install(const std::string& machine, const std::string& text) {
    env_.dir().WriteFile(machine + "/bin/ninja", text, 0755);
  }
  Result<std::string> Key(const std::string& machine, HostEnv host_env = HostEnv::kSystem) {
    env_->variables["PATH"] = (env_.dir() / (machine + "/bin")).str();
    PTPKG_TRY(const HostPlan plan, CheckTools(env_, recipe_, {.host_env = host_env}));
    return ToolKey(env_, plan);
  }

  test::TestEnv env_;
  recipe::Recipe recipe_;
};

TEST_F(ToolKeyTest, IsTheSameWhereverTheSameToolLies) {
  Install("a", "#!/bin/sh\necho 1.11.1\n");
  Install("b/longer/place", "#!/bin/sh\necho 1.11.1\n");
  ASSERT_OK_AND_ASSIGN(const std::string key, Key("a"));
  EXPECT_THAT(Key("b/longer/place"), IsOkAndHolds(key));
  ASSERT_OK(env_->fs.SetMtime(env_.dir() / "a/bin/ninja", 1));
  EXPECT_THAT(Key("a"), IsOkAndHolds(key));
  EXPECT_THAT(Key("a", HostEnv::kAuto), IsOkAndHolds(key)) << "auto ends in system here";
}

TEST_F(ToolKeyTest, DoesNotSeeWhereAScriptsInterpreterLies) {
  Install("a", "#!/bin/sh\necho 1.11.1\n");
  Install("b", "#!/bin/bash\necho 1.11.1\n");
  ASSERT_OK_AND_ASSIGN(const std::string key, Key("a"));
  EXPECT_THAT(Key("b"), IsOkAndHolds(key));
}

TEST_F(ToolKeyTest, FollowsContentAndVersion) {
  Install("a", "#!/bin/sh\necho 1.11.1\n");
  Install("b", "#!/bin/sh\necho 1.11.2\n");
  Install("c", "#!/bin/sh\n# patched\necho 1.11.1\n");
  ASSERT_OK_AND_ASSIGN(const std::string key, Key("a"));
  EXPECT_THAT(Key("b"), IsOkAndHolds(Ne(key)));
  EXPECT_THAT(Key("c"), IsOkAndHolds(Ne(key)));
}

TEST_F(ToolKeyTest, NamesProgramsWithTheirVersions) {
  Install("a", "#!/bin/sh\necho 1.11.1\n");
  env_->variables["PATH"] = (env_.dir() / "a/bin").str();
  ASSERT_OK_AND_ASSIGN(HostPlan plan, CheckTools(env_, recipe_, {.host_env = HostEnv::kSystem}));
  plan.tools.python.emplace();
  plan.tools.python->version = "3.11.2";
  using Versions = std::map<std::string, std::string>;
  EXPECT_THAT(ToolVersions(env_, plan), IsOkAndHolds(Versions{{"ninja", "1.11.1"}, {"python", "3.11.2"}}));
  plan.host_env = HostEnv::kConda;
  EXPECT_THAT(ToolVersions(env_, plan), IsOkAndHolds(Versions{}));
}

TEST_F(ToolKeyTest, FollowsPythonItsPackagesAndDebians) {
  HostPlan plan;
  plan.tools.python.emplace();
  plan.tools.python->base_executable = env_.dir().WriteFile("python", "binary");
  plan.tools.python->version = "3.11.2";
  ASSERT_OK_AND_ASSIGN(const std::string key, ToolKey(env_, plan));
  plan.tools.python->executable = AbsPath::Literal("/elsewhere/bin/python");
  EXPECT_THAT(ToolKey(env_, plan), IsOkAndHolds(key));
  plan.tools.python->packages = {{"setuptools", "77"}};
  ASSERT_OK_AND_ASSIGN(const std::string with_package, ToolKey(env_, plan));
  EXPECT_NE(with_package, key);
  plan.tools.debian_packages = {{"g++", "4:12"}};
  EXPECT_THAT(ToolKey(env_, plan), IsOkAndHolds(Ne(with_package)));
}

TEST_F(ToolKeyTest, FollowsTheHeadersOfLibraries) {
  HostPlan plan;
  plan.tools.headers = {env_.dir().WriteFile("a/zlib.h", "#define ZLIB_VERSION \"1.2\"")};
  ASSERT_OK_AND_ASSIGN(const std::string key, ToolKey(env_, plan));
  plan.tools.headers = {env_.dir().WriteFile("b/zlib.h", "#define ZLIB_VERSION \"1.2\"")};
  EXPECT_THAT(ToolKey(env_, plan), IsOkAndHolds(key));
  plan.tools.headers = {env_.dir().WriteFile("b/zlib.h", "#define ZLIB_VERSION \"1.3\"")};
  EXPECT_THAT(ToolKey(env_, plan), IsOkAndHolds(Ne(key)));
  plan.tools.headers = {env_.dir() / "c/zlib.h"};
  EXPECT_FALSE(ToolKey(env_, plan).has_value());
}

TEST_F(ToolKeyTest, OfACondaPrefixFollowsWhatTheClientWouldInstall) {
  const auto client = [&](const std::string& version) {
    return env_.dir().WriteFile(
        "bin/conda",
        "#!/bin/sh\necho '{\"actions\": {\"LINK\": [{\"name\": \"zlib\", \"version\": \"" + version +
            "\"}]}}'\n",
        0755);
  };
  HostPlan plan{.host_env = HostEnv::kConda, .client = client("1.2")};
  plan.host = {{.name = "zlib", .version = "", .build = ""}};
  ASSERT_OK_AND_ASSIGN(const std::string key, ToolKey(env_, plan));
  EXPECT_THAT(ToolKey(env_, plan), IsOkAndHolds(key));
  plan.client = client("1.3");
  EXPECT_THAT(ToolKey(env_, plan), IsOkAndHolds(Ne(key)));
  EXPECT_THAT(env_.reporter.warnings(), ::testing::IsEmpty());
  plan.client = env_.dir().WriteFile("bin/conda", "#!/bin/sh\necho fine\n", 0755);
  EXPECT_OK(ToolKey(env_, plan));
  EXPECT_THAT(env_.reporter.warnings(),
              ::testing::ElementsAre(::testing::HasSubstr("cannot list its packages")));
  plan.client = env_.dir().WriteFile("bin/conda", "#!/bin/sh\nexit 1\n", 0755);
  EXPECT_FALSE(ToolKey(env_, plan).has_value());
}

TEST_F(ToolKeyTest, OfACondaClientIsNoPlace) {
  HostPlan plan{.host_env = HostEnv::kConda, .tools = {}, .client = AbsPath::Literal("/a/micromamba")};
  ASSERT_OK_AND_ASSIGN(const std::string key, ToolKey(env_, plan));
  plan.client = AbsPath::Literal("/b/conda");
  EXPECT_THAT(ToolKey(env_, plan), IsOkAndHolds(key));
}

TEST_F(ToolKeyTest, ReportsAToolThatIsGone) {
  HostPlan plan;
  plan.tools.tools = {
      {.requirement = "ninja", .path = AbsPath::Literal("/nonexistent/ninja"), .variable = ""}};
  EXPECT_FALSE(ToolKey(env_, plan).has_value());
}

}  // namespace
}  // namespace ptpkg::builder
