#include "support/process/console_script.h"

#include <gtest/gtest.h>

namespace ptpkg {
namespace {

TEST(ConsoleScriptText, ImportsTheFirstNameAndCallsTheWhole) {
  EXPECT_EQ(ConsoleScriptText({.prefix = "/opt/env", .module = "a.b", .object = "App.main"}),
            "#!/opt/env/bin/python\n"
            "# -*- coding: utf-8 -*-\n"
            "import re\nimport sys\n\n"
            "from a.b import App\n\n"
            "if __name__ == '__main__':\n"
            "    sys.argv[0] = re.sub(r'(-script\\.pyw?|\\.exe)?$', '', sys.argv[0])\n"
            "    sys.exit(App.main())\n");
}

}  // namespace
}  // namespace ptpkg
