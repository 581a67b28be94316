// The metadata of a conda package that a wheel becomes.
#include "convert/wheel_to_conda.h"

#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::convert {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class WheelToCondaTest : public ::testing::Test {
 protected:
  WheelToCondaTest() {
    unpacked_.info.file_name.name = "toy";
    unpacked_.info.dist_info_dir = "toy-1.0.dist-info";
    unpacked_.info.tags = {{.python = "py3", .abi = "none", .platform = "any"}};
    metadata().Add("Name", "toy");
    metadata().Add("Version", "v1.0-rc1");
  }
  wheel::CoreMetadata& metadata() { return unpacked_.info.metadata; }
  void Put(const std::string& path, const std::string& text) {
    const AbsPath place = env_.dir().path() / "from" / path;
    ASSERT_THAT(env_->fs.MakeDirs(place.Parent()), test::IsOk());
    ASSERT_THAT(WriteFile(env_->fs, place, text), test::IsOk());
  }
  WheelAsConda Convert() {
    EXPECT_THAT(env_->fs.MakeDirs(env_.dir().path() / "from"), test::IsOk());
    unpacked_.tree = *ScanTree(env_, env_.dir().path() / "from");
    auto made = ConvertWheelToConda(env_, unpacked_, {}, env_.dir().MakeDir("to"));
    EXPECT_THAT(made, test::IsOk());
    return made ? *std::move(made) : WheelAsConda{};
  }

  test::TestEnv env_;
  wheel::UnpackedWheel unpacked_;
};

TEST_F(WheelToCondaTest, InstallersMakeTheScriptsOfANoarchPackage) {
  unpacked_.info.entry_points = "[console_scripts]\ntoy-run = toy:main\n[plugins]\nx = y:z\n";
  const WheelAsConda made = Convert();
  EXPECT_THAT(made.metadata.entry_points, ElementsAre("toy-run = toy:main"));
  EXPECT_EQ(made.tree.Find("bin/toy-run"), nullptr);
  EXPECT_EQ(made.metadata.version, "1.0rc1");
}

TEST_F(WheelToCondaTest, SaysWhatBecameOfMarkers) {
  metadata().Add("Requires-Python", ">=3.8");
  metadata().Add("Requires-Dist", "tomli; python_version<\"3.11\"");
  metadata().Add("Requires-Dist", "colorama; sys_platform == 'win32'");
  metadata().Add("Requires-Dist", "pytest; extra == 'test'");
  EXPECT_THAT(Convert().metadata.depends, ElementsAre("tomli", "python >=3.8"));
  EXPECT_THAT(env_.reporter.notes(), ElementsAre(HasSubstr("'tomli; "), HasSubstr("'colorama; ")));
}

TEST_F(WheelToCondaTest, UnknownSaysNothing) {
  for (const char* field : {"License", "Summary", "Home-page"}) metadata().Add(field, "UNKNOWN");
  metadata().Add("Classifier", "License :: OSI Approved :: MIT License");
  const WheelAsConda made = Convert();
  EXPECT_EQ(made.metadata.license, "MIT License");
  EXPECT_THAT(made.metadata.about, ::testing::IsEmpty());
}

TEST_F(WheelToCondaTest, LicencesOfOneNameAreBothKept) {
  Put("toy-1.0.dist-info/LICENSE", "outside");
  Put("toy-1.0.dist-info/licenses/LICENSE", "inside");
  Put("toy-1.0.dist-info/NOTICE", "same");
  Put("toy-1.0.dist-info/licenses/NOTICE", "same");
  EXPECT_THAT(
      Convert().metadata.license_files,
      ElementsAre(Pair("LICENSE", "outside"), Pair("NOTICE", "same"), Pair("licenses/LICENSE", "inside")));
}

}  // namespace
}  // namespace ptpkg::convert
