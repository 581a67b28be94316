// Applies one patch, with three questions before the program runs:
//
// - How many leading directories do the names have? FindStrip tries -p1, then -p0, then more, and takes the
//   first level at which every file that the patch changes exists. Patches of git without a/ and b/ try -p0
//   first.
// - Does a name lead through a symlink? `patch` would follow a link that an earlier source or patch has made.
//   A patch that makes a link and writes below it is refused too.
// - Which program? GNU patch, or git for binary changes and names with blanks.
//
// No context line may differ: --fuzz=0 makes GNU patch as strict as `git apply`. After a patch with symlinks
// the whole tree is listed, which refuses links that leave it.

#include "source/patch.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "source/git.h"
#include "source/local_tree.h"
#include "source/patch_text.h"
#include "support/text/text.h"

namespace ptpkg::source {

namespace {

/// patch would follow a symlink that an earlier source or patch has put in its way. `may_be_one`: the file
/// itself, which the patch makes or changes as a symlink; patch leaves it alone otherwise.
Result<void> RefuseSymlinks(Fs& fs, const AbsPath& tree, const RelPath& file, std::string_view patch,
                            bool may_be_one) {
  AbsPath path = tree;
  for (const std::string& component : file.Components()) {
    path = path / component;
    PTPKG_TRY(const bool there, Exists(fs, path));
    if (!there) return Ok();
    PTPKG_TRY(const FileStat stat, fs.Lstat(path));
    if (stat.kind == FileKind::kSymlink && !(may_be_one && path == tree / file)) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("unsafe patch '{}': it reaches '{}' through a symlink", patch, file.str()));
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
    if (line.starts_with("Reversed (or previously applied) patch detected") ||
        line.starts_with("Unreversed patch detected")) {
      return fmt::format("'{}' already has this change", file);
    }
    if (line.starts_with("can't find file to patch"))
      return "a file that it changes is missing from the source";
    if (line.find("already exists") != std::string::npos && !file.empty()) {
      return fmt::format("'{}', which it creates, already exists", file);
    }
  }
  std::string rest;
  for (const std::string& line : SplitLines(output)) {
    if (!line.starts_with("patching ")) rest += line + "\n";
  }
  return std::string(Trim(rest));
}

/// Extent to which a patch fits.
struct Fit {
  std::size_t changes = 0;  ///< Number of the patch's changes, up to the first that does not fit.
  std::string missing =
      {};  ///< The file that this one changes, without `strip` directories; "" if too short.
};

/// `made`: files that changes further up make.
bool IsThere(Fs& fs, const AbsPath& tree, const std::set<std::string>& made, const std::string& path) {
  if (path.empty()) return false;
  if (made.contains(path)) return true;
  const auto stat = fs.Lstat(tree / path);
  return stat && stat->kind != FileKind::kDirectory;
}

/// Compares the files that the patch changes with the files of `tree`, without `strip` directories of their
/// names.
Fit FitOf(Fs& fs, const AbsPath& tree, const PatchText& text, std::size_t strip, bool reverse) {
  Fit fit;
  std::set<std::string> made;
  for (const PatchChange& change : text.changes) {
    const std::string& from = reverse ? change.after : change.before;
    const std::string& to = reverse ? change.before : change.after;
    const std::string before = StripComponents(from, strip, change.bare_names);
    const std::string after = StripComponents(to, strip, change.bare_names);
    // A name that this level uses up is not a file of the patch any more.
    const bool too_few_folders = before.empty() != from.empty() || after.empty() != to.empty();
    if (too_few_folders) return fit;
    const bool fits = from.empty() || IsThere(fs, tree, made, before) ||
                      (!change.from_git && IsThere(fs, tree, made, after));
    if (!fits) {
      fit.missing = change.from_git || after.empty() ? before : after;
      return fit;
    }
    if (!after.empty()) made.insert(after);
    ++fit.changes;
  }
  return fit;
}

/// Number of leading directories to remove from the names in the patch.
Result<std::size_t> FindStrip(Fs& fs, const AbsPath& tree, const PatchText& text, const PatchFile& patch) {
  if (patch.strip) return *patch.strip;
  std::size_t most = 0;
  for (const PatchChange& change : text.changes) {
    for (const std::string& path : {change.before, change.after}) {
      most = std::max(most, static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')));
    }
  }
  // Names without a/ and b/ come from `git diff --no-prefix`.
  const bool no_prefixes = !text.has_prefixes && text.changes.front().from_git;
  std::vector<std::size_t> levels =
      no_prefixes ? std::vector<std::size_t>{0, 1} : std::vector<std::size_t>{1, 0};
  for (std::size_t level = 2; level <= most; ++level) levels.push_back(level);
  Fit best;
  for (const std::size_t level : levels) {
    Fit fit = FitOf(fs, tree, text, level, patch.reverse);
    if (fit.changes == text.changes.size()) return level;
    if (fit.changes > best.changes) best = std::move(fit);
  }
  if (!best.missing.empty()) {
    return Error(ErrorCode::kInvalidInput, fmt::format("patch '{}' does not apply: '{}' is not in the source",
                                                       patch.shown, best.missing))
        .WithHint("refresh the patch against this source; ptpkg applies patches in recipe order");
  }
  const PatchChange& first = text.changes.front();
  return Error(ErrorCode::kInvalidInput,
               fmt::format("patch '{}' does not apply: a file that it changes is missing from the source at "
                           "any strip level (the first one is '{}')",
                           patch.shown, first.before.empty() ? first.after : first.before))
      .WithHint("refresh the patch against this source; ptpkg applies patches in recipe order");
}

/// The files that the patch would read, write, create or remove.
Result<std::vector<RelPath>> FilesOf(const PatchText& text, std::size_t strip) {
  std::vector<RelPath> files;
  for (const PatchChange& change : text.changes) {
    for (const std::string& path : {change.before, change.after}) {
      const std::string stripped = StripComponents(path, strip, change.bare_names);
      if (stripped.empty()) continue;
      PTPKG_TRY(RelPath file, RelPath::Parse(stripped));
      files.push_back(std::move(file));
    }
  }
  return files;
}

/// One patch may make a symlink, and write through it further down.
Result<void> RefuseFilesBelowFiles(const std::vector<RelPath>& files, std::string_view patch) {
  for (const RelPath& file : files) {
    for (const RelPath& other : files) {
      if (file == other || !file.IsWithin(other)) continue;
      return Error(ErrorCode::kInvalidInput, fmt::format("unsafe patch '{}': it changes both '{}' and '{}'",
                                                         patch, other.str(), file.str()));
    }
  }
  return Ok();
}

Result<AbsPath> FindPatchProgram(const Env& env) {
  std::optional<AbsPath> program = FindProgram("patch", PathVariable(env.variables));
  if (!program) {
    return Error(ErrorCode::kNotFound, "program 'patch' is missing")
        .WithHint("install it: apt-get install patch");
  }
  return *std::move(program);
}

Result<ExitStatus> RunPatch(Env& env, const PatchFile& patch, const AbsPath& tree, std::size_t strip) {
  PTPKG_TRY(const AbsPath program, FindPatchProgram(env));
  Command command;
  // -u: never read the input as an ed script, which could run commands. -N before -t: a patch that is
  // already there is an error, not a question and not a reversal.
  command.argv = {program.str(),
                  fmt::format("-p{}", strip),
                  "-u",
                  "-N",
                  "-t",
                  "--fuzz=0",
                  "--no-backup-if-mismatch",
                  "--reject-file=-",
                  "-i",
                  patch.file.str(),
                  "-d",
                  tree.str()};
  if (patch.reverse) command.argv.emplace_back("-R");
  command.env = {{"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C"}};
  command.cwd = tree;
  command.cancel = &env.cancel;
  return env.process.Run(command);
}

/// All or nothing, and no context may differ.
Result<ExitStatus> RunGitApply(Env& env, const PatchFile& patch, const AbsPath& tree, std::size_t strip) {
  PTPKG_TRY(const Git git, Git::Find(env), "while applying a patch that only git can apply");
  GitCall call{.args = {"apply", fmt::format("-p{}", strip), "--whitespace=nowarn"},
               .repository = tree / ".git-of-nobody",  // not one that happens to lie above
               .work_tree = tree};
  if (patch.reverse) call.args.emplace_back("-R");
  call.args.insert(call.args.end(), {"--", patch.file.str()});
  return git.Run(call);
}

}  // namespace

Result<void> CheckPatch(Env& env, const PatchFile& patch) {
  PTPKG_TRY(const std::string content, ReadFile(env.fs, patch.file),
            fmt::format("while reading patch '{}'", patch.shown));
  PTPKG_TRY(const PatchText text, ReadPatch(content, patch.shown));
  if (text.needs_git) {
    PTPKG_CHECK(Git::Find(env), fmt::format("patch '{}' needs git", patch.shown));
  } else {
    PTPKG_CHECK(FindPatchProgram(env), fmt::format("patch '{}' needs it", patch.shown));
  }
  return Ok();
}

Result<void> ApplyPatch(Env& env, const PatchFile& patch, const AbsPath& tree) {
  const std::string& name = patch.shown;
  PTPKG_TRY(const std::string content, ReadFile(env.fs, patch.file),
            fmt::format("while reading patch '{}'", name));
  PTPKG_TRY(const PatchText text, ReadPatch(content, name));
  PTPKG_TRY(const std::size_t strip, FindStrip(env.fs, tree, text, patch));
  PTPKG_TRY(const std::vector<RelPath> files, FilesOf(text, strip));
  for (const RelPath& file : files) PTPKG_CHECK(RefuseSymlinks(env.fs, tree, file, name, text.has_symlinks));
  // Before the program runs: afterwards the file outside would be written already.
  if (text.has_symlinks) PTPKG_CHECK(RefuseFilesBelowFiles(files, name));
  const auto run = text.needs_git ? RunGitApply : RunPatch;
  PTPKG_TRY(const ExitStatus status, run(env, patch, tree, strip),
            fmt::format("while applying patch '{}'", name));
  if (!status.ok()) {
    const std::string reason = text.needs_git ? GitReason(status.output) : FirstFailure(status.output);
    return Error(ErrorCode::kInvalidInput, fmt::format("patch '{}' does not apply: {}", name, reason))
        .WithHint(
            "refresh the patch against this source; ptpkg applies patches without fuzz, in recipe order");
  }
  if (!text.has_symlinks) return Ok();
  PTPKG_TRY(const FolderList all, ListFolder(env, tree), fmt::format("after patch '{}'", name));
  static_cast<void>(all);
  return Ok();
}

}  // namespace ptpkg::source
