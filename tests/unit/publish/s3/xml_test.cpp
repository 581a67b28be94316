#include "publish/s3/xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::publish {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::HasSubstr;

TEST(XmlTest, ElementsTextAndEntities) {
  const auto root = ParseXml(
      "\xEF\xBB\xBF<?xml version=\"1.0\"?>\n<!-- a > b -->\n<a:List xmlns:a='x>y'>\n"
      "<Key>a&amp;b &lt;&#65;&#x42;&gt; &quot;&apos;&#x20AC;</Key><Empty/><Empty />"
      "<Item n=\"1\"><Id>1</Id></Item><Item><Id> 2 </Id></Item><!-- c --></a:List>\n");
  ASSERT_THAT(root, IsOk());
  EXPECT_EQ(root->name, "List");
  EXPECT_EQ(root->TextOf("Key"), "a&b <AB> \"'\xE2\x82\xAC");
  EXPECT_EQ(root->TextOf("Empty"), "");
  EXPECT_EQ(root->TextOf("Missing"), "");
  ASSERT_EQ(root->children.size(), 5U);
  EXPECT_EQ(root->children[4].TextOf("Id"), "2");
}

TEST(XmlTest, WhatIsNoneIsRefused) {
  for (const char* text : {"",
                           "x",
                           "<",
                           "<a",
                           "<a>",
                           "<a></b>",
                           "<a><b></a></b>",
                           "<a/>x",
                           "<a>&b;</a>",
                           "<a>&amp</a>",
                           "<a>&#0;</a>",
                           "<a>&#xD800;</a>",
                           "<a>&#x110000;</a>",
                           "<a>&#99999999999;</a>",
                           "<a>&#;</a>",
                           "<!DOCTYPE a><a/>",
                           "<a><![CDATA[x]]></a>",
                           "<a><b <c/></a>",
                           "<a x='>",
                           "<!-- <a/>",
                           "<?xml",
                           "</a>",
                           "< a/>",
                           "<a/><b/>",
                           "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
                           "<a>\xff<"})
    EXPECT_THAT(ParseXml(text), FailsWith(ErrorCode::kInvalidInput, ::testing::_)) << text;
  EXPECT_THAT(ParseXml(std::string_view("<a/>\0<b/>", 9)),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("NUL")));
}

TEST(XmlTest, DepthAndSizeHaveLimits) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  EXPECT_THAT(ParseXml(deep), FailsWith(ErrorCode::kInvalidInput, ::testing::_));
  std::string closed = deep;
  for (int i = 0; i < 100'000; ++i) closed += "</a>";
  EXPECT_THAT(ParseXml(closed), FailsWith(ErrorCode::kInvalidInput, ::testing::_));
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "<a>";
    for (int i = 0; i < depth; ++i) text += "</a>";
    return text;
  };
  EXPECT_THAT(ParseXml(nested(16)), IsOk());
  EXPECT_THAT(ParseXml(nested(17)), FailsWith(ErrorCode::kInvalidInput, ::testing::_));
  std::string wide = "<a>";
  for (int i = 0; i < 100'001; ++i) wide += "<b/>";
  EXPECT_THAT(ParseXml(wide + "</a>"), FailsWith(ErrorCode::kInvalidInput, ::testing::_));
}

/// Every cut of an answer is refused: none reads behind its end, and none is taken for whole.
TEST(XmlTest, NoBeginningIsAWhole) {
  const std::string whole = "<?xml version='1.0'?><a b='c'><d>&amp;</d><!-- e --><f/></a>";
  ASSERT_THAT(ParseXml(whole), IsOk());
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_THAT(ParseXml(std::string_view(whole).substr(0, length)),
                FailsWith(ErrorCode::kInvalidInput, ::testing::_));
}

}  // namespace
}  // namespace ptpkg::publish
