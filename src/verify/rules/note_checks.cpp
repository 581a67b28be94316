#include "verify/rules/note_checks.h"

#include <fmt/format.h>
#include <iterator>

#include "versions/cuda_archs.h"

namespace ptpkg::verify {
namespace {

constexpr std::uint64_t kMaxNoteBytes = 1U << 20U;

Finding Invalid(const std::string& file, const std::string& why) {
  return {"artifact-note-invalid", Severity::kWarning, file,
          fmt::format("cannot read the note that ptpkg wrote: {}", why), "rebuild the package"};
}

/// The note, and whether all of it can be followed.
Result<PackageNote> Parse(const std::string& text, const std::string& file) {
  PTPKG_TRY(PackageNote note, ParsePackageNote(text, file));
  PTPKG_CHECK(versions::DeviceCodeRequest::Parse(note.device_code));
  return note;
}

bool IsInDistInfo(const RelPath& path) { return path.ParentText().ends_with(".dist-info"); }

void Append(std::vector<std::string>& more, std::vector<std::string>& list) {
  list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

PackageNote ReadNoteText(const std::string& text, const std::string& file, std::vector<Finding>& findings) {
  auto note = Parse(text, file);
  if (note) return *std::move(note);
  findings.push_back(Invalid(file, note.error().message()));
  return {};
}

Result<PackageNote> ReadNotes(Env& env, const ElfTree& tree, const NotePlaces& places,
                              std::vector<Finding>& findings) {
  PackageNote all;
  std::size_t distributions = 0;
  for (const RelPath& path : tree.files) {
    if (path.Name() == "METADATA" && IsInDistInfo(path)) ++distributions;
    if (path.Name() != kPackageNoteName) continue;
    if (path.str() != places.file && !(places.in_dist_info && IsInDistInfo(path))) continue;
    PTPKG_TRY(const FileStat stat, env.fs.Lstat(tree.root / path));
    // A link could lead to any file of this machine.
    if (stat.kind != FileKind::kRegular) {
      findings.push_back(Invalid(path.str(), "it is a symbolic link"));
      continue;
    }
    if (stat.size_bytes > kMaxNoteBytes) {
      findings.push_back(Invalid(path.str(), fmt::format("it has {} bytes", stat.size_bytes)));
      continue;
    }
    PTPKG_TRY(const std::string text, ReadFile(env.fs, tree.root / path, kMaxNoteBytes));
    PackageNote note = ReadNoteText(text, path.str(), findings);
    Append(note.allow_unresolved, all.allow_unresolved);
    Append(note.device_code, all.device_code);
  }
  // Nothing says which of the distributions a library belongs to, so no request can be held against it.
  if (distributions > 1) all.device_code.clear();
  return all;
}

}  // namespace ptpkg::verify
