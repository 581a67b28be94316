// The checks follow the way of an installer. The file name comes first: without it nothing else can be
// judged. Then the .dist-info directory, because all documents are in it. Then the layout, the documents, and
// RECORD. A document that is missing or too large has its own finding, and the checks of its content are left
// out. All others still run, so that one call lists every fault. Severities are for a wheel that all
// installers shall accept. installer_target.cpp changes them for given targets.

#include "verify/wheel/wheel_checks.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <optional>
#include <set>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "verify/file_kind.h"
#include "verify/rules/tree_map.h"
#include "verify/wheel/lenient_specifiers.h"
#include "verify/wheel/platform_policies.h"
#include "verify/wheel/wheel_layout_checks.h"
#include "verify/wheel/wheel_metadata_checks.h"
#include "wheel/metadata/pep440_version.h"
#include "wheel/metadata/record_lines.h"
#include "wheel/variant.h"
#include "wheel/wheel.h"

namespace ptpkg::verify {
namespace {

/// pip and installer count files of such a name too.
std::set<std::string> TopNames(const StagedTree& tree, std::string_view suffix) {
  std::set<std::string> names;
  for (const TreeEntry& entry : tree.entries) {
    const std::string& path = entry.path.str();
    std::string top = path.substr(0, path.find('/'));
    if (top.ends_with(suffix)) names.insert(std::move(top));
  }
  return names;
}

/// The .dist-info directory that the index looks for: name and version just as the file name writes them.
std::string DistInfoOfFile(std::string_view file_name) {
  const std::size_t version = file_name.find('-') + 1;
  return fmt::format("{}.dist-info", file_name.substr(0, file_name.find('-', version)));
}

/// The .dist-info directory to look into; nullopt when there is none to choose. Installers ask for the
/// project alone, in any spelling.
std::optional<std::string> CheckDistInfo(const StagedTree& tree, const AbsPath& wheel,
                                         const wheel::FileName& name, std::vector<Finding>& findings) {
  const std::set<std::string> folders = TopNames(tree, ".dist-info");
  const std::string asked = DistInfoOfFile(wheel.Name());
  const std::string expected = name.Stem() + ".dist-info";
  if (folders.size() != 1) {
    findings.push_back({"wheel-dist-info", Severity::kError, "",
                        fmt::format("the wheel has {} .dist-info directories instead of one", folders.size()),
                        fmt::format("keep '{}' only", expected)});
    for (const std::string& folder : {asked, expected}) {
      if (folders.contains(folder)) return folder;
    }
    return std::nullopt;
  }
  const std::string& folder = *folders.begin();
  if (folder == asked) return folder;
  constexpr std::string_view kFix = "rebuild the wheel; don't rename it by hand";
  // Only the normalised name must agree for installers. The exact spelling is a rule of the index (see
  // below).
  const Result<wheel::FileName> named =
      wheel::FileName::Parse(folder.substr(0, folder.size() - 10) + "-py3-none-any.whl");
  // installer takes the last '-' of "toy-1.0-1" for the one before the version.
  if (!named || named->name != name.name || !named->build.empty()) {
    findings.push_back({"wheel-dist-info", Severity::kError, folder,
                        fmt::format("the directory '{}' should be '{}'", folder, expected),
                        std::string(kFix)});
    return folder;
  }
  findings.push_back(
      {"wheel-dist-info-name",
       wheel::SameVersion(named->version, name.version) ? Severity::kWarning : Severity::kError, folder,
       fmt::format("the directory '{}' is not '{}', the name that the index expects from the file name",
                   folder, asked),
       std::string(kFix)});
  return folder;
}

/// pip lists what is installed after each run, and fails on a project that has no version.
Result<void> CheckEggInfo(Env& env, const StagedTree& tree, LimitedFindings findings) {
  std::map<std::string, std::string> texts;  // of "x.egg-info" or a directory of that name
  for (const TreeEntry& entry : tree.entries) {
    const auto place = InstalledPath(entry.path.str());
    if (!place) continue;
    const std::string top = place->substr(0, place->find('/'));
    if (!top.ends_with(".egg-info")) continue;
    std::string& text = texts[top];
    const bool describes = *place == top || *place == top + "/PKG-INFO" || *place == top + "/METADATA";
    if (!describes || entry.kind != FileKind::kRegular || entry.size_bytes > wheel::DocumentLimit("METADATA"))
      continue;
    PTPKG_TRY(text, ReadFile(env.fs, tree.root / entry.path));
  }
  for (const auto& [top, text] : texts) {
    const std::vector<std::string> lines = SplitLines(text);
    const bool has_version = std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
      constexpr std::string_view kField = "version:";
      return ToLower(line).starts_with(kField) && wheel::ParseVersion(line.substr(kField.size()));
    });
    if (has_version) continue;
    findings.Add({"wheel-egg-info", Severity::kError, top,
                  "installs a second project without a version, which makes pip fail",
                  "remove it: the .dist-info directory describes the wheel"});
  }
  return Ok();
}

