#pragma once
// Sidecar files: signatures, attestations, provenance. Layer: publish.
//
// - NAME.intoto.jsonl: signed statement (provenance/envelope.h)
// - NAME.sig: signature of the artifact
// - NAME.asc: gpg's signature of the artifact; removed with it, but not published
// - NAME.*.attestation: PEP 740, for a wheel, named as in twine, uv and pypi-attestations
// - NAME.sigstore.json: CEP 27, for a conda package, named as in conda-sigstore
// - NAME.v0.sigs: several of these, as prefix.dev serves them

#include <string>
#include <vector>

#include "publish/artifact_id.h"
#include "publish/upload.h"

namespace ptpkg::publish {

/// The sidecar files of `artifact`, each as an upload to the same directory. Attestations that a server takes
/// with the artifact are added to `artifact.attestations`. Checks, without a key or network access, that each
/// is well-formed and about exactly this file, and that a type has only one PEP 740 attestation. A signature
/// (.sig) is not checked, because that needs the key. Errors: kRefused with a hint, naming the file, and kIo.
Result<std::vector<Upload>> FindSidecars(Env& env, Upload& artifact);

/// The sidecars of `artifact` among `names` in its directory: they are removed with it. Each has the
/// directory of the artifact, and its own file name.
std::vector<ArtifactId> SidecarIds(const ArtifactId& artifact, const std::vector<std::string>& names);
/// The usual names from ptpkg and common signers, for a directory that is not listed, whether the files exist
/// or not.
std::vector<ArtifactId> UsualSidecarIds(const ArtifactId& artifact);

}  // namespace ptpkg::publish
