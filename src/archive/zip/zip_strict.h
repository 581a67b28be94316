#pragma once
// Checks a zip like the strictest wheel consumers. Layer: archive. Never writes.

#include <string>
#include <vector>

#include "model/consumers.h"
#include "support/files/fs.h"

namespace ptpkg::archive {

/// An objection of a strict reader.
struct ZipProblem {
  std::string text;  ///< One sentence.
  /// True if readers see different members or contents, or some to none. Not so, for example, for a
  /// comment, which only upload checks refuse.
  bool splits_readers = false;
  /// Who refuses a wheel for it. Of what splits readers: all, for at least one of them unpacks what others do
  /// not see, whether it complains or not.
  Consumers refused_by = kAllConsumers;

  bool operator==(const ZipProblem&) const = default;
};

/// Problems for which PyPI's upload check or uv would refuse the zip `file`, in the order of the file;
/// empty = nothing. The walk reads every record from offset 0 to the end, without help of the central
/// directory but for the length of what a data descriptor follows, then compares the two. Content is not
/// read: CRCs are compared, not computed. At most 100 problems are listed, and behind these the first of each
/// further kind: who refuses it, whether readers part.
/// Errors: only when the file cannot be read.
/// Sources: pypi/warehouse warehouse/utils/zipfiles.py; astral-sh/rs-async-zip, extra_field.rs; what uv, pip
/// and installer do with the archives of tests/peers/wheel/wheel_cases.py. docs/formats/zip.md has the table.
Result<std::vector<ZipProblem>> StrictZipProblems(File& file);

}  // namespace ptpkg::archive
