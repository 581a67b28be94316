#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "unit/wheel/wheel_fixture.h"
#include "wheel/wheel.h"

namespace ptpkg::wheel {
namespace {

using test::FailsWith;
using test::HasHint;
using test::TestEnv;
using testing::ElementsAre;
using testing::HasSubstr;

using Members = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kName = "toy-1.0-py3-none-any.whl";
constexpr const char* kRecord = "toy-1.0.dist-info/RECORD";

class ReadWheelTest : public testing::Test {
 protected:
  AbsPath Zip(const Members& members, const std::string& name = kName) {
    return WriteRawZip(env_,
                       env_.dir() / RelPath::Literal(std::to_string(++count_)).str() / RelPath::Literal(name),
                       members);
  }
  /// The minimal wheel with one member replaced; RECORD fits.
  Members With(const std::string& name, const std::string& text) {
    Members members = MinimalMembers();
    members.pop_back();
    bool replaced = false;
    for (auto& [member, content] : members) {
      if (member != name) continue;
      content = text;
      replaced = true;
    }
    if (!replaced) members.emplace_back(name, text);
    members.emplace_back(kRecord, RecordOf(members, kRecord));
    return members;
  }
  Members Without(const std::string& name) {
    Members members = MinimalMembers();
    std::erase_if(members, [&](const auto& member) { return member.first == name; });
    return members;
  }
  Result<UnpackedWheel> Unpack(const AbsPath& wheel) {
    return UnpackWheelTree(env_, wheel, env_.dir().MakeDir("unpacked" + std::to_string(count_)));
  }

  TestEnv env_;
  int count_ = 0;
};

TEST_F(ReadWheelTest, ReadsTheDistInfo) {
  const AbsPath wheel = Zip(With("toy-1.0.dist-info/entry_points.txt", "[a]\nb = c\n"));
  ASSERT_OK_AND_ASSIGN(const WheelInfo info, ReadWheelInfo(env_, wheel));
  EXPECT_EQ(info.file_name.str(), kName);
  EXPECT_EQ(info.metadata.Get("Name"), "toy");
  EXPECT_EQ(info.metadata_text, "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n");
  EXPECT_THAT(info.tags, ElementsAre(Tag{"py3", "none", "any"}));
  EXPECT_TRUE(info.root_is_purelib);
  EXPECT_EQ(info.entry_points, "[a]\nb = c\n");
  EXPECT_EQ(info.dist_info_dir, "toy-1.0.dist-info");
  EXPECT_EQ(info.record.size(), 5U);
  EXPECT_THAT(Unpack(wheel), test::IsOk());
}

TEST_F(ReadWheelTest, FindsADistInfoFolderThatIsNotNormalised) {
  Members members = MinimalMembers();
  for (auto& [name, text] : members) {
    if (name.starts_with("toy-1.0.")) name = "Toy-1.00." + name.substr(8);
  }
  EXPECT_THAT(ReadWheelInfo(env_, Zip(members)), test::IsOk());
}

TEST_F(ReadWheelTest, TheDirectoryDigestFollowsTheZipDirectory) {
  ASSERT_OK_AND_ASSIGN(const WheelInfo first, ReadWheelInfo(env_, Zip(MinimalMembers())));
  ASSERT_OK_AND_ASSIGN(const WheelInfo same, ReadWheelInfo(env_, Zip(MinimalMembers())));
  ASSERT_OK_AND_ASSIGN(const WheelInfo other, ReadWheelInfo(env_, Zip(With("toy.py", "x = 2\n"))));
  EXPECT_EQ(first.directory_digest, same.directory_digest);
  EXPECT_NE(first.directory_digest, other.directory_digest);
  const AbsPath wheel = Zip(MinimalMembers());
  ASSERT_OK_AND_ASSIGN(std::string zip, ReadFile(env_->fs, wheel));
  constexpr std::size_t kTimeAt = 12;
  zip[zip.find("PK\x01\x02") + kTimeAt] ^= 1;
  ASSERT_OK(WriteFile(env_->fs, wheel, zip));
  ASSERT_OK_AND_ASSIGN(const WheelInfo stamped, ReadWheelInfo(env_, wheel));
  EXPECT_NE(stamped.directory_digest, first.directory_digest) << "times count";
}

TEST_F(ReadWheelTest, SaysWhatIsMissing) {
  EXPECT_THAT(ReadWheelInfo(env_, env_.dir() / "none-1-py3-none-any.whl"),
              FailsWith(ErrorCode::kNotFound, HasSubstr("none-1")));
  for (const char* const name : {"METADATA", "WHEEL", "RECORD"}) {
    EXPECT_THAT(
        ReadWheelInfo(env_, Zip(Without(std::string("toy-1.0.dist-info/") + name))),
        FailsWith(ErrorCode::kInvalidInput, HasSubstr(std::string("has no toy-1.0.dist-info/") + name)));
  }
  EXPECT_THAT(ReadWheelInfo(env_, Zip({{"a.py", ""}})),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("has no .dist-info directory")));
}

TEST_F(ReadWheelTest, RefusesADistInfoOfAnotherWheel) {
  EXPECT_THAT(ReadWheelInfo(env_, Zip(MinimalMembers(), "toy-1.1-py3-none-any.whl")),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("instead of 'toy-1.1.dist-info'")));
  EXPECT_THAT(ReadWheelInfo(env_, Zip(With("other-1.0.dist-info/METADATA", ""))),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("2 .dist-info directories")));
  EXPECT_THAT(ReadWheelInfo(env_, Zip(MinimalMembers(), "toy.whl")),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a wheel's file name")));
}

