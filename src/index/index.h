#pragma once
// Indexes a directory of artifacts. Layer: index. Every file is replaced atomically, and one process at a
// time writes the index of a directory: it holds `<root>/.ptpkg-lock`, and others wait.

#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/artifact.h"
#include "support/env.h"

namespace ptpkg::index {

/// A package that is not in the index, and why.
struct SkippedPackage {
  AbsPath package;
  Error reason;
};

struct IndexSummary {
  std::uint64_t packages = 0;         ///< In the index.
  std::vector<AbsPath> written = {};  ///< Index files whose content changed.
  std::vector<SkippedPackage> left_out =
      {};                               ///< Damaged, hostile, or named otherwise than they say; by path.
  std::vector<std::string> roots = {};  ///< Backends that have a simple index of their own.
  std::vector<AbsPath> rootless = {};   ///< Wheels that none of them lists, though there are such.
};

struct WheelIndexOptions {
  /// Wheels that are about to go, and are not listed: "a-1-py3-none-any.whl", or, in the directory of a
  /// backend, "cu130/a-1-py3-none-any.whl". Their metadata goes.
  std::set<std::string> without = {};
  bool roots = false;  ///< Makes the indexes of the backends where there is none yet.
  /// Just written; their digests are taken over without hashing, by path and size.
  std::span<const Artifact> known = {};
};

/// Conda channel: `<root>/<subdir>/repodata.json` (+ .zst, run_exports.json) for every subdir found, and
/// noarch always; `<root>/channeldata.json`. The records are those of conda-index; a file whose content is
/// the same is not touched. `root` exists. What was read of a package is kept in
/// `<subdir>/.cache/ptpkg-index.json` and used again while size and mtime are unchanged; digests of `known`
/// artifacts (just written, by path) are taken over without hashing. Sources: CEP 36 (repodata), CEP 12
/// (run_exports), CEP 38 (channeldata). A package that
/// is damaged, or whose index.json disagrees with its file name or directory, is left out, with a warning;
/// one that vanishes meanwhile is none. Those of `without` ("linux-64/toy-1.0-0.conda") are about to go, and
/// are not listed. Errors: kIo.
Result<IndexSummary> IndexConda(Env& env, const AbsPath& root, std::span<const Artifact> known = {},
                                const std::set<std::string>& without = {});

/// Simple index (PEP 503 HTML, PEP 691 JSON, PEP 658 .metadata) at `<root>/simple/`, over the wheels
/// directly in `root`. Damaged wheels, those whose name is none, and those whose zip shows readers different
/// files are left out as above. A wheel that the pages before said to be yanked (PEP 592) stays so, while its
/// digest is the same. Digests are kept in `<root>/.cache/ptpkg-wheels.json` and used again while size, mtime
/// and zip directory are unchanged.
/// With `options.roots`, or where an earlier run made them, another one for each backend, at
/// `<root>/<backend>/`: over its wheels in `root` and those that lie directly in that directory (see
/// backend_directories.h). A wheel in such a directory that says another backend, or has the name of one in
/// `root`, is left out. A directory whose last wheel went loses its pages, its root page first. What is not a
/// page of ours (generated_pages.h) is left alone, whatever its name. Errors: kIo, kInvalidInput (a link or a
/// file has the name of such a directory; a page of somebody else lies where a root page belongs; nothing is
/// written then).
Result<IndexSummary> IndexWheels(Env& env, const AbsPath& root, const WheelIndexOptions& options = {});

/// True if an earlier run made a backend's index below `root` (its pages show it), or, with `asked`, one is
/// to be made: a directory with a backend's name holds wheels. `names`: the entries of `root`. Errors: kIo.
Result<bool> HasBackendDirectories(Env& env, const AbsPath& root, const std::vector<std::string>& names,
                                   bool asked);

/// Chooses by content of `root`: wheels, or the simple index that an earlier run made of some, or conda
/// subdirs. `roots`: as in WheelIndexOptions. Errors: kInvalidInput if neither, if both, or if `roots` is
/// asked of a conda channel; kIo.
Result<IndexSummary> IndexFolder(Env& env, const AbsPath& root, bool roots = false);

}  // namespace ptpkg::index
