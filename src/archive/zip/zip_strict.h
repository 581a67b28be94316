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
  /// True if readers see different members or contents, or some see none. False, for example, for a comment,
  /// which only upload checks refuse.
  bool splits_readers = false;
  /// Consumers that refuse a wheel for it. All of them if readers disagree: at least one unpacks members that
  /// others do not see, whether it complains or not.
  Consumers refused_by = kAllConsumers;
  /// Bit 3 of a header: readers that stream take the length from behind the content, whatever the header
  /// says.
  bool has_descriptor = false;

  bool operator==(const ZipProblem&) const = default;
};

/// Problems for which PyPI's upload check or uv would refuse the zip `file`, in the order of the file; empty
/// = none. The walk reads every record from offset 0 to the end, and compares them with the central directory
/// afterwards. It uses the central directory only for the length of content that a data descriptor follows.
/// Content is not read: CRCs are compared, not computed. Lists at most 100 problems, and after these the
/// first of each further kind. The kind is the consumers that refuse it, and whether readers disagree.
/// Errors: only when the file cannot be read.
/// Sources: pypi/warehouse warehouse/utils/zipfiles.py and astral-sh/rs-async-zip, extra_field.rs. For the
/// behaviour of uv, pip and installer: the archives of tests/peers/wheel/wheel_cases.py. docs/formats/zip.md
/// has the table.
Result<std::vector<ZipProblem>> StrictZipProblems(File& file);

}  // namespace ptpkg::archive