/// The text of a member; nullopt with a finding when it is absent or larger than its kind may be.
Result<std::optional<std::string>> MemberText(Env& env, const StagedTree& tree, const std::string& path,
                                              std::vector<Finding>& findings) {
  const TreeEntry* entry = tree.Find(path);
  if (entry == nullptr) {
    findings.push_back({"wheel-missing-file", Severity::kError, path, "a wheel must have this file",
                        "write the wheel again"});
    return std::optional<std::string>();
  }
  if (entry->kind != FileKind::kRegular) {
    findings.push_back({"wheel-missing-file", Severity::kError, path,
                        "a wheel must have this file, but it is a symbolic link", "write the wheel again"});
    return std::optional<std::string>();
  }
  // Installers read a document as a whole, and 60 MB of METADATA pack into 60 KB.
  const std::uint64_t limit = wheel::DocumentLimit(entry->path.Name());
  if (entry->size_bytes > limit) {
    findings.push_back(
        {"wheel-document-size", Severity::kError, path,
         fmt::format("the file has {} bytes, more than the limit of {}", entry->size_bytes, limit),
         "shorten it; see 'ptpkg explain limits'"});
    return std::optional<std::string>();
  }
  PTPKG_TRY(std::string text, ReadFile(env.fs, tree.root / RelPath::Literal(path)));
  if (!IsUtf8(text)) {
    findings.push_back(
        {"wheel-encoding", Severity::kError, path, "the file is not UTF-8", "write it as UTF-8"});
  }
  return std::optional(std::move(text));
}

Result<void> CheckRecordRow(Env& env, const StagedTree& tree, const TreeEntry& entry,
                            const wheel::RecordRow& row, LimitedFindings& findings) {
  const std::string& path = entry.path.str();
  if (!row.HasDigest()) {
    findings.Add({"wheel-record-undigested", Severity::kWarning, path, "RECORD gives no digest for the file",
                  "rebuild the wheel, so that RECORD has every digest"});
    return Ok();
  }
  if (entry.kind != FileKind::kRegular) return Ok();  // has its own finding
  PTPKG_TRY(const bool fits, wheel::FitsRow(env.fs, tree.root, entry, row));
  if (fits) return Ok();
  findings.Add({"wheel-record-digest", Severity::kError, path,
                "size or digest of the file differs from RECORD",
                fmt::format("the wheel is damaged or was edited: fetch or rebuild it; the file has {} bytes",
                            entry.size_bytes)});
  return Ok();
}

/// Each row for itself. Returns the paths of rows that say nothing of their file.
std::set<std::string> CheckRecordFaults(const std::vector<wheel::RecordFault>& faults, const StagedTree& tree,
                                        const std::string& file, LimitedFindings& findings) {
  using Kind = wheel::RecordFault::Kind;
  std::set<std::string> paths;
  for (const wheel::RecordFault& fault : faults) {
    // uv asks for three fields and a number; the digests it does not read. installer reads those of members.
    const bool form = fault.kind == Kind::kForm;
    const bool digest = fault.kind == Kind::kDigest && tree.Find(fault.path) != nullptr;
    const std::string_view id = fault.kind == Kind::kLine ? "wheel-record-line"
                                : form                    ? "wheel-record-invalid"
                                : digest                  ? "wheel-record-digest"
                                                          : "wheel-record-row";
    findings.Add({std::string(id), Severity::kError, digest ? fault.path : file, fault.message,
                  "rebuild the wheel: RECORD needs path, sha256 and size of every file exactly once"});
    if (fault.kind != Kind::kRepeated) paths.insert(fault.path);
  }
  return paths;
}

