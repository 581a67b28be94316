#include "publish/servers/simple_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::publish {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kDigest(64, 'A');
const std::string kLower(64, 'a');

HttpAnswer Json(const std::string& body) {
  return {.status = 200, .headers = {{"content-type", "application/vnd.pypi.simple.v1+json"}}, .body = body};
}
HttpAnswer Html(const std::string& body) {
  return {.status = 200, .headers = {{"content-type", "text/html; charset=utf-8"}}, .body = body};
}

/// "digest link" of each entry, or the error.
std::vector<std::string> Found(const HttpAnswer& page, std::string_view name) {
  const auto found = FindInSimplePage(page, name);
  if (!found) return {FormatError(found.error())};
  std::vector<std::string> files;
  for (const SimpleFile& file : found->files)
    files.push_back(file.sha256.substr(0, 2) + " " + file.link + (file.is_yanked ? " yanked" : ""));
  return files;
}

TEST(SimplePageTest, FindsAFileInJson) {
  const auto page = Json(R"({"meta": {"api-version": "1.1"}, "files": [
      {"filename": "b.whl", "hashes": {}, "url": "../b.whl", "yanked": "why"},
      {"filename": "a.whl", "hashes": {"sha256": ")" +
                         kDigest + R"("}, "url": "a", "yanked": false},
      {"filename": "a.whl", "hashes": {}, "url": "b", "yanked": true},
      {"filename": "c.whl", "hashes": {"sha256": ")" +
                         kDigest + R"("}}, "c.whl", 1]})");
  EXPECT_THAT(Found(page, "a.whl"), ElementsAre("aa a", " b yanked"));
  EXPECT_THAT(Found(page, "b.whl"), ElementsAre(" ../b.whl yanked"));
  // Without a URL nobody gets it.
  EXPECT_THAT(Found(page, "c.whl"), IsEmpty());
}

TEST(SimplePageTest, WhatIsNoPageIsAnError) {
  for (const char* body : {"[]", "{", R"({"files": {}})", R"({"meta": {"api-version": 1}, "files": []})",
                           R"({"meta": {"api-version": "x"}, "files": []})"})
    EXPECT_THAT(FindInSimplePage(Json(body), "a.whl"), FailsWith(ErrorCode::kInvalidInput, _)) << body;
  for (const char* type : {"text/plain", "", "application/octet-stream"}) {
    const HttpAnswer page{.status = 200, .headers = {{"content-type", type}}, .body = "<a href='a.whl'>"};
    EXPECT_THAT(FindInSimplePage(page, "a.whl"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("its type")));
  }
}

TEST(SimplePageTest, AnotherMajorVersionIsRefusedAndANewerMinorIsTold) {
  for (const char* version : {"2.0", "0.9", "10.1"}) {
    const std::string text = version;
    EXPECT_THAT(FindInSimplePage(Json(R"({"meta": {"api-version": ")" + text + R"("}, "files": []})"), "a"),
                FailsWith(ErrorCode::kUnsupported, HasSubstr(text)));
    EXPECT_THAT(FindInSimplePage(Html("<meta name='pypi:repository-version' content='" + text + "'>"), "a"),
                FailsWith(ErrorCode::kUnsupported, HasSubstr(text)));
  }
  const auto newer = FindInSimplePage(Json(R"({"meta": {"api-version": "1.99"}, "files": []})"), "a");
  ASSERT_THAT(newer, IsOk());
  EXPECT_EQ(newer->newer_version, "1.99");
  EXPECT_EQ(FindInSimplePage(Json(R"({"meta": {"api-version": "1.4"}, "files": []})"), "a")->newer_version,
            "");
}

TEST(SimplePageTest, FindsAFileInHtml) {
  const auto page = Html("<a href='../../f/a-1.0%2Bcpu.whl#sha256=" + kDigest +
                         "'>a</a> <a href=\"b.whl?x=1&amp;y#md5=0\" data-yanked>b</a> <a href=\"broken");
  EXPECT_THAT(Found(page, "a-1.0+cpu.whl"), ElementsAre("aa ../../f/a-1.0%2Bcpu.whl"));
  EXPECT_THAT(Found(page, "b.whl"), ElementsAre(" b.whl?x=1&y yanked"));
  EXPECT_THAT(Found(page, "whl"), IsEmpty());
}

