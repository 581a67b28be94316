#include "support/process/console_script.h"

#include <fmt/core.h>

namespace ptpkg {

std::string ConsoleScriptText(const ConsoleScript& script) {
  // conda's own bytes, with the substitution for setuptools' wrappers of Windows. So a script that is packed
  // equals the one that conda would make.
  return fmt::format(
      "#!{0}/bin/python\n"
      "# -*- coding: utf-8 -*-\n"
      "import re\n"
      "import sys\n"
      "\n"
      "from {1} import {2}\n"
      "\n"
      "if __name__ == '__main__':\n"
      "    sys.argv[0] = re.sub(r'(-script\\.pyw?|\\.exe)?$', '', sys.argv[0])\n"
      "    sys.exit({3}())\n",
      script.prefix, script.module, script.object.substr(0, script.object.find('.')), script.object);
}

}  // namespace ptpkg
