#pragma once
// Parses a unified diff before it is applied. Layer: source.

#include <string>
#include <string_view>
#include <vector>

#include "support/path.h"

namespace ptpkg::source {

/// One file that a patch changes, by its names there: relative, without "..".
struct PatchChange {
  std::string before = {};  ///< "" if the patch makes the file.
  std::string after = {};   ///< "" if it removes the file.
  bool bare_names = false;  ///< From git's rename lines: without the "a/" and "b/" of the other names.
  bool from_git = false;    ///< Then `before` exists; other tools write any name ("x.c.orig").
};

struct PatchText {
  std::vector<PatchChange> changes;
  bool needs_git = false;     ///< Binary changes, or git's names with blanks: patch takes neither.
  bool has_symlinks = false;  ///< Makes or changes symlinks.
  bool has_prefixes = false;  ///< All names begin with "a/" and "b/".
};

/// Parses a patch. `name` is its file name, for messages. Source: POSIX diff -u output; git's extended
/// headers (git-diff(1)). Errors: kInvalidInput with the line for a path that is absolute or leaves the tree,
/// a hunk that is cut short, and a patch without changes. Also kUnsupported for context diffs, ed scripts,
/// names in quotes, and binary changes without their data.
Result<PatchText> ReadPatch(std::string_view text, std::string_view name);

/// `path` without its first `strip` directories, one less if `bare_name`; "" if it has no more than those.
std::string StripComponents(std::string_view path, std::size_t strip, bool bare_name);

}  // namespace ptpkg::source
