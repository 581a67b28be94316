#pragma once
// Runs `ptpkg relink`. Layer: pipeline.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "elf/edit/edit_request.h"
#include "support/env.h"
#include "support/text/json_fwd.h"

namespace ptpkg::pipeline {

struct RelinkRequest {
  std::vector<AbsPath> paths;  ///< ELF files, or directories searched for them.

  /// One of these three, or none: then absolute entries below the root become relative to $ORIGIN.
  std::string layout = {};             ///< Built-in layout, or one of `recipe`.
  std::optional<AbsPath> recipe = {};  ///< With `layout`: "conda", "wheel" or "zip" of this recipe.
  std::map<std::string, std::vector<std::string>> select = {};  ///< With `recipe`: its variants.
  std::optional<elf::EditRequest> edits = {};                   ///< Edits for every file.

  /// Directory that entries become relative to, and in which layouts see single files. Default: a named
  /// directory itself; for a named file, its own directory.
  std::optional<AbsPath> root = {};
  bool plan_only = false;
  bool allow_strip_hazard = false;  ///< elf::Edits::allow_strip_hazard.
  bool allow_payload = false;       ///< elf::Edits::allow_payload.
  elf::ApplyOptions apply = {.verification = elf::Verification::kDeepIfGrown};
};

/// One file's change.
struct RelinkItem {
  AbsPath file = AbsPath::Literal("/nonexistent");
  elf::LinkFacts before;
  elf::LinkFacts after;
  std::string tier;  ///< "nothing", "in place", "spare entry", "append"; "rewrite" by LIEF
  std::uint64_t bytes_to_write = 0;
  std::uint64_t bytes_grown = 0;  ///< For a rewrite, 0 until it is done; a file that shrank counts as 0.
};

/// Plans the edits, and applies them unless `plan_only`. Items are in order of paths. All paths are planned
/// before the first is written. Errors: any from elf/, kNotFound, kInvalidInput (a symlink, a file that is
/// not dynamically linked). Also kUsage for requests that exclude each other, for a directory with edits that
/// name one library, and for a file outside `root`.
Result<std::vector<RelinkItem>> Relink(Env& env, const RelinkRequest& request);

/// Names of the built-in layouts.
std::vector<std::string> LayoutNames();

/// Differences, one line each: "runpath: $ORIGIN → $ORIGIN/lib". Empty when there are none.
std::vector<std::string> DescribeChanges(const elf::LinkFacts& before, const elf::LinkFacts& after);

/// The facts as an object: rpath, runpath, needed, soname, interpreter, execstack (null where unstated).
Json LinkFactsToJson(const elf::LinkFacts& facts);

}  // namespace ptpkg::pipeline
