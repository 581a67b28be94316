#pragma once
// Prepares the work directory of an interrupted build for resuming. Layer: builder.

#include <map>
#include <optional>
#include <string>

#include "builder/resume/source_record.h"
#include "builder/resume/work_layout.h"
#include "builder/resume/work_state.h"

namespace ptpkg::builder {

/// Sources as an earlier run prepared them, and what its script has changed of them. A script that runs
/// again must bring them to the same state again: SameChanges.
struct RecoveredSources {
  SourceRecord record;
  std::map<RelPath, std::string> changes = {};  ///< SourceRecord::Changes.
  std::size_t removed_outputs = 0;              ///< Number of files removed by FindPartialOutputs.
  bool script_ran = false;
};

struct ResumableWorkDir {
  std::optional<RecoveredSources> sources;  ///< nullopt: the build starts anew.
  std::string why_not = {};                 ///< For people, if so.
};

/// File with the record of the sources and outputs, as they were when a person entered the directory
/// `work` with `ptpkg shell`. Gone when nothing was changed there; else whoever goes on in the directory
/// compares.
AbsPath ShellRecordFile(const AbsPath& work);

/// Looks at `layout.source` and at the record in the file `record`, in the phase that `state` says, and
/// removes the outputs that were in flight when the earlier run ended. Errors: kIo, kCancelled.
Result<ResumableWorkDir> RecoverSources(Env& env, const WorkLayout& layout, const AbsPath& record,
                                        const WorkState& state);

/// The first file of `left` that is now in another state than then: a script that appends to a file of the
/// sources has done so twice. nullopt: none.
Result<std::optional<RelPath>> FirstConflictingChange(Env& env, const AbsPath& source,
                                                      const RecoveredSources& left);

/// Waits, with a note that names them, until no process has `layout.source` for its SRC_DIR: if the
/// supervisor of an earlier run was killed together with ptpkg, what that run's script had started works on.
/// Nothing is known of processes of other PID namespaces, users and hosts. Errors: kCancelled.
Result<void> WaitForEarlierScript(Env& env, const WorkLayout& layout);

/// Empties all directories of `layout` but `source`; RECIPE_DIR and the directory of the script go.
Result<void> EmptyAllExceptSource(Env& env, const WorkLayout& layout);

}  // namespace ptpkg::builder
