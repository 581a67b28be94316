// WriteWheel. The layout of the archive: docs/formats/wheel.md.
//
// 1. Compute the name from the metadata, and read it back, so that no field spills into another part.
// 2. Collect the members: the payload, then the documents of .dist-info. METADATA, WHEEL and entry_points.txt
//    are made here.
// 3. Write them in one pass, which also gives size and digest of each.
// 4. Write RECORD from these. It comes last, because it describes all others.
//
// Files that installers write are left out. They would describe an installation that never happened, and
// tools built on the library installer fail if a wheel has INSTALLER.

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <set>

#include "archive/entry_set.h"
#include "archive/zip/zip_file.h"
#include "support/text/plural.h"
#include "support/text/text.h"
#include "wheel/installer_files.h"
#include "wheel/metadata/entry_points.h"
#include "wheel/wheel.h"
#include "wheel/wheel_file.h"

namespace ptpkg::wheel {
namespace {

/// Written here from other members of WheelInput.
constexpr std::array<std::string_view, 4> kWrittenHere = {"METADATA", "WHEEL", "RECORD", "entry_points.txt"};
constexpr std::string_view kLicenses = "licenses/";

template <std::size_t kCount>
bool Contains(const std::array<std::string_view, kCount>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsByteCode(const RelPath& path) {
  const std::vector<std::string> components = path.Components();
  return std::find(components.begin(), components.end(), "__pycache__") != components.end();
}

/// The name that files and directories of this distribution carry.
Result<FileName> CanonicalName(const WheelInput& input) {
  PTPKG_TRY(FileName out, FileName::Of(input.metadata));
  out.build = input.build;
  out.tag = SortTag(input.tag);
  // A build tag without a digit in front, for instance, would be read as another part.
  PTPKG_TRY(const FileName parsed, FileName::Parse(out.str()));
  if (parsed != out) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not the file name of a wheel", out.str()));
  }
  return out;
}

/// A Metadata-Version below 2.4 gives License-File no meaning (PEP 639).
bool IsBelow24(const std::string& metadata_version) {
  const Result<Version> version = ParseVersion(metadata_version);
  const Result<Version> floor = ParseVersion("2.4");
  return version && floor && CompareVersions(*version, *floor) < 0;
}

using DistInfo = std::map<std::string, std::string>;

/// Brings the License-File fields and the files below licenses/ into agreement.
Result<void> AlignLicenses(CoreMetadata& metadata, DistInfo& files) {
  const bool has_licenses = std::any_of(files.begin(), files.end(),
                                        [](const auto& file) { return file.first.starts_with(kLicenses); });
  const bool below_24 = IsBelow24(metadata.Get("Metadata-Version"));
  if (below_24 && !has_licenses) return Ok();  // older rules: files lie where they like
  if (below_24) metadata.Set("Metadata-Version", "2.4");
  std::set<std::string> named;
  for (const std::string& field : metadata.GetAll("License-File")) {
    const std::string name(Trim(field));
    named.insert(name);
    const std::string place = std::string(kLicenses) + name;
    // setuptools put them directly into .dist-info before PEP 639.
    if (const auto old = files.find(name); old != files.end() && !files.contains(place)) {
      files[place] = std::move(old->second);
      files.erase(old);
    }
    if (!files.contains(place)) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the metadata lists the license file '{}', which is missing", name))
          .WithHint("add the file, or remove the License-File field");
    }
  }
  for (const auto& [path, text] : files) {
    if (path.starts_with(kLicenses) && !named.contains(path.substr(kLicenses.size()))) {
      metadata.Add("License-File", path.substr(kLicenses.size()));
    }
  }
  return Ok();
}

Result<DistInfo> CollectDistInfo(const WheelInput& input, const FileName& name) {
  DistInfo files;
  for (const auto& [path, text] : input.dist_info) {
    if (Contains(kInstallerFiles, path)) continue;
    if (Contains(kWrittenHere, path)) {
      return Error(ErrorCode::kInternal,
                   fmt::format("'{}' is written by ptpkg and cannot be given as a file", path));
    }
    files.emplace(path, text);
  }
  CoreMetadata metadata = input.metadata;
  if (input.metadata_text.empty()) PTPKG_CHECK(AlignLicenses(metadata, files));
  const std::string text = input.metadata_text.empty() ? FormatCoreMetadata(metadata) : input.metadata_text;
  // A value with a line break could become a field of its own. Counting the fields of the written text proves
  // that none did.
  PTPKG_TRY(const CoreMetadata again, ParseCoreMetadata(text, "METADATA"), "while writing METADATA");
  if (again.fields.size() != metadata.fields.size()) {
    return Error(ErrorCode::kInvalidInput, "a metadata field's value would be read as another field");
  }
  files.emplace("METADATA", text);
  if (!input.entry_points.empty()) {
    PTPKG_TRY([[maybe_unused]] const auto points, ParseEntryPoints(input.entry_points, "entry_points.txt"));
    files.emplace("entry_points.txt", input.entry_points);
  }
  WheelFile wheel_file;
  wheel_file.generator = "ptpkg " PTPKG_VERSION;
  wheel_file.build = name.build;
  wheel_file.root_is_purelib = input.root_is_purelib;
  wheel_file.tags = ExpandTag(name.tag);
  files.emplace("WHEEL", FormatWheelFile(wheel_file));
  return files;
}

/// Errors: kInvalidInput for payload in a .dist-info directory, or in the .data directory of another
/// distribution.
/// pip and installer refuse a wheel with two .dist-info directories. pip installs from every .data directory,
/// uv and installer only from the wheel's own.
Result<void> CheckPayloadPath(const RelPath& path, const FileName& name) {
  const std::string top = path.Components().front();
  const bool foreign_data = top.ends_with(".data") && top != name.Stem() + ".data" && path.str() != top;
  if (!top.ends_with(".dist-info") && !foreign_data) return Ok();
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'{}' cannot be payload of '{}': the directory belongs to another project",
                           path.str(), name.Stem()));
}

