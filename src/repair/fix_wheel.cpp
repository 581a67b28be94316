// Compares the wheel with the state that it should have, and plans only the differences. RECORD can be wrong
// here, so it is not a source of digests: the whole wheel is unpacked and hashed, unlike for a retag. The
// rows of all files are computed before the edits. PlanRetag replaces the rows of the files that the edits
// change. The tags of the file name win over WHEEL, because installers choose by the file name.

#include "repair/fix_wheel.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <optional>

#include "archive/extract.h"
#include "repair/edited_tree.h"
#include "repair/name_tags.h"
#include "repair/search_paths.h"
#include "support/text/text.h"
#include "verify/elf/resolved_libraries.h"
#include "verify/wheel/metadata_fields.h"
#include "wheel/metadata/record_lines.h"

namespace ptpkg::repair {
namespace {

/// The edits of the files whose search path is not as it should be.
Result<std::vector<FileEdit>> PlanPaths(Env& env, const AbsPath& folder) {
  PTPKG_TRY(const verify::ElfTree tree, ReadSoundTree(env, folder));
  PTPKG_TRY(const verify::ResolvedLibraries loads,
            verify::ResolvedLibraries::SimulateLoads(env, tree, elf::IsaLevel::kBaseline));
  const SearchPaths paths(tree, loads, {});
  std::vector<FileEdit> edits;
  for (const verify::ElfMember& member : tree.members) {
    PTPKG_TRY(NewSearchPath wanted, paths.NewPathFor(member, {}));
    if (!SearchPaths::Differs(wanted, member.facts)) continue;
    FileEdit edit{.path = member.path};
    edit.edits.remove_search_path = !wanted.path;
    edit.edits.search_path = std::move(wanted.path);
    // strip does not run on a finished wheel.
    edit.edits.allow_strip_hazard = true;
    edits.push_back(std::move(edit));
  }
  return edits;
}

/// The rows of files that `text`, RECORD as it is, has; none if it cannot be read.
std::optional<std::vector<wheel::RecordRow>> RowsOfFiles(const std::string& text,
                                                         const std::string& dist_info) {
  auto said = wheel::ParseRecord(text, "RECORD");
  // Readers disagree about a RECORD with odd line breaks, so it is written anew even if its rows are right
  // here.
  if (!said || !wheel::FindLineFaults(text, "RECORD").empty()) return std::nullopt;
  std::erase_if(*said,
                [&](const wheel::RecordRow& row) { return wheel::MayLackDigest(row.path, dist_info); });
  return *std::move(said);
}

/// Correct rows of RECORD, by path. A correct row with a digest better than sha256 stays.
Result<std::vector<wheel::RecordRow>> TrueRows(Env& env, const AbsPath& folder, const std::string& dist_info,
                                               const std::vector<wheel::RecordRow>& said) {
  std::map<std::string_view, const wheel::RecordRow*> stronger;
  for (const wheel::RecordRow& row : said) {
    if (!row.stronger.empty()) stronger.emplace(row.path, &row);
  }
  PTPKG_TRY(const StagedTree tree, ScanTree(env, folder));
  std::vector<wheel::RecordRow> rows;
  for (const TreeEntry& entry : tree.entries) {
    if (entry.kind != FileKind::kRegular || wheel::MayLackDigest(entry.path.str(), dist_info)) continue;
    rows.push_back(wheel::RowOf(entry.path.str(), entry.sha256, entry.size_bytes));
    const auto row = stronger.find(entry.path.str());
    if (row == stronger.end()) continue;
    // sha384 and sha512 say more than the sha256 that would replace them.
    PTPKG_TRY(const bool fits, wheel::FitsRow(env.fs, folder, entry, *row->second));
    if (fits) rows.back() = *row->second;
  }
  return rows;
}

/// True if RECORD has exactly these rows.
bool RecordIsTrue(std::vector<wheel::RecordRow> said, std::vector<wheel::RecordRow> rows) {
  const auto by_path = [](const wheel::RecordRow& a, const wheel::RecordRow& b) { return a.path < b.path; };
  std::sort(said.begin(), said.end(), by_path);
  std::sort(rows.begin(), rows.end(), by_path);
  return said == rows;
}

Result<std::string> TextAt(Env& env, const AbsPath& path, std::string_view name) {
  PTPKG_TRY(const bool there, Exists(env.fs, path));
  if (!there) return std::string();
  return ReadFile(env.fs, path, wheel::DocumentLimit(name));
}

/// METADATA with the Metadata-Version that its fields need; nullopt where it has that. From 2.4 on
/// License-File means a file below licenses/, so one that has none stays.
Result<std::optional<std::string>> MetadataAfter(Env& env, const AbsPath& dist_info,
                                                 wheel::CoreMetadata metadata) {
  const std::string needed = verify::MetadataVersionNeeded(metadata);
  if (needed.empty()) return std::optional<std::string>();
  for (const std::string& name : metadata.GetAll("License-File")) {
    const Result<RelPath> path = RelPath::Parse("licenses/" + std::string(Trim(name)));
    if (!path) return std::optional<std::string>();
    PTPKG_TRY(const bool there, Exists(env.fs, dist_info / *path));
    if (!there) return std::optional<std::string>();
  }
  metadata.Set("Metadata-Version", needed);
  return std::optional(wheel::FormatCoreMetadata(metadata));
}

}  // namespace

Result<WheelFix> PlanFix(Env& env, const AbsPath& wheel) {
  PTPKG_TRY(const wheel::WheelInfo info, wheel::ReadWheelInfo(env, wheel, wheel::RecordUse::kPassedOver));
  PTPKG_CHECK(env.fs.MakeDirs(env.cache_dir));
  PTPKG_TRY(TempDir scratch, TempDir::Create(env.fs, env.cache_dir, "fix"));
  const AbsPath folder = scratch.path();
  PTPKG_CHECK(archive::ExtractZip(env, wheel, folder, {}));
  const AbsPath dist_info = folder / info.dist_info_dir;
  PTPKG_TRY(const std::string record, TextAt(env, dist_info / "RECORD", "RECORD"));
  PTPKG_TRY(const std::string wheel_text, TextAt(env, dist_info / "WHEEL", "WHEEL"));
  PTPKG_TRY(const wheel::WheelFile wheel_file, wheel::ReadWheelFile(wheel_text, "WHEEL"));

  wheel::NewContent content;
  const auto said = RowsOfFiles(record, info.dist_info_dir);
  PTPKG_TRY(content.rows,
            TrueRows(env, folder, info.dist_info_dir, said.value_or(std::vector<wheel::RecordRow>())));
  const bool record_is_true = said && RecordIsTrue(*said, *content.rows);
  PTPKG_TRY(const std::vector<FileEdit> edits, PlanPaths(env, folder));
  PTPKG_TRY(const std::vector<EditedFile> edited, EditFiles(env, folder, edits));
  PTPKG_TRY(content.files, HashChanged(env, folder, edited));
  const wheel::RetagRequest request = TagsOfName(info.file_name, wheel_file);

  WheelFix fix{.name = info.file_name, .edits = {}, .content = std::move(scratch)};
  PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env.fs, wheel));
  const bool folders_fit = wheel::RenamedFolders(zip, info, fix.name).empty();
  PTPKG_TRY(const auto metadata, MetadataAfter(env, dist_info, info.metadata));
  if (metadata) content.documents["METADATA"] = *metadata;
  if (record_is_true && folders_fit && content.files.empty() && content.documents.empty() &&
      request.ChangesNothing())
    return fix;
  PTPKG_TRY(wheel::Retagging retagging, wheel::PlanRetag(env, wheel, request, content));
  fix.name = std::move(retagging.name);
  fix.edits = std::move(retagging.edits);
  return fix;
}

}  // namespace ptpkg::repair
