#include "model/package_note.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using testing::HasSubstr;

TEST(PackageNote, RoundTrips) {
  const PackageNote note{.allow_unresolved = {"libz.so*", "libgomp.so.1", "libz.so*"}};
  EXPECT_FALSE(note.IsEmpty());
  const std::string text = FormatPackageNote(note);
  EXPECT_EQ(text, "{\n  \"allow_unresolved\": [\n    \"libgomp.so.1\",\n    \"libz.so*\"\n  ]\n}\n");
  EXPECT_THAT(ParsePackageNote(text, "x"),
              IsOkAndHolds(PackageNote{.allow_unresolved = {"libgomp.so.1", "libz.so*"}}));
}

TEST(PackageNote, KeepsTheOrderOfListsOfArchitectures) {
  const PackageNote note{.device_code = {"libb.so=9.0", "8.0"}};
  EXPECT_FALSE(note.IsEmpty());
  const std::string text = FormatPackageNote(note);
  EXPECT_EQ(text, "{\n  \"device_code\": [\n    \"libb.so=9.0\",\n    \"8.0\"\n  ]\n}\n");
  EXPECT_THAT(ParsePackageNote(text, "x"), IsOkAndHolds(note));
}

TEST(PackageNote, PassesOverWhatLaterVersionsSay) {
  EXPECT_THAT(ParsePackageNote(R"({"later": 1})", "x"), IsOkAndHolds(PackageNote{}));
  EXPECT_TRUE(PackageNote{}.IsEmpty());
}

TEST(PackageNote, RefusesWhatIsNoNote) {
  EXPECT_THAT(ParsePackageNote("{", "a/ptpkg.json"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("")));
  EXPECT_THAT(ParsePackageNote("[]", "a/ptpkg.json"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("a/ptpkg.json: is not a JSON object")));
  EXPECT_THAT(ParsePackageNote(R"({"allow_unresolved": "libz.so"})", "a/ptpkg.json"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("allow_unresolved")));
  EXPECT_THAT(ParsePackageNote(R"({"device_code": [8.0]})", "a/ptpkg.json"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("device_code")));
}

}  // namespace
}  // namespace ptpkg
