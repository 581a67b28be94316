// Reads patch instructions, and applies them row by row, so that repodata.json, shards and builds all see the
// same rows.
//
// conda-index ignores keys that it does not know, and patches any field. Here an unknown key is an error,
// since a misspelt "revoke" would leave a broken package installable. Fields that identify the file cannot
// change either: a client would download another file than the row describes, or refuse it. A patched row has
// to be one that clients read: rattler drops all packages of a name because of one bad row.

#include "index/conda_channel/patch_instructions.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "conda/channel_names.h"
#include "conda/info/info_schema.h"
#include "conda/info/package_info.h"
#include "conda/package.h"
#include "index/conda_channel/conda_documents.h"
#include "support/files/scratch.h"
#include "support/text/json.h"
#include "support/text/text.h"
#include "versions/match_spec.h"

namespace ptpkg::index {
namespace {

constexpr std::int64_t kPatchVersion = 1;
constexpr std::string_view kConda = ".conda";
constexpr std::string_view kTarBz2 = ".tar.bz2";
constexpr const char* kVersionKey = "patch_instructions_version";
constexpr std::array<std::string_view, 5> kKeys{kVersionKey, "packages", "packages.conda", "remove",
                                                "revoke"};
constexpr std::array<std::string_view, 7> kIdentity{"name", "version", "build", "subdir",
                                                    "md5",  "sha256",  "size"};
constexpr const char* kRevoked = "package_has_been_revoked";

Error Invalid(std::string_view where, const std::string& why) {
  return Error(ErrorCode::kInvalidInput, fmt::format("{}: {}", where, why));
}

bool IsTextList(const Json& value) {
  return value.is_array() && std::ranges::all_of(value, [](const Json& item) { return item.is_string(); });
}

Result<void> CheckChanges(const std::string& file_name, const Json& changes, std::string_view where) {
  if (!changes.is_object()) return Invalid(where, fmt::format("'{}' is not an object", file_name));
  for (const auto& [key, value] : changes.items()) {
    if (std::ranges::find(kIdentity, key) != kIdentity.end()) {
      return Invalid(where,
                     fmt::format("'{}': '{}' identifies the package and cannot change", file_name, key))
          .WithHint("remove the key; to take the package out of the index, list it under 'remove'");
    }
    if (key == "depends" && !IsTextList(value)) {
      return Invalid(where, fmt::format("'{}': '{}' is not a list of text", file_name, key));
    }
    if (key == "revoked") {
      return Invalid(where, fmt::format("'{}': '{}' cannot be set", file_name, key))
          .WithHint("list the file under 'revoke': clients look for the dependency that this adds");
    }
  }
  return Ok();
}

/// Objects are merged, null removes the field, other values replace it.
void Merge(Json& base, const Json& changes) {
  for (const auto& [key, value] : changes.items()) {
    if (value.is_null()) {
      base.erase(key);
      continue;
    }
    Json& old = base[key];
    if (old.is_object() && value.is_object()) {
      Merge(old, value);
    } else {
      old = value;
    }
  }
}

/// `shown`: the place of `folder` in messages.
Result<PatchTexts> ReadPatchFolder(Env& env, const AbsPath& folder, const std::string& shown) {
  PatchTexts texts;
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(folder));
  for (const std::string& name : names) {
    if (!conda::IsSubdir(name)) continue;
    PTPKG_TRY(const bool exists, Exists(env.fs, folder / name / kPatchFile));
    if (!exists) continue;
    PatchText& text = texts[name];
    text.where = fmt::format("'{}/{}/{}'", shown, name, kPatchFile);
    PTPKG_TRY(text.text, ReadFile(env.fs, folder / name / kPatchFile));
  }
  return texts;
}

/// `spec` without what clients read and packages have no need of: a comment, a channel, capitals, fields in
/// brackets.
std::string PlainSpec(const std::string& spec) {
  std::string text = ToLower(Trim(std::string_view(spec).substr(0, spec.find('#'))));
  if (const std::size_t channel = text.find("::"); channel != std::string::npos) text.erase(0, channel + 2);
  if (const std::size_t open = text.find('['); open != std::string::npos && text.ends_with(']'))
    text.erase(open);
  return text;
}

/// The specs that the patch has added: solvers pass over a row, or the whole channel, for one that they
/// cannot read.
Result<void> CheckSpecs(const Json& row, const Json& before, const std::string& where) {
  for (const char* key : {"depends", "constrains"}) {
    const auto specs = row.find(key);
    if (specs == row.end()) continue;
    const Json old = before.contains(key) ? before[key] : Json();
    for (const Json& spec : *specs) {
      if (spec == kRevoked || std::find(old.begin(), old.end(), spec) != old.end()) continue;
      auto normal = versions::NormalizeMatchSpec(PlainSpec(spec.get<std::string>()));
      if (!normal) return std::move(normal).error().WithContext(fmt::format("{}: {}", where, key));
    }
  }
  return Ok();
}

}  // namespace

