#pragma once
// Interface to node results that other machines have stored. Layer: graph.

#include <optional>
#include <string>

#include "graph/stage.h"

namespace ptpkg::graph {

/// Counters of a node's result.
inline constexpr const char* kRemoteHits = "remote_cache_hits";
inline constexpr const char* kRemoteMisses = "remote_cache_misses";
inline constexpr const char* kRemoteUploads = "remote_cache_uploads";

/// Results of stages with Keep::kStore. Calls may come from several threads. No trouble with the store fails
/// a node: the store warns, and the node runs.
class RemoteStore {
 public:
  virtual ~RemoteStore() = default;
  /// True if the node's results go through the store: they cost more to make than to transfer. The other
  /// calls are for such nodes.
  [[nodiscard]] virtual bool Shares(const Node& node) const = 0;
  /// True if there is a result. Reads nothing of it.
  virtual bool Holds(const Node& node, const std::string& key) = 0;
  /// Puts the result's files into the existing, empty directory `folder`, each compared with its digest.
  /// nullopt: there is none that can be had. Errors: kCancelled.
  virtual Result<std::optional<NodeResult>> Fetch(const Node& node, const std::string& key,
                                                  const AbsPath& folder) = 0;
  /// True: the store has the result from this call. `replace`: also if it has another one.
  virtual bool Upload(const Node& node, const NodeResult& result, bool replace) = 0;
};

}  // namespace ptpkg::graph
