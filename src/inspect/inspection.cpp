// Describes one artifact as a JSON document: the listing, and per ELF file the results of the checks.
//
// --quick stops after the listing, which needs only directories of the archive. Otherwise
// verify::ExamineArtifact reads every file once, and this module takes its facts along in the same pass. A
// plain zip's top directory is not part of the examined paths, so it is put in front of them at the end:
// all paths of the document are those in the archive.

#include "inspect/inspection.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <mutex>
#include <set>

#include "inspect/elf_facts.h"
#include "inspect/listing.h"
#include "support/text/json.h"
#include "verify/elf/device_code_checks.h"
#include "verify/examination_json.h"

namespace ptpkg::inspect {
namespace {

using FactsByPath = std::map<std::string, ElfFacts>;

Json NullWithout(const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); }

std::string ModeText(std::uint32_t mode) { return fmt::format("0{:03o}", mode); }

/// Key by key: for 13,000 files, lists of pairs cost an eighth of all the time of --quick.
Json ListedFileToJson(const ListedFile& file) {
  Json object = Json::object();
  object["path"] = file.path;
  object["size_bytes"] = file.size_bytes;
  object["stored_bytes"] = file.stored_bytes ? Json(*file.stored_bytes) : Json(nullptr);
  object["mode"] = file.mode ? Json(ModeText(*file.mode)) : Json(nullptr);
  object["kind"] = FileClassName(file.file_class);
  object["target"] = file.target.empty() ? Json(nullptr) : Json(file.target);
  return object;
}

FileClass ClassOf(const TreeEntry& entry, const FactsByPath& facts) {
  if (entry.kind == FileKind::kSymlink) return FileClass::kSymlink;
  if (facts.contains(entry.path.str())) return FileClass::kElf;
  // Each file was read, so a name such as x.so without ELF content is data.
  const FileClass by_name = ClassOfName(entry.path.str());
  return by_name == FileClass::kElf ? FileClass::kData : by_name;
}

/// Prefix of the entries' paths in the archive: a plain zip's directory that holds everything. Both
/// lists are sorted, and such a directory keeps the order.
std::string FolderOfEntries(const Listing& listing, const std::vector<TreeEntry>& entries) {
  if (listing.format != ArtifactFormat::kZip || entries.empty() || listing.files.empty()) return {};
  const std::string& first = entries.front().path.str();
  const std::string& listed = listing.files.front().path;
  return listed.ends_with("/" + first) ? listed.substr(0, listed.size() - first.size()) : std::string();
}

/// The listing, completed from the content: modes, targets of links, ELF files by their first bytes.
/// `folder`: FolderOfEntries.
std::vector<ListedFile> FilesOf(const Listing& listing, const std::vector<TreeEntry>& entries,
                                const std::string& folder, const FactsByPath& facts) {
  if (entries.empty()) return listing.files;
  std::map<std::string, const ListedFile*> listed;
  for (const ListedFile& file : listing.files) listed.emplace(file.path, &file);
  std::vector<ListedFile> files;
  for (const TreeEntry& entry : entries) {
    const bool link = entry.kind == FileKind::kSymlink;
    ListedFile file{.path = folder + entry.path.str(),
                    .size_bytes = link ? 0 : entry.size_bytes,
                    .mode = entry.mode,
                    .file_class = ClassOf(entry, facts),
                    .target = entry.link_target};
    const auto found = listed.find(file.path);
    if (found != listed.end()) file.stored_bytes = found->second->stored_bytes;
    files.push_back(std::move(file));
  }
  const bool conda = IsCondaPackage(listing.format);
  for (const ListedFile& file : listing.files) {
    // The examination has no entries for conda's own files.
    if (conda && file.path.starts_with("info/")) files.push_back(file);
  }
  std::sort(files.begin(), files.end(),
            [](const ListedFile& left, const ListedFile& right) { return left.path < right.path; });
  return files;
}

Json SectionsToJson(const ElfFacts& facts) {
  Json list = Json::array();
  for (const elf::NamedSection& section : ShownSections(facts.sections)) {
    list.push_back({{"name", section.name},
                    {"size_bytes", section.size_bytes},
                    {"kind", elf::SectionKindName(section.kind)}});
  }
  return list;
}

std::string_view EntryKindName(verify::EntryKind kind) {
  switch (kind) {
    case verify::EntryKind::kInTree:
      return "in tree";
    case verify::EntryKind::kDead:
      return "dead";
    case verify::EntryKind::kOutside:
      return "outside";
    case verify::EntryKind::kAbsolute:
      return "absolute";
    case verify::EntryKind::kRelative:
      return "relative";
    case verify::EntryKind::kEmpty:
      return "empty";
  }
  return {};
}

Json SearchPathToJson(const verify::FileLinks& links) {
  if (!links.tag) return nullptr;
  Json entries = Json::array();
  for (const verify::PathEntry& entry : links.search_path) {
    entries.push_back({{"text", entry.text}, {"kind", EntryKindName(entry.kind)}});
  }
  return {{"tag", *links.tag == elf::PathTag::kRpath ? "RPATH" : "RUNPATH"}, {"entries", entries}};
}

Json NeededToJson(const verify::FileLinks& links) {
  Json list = Json::array();
  for (const verify::NeedLink& need : links.needed) {
    Json files = Json::array();
    for (const verify::FoundFile& file : need.files) {
      files.push_back({{"path", file.path}, {"rule", file.rule}});
    }
    list.push_back({{"name", need.name},
                    {"state", verify::NeedStateName(need.state)},
                    {"files", files},
                    {"problem", need.problem.empty() ? Json(nullptr) : Json(need.problem)}});
  }
  return list;
}

Json ElfToJson(const std::string& path, const ElfFacts& facts, const verify::FileLinks* links,
               const verify::FileNeeds* needs) {
  Json floor;
  Json isa;
  if (needs != nullptr) {
    const Json all = verify::FileNeedsToJson(*needs);
    isa = all["isa"];
    for (const char* key : {"glibc", "policy", "set_by", "symbols"}) floor[key] = all[key];
  }
  return {{"file", path},
          {"machine", facts.machine.empty() ? Json(nullptr) : Json(facts.machine)},
          {"size_bytes", facts.size_bytes},
          {"build_id", NullWithout(facts.build_id)},
          {"soname", NullWithout(facts.links.soname)},
          {"interpreter", NullWithout(facts.links.interpreter)},
          {"stripped", facts.stripped},
          {"sections", SectionsToJson(facts)},
          {"search_path", links == nullptr ? Json(nullptr) : SearchPathToJson(*links)},
          {"needed", links == nullptr ? Json::array() : NeededToJson(*links)},
          {"floor", floor},
          {"isa", isa},
          {"damage", facts.damage.Texts()}};
}

Json ElfFilesToJson(const FactsByPath& facts, const verify::Examination& examination) {
  std::map<std::string, const verify::FileLinks*> links;
  for (const verify::FileLinks& file : examination.links) links.emplace(file.file, &file);
  std::map<std::string, const verify::FileNeeds*> needs;
  for (const verify::FileNeeds& file : examination.files) needs.emplace(file.file, &file);
  const auto find = [](const auto& map, const std::string& path) {
    const auto found = map.find(path);
    return found == map.end() ? nullptr : found->second;
  };
  Json list = Json::array();
  for (const auto& [path, one] : facts) {
    list.push_back(ElfToJson(path, one, find(links, path), find(needs, path)));
  }
  return list;
}

/// Names that `some` have and `others` lack.
void AddOnly(const versions::ArchitectureNames& some, const versions::ArchitectureNames& others,
             Json& names) {
  for (const std::string& name : some) {
    if (!others.contains(name)) names.push_back(name);
  }
}

Json WantedToJson(const versions::DeviceArchitectures& wanted, const versions::DeviceArchitectures& has) {
  Json missing = Json::array();
  AddOnly(wanted.sass, has.sass, missing);
  AddOnly(wanted.ptx, has.ptx, missing);
  Json extra = Json::array();
  if (!wanted.more) {
    AddOnly(has.sass, wanted.sass, extra);
    AddOnly(has.ptx, wanted.ptx, extra);
  }
  return {{"sass", wanted.sass}, {"ptx", wanted.ptx}, {"missing", missing}, {"extra", extra}};
}

Json DeviceCodeList(const verify::Examination& examination) {
  Json list = Json::array();
  for (const verify::FileDeviceCode& file : examination.device_code) {
    Json item = verify::FileDeviceCodeToJson(file);
    const versions::DeviceArchitectures* wanted = examination.asked.Of(file.file);
    item["wanted"] =
        wanted == nullptr ? Json(nullptr) : WantedToJson(*wanted, verify::ArchitecturesOf(file.code));
    list.push_back(std::move(item));
  }
  return list;
}

/// Puts `folder` in front of the paths that the examination gives below it: then all paths are paths in the
/// archive.
void PutBelow(const std::string& folder, Json& document) {
  if (folder.empty()) return;
  const auto put = [&](Json& path) { path = folder + path.get<std::string>(); };
  std::set<std::string> files;
  for (const Json& elf : document["elf"]) files.insert(elf["file"].get<std::string>());
  for (Json& elf : document["elf"]) {
    put(elf["file"]);
    for (Json& need : elf["needed"]) {
      for (Json& file : need["files"]) {
        put(file["path"]);
        // "RPATH $ORIGIN/lib of bin/tool"
        constexpr std::string_view kOf = " of ";
        std::string rule = file["rule"].get<std::string>();
        const std::size_t of = rule.rfind(kOf);
        if (of == std::string::npos || !files.contains(rule.substr(of + kOf.size()))) continue;
        file["rule"] = rule.insert(of + kOf.size(), folder);
      }
    }
  }
  for (Json& code : document["device_code"]) put(code["file"]);
  if (!document["floor"].is_null()) put(document["floor"]["file"]);
}

Json CommonPart(const AbsPath& artifact, const Listing& listing, const std::vector<ListedFile>& files) {
  Json list = Json::array();
  std::uint64_t unpacked_bytes = 0;
  for (const ListedFile& file : files) {
    list.push_back(ListedFileToJson(file));
    unpacked_bytes += file.size_bytes;
  }
  return {{"subject", artifact.str()},
          {"format", ArtifactFormatName(listing.format)},
          {"size_bytes", listing.size_bytes},
          {"unpacked_bytes", unpacked_bytes},
          {"metadata", MetadataToJson(listing.metadata)},
          {"files", std::move(list)}};
}

}  // namespace

