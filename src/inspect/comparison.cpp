// Compares two artifacts and describes the differences as one JSON document.
//
// Equal digests of the whole files end the comparison at once. Otherwise both are read once, files are
// paired (inspect/file_pairs.cpp), and each pair is compared at the level that explains most: ELF files by
// kind of section, texts line by line, other files by digest. If nothing of this differs, packing does:
// format, order of members, or compression.
//
// Texts are read in a second pass, only for pairs that need them, and up to a total size: texts of all
// files would not fit into memory. Line comparisons share one budget of steps, which bounds the time.
// Sections of a damaged ELF file count on neither side, or its partner would seem to have grown.

#include "inspect/comparison.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <map>
#include <set>

#include "inspect/file_pairs.h"
#include "inspect/text_diff.h"
#include "support/text/json.h"

namespace ptpkg::inspect {
namespace {

constexpr std::uint64_t kMostTextBytes = 1U << 20U;     // of one file
constexpr std::uint64_t kMostTextsBytes = 128U << 20U;  // of all files of both sides

template <class Value>
Json NullOr(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string PermissionText(std::uint32_t mode) { return fmt::format("0{:03o}", mode); }

Json PartsToJson(const SideFile& before, const SideFile& after) {
  if (!before.elf || !after.elf) return nullptr;
  Json list = Json::array();
  for (const ElfPart& part : CompareElfContents(*before.elf, *after.elf)) {
    list.push_back({{"part", part.part},
                    {"old_bytes", NullOr(part.old_bytes)},
                    {"new_bytes", NullOr(part.new_bytes)},
                    {"old", NullOr(part.old_texts)},
                    {"new", NullOr(part.new_texts)},
                    {"old_more", part.old_more},
                    {"new_more", part.new_more}});
  }
  return list;
}

std::string_view ChangeOf(const FilePair& pair) {
  if (pair.before == nullptr) return "added";
  if (pair.after == nullptr) return "removed";
  if (!SameContent(*pair.before, *pair.after)) return "changed";
  return pair.old_path != pair.path ? "renamed" : "mode";
}

bool IsUnchanged(const FilePair& pair) {
  return pair.before != nullptr && pair.after != nullptr && pair.old_path == pair.path &&
         pair.before->mode == pair.after->mode && SameContent(*pair.before, *pair.after);
}

Json PairToJson(const FilePair& pair) {
  const auto put = [](const SideFile* file, const std::string& side, Json& item) {
    item[side + "_size_bytes"] = file == nullptr ? Json(nullptr) : Json(file->size_bytes);
    item[side + "_mode"] = file == nullptr ? Json(nullptr) : Json(PermissionText(file->mode));
    item[side + "_sha256"] = file == nullptr || file->is_link ? Json(nullptr) : Json(file->sha256.Hex());
    item[side + "_target"] = file == nullptr || !file->is_link ? Json(nullptr) : Json(file->target);
  };
  const SideFile& shown = pair.after != nullptr ? *pair.after : *pair.before;
  const std::string_view change = ChangeOf(pair);
  Json item = {{"path", pair.path},
               {"change", change},
               {"old_path", pair.old_path == pair.path ? Json(nullptr) : Json(pair.old_path)},
               {"kind", FileClassName(shown.file_class)},
               {"elf", change == "changed" ? PartsToJson(*pair.before, *pair.after) : Json(nullptr)}};
  put(pair.before, "old", item);
  put(pair.after, "new", item);
  return item;
}

/// True if `diff` compares the lines of the pair. A list of all files changes with every file, and says
/// nothing else.
bool WantsText(const FilePair& pair) {
  if (ChangeOf(pair) != "changed") return false;
  const auto fits = [](const SideFile& file) {
    return !file.is_link && !file.elf && file.file_class != FileClass::kArchive &&
           file.file_class != FileClass::kStaticArchive && file.size_bytes <= kMostTextBytes;
  };
  return fits(*pair.before) && fits(*pair.after) && !pair.path.ends_with(".dist-info/RECORD") &&
         pair.path != "info/paths.json" && pair.path != "info/files";
}

Json TextToJson(const TextDiff& diff) {
  Json hunks = Json::array();
  for (const TextHunk& hunk : diff.hunks) {
    Json lines = Json::array();
    for (const TextLine& line : hunk.lines) {
      lines.push_back({{"mark", std::string(1, line.mark)}, {"text", line.text}});
    }
    hunks.push_back({{"old_line", hunk.old_line}, {"new_line", hunk.new_line}, {"lines", std::move(lines)}});
  }
  return {{"removed", diff.removed},
          {"added", diff.added},
          {"hunks", std::move(hunks)},
          {"more_lines", diff.more_lines}};
}

/// "text" of each pair by its path: those that come first by path, up to kMostTextsBytes.
Result<std::map<std::string, Json>> TextChanges(Env& env, const Side& before, const Side& after,
                                                const std::vector<FilePair>& pairs) {
  std::vector<const FilePair*> wanted;
  std::array<std::set<std::string>, 2> paths;
  std::uint64_t bytes = 0;
  for (const FilePair& pair : pairs) {
    if (!WantsText(pair)) continue;
    bytes += pair.before->size_bytes + pair.after->size_bytes;
    // The first ones by path, without gaps.
    if (bytes > kMostTextsBytes) break;
    wanted.push_back(&pair);
    paths[0].insert(pair.old_path);
    paths[1].insert(pair.path);
  }
  PTPKG_TRY(const auto old_texts, ReadTexts(env, before, paths[0]));
  PTPKG_TRY(const auto new_texts, ReadTexts(env, after, paths[1]));
  std::map<std::string, Json> changes;
  std::uint64_t steps_left = kMostLineSteps;
  for (const FilePair* pair : wanted) {
    const auto old_text = old_texts.find(pair->old_path);
    const auto new_text = new_texts.find(pair->path);
    if (old_text == old_texts.end() || new_text == new_texts.end()) continue;
    const auto diff = CompareTexts(old_text->second, new_text->second, steps_left);
    if (diff) changes.emplace(pair->path, TextToJson(*diff));
  }
  return changes;
}

/// "files" of the document.
Result<Json> FileChanges(Env& env, const Side& before, const Side& after, std::uint64_t& unchanged) {
  const std::vector<FilePair> pairs = PairFiles(before.files, after.files);
  PTPKG_TRY(auto texts, TextChanges(env, before, after, pairs));
  Json changes = Json::array();
  for (const FilePair& pair : pairs) {
    if (IsUnchanged(pair)) {
      ++unchanged;
      continue;
    }
    const auto text = texts.find(pair.path);
    changes.push_back(PairToJson(pair));
    changes.back()["text"] = text == texts.end() ? Json(nullptr) : std::move(text->second);
  }
  return changes;
}

struct Amounts {
  std::array<std::uint64_t, 2> bytes = {};
  std::array<std::uint64_t, 2> elements = {};
};

Json BytesToJson(std::string_view key, const std::string& name, const Amounts& amounts) {
  return {{key, name}, {"old_bytes", amounts.bytes[0]}, {"new_bytes", amounts.bytes[1]}};
}

/// Sizes of two levels of directories, "." being the whole.
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

/// True if the file's sections count. If one side's sections cannot be read, the other side's would seem to
/// be an addition.
bool CountsSections(const SideFiles& others, const std::string& path, const SideFile& file) {
  const auto readable = [](const SideFile& one) {
    return !one.elf || one.elf->facts.damage.sections.empty();
  };
  const auto other = others.find(path);
  return file.elf && readable(file) && (other == others.end() || readable(other->second));
}

Json SectionSizes(const SideFiles& before, const SideFiles& after) {
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

Json DeviceCodeSizes(const SideFiles& before, const SideFiles& after) {
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
      for (const elf::DeviceCodeStats* share :
           {&file.device_code->embedded, &file.device_code->relocatable}) {
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
std::vector<std::string> CommonOrder(const SideFiles& files, const SideFiles& others) {
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
    // Equal content in another size was compressed by another program or level. One such file is enough.
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
  std::uint64_t unchanged = identical ? new_side.listing.files.size() : 0;
  PTPKG_TRY(const Json changes, FileChanges(env, old_side, new_side, unchanged));
  Json metadata = MetadataChanges(old_side.listing.metadata, new_side.listing.metadata);
  Json packing = PackingChanges(old_side, new_side);
  // The bytes differ, but nothing that this module compares: say so instead of claiming equality.
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
                                             {"unchanged_files", unchanged},
                                             {"sizes",
                                              {{"folders", FolderSizes(old_side, new_side)},
                                               {"sections", sections},
                                               {"device_code", device_code}}}})};
}

}  // namespace ptpkg::inspect
