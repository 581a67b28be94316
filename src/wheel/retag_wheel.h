#pragma once
// Plans a wheel's new tags, version or requirements. Layer: wheel. Source: `wheel tags` (pypa/wheel) for tags
// and build; PyPA version specifiers for local versions.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "archive/extract.h"
#include "archive/zip/zip_edit.h"
#include "wheel/wheel.h"

namespace ptpkg::wheel {

/// Requested changes; nullopt and empty: none.
struct RetagRequest {
  std::optional<std::string> python = {};    ///< A dot-joined set, in any case: "py3", "cp311.cp312".
  std::optional<std::string> abi = {};       ///< A dot-joined set, in any case: "cp311".
  std::optional<std::string> platform = {};  ///< A dot-joined set, in any case.
  std::optional<std::string> build = {};     ///< "" takes it away.
  std::optional<bool> root_is_purelib = {};  ///< Root-Is-Purelib of WHEEL.
  std::optional<std::string> local = {};     ///< Behind the '+' of the version; "" takes it away.
  std::optional<std::string> variant = {};   ///< Label of a variant wheel; "" takes it away.
  /// Requirements (PEP 508). Each replaces the wheel's requirements on the same project with the same
  /// condition: without an extra, or with the same extras. A new extra is added to Provides-Extra.
  std::vector<std::string> requirements = {};

  [[nodiscard]] bool ChangesNothing() const {
    return !python && !abi && !platform && !build && !local && !variant && !root_is_purelib &&
           requirements.empty();
  }
  /// True if the request changes on which systems the files run.
  [[nodiscard]] bool ChangesTags() const { return python || abi || platform; }
};

/// A file of a wheel with new content, or a new file.
struct NewFile {
  RelPath path;  ///< In the wheel, outside of .dist-info.
  AbsPath file;  ///< Its content.
  std::uint32_t mode = 0644;
  Sha256 sha256;
  std::uint64_t size_bytes = 0;
  /// Its difference from the member of this name, which is then edited instead of recompressed. nullopt:
  /// the member is new, or a different file.
  std::optional<archive::ContentEdits> splice = {};
  std::vector<archive::SharedRange> shared = {};  ///< archive::Entry::shared
};

/// Content of a wheel beyond the changes of a RetagRequest.
struct NewContent {
  std::vector<NewFile> files = {};
  /// New documents, by name below .dist-info ("sboms/x.cdx.json"); one that is there is replaced.
  std::map<std::string, std::string> documents = {};
  /// Rows for the members, without RECORD itself: used instead of the rows in RECORD, which may be wrong
  /// then.
  std::optional<std::vector<RecordRow>> rows = {};
};

/// Result of the request for one wheel.
struct Retagging {
  FileName name;  ///< Name of the new wheel.
  archive::ZipEdits edits;
};

/// New names of the .dist-info and .data directories for a wheel whose new name is `name`, by the old ones,
/// where they differ. `info`: of `zip`.
std::map<std::string, std::string> RenamedFolders(const archive::ZipReader& zip, const WheelInfo& info,
                                                  const FileName& name);

/// Plans new content for the .dist-info of `wheel`. The names and sizes of its members are compared with
/// RECORD, whose digests are copied. METADATA and WHEEL keep every field that the request does not name, in
/// its place. If WHEEL has Tag lines that cannot be read, the tags in the file name replace them. The
/// .dist-info and .data directories get names that match the new file name in normal form, because installers
/// derive them from it. Signatures of RECORD are left out. New files get rows in RECORD, and with new files
/// .dist-info comes last.
///
/// Errors: any from ReadWheelInfo, and these:
///
/// - kInvalidInput: an invalid tag, build, local version, requirement or extra, or METADATA that must be
///   rewritten but differs from the file name in name or version
/// - kCorrupt: a member that RECORD lacks or lists with another size, or a row without a member
/// - kUnsupported: a link or device
Result<Retagging> PlanRetag(Env& env, const AbsPath& wheel, const RetagRequest& request,
                            const NewContent& content = {});

}  // namespace ptpkg::wheel
