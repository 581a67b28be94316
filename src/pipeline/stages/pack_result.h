#pragma once
// Result format of packing stages. Layer: pipeline.

#include <vector>

#include "graph/stage.h"
#include "model/artifact.h"
#include "model/artifact_record.h"

namespace ptpkg::pipeline {

struct Packed {
  std::vector<ArtifactRecord> artifacts = {};
  /// Texts that no file of the artifacts may hold. Only repacking fills it; for a build, the staged tree has
  /// these texts.
  std::vector<std::string> forbidden = {};
  std::vector<std::string> unknown_requirements = {};
};

/// The node's result for artifacts that lie flat in its directory. Their records' places are by format and
/// `subdir`.
Result<graph::NodeResult> PackedResult(const graph::NodeRun& run, const std::vector<Artifact>& artifacts,
                                       const std::string& subdir, const Packed& rest);

/// The node's result for files beside artifacts, which lie flat in its directory as `records` name them.
Result<graph::NodeResult> SidecarResult(const graph::NodeRun& run,
                                        const std::vector<ArtifactRecord>& records);

/// Errors: kInvalidInput (a result of another kind).
Result<Packed> ReadPacked(const graph::NodeResult& result);

/// The first of its artifacts. Errors: kInvalidInput when there is none: the plan names the result of a node
/// that packs nothing.
Result<ArtifactRecord> FirstArtifact(const Packed& packed, const graph::NodeRun& run);

/// Path of the file of `record`: in the node's own directory, or published below the output directory.
AbsPath FileOf(const graph::NodeResult& result, const ArtifactRecord& record);

/// Directory of artifacts that await publication in `output`, and findings of their checks (graph::Store). In
/// the cache: a refused file must not lie in the output directory, where a script may take it for a result.
AbsPath PendingRoot(const Env& env, const AbsPath& output);

/// The output directory that the node works for; nullopt for one that knows none.
std::optional<AbsPath> OutputOf(const graph::Node& node);

/// A result made of records in the output directory: their files lie at their places.
graph::NodeResult PublishedResult(const AbsPath& output, const std::vector<ArtifactRecord>& records);

/// Maximum number of artifacts of a node that packs: its input "count", or one for each of its "formats",
/// or one.
std::size_t ArtifactCount(const graph::Node& node);

/// For Stage::find: the artifacts of this key in the output directory of place "output", when they are as
/// many as `count`.
Result<std::optional<graph::NodeResult>> FindPacked(Env& env, const graph::Node& node, const std::string& key,
                                                    std::size_t count);

/// The same for all that a node packs: ArtifactCount.
Result<std::optional<graph::NodeResult>> FindArtifacts(Env& env, const graph::Node& node,
                                                       const std::string& key);

}  // namespace ptpkg::pipeline