Result<void> CheckRecord(Env& env, const StagedTree& tree, const std::string& dist_info_dir,
                         const std::string& text, LimitedFindings findings) {
  const std::string file = dist_info_dir + "/RECORD";
  const Result<wheel::RecordReading> record = wheel::ReadRecord(text, file);
  if (!record) {
    findings.Add({"wheel-record-invalid", Severity::kError, file, record.error().message(),
                  "rebuild the wheel: RECORD needs path, sha256 and size of every file exactly once"});
    return Ok();
  }
  CheckRecordFaults(wheel::FindLineFaults(text, file), tree, file, findings);
  // A file whose row has a fault is listed, though badly. It must not be reported as unlisted, too.
  const std::set<std::string> judged = CheckRecordFaults(record->faults, tree, file, findings);
  std::map<std::string_view, const wheel::RecordRow*> by_path;
  for (const wheel::RecordRow& row : record->rows) by_path.insert_or_assign(row.path, &row);  // as installer
  for (const TreeEntry& entry : tree.entries) {
    const std::string& path = entry.path.str();
    const auto row = by_path.find(path);
    if (wheel::MayLackDigest(path, dist_info_dir)) {
      if (path == file && row != by_path.end() && row->second->HasDigest()) {
        findings.Add({"wheel-record-digest", Severity::kError, file,
                      "RECORD has a digest of itself, which is impossible",
                      "rebuild the wheel, with the row 'RECORD,,'"});
      } else if (path == file && row == by_path.end()) {
        findings.Add({"wheel-record-unlisted", Severity::kError, file, "RECORD does not list itself",
                      "rebuild the wheel, with the row 'RECORD,,'"});
      } else if (path != file && row != by_path.end()) {
        findings.Add({"wheel-record-digest", Severity::kError, path, "RECORD lists its own signature",
                      "remove the signature from RECORD"});
      }
    } else if (row != by_path.end()) {
      PTPKG_CHECK(CheckRecordRow(env, tree, entry, *row->second, findings));
    } else if (!judged.contains(path)) {
      findings.Add({"wheel-record-unlisted", Severity::kError, path, "the file is not listed in RECORD",
                    "rebuild the wheel, so that RECORD lists every file"});
    }
    if (row != by_path.end()) by_path.erase(row);
  }
  for (const auto& [path, row] : by_path) {
    findings.Add({"wheel-record-missing", Severity::kError, std::string(path),
                  "RECORD lists the file, but the wheel does not have it",
                  "the wheel is damaged or was edited: fetch or rebuild it"});
  }
  return Ok();
}

Result<Binaries> FindBinaries(Env& env, const StagedTree& tree, const wheel::FileName& name) {
  const std::string platlib = name.Stem() + ".data/platlib/";
  Binaries found = Binaries::kNone;
  for (const TreeEntry& entry : tree.entries) {
    if (entry.kind != FileKind::kRegular) continue;
    // Files of .data/platlib go to platlib, whatever Root-Is-Purelib says. Only files of the root depend on
    // it.
    const bool of_platlib = entry.path.str().starts_with(platlib);
    if (of_platlib && found == Binaries::kInPlatlib) continue;
    PTPKG_TRY(const bool elf, IsElfFile(env.fs, tree.root / entry.path));
    if (elf && !of_platlib) return Binaries::kInRoot;
    if (elf) found = Binaries::kInPlatlib;
  }
  return found;
}

/// Two names of one wheel: the index refuses the one that spells the project otherwise.
void CheckFileNameForm(std::string_view file_name, const wheel::FileName& name,
                       std::vector<Finding>& findings) {
  const std::string tag = name.tag.str();
  if (tag != ToLower(tag)) {
    findings.push_back({"wheel-file-name-form", Severity::kError, "",
                        fmt::format("uv does not read tags with capital letters, as in '{}'", tag),
                        "write the tags in lower case with 'ptpkg retag'"});
  }
  const Result<wheel::Version> version = wheel::ParseVersion(name.version);
  if ((version && !UvReadsNumbers(*version)) || !UvReadsBuild(name.build)) {
    findings.push_back({"wheel-file-name-form", Severity::kError, "",
                        "the version or the build tag has a number above 64 bits, which uv does not read",
                        "rebuild the wheel with a smaller number"});
  }
  if (name.str() == file_name) return;
  const std::string_view project = file_name.substr(0, file_name.find('-'));
  // pip takes "__" for the mark of a name that was escaped wrongly.
  const Severity severity =
      project.find("__") == std::string_view::npos ? Severity::kWarning : Severity::kError;
  findings.push_back({project == name.name ? "wheel-file-name-form" : "wheel-file-name-spelling", severity,
                      "", fmt::format("'{}' is not in normal form", file_name),
                      fmt::format("name it '{}'", name.str())});
}

