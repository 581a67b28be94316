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
}

}  // namespace
}  // namespace ptpkg
