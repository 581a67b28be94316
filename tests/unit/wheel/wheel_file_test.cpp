#include "wheel/wheel_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::wheel {
namespace {

using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;

using testing::ElementsAre;
using testing::HasSubstr;

TEST(WheelFile, ReadsWhatItWrites) {
  WheelFile file;
  file.generator = "ptpkg 1";
  file.build = "2";
  file.tags = ExpandTag({"cp311", "cp311", "b.a"});
  const std::string text = FormatWheelFile(file);
  EXPECT_EQ(text,
            "Wheel-Version: 1.0\nGenerator: ptpkg 1\nRoot-Is-Purelib: false\n"
            "Tag: cp311-cp311-a\nTag: cp311-cp311-b\nBuild: 2\n");
  const Result<WheelFile> again = ParseWheelFile(text, "WHEEL");
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->generator, "ptpkg 1");
  EXPECT_EQ(again->build, "2");
  EXPECT_FALSE(again->root_is_purelib);
  EXPECT_THAT(again->tags, ElementsAre(Tag{"cp311", "cp311", "a"}, Tag{"cp311", "cp311", "b"}));
}

TEST(WheelFile, SaysWhatIsWrong) {
  const std::string version = "Wheel-Version: 1.0\n";
  const std::string purelib = "Root-Is-Purelib: true\n";
  const std::string tag = "Tag: py3-none-any\n";
  EXPECT_THAT(ParseWheelFile(purelib + tag, "WHEEL"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("Wheel-Version")));
  EXPECT_THAT(ParseWheelFile("Wheel-Version: 2.0\n" + purelib + tag, "WHEEL"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("'2.0' is not 1.x")));
  EXPECT_THAT(ParseWheelFile(version + tag, "WHEEL"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("Root-Is-Purelib")));
  EXPECT_THAT(ParseWheelFile(version + purelib + purelib + tag, "WHEEL"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("must occur once")));
  EXPECT_THAT(ParseWheelFile(version + "Root-Is-Purelib: maybe\n" + tag, "WHEEL"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("as true or false")));
  EXPECT_THAT(ParseWheelFile(version + purelib, "WHEEL"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'Tag'")));
  EXPECT_THAT(ParseWheelFile(version + purelib + "Tag: py3-none\n", "WHEEL"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'py3-none' is not a compatibility tag")));
  std::string tags;
  for (int i = 0; i < 600; ++i) tags += "Tag: py2.py3-none-any\n";
  EXPECT_THAT(ParseWheelFile(version + purelib + tags, "WHEEL"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("expand to more than 1000")));
}

TEST(WheelFile, InstallersLookAtTheVersionAlone) {
  for (const char* const taken :
       {"Wheel-Version: 1.0\n", "Wheel-Version:1.9\r\n", "Wheel-Version: 1.0.0 \n",
        "Wheel-Version: 1.0\nTag: x\n", "Wheel-Version: 1.0\nWheel-Version: 2.0\n"}) {
    EXPECT_THAT(CheckWheelVersion(taken, "WHEEL"), IsOk()) << taken;
  }
  EXPECT_THAT(CheckWheelVersion("Wheel-Version: 2.1\n", "WHEEL"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("'2.1' is not 1.x")));
  // pip wants numbers, installer "1." at the beginning, uv the very name of the field; Python stops at what
  // is no field.
  for (const char* const version : {"1", "1.", "1.0rc1", "1..0", "1.0 # c", "01.0", "+1.0", "0.1", "\n 1.0"})
    EXPECT_FALSE(CheckWheelVersion(std::string("Wheel-Version: ") + version + "\n", "WHEEL")) << version;
  for (const char* const text : {"wheel-version: 1.0\n", "junk\nWheel-Version: 1.0\n",
                                 "Wheel-Version : 1.0\n", "é: x\nWheel-Version: 1.0\n"})
    EXPECT_FALSE(CheckWheelVersion(text, "WHEEL")) << text;
  for (const char* const refused :
       {"", "Tag: py3-none-any\n", "Wheel-Version:\n", "\nWheel-Version: 1.0\n"}) {
    EXPECT_THAT(CheckWheelVersion(refused, "WHEEL"),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("'Wheel-Version' is missing")))
        << refused;
  }
}

TEST(WheelFile, NamesAreInTheCaseThatUvTakes) {
  const std::string text = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
  EXPECT_THAT(ParseWheelFile(text + "X-Any: y\n", "WHEEL"), IsOk());
  EXPECT_THAT(ParseWheelFile(text + "build: 1\n", "WHEEL"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'build' in the spelling 'Build' alone")));
}

TEST(WheelFile, BrokenTagsAreFaultsAtTheirLines) {
  const auto file = ReadWheelFile(
      "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: \nTag: py3-none-any\nTag: -any\n", "WHEEL");
  ASSERT_THAT(file, IsOk());
  EXPECT_THAT(file->tags, ElementsAre(Tag{"py3", "none", "any"}));
  ASSERT_EQ(file->tag_faults.size(), 2U);
  EXPECT_EQ(file->tag_faults[0].span()->line, 3);
  EXPECT_EQ(file->tag_faults[1].span()->line, 5);
}

}  // namespace
}  // namespace ptpkg::wheel
