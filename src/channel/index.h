#pragma once
// Indexes over a folder of artifacts. Layer: channel. Every file is replaced atomically, and one process at a
// time writes the index of a folder: it holds `<root>/.ptpkg-lock`, and others wait.

#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/artifact.h"
#include "support/env.h"

namespace ptpkg::channel {

/// A package that is not in the index, and why.
struct LeftOut {
  AbsPath package;
  Error reason;
};

struct IndexSummary {
  std::uint64_t packages = 0;          ///< In the index.
  std::vector<AbsPath> written = {};   ///< Index files whose content changed.
  std::vector<LeftOut> left_out = {};  ///< Damaged, hostile, or named otherwise than they say; by path.
};

/// Conda channel: `<root>/<subdir>/repodata.json` (+ .zst, run_exports.json) for every subdir found, and
/// noarch always; `<root>/channeldata.json`. The records are those of conda-index; a file whose content is
/// the same is not touched. `root` exists. What was read of a package is kept in
/// `<subdir>/.cache/ptpkg-index.json` and used again while size and mtime are unchanged; digests of `known`
/// artifacts (just written, by path) are taken over without hashing. Sources: CEP 36 (repodata), CEP 12
/// (run_exports), CEP 38 (channeldata). A package that
/// is damaged, or whose index.json disagrees with its file name or folder, is left out, with a warning; one
/// that vanishes meanwhile is none. Those of `without` ("linux-64/toy-1.0-0.conda") are about to go, and are
/// not listed. Errors: kIo.
Result<IndexSummary> IndexConda(Env& env, const AbsPath& root, std::span<const Artifact> known = {},
                                const std::set<std::string>& without = {});

/// Simple index (PEP 503 HTML, PEP 691 JSON, PEP 658 .metadata) at `<root>/simple/`, over the wheels
/// directly in `root`. Damaged wheels, and those whose name is none, are left out as above; `without`: file
/// names. A wheel that the pages before said to be yanked (PEP 592) stays so, while its digest is the same.
Result<IndexSummary> IndexWheels(Env& env, const AbsPath& root, const std::set<std::string>& without = {});

/// Chooses by content of `root`: wheels, or conda subdirs. Errors: kInvalidInput if neither.
Result<IndexSummary> IndexFolder(Env& env, const AbsPath& root);

}  // namespace ptpkg::channel
