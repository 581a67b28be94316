#pragma once
// Downloads files, verified and cached by digest. Layer: source.

#include "recipe/recipe.h"
#include "support/env.h"
#include "support/files/lease.h"

namespace ptpkg::source {

/// The name under which the source is saved: `file_name`, else the last part of the first URL's path.
/// Errors: kInvalidInput when neither gives a usable file name.
Result<std::string> DownloadName(const recipe::Source& source);

struct Downloaded {
  AbsPath file;
  Lease lease;  ///< Shared lease on the file's directory: while it lives, no cleanup removes the file.
};

/// The file of a source with `urls`, in `env.cache_dir`/downloads/<sha256>/<name>: fetched from the first
/// mirror that has it with the declared digest, or found there from an earlier run (and digested again;
/// a damaged file is fetched anew). Appears whole or not at all; what a killed or cut transfer has brought
/// stays (partial_file.h), and the next one goes on there. One process fetches, others wait for it. A mirror
/// that fails or lies is warned of, and the next one is asked.
/// Errors: kInvalidInput (no sha256 declared), kHashMismatch naming both digests and the URL, kNotFound
/// (`env.offline`: names file and digest), those of Http; of several mirrors one error with each one's cause:
/// kNetwork if any of them failed so, else kHashMismatch if any lied, else the last one's.
Result<Downloaded> Download(Env& env, const recipe::Source& source);

/// The file in a directory of the cache that is locked by the one who fetches into it; empty.
inline constexpr std::string_view kFetchLockName = ".fetch-lock";

}  // namespace ptpkg::source
