#pragma once
// Build results in a bucket that machines share: docs/remote-cache.md. Layer: pipeline.

#include <memory>
#include <string>

#include "graph/remote_store.h"
#include "support/env.h"

namespace ptpkg::pipeline {

struct RemoteCacheOptions {
  std::string url = {};    ///< "s3://BUCKET[/PREFIX]"; "" = none.
  bool read_only = false;  ///< Fetches results, uploads none.
};

/// Sends no requests. Errors: kUsage naming the option for a URL that is not a bucket's, and for read_only
/// without a URL; any from ReadAwsSettings.
Result<void> CheckRemoteCache(Env& env, const RemoteCacheOptions& options);

/// null without a URL, with --offline, and, with a warning, without keys. `env` must outlive the store. Keys
/// and endpoint come from where `ptpkg publish --to s3://` takes them.
///
/// A server that fails, refuses or hangs gets one warning, and the run goes on without it. So does a refused
/// upload, after which the run only fetches. A damaged object is named in a warning, built again and
/// replaced. Errors: as CheckRemoteCache.
Result<std::unique_ptr<graph::RemoteStore>> OpenRemoteCache(Env& env, const RemoteCacheOptions& options);

}  // namespace ptpkg::pipeline
