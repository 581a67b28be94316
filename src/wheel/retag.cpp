#include "wheel/retag.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <utility>

#include "archive/extract.h"
#include "archive/zip_format.h"
#include "support/hash.h"
#include "support/text.h"
#include "wheel/header_block.h"

namespace ptpkg::wheel {
namespace {

constexpr std::string_view kDataSuffix = ".data";

Result<FileName> NameAfter(const FileName& before, const RetagRequest& request) {
  FileName after = before;
  if (request.python) after.tag.python = *request.python;
  if (request.abi) after.tag.abi = *request.abi;
  if (request.platform) after.tag.platform = *request.platform;
  PTPKG_TRY(const Tag tag, ParseTag(after.tag.str()));
  after.tag = SortTag(tag);
  if (request.build) after.build = *request.build;
  if (request.variant) after.variant = *request.variant;
  if (request.local) {
    PTPKG_TRY(Version version, ParseVersion(before.version));
    version.local.clear();
    const std::string text = version.str() + (request.local->empty() ? "" : "+" + *request.local);
    PTPKG_TRY(after.version, NormalizeVersion(text));
  }
  // A build that is none would be read as another part of the name.
  PTPKG_TRY(const FileName again, FileName::Parse(after.str()));
  if (again == after) return after;
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not the file name of a wheel", after.str()));
}

/// Replaces the fields that change where they stand.
std::string WheelTextAfter(HeaderBlock block, const RetagRequest& request, const FileName& name) {
  std::map<std::string, std::vector<std::string>> values;
  if (request.ChangesTags()) {
    for (const Tag& tag : ExpandTag(name.tag)) values["Tag"].push_back(tag.str());
  }
  if (request.root_is_purelib) values["Root-Is-Purelib"] = {*request.root_is_purelib ? "true" : "false"};
  if (request.build) values["Build"] = {};
  if (request.build && !name.build.empty()) values["Build"].push_back(name.build);
  std::vector<std::pair<std::string, std::string>> fields;
  for (auto& line : block.fields) {
    const auto changed = std::find_if(values.begin(), values.end(), [&](const auto& one) {
      return ToLower(one.first) == ToLower(line.first);
    });
    if (changed == values.end()) {
      fields.push_back(std::move(line));
      continue;
    }
    for (const std::string& text : std::exchange(changed->second, {}))
      fields.emplace_back(changed->first, text);
  }
  for (const auto& [field, left] : values) {
    for (const std::string& text : left) fields.emplace_back(field, text);
  }
  block.fields = std::move(fields);
  return FormatHeaderBlock(block);
}

/// The first requirement on a project makes room for the new ones; new projects come last.
Result<void> ReplaceRequirements(CoreMetadata& metadata, const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::vector<std::string>>> wanted;  // by project, as they were given
  for (const std::string& text : texts) {
    PTPKG_TRY(const Requirement requirement, ParseRequirement(text));
    const std::string project = NormalizeName(requirement.name);
    const auto known =
        std::find_if(wanted.begin(), wanted.end(), [&](const auto& one) { return one.first == project; });
    if (known == wanted.end()) {
      wanted.push_back({project, {requirement.str()}});
    } else {
      known->second.push_back(requirement.str());
    }
  }
  std::vector<std::pair<std::string, std::string>> fields;
  for (const auto& [field, value] : metadata.fields) {
    const auto requirement = ParseRequirement(value);
    auto replaced = wanted.end();
    if (ToLower(field) == "requires-dist" && requirement && !requirement->IsOfAnExtra()) {
      replaced = std::find_if(wanted.begin(), wanted.end(),
                              [&](const auto& one) { return one.first == NormalizeName(requirement->name); });
    }
    if (replaced == wanted.end()) {
      fields.emplace_back(field, value);
      continue;
    }
    for (const std::string& text : std::exchange(replaced->second, {})) fields.emplace_back(field, text);
  }
  metadata.fields = std::move(fields);
  for (const auto& [project, left] : wanted) {
    for (const std::string& text : left) metadata.Add("Requires-Dist", text);
  }
  return Ok();
}

Result<std::string> MetadataTextAfter(CoreMetadata metadata, const RetagRequest& request,
                                      const FileName& name) {
  if (request.local) metadata.Set("Version", name.version);
  PTPKG_CHECK(ReplaceRequirements(metadata, request.requirements));
  return FormatCoreMetadata(metadata);
}

/// New names of folders that carry the version, by the old ones.
std::map<std::string, std::string> RenamedFolders(const archive::ZipReader& zip, const WheelInfo& info,
                                                  const FileName& name) {
  std::map<std::string, std::string> folders;
  if (name.Stem() == info.file_name.Stem()) return folders;
  folders[info.dist_info_dir] = name.Stem() + ".dist-info";
  for (const archive::ZipReader::Member& member : zip.members()) {
    const std::string top = member.name.substr(0, member.name.find('/'));
    if (!top.ends_with(kDataSuffix) || top.size() == member.name.size()) continue;
    const auto stem = FileName::Parse(top.substr(0, top.size() - kDataSuffix.size()) + "-py3-none-any.whl");
    if (stem && stem->Stem() == info.file_name.Stem()) folders[top] = name.Stem() + std::string(kDataSuffix);
  }
  return folders;
}

/// A link is none of a wheel: installers write a file with the text of its target.
Result<void> CheckKinds(const archive::ZipReader& zip) {
  for (const archive::ZipReader::Member& member : zip.members()) {
    const std::uint32_t type = member.mode & archive::zip::kModeType;
    if (member.name.ends_with('/') || type == 0 || type == archive::zip::kModeRegular) continue;
    return Error(ErrorCode::kUnsupported,
                 fmt::format("'{}' is a link or device, which a wheel cannot hold", member.name))
        .WithHint("make the wheel again with a file in its place");
  }
  return Ok();
}

/// What is taken over from RECORD must fit what is in the wheel, as far as that can be told without reading
/// it.
Result<void> CompareWithMembers(const archive::ZipReader& zip, const WheelInfo& info) {
  const auto differs = [](std::string_view path, std::string_view why) {
    return Error(ErrorCode::kCorrupt, fmt::format("'{}' {}", path, why))
        .WithHint("'ptpkg check' lists all that is wrong with the wheel");
  };
  std::map<std::string_view, const RecordRow*> rows;
  for (const RecordRow& row : info.record) rows.emplace(row.path, &row);
  for (const archive::ZipReader::Member& member : zip.members()) {
    if (member.name.ends_with('/')) continue;
    const auto row = rows.find(member.name);
    const bool may_lack = MayLackDigest(member.name, info.dist_info_dir);
    if (row == rows.end()) {
      if (may_lack) continue;
      return differs(member.name, "is not listed in RECORD");
    }
    if (row->second->sha256.empty() && !may_lack) return differs(member.name, "has no digest in RECORD");
    if (!row->second->sha256.empty() && row->second->size_bytes != member.size_bytes) {
      return differs(member.name,
                     fmt::format("has {} bytes, RECORD says {}", member.size_bytes, row->second->size_bytes));
    }
    rows.erase(row);
  }
  if (rows.empty()) return Ok();
  return differs(rows.begin()->first, "is listed in RECORD but not in the wheel");
}

RecordRow RowOf(const std::string& path, const Sha256& sha256, std::uint64_t size_bytes) {
  return {.path = path,
          .sha256 = Base64UrlUnpadded(std::as_bytes(std::span(sha256.bytes))),
          .size_bytes = size_bytes};
}

class Retagger {
 public:
  Retagger(const archive::ZipReader& zip, const WheelInfo& info, FileName name)
      : zip_(zip),
        info_(info),
        out_{.name = std::move(name), .edits = {}},
        folders_(RenamedFolders(zip, info, out_.name)) {}