Result<PatchInstructions> PatchInstructions::Parse(std::string_view text, std::string_view where) {
  PTPKG_TRY(const Json document, ParseJson(text, where));
  if (!document.is_object()) return Invalid(where, "not an object");
  for (const auto& [key, value] : document.items()) {
    if (std::ranges::find(kKeys, key) == kKeys.end()) {
      return Invalid(where, fmt::format("unknown key '{}'", key))
          .WithHint("use 'packages', 'packages.conda', 'remove' and 'revoke'");
    }
  }
  PTPKG_TRY(const std::int64_t version, JsonInteger(document, kVersionKey, where));
  if (version != kPatchVersion) {
    return Invalid(where, fmt::format("'{}' is {}, and ptpkg reads {}", kVersionKey, version, kPatchVersion));
  }
  PatchInstructions patch;
  PTPKG_CHECK(patch.ReadChanges(document, "packages", where));
  PTPKG_CHECK(patch.ReadChanges(document, "packages.conda", where));
  PTPKG_TRY(patch.removed_, ReadNames(document, "remove", where));
  PTPKG_TRY(patch.revoked_, ReadNames(document, "revoke", where));
  return patch;
}

Result<void> PatchInstructions::ReadChanges(const Json& document, const char* key, std::string_view where) {
  const auto found = document.find(key);
  if (found == document.end()) return Ok();
  if (!found->is_object()) return Invalid(where, fmt::format("'{}' is not an object", key));
  const std::string_view extension = std::string_view(key) == "packages" ? kTarBz2 : kConda;
  for (const auto& [file_name, changes] : found->items()) {
    if (!file_name.ends_with(extension)) {
      return Invalid(where, fmt::format("'{}' under '{}' is not a {} file", file_name, key, extension));
    }
    PTPKG_CHECK(CheckChanges(file_name, changes, where));
    changes_[file_name] = changes;
  }
  return Ok();
}

Result<std::set<std::string>> PatchInstructions::ReadNames(const Json& document, const char* key,
                                                           std::string_view where) {
  PTPKG_TRY(const std::vector<std::string> names, JsonStringsOr(document, key, {}, where));
  for (const std::string& name : names) {
    if (name.ends_with(kConda) || name.ends_with(kTarBz2)) continue;
    return Invalid(where, fmt::format("'{}' under '{}' is not a .conda or .tar.bz2 file", name, key));
  }
  return std::set(names.begin(), names.end());
}

bool PatchInstructions::Lists(const std::set<std::string>& names, const std::string& file_name) {
  return names.contains(LegacyName(file_name)) || names.contains(file_name);
}

bool PatchInstructions::Hides(const std::string& file_name) const {
  return Lists(removed_, file_name) || Lists(revoked_, file_name);
}

