#include "support/net/resolve_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg {
namespace {

TEST(ResolveUrlTest, IsThatOfBrowsers) {
  const std::string page = "https://host:1/simple/toy/";
  const auto leads_to = [](const char* url) { return test::IsOkAndHolds(std::string(url)); };
  EXPECT_THAT(ResolveUrl(page, "../../files/a.whl"), leads_to("https://host:1/files/a.whl"));
  EXPECT_THAT(ResolveUrl(page, "a.whl#x"), leads_to("https://host:1/simple/toy/a.whl#x"));
  EXPECT_THAT(ResolveUrl(page, "./a.whl?b=../c"), leads_to("https://host:1/simple/toy/a.whl?b=../c"));
  EXPECT_THAT(ResolveUrl(page, "/files/./a"), leads_to("https://host:1/files/a"));
  EXPECT_THAT(ResolveUrl(page, "//other/a"), leads_to("https://other/a"));
  EXPECT_THAT(ResolveUrl(page, "http://other/a%2Bb"), leads_to("http://other/a%2Bb"));
  EXPECT_THAT(ResolveUrl(page, "../../../../a"), leads_to("https://host:1/a"));
  EXPECT_THAT(ResolveUrl(page, "?a=/b"), leads_to("https://host:1/simple/toy/?a=/b"));
  EXPECT_THAT(ResolveUrl("https://host", "a"), leads_to("https://host/a"));
  EXPECT_THAT(ResolveUrl("https://host/a?b=/c/d", "e"), leads_to("https://host/e"));
}

TEST(ResolveUrlTest, WhatIsNoAddressIsRefused) {
  EXPECT_THAT(ResolveUrl("https://host/", "https://"), test::FailsWith(ErrorCode::kInvalidInput, testing::_));
  EXPECT_THAT(ResolveUrl("host", "a"), test::FailsWith(ErrorCode::kInvalidInput, testing::_));
}

TEST(CheckUrlTest, RefusesUrlsThatNoRequestCanHave) {
  for (const char* url :
       {"http://host", "https://host:8080/a?b=c#d", "http://[::1]:65535/", "http://h:1/%20\xc3\xa4"})
    EXPECT_THAT(CheckUrl(url), test::IsOk()) << url;
  for (const char* url : {"http://h:99999/", "http://h:abc/", "http://h:-1/", "http://h:0/", "http://h:00/"})
    EXPECT_THAT(CheckUrl(url), test::FailsWith(ErrorCode::kInvalidInput, testing::HasSubstr("port"))) << url;
  for (const char* url : {"http://[::1", "http://h :1/", "http://h/a b", "http://h/\n", "http://", "host/x"})
    EXPECT_THAT(CheckUrl(url), test::FailsWith(ErrorCode::kInvalidInput,
                                               testing::HasSubstr("an invalid host or an invalid character")))
        << url;
  EXPECT_THAT(CheckUrl(std::string("http://h/\0", 10)),
              test::FailsWith(ErrorCode::kInvalidInput, testing::_));
}

}  // namespace
}  // namespace ptpkg
