#include "pipeline/commands/html_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/document_page.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/must.h"
#include "support/test_env.h"
#include "support/text/json.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::HasHint;
using test::Must;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

Json DocumentOf(const std::string& subject) { return {{{"subject", subject}}}; }

class WriteHtmlPageTest : public ::testing::Test {
 protected:
  test::MemFs fs_;
  test::TestEnv env_{{.fs = &fs_}};
  const AbsPath file_ = AbsPath::Literal("/out/page.html");
};

TEST_F(WriteHtmlPageTest, MakesItsFolderAndReplacesAnEarlierPage) {
  EXPECT_OK(CheckPageFile(env_, file_));
  ASSERT_OK(WriteHtmlPage(env_, file_, DocumentOf("old")));
  ASSERT_OK(WriteHtmlPage(env_, file_, DocumentOf("new")));
  EXPECT_EQ(fs_.Content("/out/page.html"), Must(inspect::HtmlPage(DocumentOf("new"))));
}

TEST_F(WriteHtmlPageTest, ReplacesNothingElse) {
  for (const std::string content : {"PK\x03\x04", "", "<!DOCTYPE html>\n<html>"}) {
    fs_.AddFile("/out/page.html", content);
    EXPECT_THAT(WriteHtmlPage(env_, file_, DocumentOf("toy")),
                AllOf(FailsWith(ErrorCode::kAlreadyExists,
                                HasSubstr("'/out/page.html' is not a page written by ptpkg")),
                      HasHint(HasSubstr("choose another file with --html"))));
    EXPECT_THAT(CheckPageFile(env_, file_),
                FailsWith(ErrorCode::kAlreadyExists, HasSubstr("not a page written by ptpkg")));
    EXPECT_EQ(fs_.Content("/out/page.html"), content);
  }
}

TEST_F(WriteHtmlPageTest, AFolderIsNoPage) {
  fs_.AddDir("/out/page.html");
  EXPECT_THAT(CheckPageFile(env_, file_), FailsWith(ErrorCode::kInvalidInput, HasSubstr("/out/page.html")));
}

TEST(WriteHtmlPage, LeavesTheOldPageWhenItFails) {
  const AbsPath file = AbsPath::Literal("/out/page.html");
  const std::string old = Must(inspect::HtmlPage(DocumentOf("old")));
  const std::string fresh = Must(inspect::HtmlPage(DocumentOf("new")));
  const int tried = test::RunFaultLoop(
      {.setup = [&](test::MemFs& fs) { fs.AddFile("/out/page.html", old); },
       .run =
           [&](Fs& fs) {
             test::TestEnv env({.fs = &fs});
             return WriteHtmlPage(env, file, DocumentOf("new"));
           },
       // The last step, the sync of the directory, comes after the rename.
       .check = [&](test::MemFs& fs,
                    const Error&) { EXPECT_THAT(fs.Content("/out/page.html"), AnyOf(old, fresh)); }});
  EXPECT_GT(tried, 5);
}

}  // namespace
}  // namespace ptpkg::pipeline
