#pragma once
// Runs a program in the terminal's foreground. Layer: support.

#include <map>
#include <string>
#include <vector>

#include "support/path.h"
#include "support/result.h"

namespace ptpkg {

struct ForegroundCommand {
  std::vector<std::string> argv = {};           ///< argv[0]: absolute path.
  std::map<std::string, std::string> env = {};  ///< The whole environment; nothing is inherited.
  AbsPath cwd = AbsPath::Literal("/");
  /// A shell for a person, which ignores SIGTERM: it gets SIGHUP instead.
  bool interactive = false;
};

/// Runs it to its end with our stdin, stdout and stderr. Until then SIGINT and SIGQUIT are its affair alone;
/// SIGTERM and SIGHUP are handed on to it, and it gets SIGHUP when this process is killed. One at a time.
/// Returns its exit status as a shell tells it: 128 and more for a signal, 127 when it could not be started
/// after all. Errors: kNotFound (program, cwd), kIo.
Result<int> RunInForeground(const ForegroundCommand& command);

}  // namespace ptpkg
