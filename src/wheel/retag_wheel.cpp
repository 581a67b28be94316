// Plans a retag as edits of the zip: members to rename, drop, add or splice. A retag inflates no payload, so
// the digests come from RECORD. Names and sizes of RECORD are compared with the zip's directory first.
// Otherwise new rows would vouch for a wheel that was already broken. Installers derive the names of
// .dist-info and .data from the file name. A change of the local version renames both directories and the
// rows of their files. Invariant: documents that the request does not touch keep their bytes.

#include "wheel/retag_wheel.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <set>
#include <utility>

#include "archive/extract.h"
#include "archive/zip/zip_format.h"
#include "support/digest/hash.h"
#include "support/text/text.h"
#include "wheel/metadata/header_block.h"
#include "wheel/metadata/marker.h"

namespace ptpkg::wheel {
namespace {

constexpr std::string_view kDataSuffix = ".data";

/// Part of a tag: `now`, or `asked` in lower case, as installers compare them. `what`: "python", with an
/// `example`.
Result<std::string> PartAfter(const std::string& now, const std::optional<std::string>& asked,
                              std::string_view what, std::string_view example) {
  if (!asked) return now;
  // A version that was meant, "3.11", would pass for a set of two.
  for (const std::string& word : Split(*asked, '.')) {
    const char first = word.empty() ? '.' : word.front();
    if ((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z')) continue;
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a valid {} tag", *asked, what))
        .WithHint(fmt::format("write it like {}", example));
  }
  return ToLower(*asked);
}

Result<FileName> NameAfter(const FileName& before, const RetagRequest& request) {
  FileName after = before;
  PTPKG_TRY(after.tag.python, PartAfter(before.tag.python, request.python, "python", "cp311 or py2.py3"));
  PTPKG_TRY(after.tag.abi, PartAfter(before.tag.abi, request.abi, "ABI", "cp311, abi3 or none"));
  PTPKG_TRY(after.tag.platform,
            PartAfter(before.tag.platform, request.platform, "platform", "manylinux_2_28_x86_64 or any"));
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

/// Replaces the fields that change where they stand; `tags`: those of the name too.
std::string WheelTextAfter(HeaderBlock block, const RetagRequest& request, const FileName& name, bool tags) {
  std::map<std::string, std::vector<std::string>> values;
  if (tags) {
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

/// The requirements that a new one replaces: those on the project that the same extras ask for.
struct Place {
  std::string project;
  std::set<ExtraCondition> extras;
  bool operator==(const Place&) const = default;
};

Result<Place> PlaceOf(const Requirement& requirement) {
  PTPKG_TRY(std::set<ExtraCondition> extras, ExtrasOf(requirement.marker));
  return Place{.project = NormalizeName(requirement.name), .extras = std::move(extras)};
}

/// An extra that nobody provides cannot be asked for.
Result<void> ProvideExtras(const Place& place, CoreMetadata& metadata) {
  for (const ExtraCondition& extra : place.extras) {
    if (extra.op != "==") continue;
    const std::vector<std::string> provided = metadata.GetAll("Provides-Extra");
    if (std::any_of(provided.begin(), provided.end(),
                    [&](const std::string& name) { return NormalizeName(Trim(name)) == extra.name; }))
      continue;
    if (!ParseRequirement(fmt::format("{}[{}]", place.project, extra.name))) {
      return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not the name of an extra", extra.name))
          .WithHint("names of extras consist of letters, digits and '-'");
    }
    metadata.Add("Provides-Extra", extra.name);
  }
  return Ok();
}

/// The first requirement of a place makes room for the new ones; those of new places come last.
Result<void> ReplaceRequirements(CoreMetadata& metadata, const std::vector<std::string>& texts) {
  std::vector<std::pair<Place, std::vector<std::string>>> wanted;  // as they were given
  const auto wanted_at = [&](const Place& place) {
    return std::find_if(wanted.begin(), wanted.end(), [&](const auto& one) { return one.first == place; });
  };
  for (const std::string& text : texts) {
    PTPKG_TRY(const Requirement requirement, ParseRequirement(text));
    PTPKG_TRY(const Place place, PlaceOf(requirement));
    if (wanted_at(place) == wanted.end()) wanted.push_back({place, {}});
    wanted_at(place)->second.push_back(requirement.str());
  }
  std::vector<std::pair<std::string, std::string>> fields;
  for (const auto& [field, value] : metadata.fields) {
    auto replaced = wanted.end();
    if (ToLower(field) == "requires-dist") {
      const auto requirement = ParseRequirement(value);  // what is none stays
      const auto place = requirement ? PlaceOf(*requirement) : Result<Place>(requirement.error());
      if (place) replaced = wanted_at(*place);
    }
    if (replaced == wanted.end()) {
      fields.emplace_back(field, value);
      continue;
    }
    for (const std::string& text : std::exchange(replaced->second, {})) fields.emplace_back(field, text);
  }
  metadata.fields = std::move(fields);
  for (const auto& [place, left] : wanted) {
    for (const std::string& text : left) metadata.Add("Requires-Dist", text);
    PTPKG_CHECK(ProvideExtras(place, metadata));
  }
  return Ok();
}

/// Fields written from the file name must not turn the METADATA of another distribution into this one's.
Result<void> CheckSameDistribution(const CoreMetadata& metadata, const FileName& name) {
  const Result<FileName> said = FileName::Of(metadata);
  if (said && said->Stem() == name.Stem()) return Ok();
  return Error(ErrorCode::kInvalidInput,
               fmt::format("METADATA says '{} {}', the file name '{} {}'", metadata.Get("Name"),
                           metadata.Get("Version"), name.name, name.version))
      .WithHint("find out which is right; list all findings with 'ptpkg check'");
}

Result<std::string> MetadataTextAfter(CoreMetadata metadata, const RetagRequest& request,
                                      const FileName& name) {
  if (request.local) metadata.Set("Version", name.version);
  PTPKG_CHECK(ReplaceRequirements(metadata, request.requirements));
  return FormatCoreMetadata(metadata);
}

/// A link is none of a wheel: installers write a file with the text of its target.
Result<void> CheckKinds(const archive::ZipReader& zip) {
  for (const archive::ZipReader::Member& member : zip.members()) {
    const std::uint32_t type = member.mode & archive::zip::kModeType;
    if (member.name.ends_with('/') || type == 0 || type == archive::zip::kModeRegular) continue;
    return Error(ErrorCode::kUnsupported,
                 fmt::format("'{}' is a link or device, which a wheel cannot hold", member.name))
        .WithHint("rebuild the wheel with a regular file instead");
  }
  return Ok();
}

/// Values taken over from RECORD must match the wheel, as far as that can be checked without reading
/// its members.
Result<void> CompareWithMembers(const archive::ZipReader& zip, const WheelInfo& info) {
  const auto differs = [](std::string_view path, std::string_view why) {
    return Error(ErrorCode::kCorrupt, fmt::format("'{}' {}", path, why))
        .WithHint("list all findings with 'ptpkg check'");
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
    if (!row->second->HasDigest() && !may_lack) return differs(member.name, "has no digest in RECORD");
    if (row->second->HasDigest() && row->second->size_bytes != member.size_bytes) {
      return differs(member.name,
                     fmt::format("has {} bytes, RECORD says {}", member.size_bytes, row->second->size_bytes));
    }
    rows.erase(row);
  }
  if (rows.empty()) return Ok();
  return differs(rows.begin()->first, "is listed in RECORD but not in the wheel");
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
    // Rows keep their order, and changed files keep their place in it. Rows of new files come behind them.
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
    // New files go to the end of the zip. .dist-info follows them, so that RECORD stays the last member.
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
    const archive::ZipReader::Member* const old = zip_.Find(path);
    // Some zips have no modes (0), and a file without any permission is of no use.
    const std::uint32_t rights = old == nullptr ? 0 : old->mode & 0777U;
    out_.edits.added.push_back({.name = std::move(name),
                                .mode = rights == 0 ? 0644U : rights,
                                .size_bytes = text.size(),
                                .text = text});
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
                                .shared = file.shared});
    return Ok();
  }

  const archive::ZipReader& zip_;
  const WheelInfo& info_;
  Retagging out_;
  std::map<std::string, std::string> folders_;
};

}  // namespace

std::map<std::string, std::string> RenamedFolders(const archive::ZipReader& zip, const WheelInfo& info,
                                                  const FileName& name) {
  std::map<std::string, std::string> folders;
  const std::string dist_info = name.Stem() + ".dist-info";
  const std::string data = name.Stem() + std::string(kDataSuffix);
  if (info.dist_info_dir != dist_info) folders[info.dist_info_dir] = dist_info;
  for (const archive::ZipReader::Member& member : zip.members()) {
    const std::string top = member.name.substr(0, member.name.find('/'));
    if (top == data || !top.ends_with(kDataSuffix) || top.size() == member.name.size()) continue;
    const auto stem = FileName::Parse(top.substr(0, top.size() - kDataSuffix.size()) + "-py3-none-any.whl");
    if (stem && stem->Stem() == info.file_name.Stem()) folders[top] = data;
  }
  return folders;
}

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
  // Unchanged documents are not written anew: another form of the same fields would be a change too.
  std::map<std::string, std::string> texts;
  const bool tags = request.ChangesTags() || !info.tags_readable;
  if (tags || request.build || request.root_is_purelib) {
    const std::string path = info.dist_info_dir + "/WHEEL";
    PTPKG_TRY(const std::string text, zip.ReadText(path, DocumentLimit("WHEEL")), frame);
    PTPKG_TRY(HeaderBlock block, ParseHeaderBlock(text, path), frame);
    texts[path] = WheelTextAfter(std::move(block), request, name, tags);
  }
  if (request.local || !request.requirements.empty()) {
    PTPKG_CHECK(CheckSameDistribution(info.metadata, info.file_name), frame);
    PTPKG_TRY(texts[info.dist_info_dir + "/METADATA"], MetadataTextAfter(info.metadata, request, name));
  }
  for (const auto& [document, text] : content.documents) texts[info.dist_info_dir + "/" + document] = text;
  return Retagger(zip, info, name).Plan(texts, content.files);
}

}  // namespace ptpkg::wheel
