// The program's only writer on stdout and stderr, so that masking of secrets has no way around it. Output
// that can't be written ends the program: a caller would otherwise read a truncated JSON document as a
// result. It ends by _Exit, because this can be any depth of the call and any thread, and destructors of a
// broken state must not run.

#include "cli/terminal_output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fmt/core.h>
#include <string>
#include <sys/ioctl.h>
#include <system_error>
#include <unistd.h>

#include "cli/exit_code.h"
#include "support/secret.h"

namespace ptpkg::cli {

namespace {

void WriteAll(std::FILE* stream, std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0) return;
  // There is nowhere to report a failure of stderr, and the result of the run still counts.
  if (stream != stdout) return;
  const int reason = errno;
  // A reader that has seen enough, such as `head`, is no error to report.
  if (reason == EPIPE) std::_Exit(kClosedPipe);
  const std::string message =
      fmt::format("error: cannot write to standard output: {}\n", std::generic_category().message(reason));
  static_cast<void>(std::fputs(message.c_str(), stderr));
  std::_Exit(kIoFailed);
}

constexpr int kUnknownColumns = 80;

int ColumnsOf(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kUnknownColumns;
}

class Stderr final : public LogSink {
 public:
  void Write(std::string_view text) override { WriteAll(stderr, MaskSecrets(text)); }
  // Asked anew each time: the window may have another size by now.
  std::optional<std::size_t> Width() override {
    if (::isatty(STDERR_FILENO) != 1) return std::nullopt;
    return static_cast<std::size_t>(ColumnsOf(STDERR_FILENO));
  }
};

}  // namespace

void PrintResult(std::string_view text) { WriteAll(stdout, MaskSecrets(text) + "\n"); }

void PrintLog(std::string_view line) { WriteAll(stderr, MaskSecrets(line) + "\n"); }

LogSink& StderrSink() {
  static Stderr sink;
  return sink;
}

std::size_t HelpWidth() {
  constexpr int kNarrowest = 40;
  constexpr int kWidest = 100;  // longer lines of prose are hard to follow
  return static_cast<std::size_t>(std::clamp(ColumnsOf(STDOUT_FILENO), kNarrowest, kWidest));
}

}  // namespace ptpkg::cli
