#pragma once
// A directory of small wheels, and the pages of its indexes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "index/index.h"
#include "support/matchers.h"
#include "support/text/json.h"
#include "unit/wheel/wheel_fixture.h"

namespace ptpkg::index {

class WheelFolderTest : public testing::Test {
 protected:
  /// A wheel "<name>-<version>-py3-none-any.whl" in `folder` of the root, "" = the root itself.
  AbsPath AddWheel(const std::string& name, const std::string& version, const std::string& fields = "",
                   const std::string& folder = "") {
    const AbsPath place = folder.empty() ? root_ : env_.dir().MakeDir("root/" + folder);
    wheel::CoreMetadata metadata = *wheel::ParseCoreMetadata(
        "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n" + fields, "METADATA");
    StagedTree tree;
    const wheel::WheelInput input{
        .metadata = metadata, .tag = {"py3", "none", "any"}, .root_is_purelib = true, .tree = tree};
    const Result<Artifact> wheel =
        wheel::WriteWheel(env_, input, place, {.on_existing = ExistingFilePolicy::kReplace});
    EXPECT_THAT(wheel, test::IsOk());
    return wheel ? wheel->path : place;
  }

  std::string Text(const std::string& relative) { return env_.dir().ReadFile("root/" + relative); }
  Json Page(const std::string& project, const std::string& root = "simple") {
    const Result<Json> json = ParseJson(Text(root + "/" + project + "/index.json"), project);
    EXPECT_THAT(json, test::IsOk());
    return json ? *json : Json::object();
  }
  std::vector<std::string> Written(const IndexSummary& summary) {
    std::vector<std::string> names;
    for (const AbsPath& path : summary.written) names.push_back(path.RelativeTo(root_)->str());
    return names;
  }

  test::TestEnv env_;
  AbsPath root_ = env_.dir().MakeDir("root");
};

}  // namespace ptpkg::index
