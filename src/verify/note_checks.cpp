#include "verify/note_checks.h"

#include <fmt/format.h>

#include "model/package_note.h"

namespace ptpkg::verify {
namespace {

constexpr std::uint64_t kMaxNoteBytes = 1U << 20U;

Finding Invalid(const std::string& file, const std::string& why) {
  return {"artifact-note-invalid", Severity::kWarning, file,
          fmt::format("what ptpkg wrote about the package cannot be read: {}", why),
          "write the package again"};
}

}  // namespace

std::vector<std::string> AllowedByNote(const std::string& text, const std::string& file,
                                       std::vector<Finding>& findings) {
  auto note = ParsePackageNote(text, file);
  if (note) return std::move(note->allow_unresolved);
  findings.push_back(Invalid(file, note.error().message()));
  return {};
}

Result<std::vector<std::string>> AllowedByNotes(Env& env, const ElfTree& tree,
                                                std::vector<Finding>& findings) {
  std::vector<std::string> allowed;
  for (const RelPath& path : tree.files) {
    if (path.Name() != kPackageNoteName) continue;
    if (path.ParentText() != "info" && !path.ParentText().ends_with(".dist-info")) continue;
    PTPKG_TRY(const FileStat stat, env.fs.Lstat(tree.root / path));
    if (stat.kind != FileKind::kRegular) {
      findings.push_back(Invalid(path.str(), "it is a symbolic link"));
      continue;
    }
    if (stat.size_bytes > kMaxNoteBytes) {
      findings.push_back(Invalid(path.str(), fmt::format("it has {} bytes", stat.size_bytes)));
      continue;
    }
    PTPKG_TRY(const std::string text, ReadFile(env.fs, tree.root / path, kMaxNoteBytes));
    const std::vector<std::string> more = AllowedByNote(text, path.str(), findings);
    allowed.insert(allowed.end(), more.begin(), more.end());
  }
  return allowed;
}

}  // namespace ptpkg::verify
