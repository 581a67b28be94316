#pragma once
// Cleans the directory of `ptpkg dev` after an interrupted script or an edit by hand. Layer: pipeline.

#include <string>
#include <utility>

#include "builder/resume/source_record.h"
#include "builder/resume/source_sync.h"
#include "builder/resume/work_layout.h"
#include "pipeline/develop/dev_folder.h"

namespace ptpkg::pipeline {

/// Puts a record of the directory into `into`. Returns the reason why no run can resume with it, or "".
/// Errors: kIo.
template <class T>
Result<std::string> TakeRecord(Result<T> read, T& into) {
  if (!read && read.error().code() == ErrorCode::kIo) return std::move(read).error();
  if (!read) return read.error().message();
  into = *std::move(read);
  return std::string();
}

/// Files of a directory in which no script runs.
struct DevFiles {
  DevFolder& folder;  ///< REQUIRES: `folder.left()`.
  const builder::WorkLayout& layout;
  const builder::SourceRecord& fixed;  ///< Files of sources that are not synchronised.
  bool inherits;                       ///< The recipe inherits a staging output.
};

struct DevRestoration {
  std::string obstacle = {};        ///< Why no run can resume in the directory; "": one can.
  bool needs_whole_script = false;  ///< Files are gone that only the whole script makes.
};

/// Undoes changes by other hands, a script that was cut off or a power cut: removes files that were being
/// written, and distrusts of `record` the sources that have to be copied again. Warns of edits by hand.
/// Errors: kIo, kCancelled.
Result<DevRestoration> RestoreDevFiles(Env& env, const DevFiles& dev, builder::SyncRecord& record);

}  // namespace ptpkg::pipeline
