#include "builder/tools/tool_fingerprint.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

class HostStampTest : public ::testing::Test {
 protected:
  HostStampTest() : env_({.fs = &fs_}) {
    fs_.AddFile("/bin/cc", "compiler", 0755);
    fs_.AddFile("/var/lib/dpkg/status", "");
    env_->variables["PATH"] = "/bin:relative";
    plan_.tools.tools = {{.requirement = "gcc", .path = AbsPath::Literal("/bin/cc"), .variable = "CC"}};
    recipe_.requirements.build = {{.name = "gcc", .version = {}, .build = {}}};
  }
  std::string Stamp() {
    const auto stamp = ToolFingerprint(env_, recipe_, request_, FingerprintedFiles(env_, plan_));
    EXPECT_THAT(stamp, test::IsOk());
    return stamp ? *stamp : "";
  }

  test::MemFs fs_;
  test::TestEnv env_;
  HostPlan plan_;
  HostRequest request_;
  recipe::Recipe recipe_;
};

TEST_F(HostStampTest, IsTheSameUntilSomethingThatToolsComeFromChanges) {
  std::string last = Stamp();
  EXPECT_EQ(Stamp(), last);
  const auto expect_other = [&](const char* what) {
    const std::string now = Stamp();
    EXPECT_NE(now, last) << what;
    last = now;
  };
  fs_.AddFile("/bin/cc", "another compiler", 0755);
  expect_other("the tool");
  ASSERT_OK(fs_.SetMtime(AbsPath::Literal("/bin"), 5));
  expect_other("a folder of PATH");
  ASSERT_OK(fs_.Remove(AbsPath::Literal("/var/lib/dpkg/status")));
  expect_other("dpkg's list");
  env_->variables["PTPKG_PYTHON"] = "/x";
  expect_other("a variable");
  request_.options.python = "/y";
  expect_other("an option");
  request_.host_env = HostEnv::kSystem;
  expect_other("--env");
  recipe_.requirements.host = {{.name = "zlib", .version = {}, .build = {}}};
  expect_other("a requirement");
  recipe_.ptpkg.system_packages = {"libz-dev"};
  expect_other("a Debian package");
}

TEST_F(HostStampTest, WhatIsNotOfTheMachineIsNeverTakenOnTrust) {
  EXPECT_THAT(FingerprintedFiles(env_, plan_), Contains("/bin/cc"));
  EXPECT_THAT(FingerprintedFiles(env_, plan_), Not(Contains("relative")));
  plan_.host_env = HostEnv::kConda;
  EXPECT_THAT(FingerprintedFiles(env_, plan_), IsEmpty());
}

}  // namespace
}  // namespace ptpkg::builder
