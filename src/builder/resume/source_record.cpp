// A record answers one question fast: which prepared sources did a script change? Kind, executable bit, size
// and time of all files come from one walk, and only files that differ from the record are digested
// (Changes).
//
// Two runs of a script must leave equal states, so a state has to be comparable between runs: the digest of a
// file, the target of a link, "" for a missing file, but never its time. Names in sources need not be UTF-8,
// so the file is not JSON (checksummed_file.h).

#include "builder/resume/source_record.h"

#include <fmt/core.h>

#include "builder/resume/checksummed_file.h"
#include "support/digest/hash.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

// "<kind> <size> <mtime> <path>", a NUL after each; kinds: file, executable, link, other (a FIFO, a socket).
constexpr std::string_view kHead = "ptpkg sources 2 ";

}  // namespace

Result<SourceRecord> SourceRecord::Take(Env& env, const AbsPath& root) {
  PTPKG_TRY(const std::vector<source::WalkEntry> entries, source::Walk(env, root));
  SourceRecord record;
  for (const source::WalkEntry& entry : entries) {
    record.files_.emplace(entry.path, File{.kind = entry.stat.kind,
                                           .executable = source::IsExecutable(entry.stat),
                                           .size_bytes = entry.stat.size_bytes,
                                           .mtime_ns = entry.stat.mtime_ns});
  }
  return record;
}

Result<void> SourceRecord::Write(Fs& fs, const AbsPath& file) const {
  std::string text;
  for (const auto& [path, one] : files_) {
    const char regular = one.executable ? 'x' : 'f';
    const char other = one.kind == FileKind::kSymlink ? 'l' : 'o';
    text += fmt::format("{} {} {} {}", one.kind == FileKind::kRegular ? regular : other, one.size_bytes,
                        one.mtime_ns, path.str());
    text += '\0';
  }
  return WriteSealedFile(fs, file, kHead, text);
}

Result<SourceRecord> SourceRecord::Read(Env& env, const AbsPath& file) {
  PTPKG_TRY(const std::string text, ReadSealedFile(env.fs, file, kHead));
  std::string_view rest = text;
  SourceRecord record;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return DamagedFile(file);
    const std::string_view row = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const std::size_t size_end = row.find(' ', 2);
    const std::size_t time_end = size_end == std::string_view::npos ? size_end : row.find(' ', size_end + 1);
    if (row.size() < 2 || time_end == std::string_view::npos) return DamagedFile(file);
    File one{.kind = row.front() == 'l'   ? FileKind::kSymlink
                     : row.front() == 'o' ? FileKind::kOther
                                          : FileKind::kRegular,
             .executable = row.front() == 'x'};
    if (!ReadNumber(row.substr(2, size_end - 2), one.size_bytes) ||
        !ReadNumber(row.substr(size_end + 1, time_end - size_end - 1), one.mtime_ns)) {
      return DamagedFile(file);
    }
    PTPKG_TRY(RelPath path, RelPath::Parse(row.substr(time_end + 1)));
    record.files_.emplace(std::move(path), one);
  }
  return record;
}

bool SourceRecord::IsChanged(const source::WalkEntry& now) const {
  const File& before = files_.at(now.path);
  return before.kind != now.stat.kind || before.executable != source::IsExecutable(now.stat) ||
         before.size_bytes != now.stat.size_bytes || before.mtime_ns != now.stat.mtime_ns;
}

std::string SourceRecord::StateOf(const Sha256& digest, bool executable) {
  return digest.Hex() + (executable ? ", executable" : "");
}

Result<std::map<RelPath, std::string>> SourceRecord::Changes(
    Env& env, const AbsPath& root, const std::vector<source::WalkEntry>& now) const {
  std::map<RelPath, std::string> changes;
  std::size_t found = 0;
  for (const source::WalkEntry& entry : now) {
    PTPKG_CHECK(env.cancel.Check());
    if (!Holds(entry.path)) continue;
    ++found;
    if (!IsChanged(entry)) continue;
    if (entry.stat.kind == FileKind::kSymlink) {
      PTPKG_TRY(const std::string target, env.fs.ReadLink(root / entry.path));
      changes.emplace(entry.path, "link to " + target);
    } else if (entry.stat.kind == FileKind::kRegular) {
      PTPKG_TRY(const Digests digests, HashFile(env.fs, root / entry.path));
      changes.emplace(entry.path, StateOf(digests.sha256, source::IsExecutable(entry.stat)));
    } else {
      changes.emplace(entry.path, "not a file or link");
    }
  }
  if (found == files_.size()) return changes;
  std::map<RelPath, bool> there;
  for (const source::WalkEntry& entry : now) there.emplace(entry.path, true);
  for (const auto& [path, one] : files_) {
    if (!there.contains(path)) changes.emplace(path, "");
  }
  return changes;
}

}  // namespace ptpkg::builder
