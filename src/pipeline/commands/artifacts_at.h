#pragma once
// Resolves paths of a command line to artifacts. Layer: pipeline.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/artifact.h"
#include "support/env.h"

namespace ptpkg::pipeline {

/// For whom they are.
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

/// Files as they are named; of an output directory what its manifest lists, as far as the taker takes that
/// kind: other files are reported. A file whose size and time are not those in the manifest is read, and must
/// have the digest in the manifest. Errors: kNotFound (a file, a manifest, nothing at all), kHashMismatch (a
/// file is not what the manifest lists), kCorrupt, kIo.
Result<std::vector<NamedArtifact>> ResolveArtifacts(Env& env, const std::vector<AbsPath>& paths,
                                                    const ArtifactFilter& taker);

}  // namespace ptpkg::pipeline
