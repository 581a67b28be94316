// Wheels of one version that say different things.

#include "verify/rules/cross_wheel_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "unit/wheel/wheel_fixture.h"

namespace ptpkg::verify {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MatrixTest : public testing::Test {
 protected:
  /// A wheel of that tag with `lines` more in METADATA, and these entry points.
  void Add(const std::string& platform, const std::string& lines, const std::string& entry_points = "",
           const std::string& wheel_file = "") {
    auto members = wheel::MinimalMembers();
    members.pop_back();
    for (auto& [name, text] : members) {
      if (name.ends_with("/METADATA")) text += lines;
      if (name.ends_with("/WHEEL"))
        text = !wheel_file.empty()
                   ? wheel_file
                   : "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-" + platform + "\n";
    }
    if (!entry_points.empty()) members.emplace_back("toy-1.0.dist-info/entry_points.txt", entry_points);
    const std::string record = "toy-1.0.dist-info/RECORD";
    members.emplace_back(record, wheel::RecordOf(members, record));
    const AbsPath path = env_.dir() / ("toy-1.0-py3-none-" + platform + ".whl");
    wheels_.push_back(wheel::WriteRawZip(env_, path, members));
  }
  /// "id: message" of the findings, all of which are with the wheel of that tag.
  std::vector<std::string> Differences(const std::string& platform) {
    const auto all = CheckAcrossWheels(env_, wheels_);
    EXPECT_THAT(all, test::IsOk());
    std::vector<std::string> texts;
    if (!all) return texts;
    for (const CrossWheelFindings& one : *all) {
      EXPECT_THAT(std::string(one.wheel.Name()), HasSubstr(platform));
      for (const Finding& finding : one.findings) texts.push_back(finding.id + ": " + finding.message);
    }
    return texts;
  }

  test::TestEnv env_;
  std::vector<AbsPath> wheels_;
};

TEST_F(MatrixTest, EqualOnesAreRight) {
  Add("linux_x86_64", "Requires-Dist: A_b[Y,x] >=1,<2\nRequires-Dist: c\nProvides-Extra: D_e\n",
      "[g]\na = b:c\n[h]\nd = e\n");
  Add("linux_aarch64", "Requires-Dist: c\nRequires-Dist: a-b[x,y]<2,>=1\nProvides-Extra: d-e\n",
      "[h]\nd = e\n\n[g]\na=b:c\n");
  EXPECT_THAT(Differences(""), IsEmpty());
}

TEST_F(MatrixTest, SpellingsDoNotCount) {
  Add("linux_x86_64", "Requires-Python: >=3.9, <4\nRequires-Dist: a>=1; python_version < \"3.9\"\n");
  Add("linux_aarch64", "Requires-Python: >=3.9,<4\nRequires-Dist: a >=v1; python_version<'3.9'\n");
  Add("linux_armv7l", "Requires-Python: <4,>=3.9\nRequires-Dist: A (>=1); ( python_version<'3.9' )\n");
  EXPECT_THAT(Differences(""), IsEmpty());
}

TEST_F(MatrixTest, ABrokenWheelFileIsNoReasonToLeaveAWheelOut) {
  Add("linux_aarch64", "");
  Add("linux_x86_64", "Requires-Dist: a\n", "", "junk\n");
  EXPECT_THAT(Differences("x86_64"), ElementsAre(HasSubstr("only here: 'a'")));
}

TEST_F(MatrixTest, RequirementsDiffer) {
  Add("linux_x86_64", "Requires-Dist: nccl\nRequires-Dist: c\nRequires-Python: >=3.10\n");
  Add("linux_aarch64", "Requires-Dist: c\nRequires-Dist: d>1\nRequires-Python: >=3.11\nProvides-Extra: e\n");
  EXPECT_THAT(Differences("x86_64"),
              ElementsAre("wheel-matrix-requirements: Requires-Dist differs from "
                          "'toy-1.0-py3-none-linux_aarch64.whl': only here: 'nccl'; only there: 'd>1'",
                          HasSubstr("Provides-Extra differs"),
                          HasSubstr("only here: '>=3.10'; only there: '>=3.11'")));
}

TEST_F(MatrixTest, LicenceAndEntryPointsDiffer) {
  Add("linux_aarch64", "License: MIT\n");
  Add("linux_x86_64", "License: BSD\n", "[console_scripts]\ntoy = toy:main\n");
  EXPECT_THAT(Differences("x86_64"), ElementsAre(HasSubstr("wheel-matrix-metadata: License differs"),
                                                 HasSubstr("only here: '[console_scripts] toy = toy:main'")));
}

TEST_F(MatrixTest, LongListsAreCut) {
  std::string lines;
  for (const char name : std::string("abcdefg")) lines += std::string("Requires-Dist: ") + name + "\n";
  Add("linux_aarch64", "");
  Add("linux_x86_64", lines);
  EXPECT_THAT(Differences("x86_64"), ElementsAre(HasSubstr("'e' and 2 more")));
}

TEST_F(MatrixTest, OtherVersionsAreLeftOut) {
  Add("linux_aarch64", "");
  wheels_.push_back(env_.dir().WriteFile("toy-1.1-py3-none-any.whl", "junk"));
  wheels_.push_back(env_.dir().WriteFile("toy.whl", "junk"));
  EXPECT_THAT(Differences(""), IsEmpty());
}

TEST_F(MatrixTest, OnesThatCannotBeComparedAreNamed) {
  wheels_.push_back(env_.dir().WriteFile("toy-1.0-py3-none-any.whl", "junk"));  // the first by path
  Add("linux_aarch64", "");
  EXPECT_THAT(Differences("any"), ElementsAre(HasSubstr("wheel-matrix-metadata: cannot be compared")));
}

TEST_F(MatrixTest, StopsWhenCancelled) {
  Add("linux_aarch64", "");
  env_.cancel.Cancel();
  EXPECT_THAT(CheckAcrossWheels(env_, wheels_), test::FailsWith(ErrorCode::kCancelled, testing::_));
}

}  // namespace
}  // namespace ptpkg::verify
