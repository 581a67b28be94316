#pragma once
// Small wheels with members of a test's choice, and their findings.

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "support/matchers.h"
#include "support/test_env.h"
#include "unit/wheel/wheel_fixture.h"
#include "verify/check.h"

namespace ptpkg::verify {

using Members = std::vector<std::pair<std::string, std::string>>;

inline constexpr const char* kName = "toy-1.0-py3-none-any.whl";
inline const std::string kInfo = "toy-1.0.dist-info/";
inline const std::string kRecord = kInfo + "RECORD";
inline const std::string kMetadata = "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n";

class WheelChecksTest : public testing::Test {
 protected:
  /// The minimal wheel with `changes` made to its members ("" removes one), RECORD fitting.
  static Members With(const Members& changes) {
    Members members = wheel::MinimalMembers();
    members.pop_back();
    for (const auto& [name, text] : changes) {
      const std::string key = name;
      std::erase_if(members, [&](const auto& member) { return member.first == key; });
      if (!text.empty()) members.emplace_back(name, text);
    }
    members.emplace_back(kRecord, wheel::RecordOf(members, kRecord));
    return members;
  }

  std::vector<Finding> Check(const Members& members, const std::string& name = kName) {
    const AbsPath path = env_.dir() / (std::to_string(++count_) + "/" + name);
    const Result<Report> report = CheckArtifact(env_, wheel::WriteRawZip(env_, path, members));
    EXPECT_THAT(report, test::IsOk());
    return report ? report->findings : std::vector<Finding>{};
  }

  /// "id file" of each finding.
  std::vector<std::string> Ids(const Members& members, const std::string& name = kName) {
    std::vector<std::string> ids;
    for (const Finding& finding : Check(members, name)) {
      EXPECT_FALSE(finding.message.empty());
      EXPECT_FALSE(finding.fix.empty());
      ids.push_back(finding.id + " " + finding.file);
    }
    return ids;
  }

  test::TestEnv env_;
  int count_ = 0;
};

}  // namespace ptpkg::verify
