#include "inspect/comparison.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "inspect/side.h"
#include "support/json.h"
#include "support/text.h"

namespace ptpkg::inspect {
namespace {

using Files = std::map<std::string, SideFile>;

template <class Value>
Json NullOr(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string PermissionText(std::uint32_t mode) { return fmt::format("0{:03o}", mode); }

bool SameContent(const SideFile& before, const SideFile& after) {
  return before.is_link == after.is_link && before.target == after.target &&
         before.size_bytes == after.size_bytes && before.sha256 == after.sha256;
}

Json PartsToJson(const SideFile& before, const SideFile& after) {
  if (!before.elf || !after.elf) return nullptr;
  Json list = Json::array();
  for (const ElfPart& part : CompareElfContents(*before.elf, *after.elf)) {
    list.push_back({{"part", part.part},
                    {"old_bytes", NullOr(part.old_bytes)},
                    {"new_bytes", NullOr(part.new_bytes)},
                    {"old", NullOr(part.old_texts)},
                    {"new", NullOr(part.new_texts)}});
  }
  return list;
}

/// One file of the two; null: that side has none.
struct FilePair {
  const SideFile* before = nullptr;
  const SideFile* after = nullptr;
};

Json PairToJson(const std::string& path, std::string_view change, const FilePair& pair) {
  const auto put = [](const SideFile* file, const std::string& side, Json& item) {
    item[side + "_size_bytes"] = file == nullptr ? Json(nullptr) : Json(file->size_bytes);
    item[side + "_mode"] = file == nullptr ? Json(nullptr) : Json(PermissionText(file->mode));
    item[side + "_sha256"] = file == nullptr || file->is_link ? Json(nullptr) : Json(file->sha256.Hex());
    item[side + "_target"] = file == nullptr || !file->is_link ? Json(nullptr) : Json(file->target);
  };
  const SideFile& shown = pair.after != nullptr ? *pair.after : *pair.before;
  Json item = {{"path", path},
               {"change", change},
               {"old_path", nullptr},
               {"kind", FileClassName(shown.file_class)},
               {"elf", nullptr}};
  put(pair.before, "old", item);
  put(pair.after, "new", item);
  return item;
}

/// How many bytes the two paths have in common at their ends.
std::size_t CommonTail(std::string_view left, std::string_view right) {
  const auto ends = std::mismatch(left.rbegin(), left.rend(), right.rbegin(), right.rend());
  return static_cast<std::size_t>(ends.first - left.rbegin());
}

/// The path without the versions of folders NAME-VERSION.dist-info and NAME-VERSION.data; nullopt where none
/// is in it.
std::optional<std::string> WithoutVersions(const std::string& path) {
  std::vector<std::string> parts = Split(path, '/');
  bool any = false;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    for (const std::string_view end : {".dist-info", ".data"}) {
      const std::size_t dash = parts[i].find('-');
      if (!parts[i].ends_with(end) || dash == std::string::npos || dash + end.size() >= parts[i].size())
        continue;
      parts[i] = parts[i].substr(0, dash) + std::string(end);
      any = true;
      break;
    }
  }
  return any ? std::optional(Join(parts, "/")) : std::nullopt;
}

/// Files that one side alone has. Those of equal content, but empty ones, are renamed. Those that differ and
/// have the same name but for the version of their folder are changed.
class Unpaired {
 public:
  void Removed(const std::string& path, const SideFile& file) { removed_.emplace(path, &file); }
  void Added(const std::string& path, const SideFile& file) { added_.emplace(path, &file); }

  void Append(std::map<std::string, Json>& changes) {
    PairByName(changes);
    PairByContent(changes);
    for (const auto& [path, file] : added_) {
      changes.emplace(path, PairToJson(path, "added", {.after = file}));
    }
    for (const auto& [path, file] : removed_) {
      changes.emplace(path, PairToJson(path, "removed", {.before = file}));
    }
  }

