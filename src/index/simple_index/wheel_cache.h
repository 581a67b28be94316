#pragma once
// Caches wheel digests between runs. Layer: index, internal to it. They lie beside the pages, not in them:
// pages depend on nothing but the wheels, not on their times.

#include <map>
#include <string>
#include <string_view>

#include "support/digest/hash.h"
#include "support/env.h"

namespace ptpkg::index {

/// A wheel that was read and hashed. A later file is taken for the same if all but `sha256` is the same.
struct HashedWheel {
  std::uint64_t size_bytes = 0;
  std::int64_t mtime_ns = 0;
  Sha256 directory = {};  ///< wheel::WheelInfo::directory_digest.
  Sha256 sha256 = {};
};

/// Wheels by path below the indexed directory: "a-1-py3-none-any.whl", "cu130/a-1-py3-none-any.whl".
using HashedWheels = std::map<std::string, HashedWheel>;

/// The cache of the index of `root`. A missing or foreign one gives no wheels: it may be deleted or
/// damaged at any time. Errors: kIo.
Result<HashedWheels> ReadWheelCache(Env& env, const AbsPath& root);
/// Replaces it atomically; the same content is not written again, and where there was none, no wheels make
/// none. Errors: kIo.
Result<void> WriteWheelCache(Env& env, const AbsPath& root, const HashedWheels& wheels);

}  // namespace ptpkg::index
