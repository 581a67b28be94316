#include "cli/terminal_output.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fmt/core.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

#include "support/secret.h"

namespace ptpkg::cli {

namespace {

void WriteAll(std::FILE* stream, std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  if ((!written || std::fflush(stream) != 0) && stream == stdout) {
    // Nobody reads the results any more, or the disk is full: a success would be a lie.
    static_cast<void>(std::fputs("error: cannot write to standard output\n", stderr));
    std::_Exit(6);
  }
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