 private:
  using Paths = std::map<std::string, const SideFile*>;

  void Pair(Paths::iterator before, Paths::iterator after, std::map<std::string, Json>& changes) {
    const bool same = SameContent(*before->second, *after->second);
    Json item = PairToJson(after->first, same ? "renamed" : "changed",
                           {.before = before->second, .after = after->second});
    item["old_path"] = before->first;
    if (!same) item["elf"] = PartsToJson(*before->second, *after->second);
    changes.emplace(after->first, std::move(item));
    removed_.erase(before);
    added_.erase(after);
  }

  /// By what a path is without versions, if that is one path on each side.
  static std::map<std::string, std::vector<std::string>> ByName(const Paths& paths) {
    std::map<std::string, std::vector<std::string>> names;
    for (const auto& [path, file] : paths) {
      if (const auto name = WithoutVersions(path)) names[*name].push_back(path);
    }
    return names;
  }

  void PairByName(std::map<std::string, Json>& changes) {
    const auto old_names = ByName(removed_);
    for (const auto& [name, paths] : ByName(added_)) {
      const auto old_paths = old_names.find(name);
      if (paths.size() != 1 || old_paths == old_names.end() || old_paths->second.size() != 1) continue;
      Pair(removed_.find(old_paths->second.front()), added_.find(paths.front()), changes);
    }
  }

  /// Of several with the content those whose paths have the longest common end.
  void PairByContent(std::map<std::string, Json>& changes) {
    std::map<Sha256, std::array<std::vector<std::string>, 2>> equal;
    for (std::size_t side = 0; side < 2; ++side) {
      for (const auto& [path, file] : side == 0 ? removed_ : added_) {
        if (!file->is_link && file->size_bytes != 0) equal[file->sha256].at(side).push_back(path);
      }
    }
    for (const auto& [digest, paths] : equal) {
      for (const auto& [old_path, new_path] : Twins(paths[0], paths[1])) {
        Pair(removed_.find(old_path), added_.find(new_path), changes);
      }
    }
  }

  static std::vector<std::pair<std::string, std::string>> Twins(const std::vector<std::string>& before,
                                                                const std::vector<std::string>& after) {
    // A hundred thousand equal files would have ten thousand million pairs: those are taken in their order.
    constexpr std::size_t kMostPairs = 1U << 20U;
    std::vector<std::pair<std::string, std::string>> twins;
    if (after.empty() || before.size() > kMostPairs / after.size()) {
      for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
        twins.emplace_back(before[i], after[i]);
      }
      return twins;
    }
    struct Candidate {
      std::size_t tail = 0;
      std::size_t before = 0;
      std::size_t after = 0;
    };
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < before.size(); ++i) {
      for (std::size_t k = 0; k < after.size(); ++k) {
        candidates.push_back({.tail = CommonTail(before[i], after[k]), .before = i, .after = k});
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& left, const Candidate& right) { return left.tail > right.tail; });
    std::vector<bool> before_taken(before.size());
    std::vector<bool> after_taken(after.size());
    for (const Candidate& one : candidates) {
      if (before_taken[one.before] || after_taken[one.after]) continue;
      before_taken[one.before] = true;
      after_taken[one.after] = true;
      twins.emplace_back(before[one.before], after[one.after]);
    }
    return twins;
  }

  Paths removed_;
  Paths added_;
};

struct FileChanges {
  std::map<std::string, Json> changes;
  std::uint64_t unchanged = 0;
};

FileChanges CompareFiles(const Files& before, const Files& after) {
  FileChanges result;
  Unpaired unpaired;
  for (const auto& [path, file] : before) {
    const auto found = after.find(path);
    if (found == after.end()) {
      unpaired.Removed(path, file);
      continue;
    }
    const SideFile& next = found->second;
    const bool same = SameContent(file, next);
    if (same && file.mode == next.mode) {
      ++result.unchanged;
      continue;
    }
    Json item = PairToJson(path, same ? "mode" : "changed", {.before = &file, .after = &next});
    if (!same) item["elf"] = PartsToJson(file, next);
    result.changes.emplace(path, std::move(item));
  }
  for (const auto& [path, file] : after) {
    if (!before.contains(path)) unpaired.Added(path, file);
  }
  unpaired.Append(result.changes);
  return result;
}

