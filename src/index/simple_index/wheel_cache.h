#pragma once
// Caches wheel digests between runs. Layer: index, internal to it. The cache is separate from the pages,
// which depend only on the wheels, not on their times.

#include <map>
#include <string>
#include <string_view>

#include "support/digest/hash.h"
#include "support/env.h"

namespace ptpkg::index {

/// A wheel that was read and hashed. A later file counts as the same if all fields except `sha256` are equal.
struct HashedWheel {
  std::uint64_t size_bytes = 0;
  std::int64_t mtime_ns = 0;
  Sha256 directory = {};  ///< wheel::WheelInfo::directory_digest.
  Sha256 sha256 = {};
};

/// Wheels by path below the indexed directory: "a-1-py3-none-any.whl", "cu130/a-1-py3-none-any.whl".
using HashedWheels = std::map<std::string, HashedWheel>;

/// The cache of the index of `root`. A missing or foreign one gives no wheels, because it can be deleted or
/// damaged at any time. Errors: kIo.
Result<HashedWheels> ReadWheelCache(Env& env, const AbsPath& root);
/// Replaces the cache atomically. Does not rewrite the same content, or create a cache without wheels.
/// Errors: kIo.
Result<void> WriteWheelCache(Env& env, const AbsPath& root, const HashedWheels& wheels);

}  // namespace ptpkg::index
