#pragma once
// Resolves paths of a command line to artifacts. Layer: pipeline.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/artifact.h"
#include "support/env.h"

namespace ptpkg::pipeline {

/// Selects the artifacts that a command accepts.
struct ArtifactFilter {
  std::string title;  ///< For messages.
  std::function<bool(ArtifactFormat)> takes;
};

/// A note that `names` are skipped because `title` does not accept them; nothing if there are none.
void NoteSkipped(Env& env, const std::vector<std::string>& names, const std::string& title);

struct NamedArtifact {
  AbsPath file;
  /// The sha256, md5 and size that the manifest of its output directory has; nullopt for a file that was
  /// named itself.
  std::optional<Digests> digests = {};
};

/// Files as given on the command line. For an output directory, the artifacts in its manifest that `taker`
/// accepts; the others are reported. A file whose size or time differs from the manifest is read, and its
/// digest must be the one in the manifest. Errors: kNotFound (a file, a manifest, nothing at all),
/// kHashMismatch (a file differs from the manifest), kCorrupt, kIo.
Result<std::vector<NamedArtifact>> ResolveArtifacts(Env& env, const std::vector<AbsPath>& paths,
                                                    const ArtifactFilter& taker);

}  // namespace ptpkg::pipeline
