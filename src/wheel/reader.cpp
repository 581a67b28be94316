// ReadWheelInfo and UnpackWheelTree. Everything in a wheel is taken for hostile until it is checked.

#include <fmt/core.h>
#include <map>
#include <set>

#include "archive/extract.h"
#include "support/limits.h"
#include "support/text/text.h"
#include "wheel/wheel.h"
#include "wheel/wheel_file.h"

namespace ptpkg::wheel {
namespace {

Error Missing(const AbsPath& wheel, std::string_view what) {
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a wheel: it has no {}", wheel.str(), what));
}

/// The one top-level directory that ends in ".dist-info". Errors: kInvalidInput for none, several, or one of
/// another distribution.
Result<std::string> FindDistInfo(const archive::ZipReader& zip, const AbsPath& wheel,
                                 const FileName& file_name) {
  std::set<std::string> folders;
  for (const archive::ZipReader::Member& member : zip.members()) {
    const std::string top = member.name.substr(0, member.name.find('/'));
    // Only a directory counts: a file of that name has no '/' behind it.
    if (top.size() < member.name.size() && top.ends_with(".dist-info")) folders.insert(top);
  }
  if (folders.empty()) return Missing(wheel, ".dist-info directory");
  if (folders.size() > 1) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' has {} .dist-info directories instead of one: '{}', '{}'", wheel.str(),
                             folders.size(), *folders.begin(), *std::next(folders.begin())));
  }
  const std::string folder = *folders.begin();
  // Name and version are compared in their normal form, since tools spell the directory in different ways.
  // The rest of the file name is only there to make it parse.
  const Result<FileName> named = FileName::Parse(
      folder.substr(0, folder.size() - std::string_view(".dist-info").size()) + "-py3-none-any.whl");
  if (!named || named->Stem() != file_name.Stem()) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' holds '{}' instead of '{}.dist-info'",
                                                       wheel.str(), folder, file_name.Stem()))
        .WithHint("name, version and .dist-info must match: the file may have been renamed by hand");
  }
  return folder;
}

Error Differs(std::string_view path, std::string_view why) {
  return {ErrorCode::kCorrupt, fmt::format("'{}' {}", path, why)};
}

Result<void> CompareEntry(Fs& fs, const StagedTree& tree, const TreeEntry& entry, const RecordRow* row,
                          const std::string& dist_info_dir) {
  const std::string& path = entry.path.str();
  const bool may_lack = MayLackDigest(path, dist_info_dir);
  if (entry.kind != FileKind::kRegular) return Differs(path, "is a symbolic link, which a wheel cannot hold");
  if (row == nullptr) return may_lack ? Ok() : Differs(path, "is not listed in RECORD");
  if (!row->HasDigest()) return may_lack ? Ok() : Differs(path, "has no digest in RECORD");
  if (row->size_bytes != entry.size_bytes) {
    return Differs(path, fmt::format("has {} bytes, RECORD says {}", entry.size_bytes, row->size_bytes));
  }
  PTPKG_TRY(const bool fits, FitsRow(fs, tree.root, entry, *row));
  if (!fits) return Differs(path, "does not have the digest that RECORD gives");
  return Ok();
}

}  // namespace

std::uint64_t DocumentLimit(std::string_view name) {
  return name == "RECORD" ? limits::kRecord : limits::kMetadata;
}

/// WHEEL and RECORD are not read, so that wheels with a defect there can still be compared with others.
Result<WheelMetadata> ReadWheelMetadata(Env& env, const AbsPath& wheel) {
  WheelMetadata out;
  PTPKG_TRY(out.file_name, FileName::Parse(wheel.Name()));
  const std::string frame = fmt::format("while reading '{}'", wheel.str());
  PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env.fs, wheel), frame);
  PTPKG_TRY(out.dist_info_dir, FindDistInfo(zip, wheel, out.file_name));
  const std::string metadata = out.dist_info_dir + "/METADATA";
  if (zip.Find(metadata) == nullptr) return Missing(wheel, metadata);
  PTPKG_TRY(const std::string text, zip.ReadText(metadata, DocumentLimit("METADATA")), frame);
  PTPKG_TRY(out.metadata, ParseCoreMetadata(text, metadata), frame);
  const std::string points = out.dist_info_dir + "/entry_points.txt";
  if (zip.Find(points) == nullptr) return out;
  PTPKG_TRY(out.entry_points, zip.ReadText(points, DocumentLimit("entry_points.txt")), frame);
  return out;
}

