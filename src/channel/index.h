#pragma once
// Indexes over a folder of artifacts. Layer: channel. Every file is replaced atomically.

#include <span>
#include <string>
#include <vector>

#include "model/artifact.h"
#include "support/env.h"

namespace ptpkg::channel {

struct IndexSummary {
  std::uint64_t packages = 0;
  std::vector<AbsPath> written;  ///< Index files whose content changed.
};

/// Conda channel: `<root>/<subdir>/repodata.json` (+ .zst, run_exports.json) for every subdir found, and
/// noarch always; `<root>/channeldata.json`. The records are those of conda-index; a file whose content is
/// the same is not touched. `root` exists. What was read of a package is kept in
/// `<subdir>/.cache/ptpkg-index.json` and used again while size and mtime are unchanged; digests of `known`
/// artifacts (just written, by path) are taken over without hashing. Sources: CEP 36 (repodata), CEP 12
/// (run_exports), CEP 38 (channeldata). Errors: kInvalidInput (a package whose index.json disagrees with its
/// file name or folder), kCorrupt, kIo.
Result<IndexSummary> IndexConda(Env& env, const AbsPath& root, std::span<const Artifact> known = {});

/// Simple index (PEP 503 HTML, PEP 691 JSON, PEP 658 .metadata) at `<root>/simple/`, over the wheels
/// directly in `root`.
Result<IndexSummary> IndexWheels(Env& env, const AbsPath& root);

/// Chooses by content of `root`: wheels, or conda subdirs. Errors: kInvalidInput if neither.
Result<IndexSummary> IndexFolder(Env& env, const AbsPath& root);

}  // namespace ptpkg::channel
