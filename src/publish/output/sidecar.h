#pragma once
// Sidecar files: signatures, attestations, provenance. Layer: publish.
//
//   NAME.intoto.jsonl     signed statement           provenance/envelope.h
//   NAME.sig              signature of the artifact
//   NAME.asc              the same, as gpg writes it: goes with the artifact, is not published
//   NAME.*.attestation    PEP 740, of a wheel        as twine, uv and pypi-attestations call them
//   NAME.sigstore.json    CEP 27, of a conda package as conda-sigstore calls it
//   NAME.v0.sigs          the same, several          as prefix.dev serves them

#include <string>
#include <vector>

#include "publish/artifact_id.h"
#include "publish/upload.h"

namespace ptpkg::publish {

/// The files beside `artifact`, each as an upload to the same directory; attestations that a server takes
/// with the artifact are added to `artifact.attestations`. Read without a key and without a network: that
/// each is well-formed, and about exactly this file, but for a signature (.sig): it says nothing without the
/// key; and that there is one PEP 740 attestation of a type. Errors: kRefused with a hint, naming the file;
/// kIo.
Result<std::vector<Upload>> FindSidecars(Env& env, Upload& artifact);

/// The sidecars of `artifact` among `names`, in one directory with it: they are removed with it.
/// Each has the place of the artifact, and its own file name.
std::vector<ArtifactId> SidecarIds(const ArtifactId& artifact, const std::vector<std::string>& names);
/// The usual names where the directory is not listed, as ptpkg and common signers choose them, there or
/// not.
std::vector<ArtifactId> UsualSidecarIds(const ArtifactId& artifact);

}  // namespace ptpkg::publish
