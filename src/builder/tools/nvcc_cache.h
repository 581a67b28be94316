#pragma once
// Cache keys for objects that nvcc makes. Layer: builder.
// docs/decisions/0014-compiler-cache.md lists the content of such a key.

#include <optional>
#include <string>
#include <string_view>

#include "support/env.h"

namespace ptpkg::builder {

/// Content key of the toolkit behind `nvcc`: nvcc, nvcc.profile, cudafe++, cicc, ptxas, fatbinary, nvlink,
/// bin2c and libdevice. nullopt: nvcc fails to list its steps, or one of cudafe++, cicc and ptxas is not
/// where it says. `path` is the PATH of the script. Errors: kIo, kCancelled.
Result<std::optional<std::string>> NvccKey(Env& env, const AbsPath& nvcc, const std::string& path);

/// Shell text between the choice of the compiler and the call of ccache. "$@" is nvcc with its words, `key`
/// its NvccKey. Sets `key`, `maps` and `bytes`, or runs nvcc without ccache. Needs the function `host_key`,
/// which sets `host` and `as` for the path of a host compiler and fails for an unknown one.
extern const std::string_view kNvccDigest;

}  // namespace ptpkg::builder
