#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/document_page.h"
#include "support/digest/base64.h"
#include "support/matchers.h"
#include "support/must.h"
#include "support/text/json.h"

namespace ptpkg::inspect {
namespace {

using test::Must;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Json Named(const std::string& name) { return {{{"subject", name}}}; }

/// How often `part` is in `text`.
int Count(std::string_view text, std::string_view part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// What lies between the first `begin` and the next `end`.
std::string Between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

TEST(HtmlPage, IsOneFileThatAsksForNothing) {
  const std::string page = Must(HtmlPage(Named("toy")));
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>\n"));
  EXPECT_THAT(page,
              AllOf(HasSubstr("default-src 'none'; script-src 'sha256-"), HasSubstr("base-uri 'none'")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("https://")), Not(HasSubstr(" src=")), Not(HasSubstr("@import"))));
  // The namespace of SVG is a name, not a place.
  EXPECT_EQ(Count(page, "http://"), Count(page, "\"http://www.w3.org/2000/svg\""));
  for (const char* place : {"@policy@", "@style@", "@plain@", "@document@", "@script@"})
    EXPECT_THAT(page, Not(HasSubstr(place)));
}

TEST(HtmlPage, HasTablesForBrowsersWithoutScripts) {
  const Json document = {
      {"subject", "toy"},
      {"size", 12},
      {"files", {{{"path", "a"}, {"size", 1}}, {{"path", "b<c"}, {"size", 2}, {"elf", {1}}}}},
      {"sizes", {{"folders", {{{"name", "lib"}, {"old_bytes", 1}}}}}}};
  const std::string tables = Between(Must(HtmlPage(document)), "<noscript>", "</noscript>");
  EXPECT_THAT(tables, HasSubstr("<tr><th>subject</th><td>toy</td></tr>"));
  EXPECT_THAT(tables, HasSubstr("<h2>files</h2>\n<table>\n<tr><th>path</th><th>size</th></tr>\n"
                                "<tr><td>a</td><td>1</td></tr>\n<tr><td>b&lt;c</td><td>2</td></tr>\n"));
  EXPECT_THAT(tables, HasSubstr("<h2>sizes: folders</h2>"));
  EXPECT_THAT(tables, HasSubstr("<tr><th>name</th><th>old bytes</th></tr>"));
}

TEST(HtmlPage, TablesForBrowsersWithoutScriptsShowListsOfTexts) {
  const Json document = {
      {"metadata", {{{"field", "requires"}, {"old", Json::array()}, {"new", {"numpy>=2", "sympy"}}}}}};
  const std::string tables = Between(Must(HtmlPage(document)), "<noscript>", "</noscript>");
  EXPECT_THAT(tables, HasSubstr("<tr><th>field</th><th>new</th><th>old</th></tr>\n"
                                "<tr><td>requires</td><td>numpy&gt;=2, sympy</td><td></td></tr>\n"));
}

TEST(HtmlPage, OfHostileNamesHasTheMarkupOfAnyOther) {
  const std::string plain = Must(HtmlPage(Named("toy")));
  for (const std::string name : {"</script><script>alert(1)</script>", "<!--", "]]>", "\"'`${1}",
                                 "\xE2\x80\xA8\xE2\x80\xA9", "\xFF\xFE", "@script@", "@document@"}) {
    const std::string page = Must(HtmlPage(Named(name)));
    EXPECT_EQ(Count(page, "<script"), 2) << name;
    EXPECT_EQ(Count(page, "</script"), 2) << name;
    const std::string begin = "id=\"document\">";
    const std::string data = Between(page, begin, "</script>");
    EXPECT_OK(DecodeBase64(data)) << name;
    std::string without = page;
    without.replace(without.find(begin) + begin.size(), data.size(), Between(plain, begin, "</script>"));
    const std::string tables = Between(page, "<noscript>", "</noscript>");
    const std::string plain_tables = Between(plain, "<noscript>", "</noscript>");
    EXPECT_EQ(Count(tables, "<"), Count(plain_tables, "<")) << name;
    without.replace(without.find(tables), tables.size(), plain_tables);
    EXPECT_EQ(without, plain) << name;
  }
}

TEST(HtmlPage, ScriptAndStyleEndWhereTheirElementsEnd) {
  const std::string page = Must(HtmlPage(Named("toy")));
  EXPECT_EQ(Count(page, "<!--"), 1);  // of its beginning
  EXPECT_EQ(Count(page, "</style"), 1);
  EXPECT_THAT(
      Between(page, "<script type=\"module\">", "</body>"),
      AllOf(Not(HasSubstr("innerHTML")), Not(HasSubstr("insertAdjacentHTML")), Not(HasSubstr("eval("))));
}

TEST(HtmlPage, IsSmallForManyFiles) {
  Json files = Json::array();
  for (int i = 0; i < 10'000; ++i) {
    files.push_back({{"path", fmt::format("torch/include/ATen/ops/operator_{}.h", i * 7919 % 10'000)},
                     {"size_bytes", i * 37},
                     {"stored_bytes", i * 11},
                     {"mode", "0644"},
                     {"kind", "header"},
                     {"target", nullptr}});
  }
  const Json document = {{{"files", files}}};
  EXPECT_LT(Must(HtmlPage(document)).size(), document.dump().size() / 4);
}

}  // namespace
}  // namespace ptpkg::inspect
