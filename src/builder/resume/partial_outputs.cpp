// Make takes any file that is newer than its sources, also one that a killed command left half-written.
// Nobody recorded which those are, because kill -9 leaves no time for it. So times have to tell: a command
// that was writing when it was killed had written within moments of the last write of all.
//
// - The window begins 10 s before the last write, or 60 s after a power loss. With `make -j` other jobs run
//   on after a failure, so it then begins before the first failure.
// - Below a .ninja_log times mean nothing: ninja repeats unfinished commands itself. An output that no rule
//   names would be missing although its command counts as done. After a power loss the window applies there
//   too.
// - A Makefile nearer than the log gives the directory back to make (ExternalProject).
// - Objects and archives are also measured by their own tables, because a linker can write for minutes.
//
// Invariant: removing one file too many costs its compilation, keeping a partial one costs the result. So a
// time in the future counts as late. docs/decisions/0012-resuming-a-build.md derives the numbers.

#include "builder/resume/partial_outputs.h"

#include <algorithm>
#include <set>

#include "builder/resume/cut_object.h"
#include "builder/resume/work_state.h"

namespace ptpkg::builder {

namespace {

constexpr std::string_view kNinjaLog = ".ninja_log";

bool IsNinjasOwn(std::string_view name) { return name == kNinjaLog || name == ".ninja_deps"; }
bool IsMakefile(std::string_view name) {
  return name == "Makefile" || name == "makefile" || name == "GNUmakefile";
}

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

class PartialOutputFinder {
 public:
  PartialOutputFinder(Env& env, const AbsPath& root, const std::vector<source::WalkEntry>& files,
                      const SourceRecord& sources, const Ending& ending)
      : env_(env), root_(root), files_(files), sources_(sources), ending_(ending) {
    for (const source::WalkEntry& file : files) {
      if (file.path.Name() == kNinjaLog) ninja_.insert(file.path.ParentText());
      if (IsMakefile(file.path.Name())) make_.insert(file.path.ParentText());
    }
  }

  Result<PartialOutputs> Run() {
    const std::chrono::nanoseconds window = IsOfMachine() ? kMachineWindow : kProcessesWindow;
    const std::int64_t last = LastWrite();
    const std::int64_t begin = std::min(last, ending_.failed.first_ns.value_or(last)) - window.count();
    PartialOutputs found;
    for (const source::WalkEntry& file : files_) {
      PTPKG_CHECK(env_.cancel.Check());
      // Ninja repairs its own logs when it reads them.
      if (file.stat.kind != FileKind::kRegular || IsNinjasOwn(file.path.Name())) continue;
      const bool named = ending_.failed.Name(root_, file.path);
      if (sources_.Holds(file.path)) {
        // The script itself edits them, not the commands of its make.
        const bool doubtful = named || file.stat.mtime_ns >= last - window.count();
        if (doubtful && sources_.IsChanged(file)) found.sources.push_back(file.path);
        continue;
      }
      const bool late = file.stat.mtime_ns >= begin;
      bool in_flight = named || (late && (IsOfMachine() || !IsNinjas(file.path.ParentText())));
      if (!in_flight) {
        PTPKG_TRY(in_flight, IsTruncatedObject(env_.fs, root_ / file.path, source::IsExecutable(file.stat)));
      }
      if (in_flight) found.outputs.push_back(file.path);
    }
    return found;
  }

 private:
  [[nodiscard]] bool IsOfMachine() const { return ending_.kind == RunEndKind::kMachine; }

  /// A time in the future says nothing about the last write, and such a file counts as in flight.
  [[nodiscard]] std::int64_t LastWrite() const {
    const std::int64_t now = NowNs(env_);
    // Unchanged sources don't count: their times come from an archive.
    std::int64_t last = 0;
    for (const source::WalkEntry& file : files_) {
      const bool own =
          file.stat.kind == FileKind::kRegular && (!sources_.Holds(file.path) || sources_.IsChanged(file));
      if (own && file.stat.mtime_ns <= now) last = std::max(last, file.stat.mtime_ns);
    }
    return last;
  }

  /// True if ninja handles the files of `folder`. A make that ninja started (ExternalProject) trusts
  /// anything newer than its sources.
  [[nodiscard]] bool IsNinjas(std::string folder) const {
    if (ninja_.empty()) return false;
    while (true) {
      if (make_.contains(folder)) return false;
      if (ninja_.contains(folder)) return true;
      if (folder.empty()) return false;
      folder = FolderOf(folder);
    }
  }

  Env& env_;
  const AbsPath& root_;
  const std::vector<source::WalkEntry>& files_;
  const SourceRecord& sources_;
  const Ending& ending_;
  std::set<std::string> ninja_;  // directories with a log of ninja
  std::set<std::string> make_;   // with a Makefile
};

}  // namespace

Result<PartialOutputs> FindPartialOutputs(Env& env, const AbsPath& root,
                                          const std::vector<source::WalkEntry>& files,
                                          const SourceRecord& sources, const Ending& ending) {
  return PartialOutputFinder(env, root, files, sources, ending).Run();
}

}  // namespace ptpkg::builder
