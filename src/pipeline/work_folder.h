#pragma once
// Scratch folders of the pipeline, below the cache. Layer: pipeline.

#include "support/atomic_file.h"
#include "support/env.h"

namespace ptpkg::pipeline {

/// A new folder `<cache>/work/tree-<pid>-<n>`, removed with its content when it goes out of scope. What
/// killed runs left there is removed first.
Result<TempDir> MakeWorkFolder(Env& env);

}  // namespace ptpkg::pipeline
