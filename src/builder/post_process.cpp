// Between the script and the packers, staged files still show where they were built. All output families need
// the same repairs, so they happen here once:
//
// - first links, one after the other: splitting a hard link changes the link count of its siblings
// - then each file alone, in parallel: interpreter line, RECORD, and the path of the build directory
//
// A placeholder of the same length replaces that path byte for byte. No offset in a binary file moves, and
// two builds in different directories give equal bytes.
//
// Invariant: RECORD loses its digests here. Search paths and metadata change later, so only packers can
// digest. Sources: conda-build's post.py and build.py.

#include "builder/post_process.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <set>

#include "builder/replace_path.h"
#include "source/walk.h"
#include "support/process/console_script.h"
#include "support/process/parallel.h"
#include "support/text/csv.h"
#include "support/text/globs.h"
#include "support/text/text.h"
#include "versions/entry_point.h"

namespace ptpkg::builder {

namespace {

bool IsJunk(const RelPath& path) {
  static constexpr std::array<std::string_view, 5> kEndings = {".pyc", ".pyo", ".la", "/direct_url.json",
                                                               "/.DS_Store"};
  static constexpr std::array<std::string_view, 6> kFolders = {"__pycache__",  ".git", "conda-meta",
                                                               ".conda_trash", ".svn", ".hg"};
  const std::string& text = path.str();
  if (text == "share/info/dir") return true;  // an index that install-info rewrites for each package
  if (std::any_of(kEndings.begin(), kEndings.end(),
                  [&](std::string_view end) { return text.ends_with(end); })) {
    return true;
  }
  const std::vector<std::string> parts = path.Components();
  return std::any_of(parts.begin(), parts.end(), [](const std::string& part) {
    return std::find(kFolders.begin(), kFolders.end(), part) != kFolders.end();
  });
}

class Processor {
 public:
  Processor(Env& env, const PostProcessInput& input)
      : env_(env),
        input_(input),
        prefix_(input.layout.prefix),
        root_(input.layout.root.str()),
        placeholder_(input.layout.RootPlaceholder()) {}

  Result<void> Run() {
    PTPKG_TRY(const std::vector<source::WalkEntry> entries, source::Walk(env_, prefix_));
    // Links first and one after the other: a broken hard link changes what its siblings count.
    for (const source::WalkEntry& entry : entries) PTPKG_CHECK(Separate(entry));
    const auto one = [&](std::size_t i) -> Result<void> {
      PTPKG_CHECK(env_.cancel.Check());
      return entries[i].stat.kind == FileKind::kRegular ? File(entries[i]) : Ok();
    };
    return ParallelFor(env_.jobs, entries.size(), one);
  }

 private:
  Result<void> Separate(const source::WalkEntry& entry) {
    const AbsPath path = prefix_ / entry.path;
    if (entry.stat.kind == FileKind::kSymlink) return Symlink(path, entry.path);
    if (entry.stat.kind != FileKind::kRegular) return Ok();
    PTPKG_TRY(const FileStat now, env_.fs.Lstat(path));
    // Asked anew, because splitting the other name has lowered the count.
    if (now.link_count > 1) {
      // Otherwise two threads would later write one file behind two names.
      const AbsPath copy = path.Parent() / (std::string(path.Name()) + ".ptpkg-unlinked");
      PTPKG_CHECK(env_.fs.CopyFile(path, copy));
      PTPKG_CHECK(env_.fs.Rename(copy, path));
    }
    return env_.fs.SetMode(path, (entry.stat.mode & 0100U) != 0 ? 0755 : 0644);
  }

  Result<void> Symlink(const AbsPath& path, const RelPath& shown) {
    PTPKG_TRY(const std::string target, env_.fs.ReadLink(path));
    if (!target.starts_with("/")) return Ok();
    PTPKG_TRY(const AbsPath absolute, AbsPath::Parse(target));
    if (absolute.IsWithin(prefix_)) {
      const auto below = absolute.RelativeTo(prefix_);
      const std::string inside = below ? below->str() : std::string();
      PTPKG_CHECK(env_.fs.Remove(path));
      return env_.fs.CreateSymlink(RelativeFrom(shown.ParentText(), inside), path);
    }
    if (absolute.IsWithin(input_.layout.root)) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("symlink '{}' points into the build directory ('{}')", shown.str(), target))
          .WithHint("copy the file into the prefix instead of linking to it");
    }
    return Ok();  // ScanTree reports links that leave the tree
  }

  Result<void> File(const source::WalkEntry& entry) {
    const AbsPath path = prefix_ / entry.path;
    // Before the path is replaced: afterwards the line no longer names the build's Python.
    if (entry.path.str().starts_with("bin/")) PTPKG_CHECK(FixInterpreter(path));
    if (entry.path.str().ends_with(".dist-info/RECORD")) return TrimRecord(entry.path);
    PTPKG_TRY(const std::size_t places, ReplacePath(env_.fs, path, {.from = root_, .to = placeholder_}),
              fmt::format("while replacing the path of the build directory in '{}'", entry.path.str()));
    static_cast<void>(places);
    return Ok();
  }

