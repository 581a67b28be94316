#pragma once
// Packs a node's result as one object of the remote cache: docs/formats/remote-cache.md. Layer: pipeline.

#include "graph/stage.h"
#include "support/digest/hash.h"

namespace ptpkg::pipeline {

/// Writes the new file `object`, a tar compressed with zstd. The same result gives the same bytes. Memory
/// does not grow with the result. Returns the digests of the object, with MD5. Errors: kIo, kCancelled,
/// kInvalidInput for a name that no archive takes.
Result<Digests> PackObject(Env& env, const graph::Node& node, const graph::NodeResult& result,
                           const AbsPath& object);

/// Unpacks `object` below the existing directory `scratch`, compares each file with the record of all files,
/// and moves the files into the empty directory `folder`. Errors: kCorrupt for anything that PackObject did
/// not write for this node, kIo, kCancelled.
Result<graph::NodeResult> UnpackObject(Env& env, const graph::Node& node, const std::string& key,
                                       const AbsPath& object, const AbsPath& folder);

}  // namespace ptpkg::pipeline
