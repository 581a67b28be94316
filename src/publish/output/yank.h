#pragma once
// Yank changes of a simple index. Layer: publish.

#include "index/simple_index/simple_index_pages.h"
#include "publish/artifact_store.h"

namespace ptpkg::publish {

/// REQUIRES: kYank or kUnyank.
inline index::Yank YankOf(const Change& change) {
  return {.file_name = change.artifact.file_name,
          .folder = change.artifact.backend,
          .project = change.artifact.package,
          .reason = change.action == Action::kYank ? std::optional(change.reason) : std::nullopt};
}

/// For a place that has a channel of conda and a simple index: what neither can. `title`: of the place.
/// REQUIRES: kYank, kUnyank or kRemove.
Result<void> CheckIndexChange(const Change& change, const std::string& title);

}  // namespace ptpkg::publish
