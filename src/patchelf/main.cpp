// The program patchelf. Layer: patchelf.

#include <array>
#include <climits>
#include <csignal>
#include <cstdio>
#include <fmt/core.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "patchelf/command.h"
#include "support/internal_error.h"
#include "support/process/standard_descriptors.h"

namespace {

int Fail(const ptpkg::Error& error) {
  const std::string text = fmt::format("patchelf: {}\n", error.message());
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  return 1;
}

int Run(const std::vector<std::string>& words) {
  std::array<char, PATH_MAX> buffer{};
  const char* const cwd = ::getcwd(buffer.data(), buffer.size());
  // An absolute file name needs no working directory.
  const auto folder = ptpkg::AbsPath::Parse(cwd == nullptr ? "/" : cwd);
  if (!folder) return Fail(folder.error());
  const auto fs = ptpkg::MakeOsFs();
  return ptpkg::patchelf::RunPatchelf(*fs, *folder, words);
}

}  // namespace

// A signal ends it as any program: an edit in progress has its undo record.
int main(int argc, char** argv) {
  if (const auto opened = ptpkg::OpenStandardDescriptors(); !opened) return Fail(opened.error());
  // A reader that closes its pipe early, like head, must not end the run before all files are edited.
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  try {
    return Run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (...) {
    return Fail(ptpkg::CurrentInternalError());
  }
}
