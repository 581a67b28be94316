// html_page_of DOCUMENT.json PAGE.html: writes the page of a document. For
// tests/e2e/inspect/html_page_test.py.

#include "inspect/document_page.h"
#include "support/must.h"
#include "support/test_env.h"
#include "support/text/json.h"

int main(int argc, char** argv) {
  using namespace ptpkg;
  if (argc != 3) return 2;
  test::TestEnv env;
  const AbsPath from = AbsPath::Literal(argv[1]);
  const std::string text = test::Must(ReadFile(env->fs, from));
  const std::string page = test::Must(inspect::HtmlPage(test::Must(ParseJson(text, from.str()))));
  test::Must(WriteFile(env->fs, AbsPath::Literal(argv[2]), page));
  return 0;
}
