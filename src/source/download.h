#pragma once
// Downloads files, verified and cached by digest. Layer: source.

#include "recipe/recipe.h"
#include "support/env.h"
#include "support/files/lease.h"

namespace ptpkg::source {

/// The name under which the source is saved: `file_name`, else the last part of the first URL's path.
/// Errors: kInvalidInput when neither gives a usable file name.
Result<std::string> DownloadName(const recipe::Source& source);

/// The digests that a recipe declares for a file.
struct DeclaredDigests {
  std::optional<Sha256> sha256 = {};
  std::optional<Md5> md5 = {};

  static DeclaredDigests Of(const recipe::Source& source) {
    return {.sha256 = source.sha256, .md5 = source.md5};
  }
  [[nodiscard]] HashChoice Choice() const { return {.md5 = md5.has_value()}; }
  /// True if nothing is declared. REQUIRES: `digests` were taken with Choice().
  [[nodiscard]] bool Match(const Digests& digests) const;
  /// "sha256 1…, but the recipe declares 2…". REQUIRES: no Match.
  [[nodiscard]] std::string Difference(const Digests& digests) const;
  [[nodiscard]] std::string str() const;  ///< "sha256 1…", or "md5 1…" where that is all.
};

struct Downloaded {
  AbsPath file;
  Lease lease;  ///< Shared lease on the file's directory: while it lives, no cleanup removes the file.
};

/// The file of a source with `urls`, in `env.cache_dir`/downloads/<sha256>/<name>, or in md5-<md5> if no
/// sha256 is declared. It is fetched from the first mirror that has it with the declared digest, or found
/// there from an earlier run. A cached file is digested again, and fetched anew if damaged. The file appears
/// whole or not at all. A killed or cut transfer leaves its bytes (partial_file.h), and the next one resumes
/// there. One process fetches, and others wait for it. If a mirror fails or sends other bytes, ptpkg warns
/// and tries the next one.
///
/// Errors: any from Http, kInvalidInput (no digest declared), kHashMismatch naming both digests and the URL,
/// kNotFound (`env.offline`: names file and digest). Several mirrors give one error with each one's cause:
/// kNetwork if any of them failed so, else kHashMismatch if any sent other bytes, else the last one's.
Result<Downloaded> Download(Env& env, const recipe::Source& source);

/// The file in a directory of the cache that is locked by the one who fetches into it; empty.
inline constexpr std::string_view kFetchLockName = ".fetch-lock";

}  // namespace ptpkg::source