TEST(SimplePageTest, FormsOfALinkThatPipTakes) {
  for (const char* html :
       {"<A HREF=a.whl>", "<a\thref = 'a.whl' >", "<a class=x href=a.whl/>", "<a href='x' href='a.whl'>",
        "<a href='&#97;.whl'>", "<a href='&#x61;&period;whl'>", "<a href='f%2Fa.whl'>", "<a href=' a.whl '>",
        "<a title='>' href='a.whl'>", "<p title='<!--'><a href='a.whl'>", "<!-- x --><a href='a.whl'>",
        "<script>'<a>'</script><a href='a.whl'>", "<title>x</title><a href='a.whl'>",
        "<textarea><b></textarea><a href='a.whl'>", "<!doctype html><a href='a.whl'>",
        "</p ><a href='a.whl'>", "<a href='a.w\nhl'>"})
    EXPECT_EQ(Found(Html(html), "a.whl").size(), 1U) << html;
}

TEST(SimplePageTest, LinksThatPipDoesNotSee) {
  const std::string link = "<a href='a.whl'>a</a>";
  for (const std::string& html : {"<!-- " + link + " -->",
                                  "<!-- " + link,
                                  "<!--> " + link + " -->",
                                  "<!-- --!> " + link + " -->",
                                  "<script>" + link + "</script>",
                                  "<style>" + link + "</style >",
                                  "<script>" + link,
                                  "<textarea>" + link + "</textarea>",
                                  "<textarea>" + link,
                                  "<title>" + link + "</title>",
                                  "<xmp>" + link + "</xmp>",
                                  "<iframe>" + link + "</iframe>",
                                  "<noframes>" + link + "</noframes>",
                                  "<plaintext>" + link,
                                  "<![CDATA[ " + link + " ]]>",
                                  "<? " + link,
                                  "<p title=\"" + link,
                                  std::string("<b href='a.whl'>"),
                                  std::string("<a data-href='a.whl'>"),
                                  std::string("<a>href='a.whl'</a>"),
                                  std::string("<a href='a.whl' href='b.whl'>"),
                                  std::string("<a href='b.whl' title=\"href='a.whl'\">"),
                                  std::string("<a name=\"<a href='a.whl'>\">"),
                                  "<textarea><!-- </textarea>" + link + "-->",
                                  "<script></script x>" + link + "</script>",
                                  std::string("<a href='a.whl'"),
                                  std::string("&lt;a href='a.whl'&gt;")})
    EXPECT_THAT(Found(Html(html), "a.whl"), IsEmpty()) << html;
}

TEST(SimplePageTest, ABaseLeadsElsewhere) {
  const auto page = Html(
      "<base target=x><base href='https://h/f/a.whl?x'><base href='b'><a href='#sha256=" + kDigest + "'>");
  EXPECT_THAT(Found(page, "a.whl"), ElementsAre("aa "));
  EXPECT_EQ(FindInSimplePage(page, "a.whl")->base, "https://h/f/a.whl?x");
}

TEST(SimplePageTest, TheFirstDigestOfALinkCounts) {
  const auto found = [](const std::string& fragment) {
    return Found(Html("<a href='a.whl#" + fragment + "'>"), "a.whl");
  };
  EXPECT_THAT(found("x=1&sha256=" + kDigest), ElementsAre("aa a.whl"));
  EXPECT_THAT(found("md5=0&sha256=" + kDigest), ElementsAre(" a.whl"));
  EXPECT_THAT(found("sha256=" + kDigest + "&x"), ElementsAre("aa a.whl"));
  EXPECT_THAT(found("sha256=00"), ElementsAre(" a.whl"));
}

}  // namespace
}  // namespace ptpkg::publish