  /// `texts` by path before the change; so are the paths of `files`.
  Result<Retagging> Plan(const std::map<std::string, std::string>& texts, const std::vector<NewFile>& files) {
    for (const archive::ZipReader::Member& member : zip_.members()) {
      const std::string after = After(member.name);
      if (after != member.name) out_.edits.renamed[member.name] = after;
    }
    std::map<std::string, RecordRow> fresh;
    for (const NewFile& file : files)
      fresh[file.path.str()] = RowOf(file.path.str(), file.sha256, file.size_bytes);
    for (const auto& [path, text] : texts) fresh[path] = RowOf(path, HashText(text), text.size());
    std::vector<RecordRow> rows;
    const std::string record = info_.dist_info_dir + "/RECORD";
    for (const RecordRow& row : info_.record) {
      if (MayLackDigest(row.path, info_.dist_info_dir)) {
        if (row.path != record) out_.edits.dropped.insert(row.path);  // a signature of the old RECORD
        continue;
      }
      auto changed = fresh.extract(row.path);
      rows.push_back(row);
      if (changed) rows.back() = std::move(changed.mapped());
      rows.back().path = After(row.path);
    }
    for (auto& [path, row] : fresh) {
      row.path = After(path);
      rows.push_back(std::move(row));
    }
    for (const archive::ZipReader::Member& member : zip_.members()) {
      if (member.name != record && MayLackDigest(member.name, info_.dist_info_dir))
        out_.edits.dropped.insert(member.name);
    }
    for (const NewFile& file : files) PTPKG_CHECK(Replace(file));
    if (!out_.edits.added.empty()) out_.edits.last_folder = After(info_.dist_info_dir) + "/";
    for (const auto& [path, text] : texts) PTPKG_CHECK(Replace(path, text));
    rows.push_back({.path = After(record), .sha256 = "", .size_bytes = 0});
    PTPKG_CHECK(Replace(record, FormatRecord(rows)));
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string After(const std::string& path) const {
    const std::string top = path.substr(0, path.find('/'));
    const auto folder = folders_.find(top);
    return folder == folders_.end() ? path : folder->second + path.substr(top.size());
  }

  Result<void> Replace(const std::string& path, const std::string& text) {
    PTPKG_TRY(RelPath name, RelPath::Parse(After(path)));
    out_.edits.dropped.insert(path);
    out_.edits.added.push_back({.name = std::move(name), .size_bytes = text.size(), .text = text});
    return Ok();
  }

  Result<void> Replace(const NewFile& file) {
    if (file.splice) {
      out_.edits.spliced[file.path.str()] = {.edits = *file.splice, .sha256 = file.sha256};
      return Ok();
    }
    PTPKG_TRY(RelPath name, RelPath::Parse(After(file.path.str())));
    out_.edits.dropped.insert(file.path.str());
    out_.edits.added.push_back({.name = std::move(name),
                                .mode = file.mode,
                                .size_bytes = file.size_bytes,
                                .file = file.file,
                                .cuts = file.cuts});
    return Ok();
  }

  const archive::ZipReader& zip_;
  const WheelInfo& info_;
  Retagging out_;
  std::map<std::string, std::string> folders_;
};

}  // namespace

Result<Retagging> PlanRetag(Env& env, const AbsPath& wheel, const RetagRequest& request,
                            const NewContent& content) {
  PTPKG_TRY(WheelInfo info,
            ReadWheelInfo(env, wheel, content.rows ? RecordUse::kPassedOver : RecordUse::kRead));
  const std::string frame = fmt::format("while reading '{}'", wheel.str());
  PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env.fs, wheel), frame);
  PTPKG_CHECK(CheckKinds(zip), frame);
  if (content.rows) {
    info.record = *content.rows;
  } else {
    PTPKG_CHECK(CompareWithMembers(zip, info), frame);
  }
  PTPKG_TRY(const FileName name, NameAfter(info.file_name, request));
  // What does not change is not written anew: another form of the same fields would be a change too.
  std::map<std::string, std::string> texts;
  if (request.ChangesTags() || request.build || request.root_is_purelib) {
    const std::string path = info.dist_info_dir + "/WHEEL";
    PTPKG_TRY(const std::string text, zip.ReadText(path, DocumentLimit("WHEEL")), frame);
    PTPKG_TRY(HeaderBlock block, ParseHeaderBlock(text, path), frame);
    texts[path] = WheelTextAfter(std::move(block), request, name);
  }
  if (request.local || !request.requirements.empty()) {
    PTPKG_TRY(texts[info.dist_info_dir + "/METADATA"], MetadataTextAfter(info.metadata, request, name));
  }
  for (const auto& [document, text] : content.documents) texts[info.dist_info_dir + "/" + document] = text;
  return Retagger(zip, info, name).Plan(texts, content.files);
}

}  // namespace ptpkg::wheel
