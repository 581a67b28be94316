// Makes channeldata.json: one entry for each package name, over all subdirs (CEP 38).
//
// The rules follow conda-index (_update_channeldata). The newest build of each version counts. Texts come
// from the highest version, and flags such as text_prefix are set if any version sets them. A .tar.bz2 next
// to a .conda of the same name is the same package and is ignored.

#include "index/conda_channel/channeldata.h"

#include <array>
#include <set>

#include "conda/channel_names.h"
#include "index/conda_channel/conda_documents.h"
#include "support/text/json.h"
#include "versions/conda_version.h"

namespace ptpkg::index {
namespace {

constexpr int kChanneldataVersion = 1;

constexpr std::array<const char*, 12> kNewestText{"description", "dev_url",  "doc_url",    "doc_source_url",
                                                  "home",        "license",  "source_url", "source_git_url",
                                                  "summary",     "icon_url", "icon_hash",  "version"};
constexpr std::array<const char*, 7> kFlags{"binary_prefix", "text_prefix", "activate.d", "deactivate.d",
                                            "pre_link",      "post_link",   "pre_unlink"};

/// The build with the latest time of each name and version; a .tar.bz2 beside a .conda of the same stem
/// does not count.
std::vector<const CondaRecord*> NewestBuilds(const CondaRecords& records) {
  std::map<std::pair<std::string, std::string>, const CondaRecord*> newest;
  for (const auto& [file_name, record] : records) {
    const auto dist = conda::DistName::Parse(file_name);
    if (!dist) continue;
    const bool legacy = dist->format == ArtifactFormat::kTarBz2;
    // Both formats hold the same build.
    if (legacy && records.count(dist->Stem() + ".conda") != 0) continue;
    const CondaRecord*& best = newest[{dist->name, dist->version}];
    if (best == nullptr ||
        RowInteger(best->repodata, "timestamp") < RowInteger(record.repodata, "timestamp")) {
      best = &record;
    }
  }
  std::vector<const CondaRecord*> result;
  result.reserve(newest.size());
  for (const auto& [key, record] : newest) result.push_back(record);
  return result;
}

bool IsNewer(const Json& row, const Json& entry) {
  const auto order = versions::CompareVersions(RowText(row, "version"),
                                               entry.contains("version") ? RowText(entry, "version") : "0");
  if (order != std::strong_ordering::equal) return order == std::strong_ordering::greater;
  return RowTimestampMs(row) / 1000 > RowInteger(entry, "timestamp");
}

void AddTo(Json& entry, const CondaRecord& record, const std::string& subdir) {
  const Json& row = record.repodata;
  const bool newer = IsNewer(row, entry);
  for (const char* key : kNewestText) {
    std::string text = RowText(row, key);
    if (text.empty()) text = RowText(record.about, key);
    if (!text.empty() && (newer || !entry.contains(key))) entry[key] = text;
  }
  for (const char* key : kFlags) {
    const auto flag = record.about.find(key);
    const bool set = flag != record.about.end() && flag->is_boolean() && flag->get<bool>();
    entry[key] = set || (entry.contains(key) && entry[key] == true);
  }
  std::set<std::string> subdirs{subdir};
  if (entry.contains("subdirs")) {
    for (const Json& item : entry["subdirs"]) subdirs.insert(item.get<std::string>());
  }
  entry["subdirs"] = subdirs;
  if (!entry.contains("run_exports")) entry["run_exports"] = Json::object();
  if (!record.run_exports.empty()) entry["run_exports"][RowText(row, "version")] = record.run_exports;
  entry["timestamp"] = std::max(RowTimestampMs(row) / 1000, RowInteger(entry, "timestamp"));
}

}  // namespace

Json MakeChanneldata(const std::map<std::string, CondaRecords>& subdirs) {
  Json packages = Json::object();
  Json names = Json::array();
  for (const auto& [subdir, records] : subdirs) {
    names.push_back(subdir);
    for (const CondaRecord* record : NewestBuilds(records)) {
      Json& entry = packages[RowText(record->repodata, "name")];
      if (entry.is_null()) entry = Json::object();
      AddTo(entry, *record, subdir);
    }
  }
  return Json{{"channeldata_version", kChanneldataVersion},
              {"packages", std::move(packages)},
              {"subdirs", std::move(names)}};
}

}  // namespace ptpkg::index
