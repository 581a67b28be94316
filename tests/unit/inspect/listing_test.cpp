// What the directory of each format tells, and what damaged artifacts do.

#include "inspect/listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"
#include "unit/conda/package_builder.h"
#include "unit/wheel/wheel_fixture.h"

namespace ptpkg::inspect {
namespace {

using ptpkg::test::FailsWith;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ListingTest : public testing::Test {
 protected:
  AbsPath Wheel(const std::vector<std::pair<std::string, std::string>>& members) {
    return wheel::WriteRawZip(env_, env_.dir() / "toy-1.0-py3-none-any.whl", members);
  }
  AbsPath Write(const std::string& name, const std::string& bytes) {
    const AbsPath path = env_.dir() / name;
    EXPECT_OK(WriteFile(env_->fs, path, bytes));
    return path;
  }
  static std::vector<std::string> PathsOf(const Listing& listing) {
    std::vector<std::string> paths;
    for (const ListedFile& file : listing.files) paths.push_back(file.path);
    return paths;
  }

  test::TestEnv env_;
};

TEST_F(ListingTest, OfAWheel) {
  const auto listing = ReadListing(env_, Wheel(wheel::MinimalMembers()));
  ASSERT_OK(listing);
  EXPECT_EQ(listing->format, ArtifactFormat::kWheel);
  EXPECT_EQ(listing->metadata.name, "toy");
  EXPECT_EQ(listing->metadata.version, "1.0");
  EXPECT_THAT(listing->metadata.tags, ElementsAre("py3-none-any"));
  EXPECT_EQ(listing->files.size(), wheel::MinimalMembers().size());
  EXPECT_TRUE(listing->files.front().stored_bytes.has_value());
  EXPECT_GT(listing->UnpackedBytes(), 0U);
}

TEST_F(ListingTest, OfAWheelWithoutMetadataTakesTheFileName) {
  const auto listing = ReadListing(env_, Wheel({{"toy.py", "x = 1\n"}}));
  ASSERT_OK(listing);
  EXPECT_EQ(listing->metadata.name, "toy");
  EXPECT_EQ(listing->metadata.version, "1.0");
  EXPECT_THAT(PathsOf(*listing), ElementsAre("toy.py"));
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("cannot be read")));
}

TEST_F(ListingTest, AFaultInRecordHidesNoMetadata) {
  auto members = wheel::MinimalMembers();
  members.back().second += "toy-1.0.dist-info/,,\n";  // a row for a directory
  const auto listing = ReadListing(env_, Wheel(members));
  ASSERT_OK(listing);
  EXPECT_EQ(listing->metadata.version, "1.0");
  EXPECT_THAT(listing->metadata.tags, ElementsAre("py3-none-any"));
  EXPECT_THAT(env_.reporter.warnings(), IsEmpty());
}

TEST_F(ListingTest, AFaultInMetadataHidesNoTags) {
  auto members = wheel::MinimalMembers();
  for (auto& [name, text] : members) {
    if (name.ends_with("/METADATA")) text = "no field\n";
  }
  const auto listing = ReadListing(env_, Wheel(members));
  ASSERT_OK(listing);
  EXPECT_EQ(listing->metadata.name, "toy");
  EXPECT_THAT(listing->metadata.tags, ElementsAre("py3-none-any"));
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("METADATA")));
}

TEST_F(ListingTest, OfAPackageTakesPathsJson) {
  const std::vector<test::RawMember> payload = {{.name = "lib/a.txt", .content = "12345"},
                                                {.name = "lib/link", .type = '2', .link_target = "a.txt"}};
  std::vector<test::RawMember> members = test::DemoInfo(payload);
  members.insert(members.end(), payload.begin(), payload.end());
  const auto listing = ReadListing(env_, Write("demo-1.0-0.tar.bz2", test::MakeTarBz2(members)));
  ASSERT_OK(listing);
  EXPECT_EQ(listing->format, ArtifactFormat::kTarBz2);
  EXPECT_EQ(listing->metadata.name, "demo");
  EXPECT_EQ(listing->metadata.subdir, "linux-64");
  EXPECT_THAT(PathsOf(*listing), testing::IsSupersetOf({"info/index.json", "lib/a.txt", "lib/link"}));
  for (const ListedFile& file : listing->files) {
    EXPECT_FALSE(file.stored_bytes.has_value()) << file.path;
    if (file.path == "lib/a.txt") {
      EXPECT_EQ(file.size_bytes, 5U);
    } else if (file.path == "lib/link") {
      EXPECT_EQ(file.file_class, FileClass::kSymlink);
    }
  }
}

TEST_F(ListingTest, RefusesWhatIsNoArtifact) {
  EXPECT_THAT(ReadListing(env_, Write("toy.exe", "x")),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a conda package, wheel or zip")));
  EXPECT_THAT(ReadListing(env_, Write("toy-1.0-py3-none-any.whl", "x")),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("toy-1.0")));
  EXPECT_THAT(ReadListing(env_, Write("demo-1.0-0.conda", "PK")),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("demo")));
  EXPECT_THAT(ReadListing(env_, env_.dir() / "none.zip"),
              FailsWith(ErrorCode::kNotFound, HasSubstr("none.zip")));
}

}  // namespace
}  // namespace ptpkg::inspect
