// A staging output (CEP 41) is built once, and several outputs continue in its prefix and work directory.
// Both make and ninja compare file times to the nanosecond, so restored trees must have the times they had. A
// result in the store has no times, and a work directory can hold files that no package can. So each tree is
// a tar archive in pax format.
//
// Both trees contain the path of their work directory, and the other output builds elsewhere. Work
// directories have paths of equal length, so ptpkg replaces the path inside the tar file, and no byte moves.
// This works because members are uncompressed, and because a path this long needs a pax record of its own,
// which has no checksum.
//
// Invariants: no compression, and names long enough for pax records. Access and change times are left out and
// members are sorted, so equal trees give equal archives.

#include "builder/staging.h"

#include <fmt/core.h>

#include "builder/replace_path.h"
#include "builder/resume/work_state.h"
#include "source/walk.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

Result<AbsPath> FindTar(Env& env) {
  const std::optional<AbsPath> program = FindProgram("tar", PathVariable(env.variables));
  if (program) return *program;
  return Error(ErrorCode::kNotFound, "program 'tar' is missing, which staging outputs need")
      .WithHint("install it: apt-get install tar");
}

Result<void> RunTar(Env& env, std::vector<std::string> arguments, const std::string& doing) {
  PTPKG_TRY(const AbsPath program, FindTar(env));
  Command command;
  command.argv = {program.str()};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  // TAR_OPTIONS and the locale of the caller must not change the archive.
  command.env = {{"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C"}};
  command.cancel = &env.cancel;
  PTPKG_TRY(const ExitStatus status, env.process.Run(command), doing);
  if (status.ok()) return Ok();
  Error error(ErrorCode::kIo, fmt::format("tar failed {}: {}", doing, Trim(status.output)));
  // At its last block tar tells how much it wrote, and not why no more.
  const bool full = status.output.find("No space left") != std::string::npos ||
                    status.output.find("Wrote only") != std::string::npos;
  if (!full) return error;
  return std::move(error).WithHint(
      "the disk is full: run 'ptpkg cache clean', or use a larger disk with --cache-dir");
}

/// `members`: the rest of tar's command line.
Result<void> Pack(Env& env, const WorkLayout& layout, const AbsPath& archive,
                  const std::vector<std::string>& members) {
  std::vector<std::string> arguments = {"--create",       "--file=" + archive.str(),
                                        "--format=posix", "--pax-option=delete=atime,delete=ctime",
                                        "--sort=name",    "--numeric-owner"};
  arguments.insert(arguments.end(), members.begin(), members.end());
  PTPKG_CHECK(RunTar(env, std::move(arguments), "while storing a staging output"));
  // Members follow one another uncompressed, and a name of this length has a record of its own, without a
  // checksum. So any text can be replaced by one of the same length.
  PTPKG_TRY([[maybe_unused]] const std::size_t places,
            ReplacePath(env.fs, archive, {.from = layout.root.str(), .to = layout.RootPlaceholder()}));
  return env.fs.SetMode(archive, 0644);
}

Result<void> Unpack(Env& env, const AbsPath& archive, const StagingArchives& archives,
                    const WorkLayout& layout, const AbsPath& folder) {
  const std::string root = layout.root.str();
  if (root.size() != archives.root.size()) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format(
                     "the path of the work directory has {} characters, but had {} for the staging output",
                     root.size(), archives.root.size()))
        .WithHint("use a cache directory with a shorter path: --cache-dir DIR");
  }
  // The archive belongs to the result store: paths are replaced in a copy.
  const AbsPath copy = layout.root / "inherited.tar";
  PTPKG_CHECK(RemoveTree(env.fs, copy));  // of a run that was killed here
  PTPKG_CHECK(env.fs.CopyFile(archive, copy));
  PTPKG_TRY([[maybe_unused]] const std::size_t places,
            ReplacePath(env.fs, copy, {.from = archives.root, .to = root}));
  PTPKG_CHECK(RunTar(env,
                     {"--extract", "--file=" + copy.str(), "--directory=" + folder.str(), "--no-same-owner",
                      "--preserve-permissions", "--delay-directory-restore"},
                     "while restoring a staging output"));
  return env.fs.Remove(copy);
}

}  // namespace

Result<void> RequireTar(Env& env) {
  PTPKG_TRY([[maybe_unused]] const AbsPath program, FindTar(env));
  return Ok();
}

Result<StagingArchives> SaveStaging(Env& env, const WorkLayout& layout, const std::vector<RelPath>& files,
                                    const AbsPath& folder) {
  StagingArchives archives{.prefix = folder / "prefix.tar",
                           .work = folder / "work.tar",
                           .root = layout.RootPlaceholder(),
                           .files = files};
  // Names may contain line breaks, so the list is separated by NUL bytes.
  std::string names;
  for (const RelPath& file : files) names += file.str() + '\0';
  const AbsPath list = layout.temp / "ptpkg-staging-files";
  PTPKG_CHECK(WriteFile(env.fs, list, names));
  PTPKG_CHECK(Pack(env, layout, archives.prefix,
                   {"--directory=" + layout.prefix.str(), "--no-recursion", "--verbatim-files-from", "--null",
                    "--files-from=" + list.str()}));
  PTPKG_CHECK(Pack(env, layout, archives.work,
                   {"--directory=" + layout.source.Parent().str(), std::string(layout.source.Name())}));
  PTPKG_CHECK(env.fs.Remove(list));
  return archives;
}

Result<void> RestorePrefix(Env& env, const StagingArchives& archives, const WorkLayout& layout) {
  return Unpack(env, archives.prefix, archives, layout, layout.prefix);
}

Result<void> RestoreWork(Env& env, const StagingArchives& archives, const WorkLayout& layout) {
  return Unpack(env, archives.work, archives, layout, layout.source.Parent());
}

Result<void> AddSources(Env& env, const AbsPath& extra, const AbsPath& folder) {
  PTPKG_TRY(const std::vector<source::WalkEntry> entries, source::Walk(env, extra));
  for (const source::WalkEntry& entry : entries) {
    PTPKG_CHECK(env.cancel.Check());
    const AbsPath to = folder / entry.path;
    PTPKG_CHECK(env.fs.MakeDirs(to.Parent()));
    PTPKG_TRY(const bool there, Exists(env.fs, to));
    if (there) {
      env.reporter.Warn(fmt::format("a source of this output replaces '{}' of the inherited work directory",
                                    entry.path.str()));
    }
    PTPKG_CHECK(env.fs.Rename(extra / entry.path, to));
    // An archive's time is older than the objects built from the replaced file: make would see no change.
    if (there && entry.stat.kind == FileKind::kRegular) PTPKG_CHECK(env.fs.SetMtime(to, NowNs(env)));
  }
  return RemoveTree(env.fs, extra);
}

}  // namespace ptpkg::builder