struct Amounts {
  std::array<std::uint64_t, 2> bytes = {};
  std::array<std::uint64_t, 2> elements = {};
};

Json BytesToJson(std::string_view key, const std::string& name, const Amounts& amounts) {
  return {{key, name}, {"old_bytes", amounts.bytes[0]}, {"new_bytes", amounts.bytes[1]}};
}

/// Of two levels of folders, "." being the whole.
Json FolderSizes(const Side& before, const Side& after) {
  std::map<std::string, Amounts> folders;
  for (std::size_t side = 0; side < 2; ++side) {
    for (const ListedFile& file : (side == 0 ? before : after).listing.files) {
      folders["."].bytes.at(side) += file.size_bytes;
      const std::size_t first = file.path.find('/');
      if (first == std::string::npos) continue;
      folders[file.path.substr(0, first)].bytes.at(side) += file.size_bytes;
      const std::size_t second = file.path.find('/', first + 1);
      if (second != std::string::npos) folders[file.path.substr(0, second)].bytes.at(side) += file.size_bytes;
    }
  }
  Json list = Json::array();
  for (const auto& [name, amounts] : folders) list.push_back(BytesToJson("name", name, amounts));
  return list;
}

/// Whether the file's sections count: if one side cannot read them, those of the other would seem to be more.
bool CountsSections(const Files& others, const std::string& path, const SideFile& file) {
  const auto readable = [](const SideFile& one) {
    return !one.elf || one.elf->facts.damage.sections.empty();
  };
  const auto other = others.find(path);
  return file.elf && readable(file) && (other == others.end() || readable(other->second));
}

Json SectionSizes(const Files& before, const Files& after) {
  std::array<Amounts, elf::kSectionKinds> kinds = {};
  for (std::size_t side = 0; side < 2; ++side) {
    for (const auto& [path, file] : side == 0 ? before : after) {
      if (!CountsSections(side == 0 ? after : before, path, file)) continue;
      for (std::size_t kind = 0; kind < elf::kSectionKinds; ++kind) {
        kinds.at(kind).bytes.at(side) += file.elf->kinds.at(kind).size_bytes;
      }
    }
  }
  Json list = Json::array();
  for (std::size_t kind = 0; kind < elf::kSectionKinds; ++kind) {
    const Amounts& amounts = kinds.at(kind);
    if (amounts.bytes[0] == 0 && amounts.bytes[1] == 0) continue;
    list.push_back(
        BytesToJson("kind", std::string(elf::SectionKindName(static_cast<elf::SectionKind>(kind))), amounts));
  }
  return list;
}

Json DeviceCodeSizes(const Files& before, const Files& after) {
  // Machine code before PTX, "sm_90" before "sm_100".
  std::map<std::pair<bool, elf::DeviceArchitecture>, Amounts> sums;
  const auto add = [&](const elf::DeviceAmounts& amounts, bool is_ptx, std::size_t side) {
    for (const auto& [architecture, amount] : amounts) {
      Amounts& sum = sums[{is_ptx, architecture}];
      sum.bytes.at(side) += amount.size_bytes;
      sum.elements.at(side) += amount.elements;
    }
  };
  for (std::size_t side = 0; side < 2; ++side) {
    for (const auto& [path, file] : side == 0 ? before : after) {
      if (!file.device_code) continue;
      for (const elf::DeviceShare* share : {&file.device_code->embedded, &file.device_code->relocatable}) {
        add(share->sass, false, side);
        add(share->ptx, true, side);
      }
    }
  }
  Json list = Json::array();
  for (const auto& [key, sum] : sums) {
    Json item = BytesToJson("architecture", key.first ? key.second.PtxName() : key.second.SassName(), sum);
    item["old_elements"] = sum.elements[0];
    item["new_elements"] = sum.elements[1];
    list.push_back(std::move(item));
  }
  return list;
}

