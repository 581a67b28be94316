#pragma once
// Indexes a directory of artifacts. Layer: index. Replaces every file atomically. One process at a time
// writes the index of a directory: it holds `<root>/.ptpkg-lock`, and others wait.

#include <optional>
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
      {};  ///< Damaged, hostile, not a file, or with another name; by path.
  /// In the channel, but removed or revoked by its patch instructions: "linux-64/toy-1.0-0.conda".
  std::set<std::string> hidden = {};
  std::vector<std::string> roots = {};  ///< Backends that have a separate simple index.
  std::vector<AbsPath> rootless = {};   ///< Wheels in no backend's index, if such indexes exist.
};

/// Optional parts of a channel's index. Once made, later runs update them without being asked.
struct ChannelParts {
  bool shards = false;            ///< Sharded repodata (CEP 16).
  bool current_repodata = false;  ///< current_repodata.json: the newest packages.
  /// Patch instructions to take over: conda_channel/patch_instructions.h, ReadPatchSource.
  std::optional<AbsPath> patch = {};
};

struct FolderIndexOptions {
  bool roots = false;         ///< Wheels: the indexes of the backends. Later runs update them too.
  ChannelParts channel = {};  ///< Conda channel.
};

struct CondaIndexOptions {
  /// Just written artifacts. Takes their digests without hashing, by path.
  std::span<const Artifact> known = {};
  /// Packages that will be removed, and are not listed: "linux-64/toy-1.0-0.conda".
  std::set<std::string> without = {};
  ChannelParts parts = {};
};

struct WheelIndexOptions {
  /// Wheels that will be removed, and are not listed: "a-1-py3-none-any.whl", or, in the directory of a
  /// backend, "cu130/a-1-py3-none-any.whl". Removes their metadata.
  std::set<std::string> without = {};
  bool roots = false;  ///< Makes the indexes of the backends if there are none yet.
  /// Just written artifacts. Takes their digests without hashing, by path and size.
  std::span<const Artifact> known = {};
};

/// Conda channel: `<root>/<subdir>/repodata.json` (+ .zst, run_exports.json) for every subdir found, and
/// always for noarch; `<root>/channeldata.json`. With `options.parts`, or if an earlier run made them, also
/// sharded repodata (conda_channel/shards.h), whose shards `written` does not list, and current_repodata.json
/// (+ .zst). The records match conda-index. `root` exists. A file with unchanged content is not touched.
/// Caches package data in `<subdir>/.cache/ptpkg-index.json` and reuses it while size and mtime are
/// unchanged. Leaves out, with a warning, a damaged package, or one whose index.json disagrees with its file
/// name or directory. A package that vanishes meanwhile counts as absent.
///
/// `<subdir>/patch_instructions.json` corrects the rows of all these files but run_exports.json;
/// repodata_from_packages.json (+ .zst) then has the rows before. Instructions of
/// `options.parts.patch` replace the subdir's own. A warning names packages and subdirs in them that the
/// channel does not have.
///
/// Sources: CEP 36 (repodata), CEP 12 (run_exports), CEP 38 (channeldata), CEP 16 (shards). Errors: kIo.
/// Before any write: kInvalidInput and others for patch instructions.
Result<IndexSummary> IndexConda(Env& env, const AbsPath& root, const CondaIndexOptions& options = {});

/// Simple index (PEP 503 HTML, PEP 691 JSON, PEP 658 .metadata) at `<root>/simple/`, over the wheels directly
/// in `root`. Leaves out, as above, damaged wheels, wheels with an invalid name, and wheels whose zip shows
/// readers different files. A wheel that was yanked in the earlier pages (PEP 592) stays so while its digest
/// is the same. Caches digests in `<root>/.cache/ptpkg-wheels.json` and reuses them while size, mtime and zip
/// directory are unchanged.
///
/// With `options.roots`, or if an earlier run made them, makes another index for each backend, at
/// `<root>/<backend>/`. It covers the backend's wheels in `root` and the wheels directly in that directory
/// (see backend_directories.h). Leaves out a wheel in such a directory that belongs to another backend, or
/// has the name of one in `root`. A directory whose last wheel is gone loses its pages, its root page first.
/// Does not touch files that are not our pages (generated_pages.h), whatever their names. Errors: kIo.
/// kInvalidInput before any write: a link or a file has the name of such a directory, or a foreign page is in
/// the place of a root page.
Result<IndexSummary> IndexWheels(Env& env, const AbsPath& root, const WheelIndexOptions& options = {});

/// True if an earlier run made a backend's index below `root` (its pages show it). With `asked`, also true if
/// a directory with a backend's name holds wheels, so that its index is to be made. `names`: the entries of
/// `root`. Errors: kIo.
Result<bool> HasBackendDirectories(Env& env, const AbsPath& root, const std::vector<std::string>& names,
                                   bool asked);

/// Chooses by content of `root`: wheels (or the simple index that an earlier run made from some), or conda
/// subdirs. Leaves out, with a warning, packages that lie where neither looks (misplaced_files.h). Errors:
/// kInvalidInput if neither, if both, or for an option of the other kind; kIo.
Result<IndexSummary> IndexFolder(Env& env, const AbsPath& root, const FolderIndexOptions& options = {});

}  // namespace ptpkg::index
