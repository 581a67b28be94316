#pragma once
// Finds and replaces the build prefix inside files. Layer: conda. Source: conda core/portability.py
// (replacement), conda-build build.py have_prefix_files (detection).

#include <optional>

#include "conda/info/paths_json.h"
#include "support/env.h"

namespace ptpkg::conda {

/// The longest first line "#!…", without its break (conda's MAX_SHEBANG_LENGTH_LINUX): Linux before 5.1 reads
/// 128 bytes.
inline constexpr std::size_t kMaxShebang = 127;

/// True if `file` contains `placeholder`, and how to replace it: binary if a NUL byte is anywhere in the
/// file, else text. Reads in chunks of 1 MiB. Errors: any read error of the file.
Result<std::optional<FileMode>> DetectPlaceholder(Fs& fs, const AbsPath& file,
                                                  const std::string& placeholder);

/// Replaces every occurrence. Then a first line "#!" that is too long for Linux (127 bytes), or whose
/// interpreter has a blank in its path, becomes "#!/usr/bin/env name", as conda does.
std::string ReplaceInText(std::string_view text, std::string_view placeholder, std::string_view prefix);

/// Replaces inside one NUL-terminated string and pads it with NULs to its old length. `text` begins at the
/// first occurrence and ends before the NUL. Errors: kInvalidInput when `prefix` is longer than
/// `placeholder`.
Result<std::string> ReplaceInCString(std::string_view text, std::string_view placeholder,
                                     std::string_view prefix);

/// Rewrites a file that this process has just written. Replaces a text file as a whole (at most 256 MiB). In
/// a binary file, reads and writes only the strings that hold the placeholder. An occurrence without a NUL
/// after it stays, as in conda. Errors: kInvalidInput (prefix too long for a binary file, text file too
/// large), kIo.
Result<void> ReplacePrefix(Fs& fs, const AbsPath& file, const PathsEntry& entry, std::string_view prefix);

}  // namespace ptpkg::conda