Json MetadataChanges(const ArtifactMetadata& before, const ArtifactMetadata& after) {
  const Json old_fields = MetadataToJson(before);
  const Json new_fields = MetadataToJson(after);
  Json list = Json::array();
  for (const auto& [field, old_value] : old_fields.items()) {
    if (old_value == new_fields[field]) continue;
    list.push_back({{"field", field}, {"old", old_value}, {"new", new_fields[field]}});
  }
  return list;
}

/// The paths that both have, in the order of the archive.
std::vector<std::string> CommonOrder(const Files& files, const Files& others) {
  std::vector<std::pair<std::size_t, std::string>> places;
  for (const auto& [path, file] : files) {
    if (others.contains(path)) places.emplace_back(file.index, path);
  }
  std::sort(places.begin(), places.end());
  std::vector<std::string> order;
  order.reserve(places.size());
  for (auto& [index, path] : places) order.push_back(std::move(path));
  return order;
}

Json PackingChanges(const Side& before, const Side& after) {
  Json list = Json::array();
  if (before.listing.format != after.listing.format) {
    list.push_back("format");
    return list;
  }
  if (CommonOrder(before.files, after.files) != CommonOrder(after.files, before.files)) {
    list.push_back("order");
  }
  for (const auto& [path, file] : before.files) {
    const auto found = after.files.find(path);
    if (found == after.files.end() || !SameContent(file, found->second)) continue;
    if (file.stored_bytes == found->second.stored_bytes) continue;
    list.push_back("compression");
    break;
  }
  return list;
}

Json SideToJson(const Side& side) {
  return {{"subject", side.artifact.str()},
          {"format", ArtifactFormatName(side.listing.format)},
          {"size_bytes", side.listing.size_bytes},
          {"unpacked_bytes", side.listing.UnpackedBytes()},
          {"sha256", side.sha256.Hex()}};
}

}  // namespace

Result<Comparison> CompareArtifacts(Env& env, const AbsPath& before, const AbsPath& after) {
  PTPKG_TRY(Side old_side, OpenSide(env, before));
  PTPKG_TRY(Side new_side, OpenSide(env, after));
  const bool identical = old_side.sha256 == new_side.sha256;
  if (!identical) {
    PTPKG_CHECK(ReadContents(env, old_side));
    PTPKG_CHECK(ReadContents(env, new_side));
  }
  FileChanges files = CompareFiles(old_side.files, new_side.files);
  if (identical) files.unchanged = new_side.listing.files.size();
  Json changes = Json::array();
  for (auto& [path, item] : files.changes) changes.push_back(std::move(item));
  Json metadata = MetadataChanges(old_side.listing.metadata, new_side.listing.metadata);
  Json packing = PackingChanges(old_side, new_side);
  if (!identical && changes.empty() && metadata.empty() && packing.empty()) packing.push_back("other");
  const Json sections = identical ? Json() : SectionSizes(old_side.files, new_side.files);
  const Json device_code = identical ? Json() : DeviceCodeSizes(old_side.files, new_side.files);
  return Comparison{.identical = identical,
                    .document = JsonBox(Json{{"old", SideToJson(old_side)},
                                             {"new", SideToJson(new_side)},
                                             {"identical", identical},
                                             {"packing", packing},
                                             {"metadata", metadata},
                                             {"files", changes},
                                             {"unchanged_files", files.unchanged},
                                             {"sizes",
                                              {{"folders", FolderSizes(old_side, new_side)},
                                               {"sections", sections},
                                               {"device_code", device_code}}}})};
}

}  // namespace ptpkg::inspect
