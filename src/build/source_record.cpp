#include "build/source_record.h"

#include <charconv>
#include <fmt/core.h>

#include "support/hash.h"
#include "support/text.h"

namespace ptpkg::build {

namespace {

// Not JSON: names in sources need not be UTF-8. "<kind> <size> <mtime> <path>", a NUL after each.
constexpr std::string_view kHead = "ptpkg sources 1 ";

template <class Number>
bool Parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Error DamagedRecord(const AbsPath& file) {
  return {ErrorCode::kCorrupt, fmt::format("'{}' is damaged", file.str())};
}

}  // namespace

Result<SourceRecord> SourceRecord::Take(Env& env, const AbsPath& root) {
  PTPKG_TRY(const std::vector<source::WalkEntry> entries, source::Walk(env, root));
  SourceRecord record;
  for (const source::WalkEntry& entry : entries) {
    record.files_.emplace(
        entry.path,
        File{.kind = entry.stat.kind, .size_bytes = entry.stat.size_bytes, .mtime_ns = entry.stat.mtime_ns});
  }
  return record;
}

Result<void> SourceRecord::Write(Fs& fs, const AbsPath& file) const {
  std::string text;
  for (const auto& [path, one] : files_) {
    text += fmt::format("{} {} {} {}", one.kind == FileKind::kSymlink ? 'l' : 'f', one.size_bytes,
                        one.mtime_ns, path.str());
    text += '\0';
  }
  return WriteFile(fs, file, fmt::format("{}{}\n", kHead, HashText(text).Hex()) + text);
}

Result<SourceRecord> SourceRecord::Read(Env& env, const AbsPath& file) {
  PTPKG_TRY(const std::string text, ReadFile(env.fs, file));
  const std::size_t line = text.find('\n');
  if (!text.starts_with(kHead) || line == std::string::npos) return DamagedRecord(file);
  std::string_view rest = std::string_view(text).substr(line + 1);
  if (text.substr(kHead.size(), line - kHead.size()) != HashText(rest).Hex()) return DamagedRecord(file);
  SourceRecord record;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return DamagedRecord(file);
    const std::string_view row = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const std::size_t size_end = row.find(' ', 2);
    const std::size_t time_end = size_end == std::string_view::npos ? size_end : row.find(' ', size_end + 1);
    if (row.size() < 2 || time_end == std::string_view::npos) return DamagedRecord(file);
    File one{.kind = row.front() == 'l' ? FileKind::kSymlink : FileKind::kRegular};
    if (!Parse(row.substr(2, size_end - 2), one.size_bytes) ||
        !Parse(row.substr(size_end + 1, time_end - size_end - 1), one.mtime_ns)) {
      return DamagedRecord(file);
    }
    PTPKG_TRY(RelPath path, RelPath::Parse(row.substr(time_end + 1)));
    record.files_.emplace(std::move(path), one);
  }
  return record;
}

bool SourceRecord::IsChanged(const source::WalkEntry& now) const {
  const File& before = files_.at(now.path);
  return before.kind != now.stat.kind || before.size_bytes != now.stat.size_bytes ||
         before.mtime_ns != now.stat.mtime_ns;
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
      changes.emplace(entry.path, digests.sha256.Hex());
    } else {
      changes.emplace(entry.path, "neither a file nor a link");
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

}  // namespace ptpkg::build
