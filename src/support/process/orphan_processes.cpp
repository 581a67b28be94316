#include "support/process/orphan_processes.h"

#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <fmt/core.h>
#include <set>
#include <string>

#include "support/text/display_text.h"
#include "support/text/text.h"

namespace ptpkg::detail {

namespace {

constexpr std::size_t kCommandBytes = 200;

struct WatchedFolder {
  AbsPath named;
  std::string real;  // as the kernel calls it; ends with '/'
};

AbsPath ProcFolder(const std::string& pid) { return AbsPath::Literal("/proc") / pid; }

class OrphanFinder {
 public:
  OrphanFinder(Fs& fs, const std::vector<AbsPath>& watched) : fs_(fs) {
    for (const AbsPath& folder : watched) {
      const Result<AbsPath> real = fs.RealPath(folder.str());
      if (real) watched_.push_back({folder, real->str() + "/"});
    }
  }

  std::vector<OrphanProcess> Find(pid_t pid) {
    AddChildren(std::to_string(pid));
    // The list grows during the loop. A process that moved up to the supervisor, because its parent ended, is
    // not added twice.
    for (std::size_t i = 0; i < found_.size(); ++i) AddChildren(found_[i]);
    std::vector<OrphanProcess> left;
    for (const std::string& each : found_) {
      if (IsZombie(each)) continue;
      left.push_back({.command = CommandOf(each), .writing = WrittenBy(each)});
    }
    return left;
  }

 private:
  void AddChildren(const std::string& pid) {
    const AbsPath tasks = ProcFolder(pid) / "task";
    const auto threads = fs_.ListDir(tasks);
    if (!threads) return;
    for (const std::string& thread : *threads) {
      const auto children = ReadFile(fs_, tasks / thread / "children");
      if (!children) continue;
      for (const std::string& child : Split(*children, ' ')) {
        if (!child.empty() && seen_.insert(child).second) found_.push_back(child);
      }
    }
  }

  /// Also of what has gone meanwhile.
  [[nodiscard]] bool IsZombie(const std::string& pid) const {
    const auto stat = ReadFile(fs_, ProcFolder(pid) / "stat");
    if (!stat) return true;
    // The name in parentheses can itself contain ')', so the last one ends it (proc(5)).
    const std::size_t name_end = stat->rfind(") ");
    return name_end == std::string::npos || stat->substr(name_end + 2, 1).find_first_of("ZX") == 0;
  }

  [[nodiscard]] std::string CommandOf(const std::string& pid) const {
    const auto text = ReadFile(fs_, ProcFolder(pid) / "cmdline");
    std::vector<std::string> argv = text ? Split(*text, '\0') : std::vector<std::string>();
    if (!argv.empty() && argv.back().empty()) argv.pop_back();  // each argument ends with a NUL
    if (!argv.empty()) return DisplayLine(ReplaceAll(ShellQuote(argv), "\n", " "), kCommandBytes);
    // A process can have erased its command line.
    const auto name = ReadFile(fs_, ProcFolder(pid) / "comm");
    return name ? DisplayLine(Trim(*name), kCommandBytes) : std::string("?");
  }

  [[nodiscard]] std::vector<AbsPath> WrittenBy(const std::string& pid) const {
    std::set<AbsPath> written;
    const AbsPath folder = ProcFolder(pid) / "fd";
    const auto descriptors = fs_.ListDir(folder);
    if (!descriptors) return {};
    for (const std::string& descriptor : *descriptors) {
      const auto target = fs_.ReadLink(folder / descriptor);
      if (!target || !IsForWriting(ProcFolder(pid) / "fdinfo" / descriptor)) continue;
      // The link's text of a removed file ends with " (deleted)", so its link count tells, and pipes have no
      // path at all.
      const auto stat = fs_.Stat(folder / descriptor);
      if (!stat || stat->kind != FileKind::kRegular || stat->link_count == 0) continue;
      for (const WatchedFolder& each : watched_) {
        if (!target->starts_with(each.real)) continue;
        const auto path = RelPath::Parse(target->substr(each.real.size()));
        if (path) written.insert(each.named / *path);
      }
    }
    return {written.begin(), written.end()};
  }

  /// "flags:\t0100001", octal, of proc(5).
  [[nodiscard]] bool IsForWriting(const AbsPath& info) const {
    const auto text = ReadFile(fs_, info);
    if (!text) return false;
    for (const std::string& line : SplitLines(*text)) {
      if (!line.starts_with("flags:")) continue;
      const std::string_view number = Trim(std::string_view(line).substr(6));
      unsigned flags = 0;
      const auto end = number.data() + number.size();
      if (std::from_chars(number.data(), end, flags, 8).ptr != end) return false;
      return (flags & O_ACCMODE) != O_RDONLY && (flags & O_PATH) == 0;
    }
    return false;
  }

  Fs& fs_;
  std::vector<WatchedFolder> watched_;
  std::vector<std::string> found_;
  std::set<std::string> seen_;
};

}  // namespace

std::vector<OrphanProcess> FindOrphanProcesses(Fs& fs, pid_t pid, const std::vector<AbsPath>& watched) {
  return OrphanFinder(fs, watched).Find(pid);
}

}  // namespace ptpkg::detail
