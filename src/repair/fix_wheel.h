#pragma once
// Plans mechanical fixes of a wheel. Layer: repair.

#include "archive/zip/zip_edit.h"
#include "support/env.h"
#include "support/files/scratch.h"
#include "wheel/file_name.h"

namespace ptpkg::repair {

struct WheelFix {
  wheel::FileName name;  ///< In normal form.
  archive::ZipEdits edits;
  TempDir content;  ///< Holds what `edits` adds; needed until they are carried out.

  /// False if nothing needs a fix, except perhaps the form of the name.
  [[nodiscard]] bool ChangesAnything() const { return !edits.added.empty() || !edits.spliced.empty(); }
};

/// Plans these fixes:
///
/// - Search paths: absolute, relative, empty, repeated and dead entries, stubs and pads are removed
///   (SearchPaths::NewPathFor). No library is copied.
/// - WHEEL: its tags and build become those in the file name, by which installers choose.
/// - RECORD: matches the wheel's content again.
/// - Directories: .dist-info and .data get names that match the normal form of the file name.
///
/// Unpacks everything below env.cache_dir. Errors: kInvalidInput and kCorrupt for a wheel whose name,
/// METADATA, WHEEL or zip cannot be read, or with a damaged ELF file. Also kUnsupported for a wheel that
/// needs a fix and has a link, kIo, kCancelled.
Result<WheelFix> PlanFix(Env& env, const AbsPath& wheel);

}  // namespace ptpkg::repair