TEST_F(ReadWheelTest, RefusesMalformedMetadata) {
  EXPECT_THAT(ReadWheelInfo(env_, Zip(With("toy-1.0.dist-info/METADATA", "junk"))),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("expected 'Field: value'")));
  EXPECT_THAT(ReadWheelInfo(env_, Zip(With("toy-1.0.dist-info/WHEEL",
                                           "Wheel-Version: 9.0\nRoot-Is-Purelib: true\nTag: a-b-c\n"))),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("9.0")));
  Members members = MinimalMembers();
  members.back().second = "a,b\n";
  EXPECT_THAT(ReadWheelInfo(env_, Zip(members)), FailsWith(ErrorCode::kInvalidInput, HasSubstr("2 fields")));
}

TEST_F(ReadWheelTest, RefusesWhatIsNoZip) {
  const AbsPath text = env_.dir().WriteFile("x/toy-1.0-py3-none-any.whl", "not a zip");
  EXPECT_THAT(ReadWheelInfo(env_, text), FailsWith(ErrorCode::kCorrupt, HasSubstr("toy-1.0")));
  const AbsPath whole = Zip(MinimalMembers());
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(env_->fs, whole));
  for (const std::size_t size : {bytes.size() - 1, bytes.size() / 2, std::size_t{10}, std::size_t{0}}) {
    const AbsPath cut =
        env_.dir().WriteFile("cut" + std::to_string(size) + "/" + kName, bytes.substr(0, size));
    EXPECT_THAT(ReadWheelInfo(env_, cut), FailsWith(ErrorCode::kCorrupt, HasSubstr("toy-1.0"))) << size;
  }
}

TEST_F(ReadWheelTest, HoldsEveryFileAgainstRecord) {
  Members changed = MinimalMembers();
  changed[0].second = "y = 1\n";
  EXPECT_THAT(
      Unpack(Zip(changed)),
      FailsWith(ErrorCode::kCorrupt, HasSubstr("'toy.py' does not have the digest that RECORD gives")));
  Members longer = MinimalMembers();
  longer[0].second = "x = 10\n";
  EXPECT_THAT(Unpack(Zip(longer)),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("'toy.py' has 7 bytes, RECORD says 6")));
  Members extra = MinimalMembers();
  extra.emplace_back("extra.py", "");
  EXPECT_THAT(Unpack(Zip(extra)), FailsWith(ErrorCode::kCorrupt, HasSubstr("'extra.py' is not listed")));
  EXPECT_THAT(Unpack(Zip(Without("toy.py"))),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("'toy.py' is listed in RECORD but")));
  Members undigested = Without("toy-1.0.dist-info/RECORD");
  undigested.emplace_back(kRecord,
                          RecordOf({undigested.begin() + 1, undigested.end()}, kRecord) + "toy.py,,\n");
  EXPECT_THAT(Unpack(Zip(undigested)), FailsWith(ErrorCode::kCorrupt, HasSubstr("'toy.py' has no digest")));
}

TEST_F(ReadWheelTest, ASignatureNeedsNoDigest) {
  Members members = MinimalMembers();
  members.emplace_back("toy-1.0.dist-info/RECORD.jws", "{}");
  EXPECT_THAT(Unpack(Zip(members)), test::IsOk());
}

}  // namespace
}  // namespace ptpkg::wheel