void CheckPlatforms(const wheel::FileName& name, std::vector<Finding>& findings) {
  std::vector<std::string> refused;
  for (std::string& platform : Split(name.tag.platform, '.')) {
    if (!PyPiAcceptsPlatform(platform)) refused.push_back(std::move(platform));
  }
  if (refused.empty()) return;
  const bool of_linux = std::all_of(refused.begin(), refused.end(), [](const std::string& platform) {
    return platform.find("linux") != std::string::npos;
  });
  findings.push_back({"wheel-platform-tag", Severity::kWarning, "",
                      fmt::format("public indexes reject the platform tag '{}'", Join(refused, "', '")),
                      of_linux ? fmt::format("give it a manylinux tag: ptpkg repair {}", name.str())
                               : "use a tag from 'ptpkg explain wheel-platform-tag'"});
}

/// Information, for a wheel may be meant for those who know of variants; targets that do not raise it.
void CheckVariantName(const wheel::FileName& name, std::vector<Finding>& findings) {
  if (name.variant.empty()) return;
  findings.push_back(
      {"wheel-variant-name", Severity::kInfo, "",
       fmt::format("the file name ends in the variant label '{}', which tools without PEP 825 reject",
                   name.variant),
       "serve it from your own index, to users of PEP 825 tools"});
}

/// A label and variant.json come together, and say the same.
Result<void> CheckVariant(Env& env, const StagedTree& tree, const WheelView& view,
                          std::vector<Finding>& findings) {
  const std::string path = view.dist_info_dir + "/" + std::string(wheel::kVariantDocument);
  const bool has_document = view.member_names.contains(path);
  const std::string& label = view.file_name.variant;
  if (label.empty()) {
    if (has_document) {
      findings.push_back({"wheel-variant", Severity::kError, path, "the file name has no variant label",
                          "restore the name of the wheel, or rebuild it"});
    }
    return Ok();
  }
  std::optional<std::string> text = std::string();
  if (has_document) {
    PTPKG_TRY(text, MemberText(env, tree, path, findings));
    if (!text) return Ok();
  }
  const auto document = wheel::ParseWheelVariant(*text, label, std::string(wheel::kVariantDocument));
  if (document) return Ok();
  // PEP 825 is a draft. A document of a later format can be sound, so it is a warning.
  const bool later = document.error().code() == ErrorCode::kUnsupported;
  findings.push_back({"wheel-variant", later ? Severity::kWarning : Severity::kError,
                      has_document ? path : "", document.error().message(), document.error().hint()});
  return Ok();
}

}  // namespace

Result<WheelContent> CheckWheelContent(Env& env, const AbsPath& wheel, const StagedTree& tree,
                                       std::vector<Finding>& findings) {
  const Result<wheel::FileName> name = wheel::FileName::Parse(wheel.Name());
  if (!name) {
    findings.push_back({"wheel-file-name", Severity::kError, "", name.error().message(),
                        "name it name-version[-build]-python-abi-platform.whl"});
    return WheelContent();
  }
  CheckFileNameForm(wheel.Name(), *name, findings);
  CheckPlatforms(*name, findings);
  CheckVariantName(*name, findings);
  const std::optional<std::string> dist_info_dir = CheckDistInfo(tree, wheel, *name, findings);
  if (!dist_info_dir) return WheelContent();
  CheckWheelLayout({*name, wheel.Name(), *dist_info_dir}, tree, findings);
  PTPKG_CHECK(CheckEggInfo(env, tree, LimitedFindings(findings)));

  std::set<std::string> member_names;
  for (const TreeEntry& entry : tree.entries) member_names.insert(entry.path.str());
  const WheelView view{*name, *dist_info_dir, member_names};
  PTPKG_TRY(const auto metadata, MemberText(env, tree, *dist_info_dir + "/METADATA", findings));
  if (metadata) CheckWheelMetadata(view, *metadata, findings);
  PTPKG_TRY(const auto wheel_file, MemberText(env, tree, *dist_info_dir + "/WHEEL", findings));
  PTPKG_TRY(const Binaries binaries, FindBinaries(env, tree, *name));
  if (wheel_file) CheckWheelFile(view, *wheel_file, binaries, findings);
  PTPKG_CHECK(CheckVariant(env, tree, view, findings));
  PTPKG_TRY(const auto record, MemberText(env, tree, *dist_info_dir + "/RECORD", findings));
  if (record) {
    PTPKG_CHECK(CheckRecord(env, tree, *dist_info_dir, *record, LimitedFindings(findings)));
  }
  WheelContent content{.dist_info_dir = *dist_info_dir};
  if (member_names.contains(*dist_info_dir + "/entry_points.txt")) {
    PTPKG_TRY(const auto text, MemberText(env, tree, *dist_info_dir + "/entry_points.txt", findings));
    if (text) content.scripts = CheckWheelEntryPoints(view, *text, findings);
  }
  return content;
}

}  // namespace ptpkg::verify
