#include "publish/simple_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::publish {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::Eq;
using ::testing::Field;
using ::testing::FieldsAre;
using ::testing::Optional;

const std::string kDigest(64, 'A');
const std::string kLower(64, 'a');

HttpAnswer Json(const std::string& body) {
  return {.status = 200, .headers = {{"content-type", "application/vnd.pypi.simple.v1+json"}}, .body = body};
}
HttpAnswer Html(const std::string& body) {
  return {.status = 200, .headers = {{"content-type", "text/html"}}, .body = body};
}

TEST(SimplePageTest, FindsAFileInJson) {
  const auto page = Json(R"({"files": [{"filename": "b.whl", "hashes": {}, "url": "../b.whl"},
                                       {"filename": "a.whl", "hashes": {"sha256": ")" +
                         kDigest + R"("}}]})");
  EXPECT_THAT(FindInSimplePage(page, "a.whl"), IsOkAndHolds(Optional(Field(&SimpleFile::sha256, kLower))));
  EXPECT_THAT(FindInSimplePage(page, "b.whl"), IsOkAndHolds(Optional(FieldsAre("", "../b.whl"))));
  EXPECT_THAT(FindInSimplePage(page, "c.whl"), IsOkAndHolds(Eq(std::nullopt)));
}

TEST(SimplePageTest, JsonThatIsNoPageIsAnError) {
  EXPECT_THAT(FindInSimplePage(Json("[]"), "a.whl"), FailsWith(ErrorCode::kInvalidInput, ::testing::_));
  EXPECT_THAT(FindInSimplePage(Json("{"), "a.whl"), FailsWith(ErrorCode::kInvalidInput, ::testing::_));
}

TEST(SimplePageTest, FindsAFileInHtml) {
  const auto page = Html("<a href='../../f/a-1.0%2Bcpu.whl#sha256=" + kDigest +
                         "'>a</a> <a href=\"b.whl?x=1&amp;y#md5=0\">b</a> <a href=\"broken");
  EXPECT_THAT(FindInSimplePage(page, "a-1.0+cpu.whl"),
              IsOkAndHolds(Optional(Field(&SimpleFile::sha256, kLower))));
  EXPECT_THAT(FindInSimplePage(page, "b.whl"), IsOkAndHolds(Optional(FieldsAre("", "b.whl?x=1&y"))));
  EXPECT_THAT(FindInSimplePage(page, "whl"), IsOkAndHolds(Eq(std::nullopt)));
}

}  // namespace
}  // namespace ptpkg::publish