Result<Inspection> InspectArtifact(Env& env, const AbsPath& artifact, const InspectOptions& options) {
  PTPKG_TRY(const Listing listing, ReadListing(env, artifact));
  Inspection inspection;
  if (options.quick) {
    inspection.report.subject = artifact.str();
    Json document = CommonPart(artifact, listing, listing.files);
    document["quick"] = true;
    for (const char* key : {"elf", "device_code", "floor"}) document[key] = nullptr;
    inspection.document = JsonBox(std::move(document));
    return inspection;
  }
  FactsByPath facts;
  std::mutex mutex;
  verify::CheckOptions check = options.check;
  check.links = true;
  check.on_file = [&](const RelPath& path, File& file) -> Result<void> {
    PTPKG_TRY(std::optional<ElfFacts> one, ReadElfFacts(file));
    if (!one) return Ok();
    // ExamineArtifact calls on_file from several threads.
    const std::lock_guard lock(mutex);
    facts.emplace(path.str(), *std::move(one));
    return Ok();
  };
  PTPKG_TRY(verify::Examination examination, verify::ExamineArtifact(env, artifact, check));
  const std::string folder = FolderOfEntries(listing, examination.entries);
  Json document = CommonPart(artifact, listing, FilesOf(listing, examination.entries, folder, facts));
  document["quick"] = false;
  document["elf"] = ElfFilesToJson(facts, examination);
  document["device_code"] = DeviceCodeList(examination);
  document["floor"] =
      examination.highest ? verify::FileNeedsToJson(examination.files[*examination.highest]) : Json(nullptr);
  PutBelow(folder, document);
  inspection.report = std::move(examination.report);
  inspection.document = JsonBox(std::move(document));
  return inspection;
}

}  // namespace ptpkg::inspect