std::optional<Json> PatchInstructions::Apply(const std::string& file_name, const Json& row) const {
  const std::string legacy = LegacyName(file_name);
  if (Lists(removed_, file_name)) return std::nullopt;
  Json patched = row;
  if (const auto changes = changes_.find(legacy); changes != changes_.end()) Merge(patched, changes->second);
  if (legacy != file_name) {
    if (const auto own = changes_.find(file_name); own != changes_.end()) Merge(patched, own->second);
  }
  if (Lists(revoked_, file_name)) {
    patched["revoked"] = true;
    Json& depends = patched["depends"];
    if (!depends.is_array()) depends = Json::array();
    depends.push_back(kRevoked);
  }
  return patched;
}

std::vector<std::string> PatchInstructions::UnknownIn(const CondaRecords& records) const {
  std::set<std::string> known;
  for (const auto& [file_name, record] : records) known.insert({file_name, LegacyName(file_name)});
  std::set<std::string> unknown;
  const auto note = [&](const std::string& name) {
    if (!known.contains(name)) unknown.insert(name);
  };
  for (const auto& [name, changes] : changes_) note(name);
  std::ranges::for_each(removed_, note);
  std::ranges::for_each(revoked_, note);
  return {unknown.begin(), unknown.end()};
}

Result<RemovedPackages> PatchRecords(const PatchInstructions& patch, std::string_view where,
                                     CondaRecords& records) {
  RemovedPackages removed;
  for (auto record = records.begin(); record != records.end();) {
    std::optional<Json> row = patch.Apply(record->first, record->second.repodata);
    if (row) {
      if (*row != record->second.repodata) {
        const std::string place = fmt::format("{}: '{}'", where, record->first);
        PTPKG_CHECK(conda::CheckIndexSchema(*row, place));
        PTPKG_CHECK(CheckSpecs(*row, record->second.repodata, place));
      }
      record->second.repodata = *std::move(row);
      ++record;
    } else {
      removed[record->first] = RowText(record->second.repodata, "name");
      record = records.erase(record);
    }
  }
  return removed;
}

Result<PatchInstructions> ReadPatchOf(Env& env, const AbsPath& folder) {
  const AbsPath path = folder / kPatchFile;
  PTPKG_TRY(const bool exists, Exists(env.fs, path));
  if (!exists) return PatchInstructions();
  PTPKG_TRY(const std::string text, ReadFile(env.fs, path));
  return PatchInstructions::Parse(text, fmt::format("'{}'", path.str()));
}

void WarnOfHidden(Env& env, const std::set<std::string>& hidden, const std::vector<std::string>& packages) {
  for (const std::string& package : packages) {
    if (!hidden.contains(package)) continue;
    const std::size_t slash = package.find('/');
    env.reporter.Warn(fmt::format("clients cannot install '{}': {}/{} of the channel removes or revokes it",
                                  package.substr(slash + 1), package.substr(0, slash), kPatchFile));
  }
}

Result<PatchTexts> ReadPatchSource(Env& env, const AbsPath& source, const AbsPath& scratch) {
  PatchTexts texts;
  PTPKG_TRY(const FileStat stat, env.fs.Stat(source));
  if (stat.kind == FileKind::kDirectory) {
    PTPKG_TRY(texts, ReadPatchFolder(env, source, source.str()));
  } else if (source.Name().ends_with(kConda) || source.Name().ends_with(kTarBz2)) {
    PTPKG_TRY(const TempDir content, TempDir::Create(env.fs, scratch, "patch"));
    PTPKG_TRY(const conda::PackageInfo info, conda::UnpackPackage(env, source, content.path(), {}));
    static_cast<void>(info);
    PTPKG_TRY(texts, ReadPatchFolder(env, content.path(), source.str()));
  } else if (conda::IsSubdir(source.Parent().Name())) {
    PatchText& text = texts[std::string(source.Parent().Name())];
    text.where = fmt::format("'{}'", source.str());
    PTPKG_TRY(text.text, ReadFile(env.fs, source));
  }
  if (!texts.empty()) return texts;
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'{}' has no patch instructions for a subdir", source.str()))
      .WithHint(
          fmt::format("give a directory or a conda package with 'linux-64/{0}', or that file", kPatchFile));
}

}  // namespace ptpkg::index
