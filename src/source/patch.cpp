#include "source/patch.h"

#include <fmt/core.h>

#include "source/patch_text.h"
#include "support/text.h"

namespace ptpkg::source {

namespace {

/// patch would follow a symlink that an earlier source or patch has put in its way.
Result<void> RefuseSymlinks(Fs& fs, const AbsPath& tree, const RelPath& file, std::string_view patch) {
  AbsPath path = tree;
  for (const std::string& component : file.Components()) {
    path = path / component;
    PTPKG_TRY(const bool there, Exists(fs, path));
    if (!there) return Ok();
    PTPKG_TRY(const FileStat stat, fs.Lstat(path));
    if (stat.kind == FileKind::kSymlink) {
      return Error(
          ErrorCode::kInvalidInput,
          fmt::format("patch '{}' is refused: it reaches '{}' through a symlink", patch, file.str()));
    }
  }
  return Ok();
}

/// The first complaint of patch, in our words: its output is one line per file and failed hunk.
std::string FirstFailure(const std::string& output) {
  std::string file;
  for (const std::string& line : SplitLines(output)) {
    constexpr std::string_view kFile = "patching file ";
    if (line.starts_with(kFile)) file = line.substr(kFile.size());
    if (line.starts_with("Hunk #") && line.find("FAILED") != std::string::npos) {
      const std::string number = line.substr(6, line.find(' ', 6) - 6);
      const std::size_t at = line.rfind(" at ");
      const std::string place =
          at == std::string::npos ? "" : line.substr(at + 4, line.find_last_not_of('.') - at - 3);
      return fmt::format("hunk {} of '{}' does not fit at line {}", number, file, place);
    }
    if (line.starts_with("Reversed (or previously applied) patch detected")) {
      return fmt::format("'{}' has this change already", file);
    }
    if (line.starts_with("can't find file to patch")) return "a file that it changes is not in the source";
    if (line.find("already exists") != std::string::npos && !file.empty()) {
      return fmt::format("'{}', which it creates, already exists", file);
    }
  }
  return std::string(Trim(output));
}

}  // namespace

Result<void> ApplyPatch(Env& env, const AbsPath& patch, const AbsPath& tree) {
  const std::string name(patch.Name());
  PTPKG_TRY(const std::string text, ReadFile(env.fs, patch), fmt::format("while reading patch '{}'", name));
  PTPKG_TRY(const std::vector<RelPath> files, PatchedFiles(text, name));
  for (const RelPath& file : files) PTPKG_CHECK(RefuseSymlinks(env.fs, tree, file, name));

  const auto path_variable = env.variables.find("PATH");
  const std::string search = path_variable == env.variables.end() ? "/usr/bin:/bin" : path_variable->second;
  const std::optional<AbsPath> program = FindProgram("patch", search);
  if (!program) {
    return Error(ErrorCode::kNotFound, "program 'patch' is missing")
        .WithHint("install it: apt-get install patch");
  }
  Command command;
  // -u: never read the input as an ed script, which could run commands. -N before -t: a patch that is
  // already there is an error, not a question and not a reversal.
  command.argv = {
      program->str(),    "-p1", "-u",        "-N", "-t",      "--fuzz=0", "--no-backup-if-mismatch",
      "--reject-file=-", "-i",  patch.str(), "-d", tree.str()};
  command.env = {{"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C"}};
  command.cwd = tree;
  command.cancel = &env.cancel;
  PTPKG_TRY(const ExitStatus status, env.process.Run(command),
            fmt::format("while applying patch '{}'", name));
  if (status.ok()) return Ok();
  return Error(ErrorCode::kInvalidInput,
               fmt::format("patch '{}' does not apply: {}", name, FirstFailure(status.output)))
      .WithHint(
          "patches apply with -p1 and no fuzz, in the order of the recipe: refresh it against this source");
}

}  // namespace ptpkg::source
