#pragma once
// What lies beside an artifact and is about it: signed statements, signatures, attestations. Layer: publish.
//
//   NAME.intoto.jsonl     signed statement           provenance/envelope.h
//   NAME.sig              signature of the artifact
//   NAME.*.attestation    PEP 740, of a wheel        as twine, uv and pypi-attestations call them
//   NAME.sigstore.json    CEP 27, of a conda package as conda-sigstore calls it
//   NAME.v0.sigs          the same, several          as prefix.dev serves them

#include <vector>

#include "publish/upload.h"

namespace ptpkg::publish {

/// The files beside `artifact`, each as an upload to the same folder; attestations that a server takes with
/// the artifact are added to `artifact.attestations`. Read without a key and without a network: that each is
/// well-formed, and about exactly this file. Errors: kRefused with a hint, naming the file; kIo.
Result<std::vector<Upload>> FindBeside(Env& env, Upload& artifact);

}  // namespace ptpkg::publish