Result<WheelInfo> ReadWheelInfo(Env& env, const AbsPath& wheel, RecordUse record) {
  WheelInfo info;
  PTPKG_TRY(info.file_name, FileName::Parse(wheel.Name()));
  const std::string frame = fmt::format("while reading '{}'", wheel.str());
  PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env.fs, wheel), frame);
  PTPKG_TRY(info.dist_info_dir, FindDistInfo(zip, wheel, info.file_name));
  std::map<std::string, std::string> texts;
  for (const archive::ZipReader::Member& member : zip.members()) {
    for (const char* const name : {"WHEEL", "METADATA", "RECORD", "entry_points.txt", "variant.json"}) {
      if (member.name != info.dist_info_dir + "/" + name) continue;
      // `ptpkg check --fix` writes RECORD anew, so an unreadable one must not stop it.
      if (record == RecordUse::kPassedOver && std::string_view(name) == "RECORD") continue;
      PTPKG_TRY(texts[name], zip.ReadText(member.name, DocumentLimit(name)), frame);
    }
  }
  for (const char* const name : {"WHEEL", "METADATA", "RECORD"}) {
    const bool needed = record == RecordUse::kRead || std::string_view(name) != "RECORD";
    if (needed && !texts.contains(name)) return Missing(wheel, info.dist_info_dir + "/" + name);
  }
  PTPKG_TRY(WheelFile wheel_file, ReadWheelFile(texts["WHEEL"], info.dist_info_dir + "/WHEEL"), frame);
  info.tags = std::move(wheel_file.tags);
  info.tags_readable = wheel_file.tag_faults.empty();
  info.root_is_purelib = wheel_file.root_is_purelib;
  PTPKG_TRY(info.metadata, ParseCoreMetadata(texts["METADATA"], info.dist_info_dir + "/METADATA"), frame);
  if (record == RecordUse::kRead) {
    PTPKG_TRY(info.record, ParseRecord(texts["RECORD"], info.dist_info_dir + "/RECORD"), frame);
  }
  info.metadata_text = std::move(texts["METADATA"]);
  info.entry_points = std::move(texts["entry_points.txt"]);
  info.variant_text = std::move(texts["variant.json"]);
  PTPKG_TRY(info.directory_digest, zip.DirectoryDigest(), frame);
  return info;
}

Result<void> CompareWithRecord(Env& env, const StagedTree& tree, const WheelInfo& info) {
  std::map<std::string_view, const RecordRow*> rows;
  for (const RecordRow& row : info.record) rows.emplace(row.path, &row);
  for (const TreeEntry& entry : tree.entries) {
    const auto it = rows.find(entry.path.str());
    PTPKG_CHECK(
        CompareEntry(env.fs, tree, entry, it == rows.end() ? nullptr : it->second, info.dist_info_dir));
    if (it != rows.end()) rows.erase(it);
  }
  // Rows of members were removed above. Each row that is left names a missing file.
  if (!rows.empty()) return Differs(rows.begin()->first, "is listed in RECORD but not in the wheel");
  return Ok();
}

Result<UnpackedWheel> UnpackWheelTree(Env& env, const AbsPath& wheel, const AbsPath& destination) {
  PTPKG_TRY(WheelInfo info, ReadWheelInfo(env, wheel));
  const std::string frame = fmt::format("while unpacking '{}'", wheel.str());
  PTPKG_CHECK(archive::ExtractZip(env, wheel, destination, {}), frame);
  PTPKG_TRY(StagedTree tree, ScanTree(env, destination), frame);
  PTPKG_CHECK(CompareWithRecord(env, tree, info), frame);
  return UnpackedWheel{std::move(info), std::move(tree)};
}

}  // namespace ptpkg::wheel