  /// pip's RECORD lists files that were left out since, and digests of files that changed since; some of
  /// these held paths of the build directory. Names of existing files stay, and packers digest anew.
  Result<void> TrimRecord(const RelPath& record) {
    const AbsPath path = prefix_ / record;
    PTPKG_TRY(const std::string text, ReadFile(env_.fs, path));
    PTPKG_TRY(const std::vector<CsvRow> rows, ParseCsv(text, record.str()));
    const std::string site_packages = RelPath::Literal(record.ParentText()).ParentText();
    std::string trimmed;
    for (const CsvRow& row : rows) {
      if (row.empty()) continue;
      const std::optional<std::string> file = ResolveInTree(site_packages, row.front());
      if (!file || file->empty()) continue;
      PTPKG_TRY(const RelPath below, RelPath::Parse(*file), fmt::format("while reading '{}'", record.str()));
      PTPKG_TRY(const bool there, Exists(env_.fs, prefix_ / below));
      if (there) trimmed += FormatCsvRow({row.front(), "", ""});
    }
    return WriteFile(env_.fs, path, trimmed);
  }

  /// pip writes the interpreter it ran under: "#!PYTHON", or, where that is too long for the kernel, three
  /// lines "#!/bin/sh", "'''exec' PYTHON "$0" "$@"", "' '''".
  Result<void> FixInterpreter(const AbsPath& path) {
    constexpr std::uint64_t kLargestScript = 1U << 20U;
    PTPKG_TRY(const FileStat stat, env_.fs.Lstat(path));
    if (stat.size_bytes > kLargestScript) return Ok();
    PTPKG_TRY(const std::string text, ReadFile(env_.fs, path));
    constexpr std::string_view kLong = "#!/bin/sh\n'''exec' ";
    constexpr std::string_view kLongEnd = "\n' '''";
    const bool is_long = text.starts_with(kLong);
    if (!is_long && !text.starts_with("#!")) return Ok();
    const std::size_t begin = is_long ? kLong.size() : 2;
    const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    if (!IsBuildPython(text.substr(begin, end - begin))) return Ok();
    std::size_t rest = end;
    if (is_long) {
      rest = text.find(kLongEnd, end);
      if (rest == std::string::npos) return Ok();
      rest += kLongEnd.size();
    }
    PTPKG_CHECK(WriteFile(env_.fs, path, "#!" + prefix_.str() + "/bin/python" + text.substr(rest)));
    return env_.fs.SetMode(path, 0755);
  }

  /// "<prefix>/bin/python3.11", or the interpreter behind it.
  [[nodiscard]] bool IsBuildPython(std::string_view program) const {
    if (!input_.python.empty() && program == input_.python) return true;
    const std::string own = prefix_.str() + "/bin/python";
    return program.starts_with(own) &&
           program.substr(own.size()).find_first_not_of("0123456789.") == std::string_view::npos;
  }

  Env& env_;
  const PostProcessInput& input_;
  const AbsPath& prefix_;
  std::string root_;
  std::string placeholder_;
};

}  // namespace

Result<std::vector<RelPath>> SelectFiles(const recipe::Recipe& recipe, const std::vector<RelPath>& added) {
  std::vector<RelPath> selected;
  std::set<std::string> entry_points;
  if (recipe.InstallerPlacesPython()) {
    for (const std::string& text : recipe.python_entry_points) {
      PTPKG_TRY(const versions::EntryPoint point, versions::ParseEntryPoint(text));
      entry_points.insert("bin/" + point.name);
    }
  }
  for (const RelPath& path : added) {
    if (path.str().find("/dist-packages/") != std::string::npos) {
      return Error(
                 ErrorCode::kInvalidInput,
                 fmt::format("the build installed '{}': 'dist-packages' is Debian's own layout", path.str()))
          .WithHint("call $PYTHON, 'python' or 'pip' of the build environment, not /usr/bin/python3");
    }
    // The installer of a noarch package writes the programs of its entry points.
    if (IsJunk(path) || entry_points.contains(path.str())) continue;
    if (!recipe.files_include.empty() && !MatchesAnyGlob(recipe.files_include, path.str())) continue;
    if (MatchesAnyGlob(recipe.files_exclude, path.str())) continue;
    selected.push_back(path);
  }
  return selected;
}

Result<void> WriteEntryPoints(Env& env, const recipe::Recipe& recipe, const WorkLayout& layout) {
  if (recipe.InstallerPlacesPython()) return Ok();
  const std::string prefix = layout.prefix.str();
  for (const std::string& text : recipe.python_entry_points) {
    PTPKG_TRY(const versions::EntryPoint point, versions::ParseEntryPoint(text));
    const AbsPath program = layout.prefix / "bin" / point.name;
    PTPKG_CHECK(env.fs.MakeDirs(program.Parent()));
    PTPKG_CHECK(
        WriteFile(env.fs, program,
                  ConsoleScriptText({.prefix = prefix, .module = point.module, .object = point.object})));
    PTPKG_CHECK(env.fs.SetMode(program, 0755));
  }
  return Ok();
}

Result<void> PostProcess(Env& env, const PostProcessInput& input) { return Processor(env, input).Run(); }

}  // namespace ptpkg::builder
