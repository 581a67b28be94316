#pragma once
// Corrects rows of a channel index (hotfixes). Layer: index. Source: conda-index 0.13 _apply_instructions;
// the package conda-forge-repodata-patches.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "index/conda_channel/conda_record.h"

namespace ptpkg::index {

/// In the directory of a subdir. Every index run applies it.
inline constexpr std::string_view kPatchFile = "patch_instructions.json";
/// The rows before the patch.
inline constexpr std::string_view kUnpatchedRepodata = "repodata_from_packages.json";

class PatchInstructions {
 public:
  /// Changes nothing.
  PatchInstructions() = default;

  /// An object with "patch_instructions_version": 1, and optionally "packages" and "packages.conda" (file
  /// name → changed fields), "remove" and "revoke" (file names). Errors, kInvalidInput, name `where`:
  /// - any other key, type or extension
  /// - "depends" that is not a list of text, and "revoked"
  /// - a change of name, version, build, subdir, md5, sha256 or size
  static Result<PatchInstructions> Parse(std::string_view text, std::string_view where);

  /// `row` as patched, or nullopt if it is removed. Instructions for a .tar.bz2 count for the .conda of the
  /// same package too, before its own. Fields that are objects are merged, others replaced; null removes a
  /// field. A revoked package gets "revoked" and the dependency "package_has_been_revoked", which no package
  /// satisfies.
  [[nodiscard]] std::optional<Json> Apply(const std::string& file_name, const Json& row) const;

  /// Removed or revoked.
  [[nodiscard]] bool Hides(const std::string& file_name) const;

  /// The file names in the instructions that concern none of `records`, sorted.
  [[nodiscard]] std::vector<std::string> UnknownIn(const CondaRecords& records) const;

 private:
  [[nodiscard]] static bool Lists(const std::set<std::string>& names, const std::string& file_name);
  Result<void> ReadChanges(const Json& document, const char* key, std::string_view where);
  static Result<std::set<std::string>> ReadNames(const Json& document, const char* key,
                                                 std::string_view where);

  std::map<std::string, Json> changes_;  ///< By file name, of either format.
  std::set<std::string> removed_;
  std::set<std::string> revoked_;
};

/// File names to package names.
using RemovedPackages = std::map<std::string, std::string>;

/// Patches the rows of `records`, and takes the removed ones out. The rest of a record stays as the package
/// has it: run exports are never patched. `where`: the instructions, in messages. Errors: kInvalidInput for a
/// patched row that CheckIndexSchema refuses.
Result<RemovedPackages> PatchRecords(const PatchInstructions& patch, std::string_view where,
                                     CondaRecords& records);

/// The instructions that the channel directory `folder` has; without a file, ones that change nothing.
/// Errors: any from Parse, kIo.
Result<PatchInstructions> ReadPatchOf(Env& env, const AbsPath& folder);

/// A package that a channel is about to get.
struct NewPackage {
  AbsPath file;  ///< Its present place. Its name is the one in the channel.
  std::string subdir;
  Digests digests;
};

/// Refuses what would end IndexConda once `packages` are in the channel `root`: reads the instructions of
/// each subdir, and applies them to its rows. A channel that does not exist has none. Writes nothing. Cost:
/// as IndexConda for the subdirs with instructions. Errors: kInvalidInput; any from ReadPatchOf and
/// ReadCondaRecord.
Result<void> CheckPatches(Env& env, const AbsPath& root, const std::vector<NewPackage>& packages);

/// `hidden`: IndexSummary::hidden. `packages`: those just published, as "linux-64/toy-1.0-0.conda".
void WarnOfHidden(Env& env, const std::set<std::string>& hidden, const std::vector<std::string>& packages);

struct PatchText {
  std::string text = {};
  std::string where = {};  ///< Its place, quoted, for messages.
};
/// By subdir.
using PatchTexts = std::map<std::string, PatchText>;

/// Instructions by subdir, from one of:
/// - a directory with `<subdir>/patch_instructions.json`
/// - a conda package with such files, which is unpacked in `scratch`
/// - a file `<subdir>/patch_instructions.json`
///
/// Errors: kInvalidInput if there are none, any from UnpackPackage, kIo.
Result<PatchTexts> ReadPatchSource(Env& env, const AbsPath& source, const AbsPath& scratch);

}  // namespace ptpkg::index
