// After a failed command make leaves a file that looks complete, and the other jobs run on for minutes, so
// file times don't show which one. Only make's and ninja's own lines name it. This file records them while
// the script runs, for the next run that resumes (docs/decisions/0012-resuming-a-build.md).
//
// A full disk may be the reason for the failure, and would also prevent the record. So its room is taken
// before the script starts, and names are written into it, with a sync each. A torn write loses only the name
// that it was writing: names end with a NUL, and the rest of the room is blanks.
//
// Make names outputs relative to a directory that it need not print. So a name matches every path that ends
// with it: removing one file too many costs time, and keeping a partial one breaks the result.

#include "builder/script/failed_commands.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>

#include "builder/resume/work_state.h"
#include "builder/script/failure_blocks.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

// "<first time>\n", then each name and a NUL; the rest are blanks.
constexpr std::size_t kRoomBytes = 64U << 10U;
constexpr std::size_t kMostTargetBytes = 4096;  // of one name: no path is longer

/// "Makefile:3: table.txt" → "table.txt"; before make 4.0 there was no place.
std::string_view WithoutPlace(std::string_view target) {
  for (std::size_t at = target.find(':'); at != std::string_view::npos; at = target.find(':', at + 1)) {
    const std::size_t end = target.find_first_not_of("0123456789", at + 1);
    if (end == std::string_view::npos || end == at + 1) continue;
    if (target.substr(end).starts_with(": ")) return target.substr(end + 2);
  }
  return target;
}

/// "*** [Makefile:3: table.txt] Error 1", "*** [a.o] Killed", "*** [a.o] Deleting file 'a.o'".
std::string_view MakeTarget(std::string_view text) {
  constexpr std::string_view kSign = ": *** [";
  const std::size_t begin = text.find(kSign);
  const std::size_t end = text.rfind("] ");
  if (begin == std::string_view::npos || end == std::string_view::npos) return {};
  const std::size_t name = begin + kSign.size();
  return end > name ? WithoutPlace(text.substr(name, end - name)) : std::string_view();
}

/// "./a/../b" → "b". A path that leaves the unknown directory counts as one inside it.
std::string Normalised(std::string_view path) {
  std::vector<std::string> kept;
  for (std::string& part : Split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      kept.push_back(std::move(part));
    } else if (!kept.empty()) {
      kept.pop_back();
    }
  }
  return (path.starts_with('/') ? "/" : "") + Join(kept, "/");
}

}  // namespace

std::vector<std::string> FailedTargets(std::string_view line) {
  std::string_view text = Trim(line);
  constexpr std::string_view kNinja = "FAILED: ";
  if (!text.starts_with(kNinja)) {
    if (!IsMakeError(text)) return {};
    const std::string_view target = MakeTarget(text);
    return target.empty() ? std::vector<std::string>() : std::vector<std::string>{std::string(target)};
  }
  text.remove_prefix(kNinja.size());
  // Newer ninja prints the exit code before the outputs: "FAILED: [code=1] a.o".
  const std::size_t code = text.find("] ");
  if (text.starts_with("[code=") && code != std::string_view::npos) text.remove_prefix(code + 2);
  std::vector<std::string> targets = Split(text, ' ');
  std::erase(targets, "");
  return targets;
}

bool FailedCommands::Name(const AbsPath& root, const RelPath& path) const {
  if (targets.empty()) return false;
  std::string_view end = path.str();
  while (true) {
    if (targets.contains(end)) return true;
    const std::size_t slash = end.find('/');
    if (slash == std::string_view::npos) break;
    end.remove_prefix(slash + 1);
  }
  // The root may be called otherwise there, where a symlink leads to it.
  const std::string below = fmt::format("/{}/{}", root.Name(), path.str());
  return std::any_of(targets.lower_bound("/"), targets.lower_bound("0"),
                     [&](const std::string& target) { return target.ends_with(below); });
}

AbsPath FailedCommandsFile(const WorkLayout& layout) { return layout.root / "failed_commands"; }

Result<FailedCommands> ReadFailedCommands(Fs& fs, const AbsPath& file) {
  FailedCommands failed;
  auto text = ReadFile(fs, file);
  if (!text && text.error().code() == ErrorCode::kNotFound) return failed;
  if (!text) return std::move(text).error();
  const std::size_t line_end = text->find('\n');
  std::int64_t time = 0;
  if (line_end == std::string::npos) return failed;
  const char* end = text->data() + line_end;
  if (std::from_chars(text->data(), end, time).ptr != end) return failed;
  failed.first_ns = time;
  std::vector<std::string> targets = Split(std::string_view(*text).substr(line_end + 1), '\0');
  targets.pop_back();  // the blanks after the last NUL, or what a power cut left of a name
  for (const std::string& target : targets) failed.targets.insert(Normalised(target));
  failed.targets.erase("");
  return failed;
}

Result<FailedCommandsWriter> FailedCommandsWriter::Start(Env& env, const AbsPath& file) {
  PTPKG_CHECK(WriteFile(env.fs, file, std::string(kRoomBytes, ' ')), "while starting a record of the script");
  PTPKG_TRY(std::unique_ptr<File> opened, env.fs.Open(file, OpenMode::kReadWrite));
  return FailedCommandsWriter(env, std::move(opened));
}

void FailedCommandsWriter::Add(const std::vector<std::string>& targets) {
  if (targets.empty()) return;
  std::string text;
  if (size_ == 0) text = fmt::format("{}\n", NowNs(*env_));
  for (const std::string& target : targets) {
    const bool fits = target.size() <= kMostTargetBytes && size_ + text.size() + target.size() < kRoomBytes;
    if (!fits || target.find('\0') != std::string::npos) continue;
    text += target;
    text += '\0';
  }
  Append(text);
}

void FailedCommandsWriter::Append(const std::string& text) {
  if (text.empty()) return;
  const bool written = file_->WriteAt(size_, AsBytes(text)).has_value() && file_->Sync().has_value();
  complete_ = complete_ && written;
  if (written) size_ += text.size();
}

}  // namespace ptpkg::builder
