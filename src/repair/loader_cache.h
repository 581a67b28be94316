#pragma once
// Parses /etc/ld.so.cache. Layer: repair. Source: glibc sysdeps/generic/dl-cache.h, cache format 1.1, alone
// or behind the old one.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::repair {

/// Absolute paths by library name, in the order in which ld.so tries them. Entries for processors with more
/// than the baseline's instructions are left out: a wheel runs on others too.
using LoaderCache = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Errors: kCorrupt (cut off, a text that leaves the file), kUnsupported (an older or unknown format, another
/// byte order).
Result<LoaderCache> ParseLoaderCache(std::string_view bytes);

}  // namespace ptpkg::repair