Result<archive::EntrySet> CollectEntries(const WheelInput& input, const FileName& name) {
  archive::EntrySet entries;
  for (const TreeEntry& entry : input.tree.entries) {
    if (IsByteCode(entry.path)) continue;
    PTPKG_CHECK(CheckPayloadPath(entry.path, name));
    PTPKG_CHECK(entries.AddTreeEntry(input.tree, entry));
  }
  PTPKG_TRY(DistInfo files, CollectDistInfo(input, name));
  for (auto& [path, text] : files) {
    PTPKG_TRY(RelPath member, RelPath::Parse(name.Stem() + ".dist-info/" + path));
    PTPKG_CHECK(entries.AddText(std::move(member), std::move(text)));
  }
  return entries;
}

/// Writes all members, RECORD from what the others turned out to be.
Result<void> WriteMembers(Env& env, archive::ZipWriter& zip, const archive::EntrySet& entries,
                          const FileName& name, int deflate_level) {
  const std::string dist_info = name.Stem() + ".dist-info";
  std::vector<const archive::Entry*> order = entries.Sorted();
  // The binary distribution format encourages .dist-info at the end of the archive.
  std::stable_partition(order.begin(), order.end(), [&](const archive::Entry* entry) {
    return !entry->name.str().starts_with(dist_info + "/");
  });
  archive::DeflateOptions deflate;
  deflate.level = deflate_level;
  Task task(env.reporter, {"wheel", name.str(), entries.TotalBytes()});
  PTPKG_TRY(const std::vector<archive::PackedMember> packed,
            archive::WriteZipMembers(env, zip, order, deflate, task));
  std::vector<RecordRow> rows;
  rows.reserve(packed.size() + 1);
  for (const archive::PackedMember& member : packed) {
    rows.push_back(RowOf(member.name, member.sha256, member.size_bytes));
  }
  rows.push_back({dist_info + "/RECORD", "", 0});
  archive::EntrySet record;
  PTPKG_TRY(RelPath record_path, RelPath::Parse(dist_info + "/RECORD"));
  PTPKG_CHECK(record.AddText(std::move(record_path), FormatRecord(rows)));
  PTPKG_CHECK(archive::WriteZipMembers(env, zip, record.Sorted(), deflate, task));
  task.Done(Plural(rows.size(), "file"));
  return Ok();
}

}  // namespace

Result<Artifact> WriteWheel(Env& env, const WheelInput& input, const AbsPath& folder,
                            const WheelOptions& options) {
  PTPKG_TRY(const FileName name, CanonicalName(input), "while naming the wheel");
  PTPKG_TRY(const archive::EntrySet entries, CollectEntries(input, name),
            fmt::format("while packing '{}'", name.str()));
  const AbsPath target = folder / name.str();
  const auto write = [&](archive::ZipWriter& zip) {
    return WriteMembers(env, zip, entries, name, options.deflate_level);
  };
  PTPKG_TRY(const Digests digests, archive::WriteZipFile(env, target, options.on_existing, write));
  return Artifact{.format = ArtifactFormat::kWheel,
                  .path = target,
                  .digests = digests,
                  .unpacked_bytes = entries.TotalBytes()};
}

}  // namespace ptpkg::wheel
