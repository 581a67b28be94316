#pragma once
// A wheel under other tags, another build number, local version or requirements. Layer: wheel.
// Source: `wheel tags` (pypa/wheel) for tags and build; PyPA version specifiers for local versions.

#include <optional>
#include <string>
#include <vector>

#include "archive/zip_edit.h"
#include "wheel/wheel.h"

namespace ptpkg::wheel {

/// What is to change; nullopt and empty: nothing.
struct RetagRequest {
  std::optional<std::string> python = {};    ///< A dot-joined set: "py3", "cp311.cp312".
  std::optional<std::string> abi = {};       ///< The same.
  std::optional<std::string> platform = {};  ///< The same.
  std::optional<std::string> build = {};     ///< "" takes it away.
  std::optional<std::string> local = {};     ///< Behind the '+' of the version; "" takes it away.
  /// Requirements (PEP 508). Those that the wheel has on the same project are replaced, but for those of an
  /// extra.
  std::vector<std::string> requirements = {};

  [[nodiscard]] bool ChangesNothing() const {
    return !python && !abi && !platform && !build && !local && requirements.empty();
  }
  /// Whether it says that the files run somewhere else than before.
  [[nodiscard]] bool ChangesTags() const { return python || abi || platform; }
};

/// What the request makes of one wheel.
struct Retagging {
  FileName name;  ///< Of the new wheel.
  archive::ZipEdits edits;
};

/// Reads the .dist-info of `wheel`, and holds the names and sizes of its members against RECORD; what RECORD
/// says of their content is taken over. METADATA and WHEEL keep every field that the request does not name,
/// in its place. With the version the names of the .dist-info and .data folders change. Signatures of RECORD
/// are left out. Errors: kInvalidInput (a tag, build, local version or requirement that is none); kCorrupt
/// for a member that RECORD lacks, or has with another size, and for a row without a member; those of
/// ReadWheelInfo.
Result<Retagging> PlanRetag(Env& env, const AbsPath& wheel, const RetagRequest& request);

}  // namespace ptpkg::wheel
