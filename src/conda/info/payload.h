#pragma once
// Archive entries and paths.json rows of a package's payload. Layer: conda.

#include <vector>

#include "archive/entry_set.h"
#include "conda/info/paths_json.h"
#include "conda/package.h"

namespace ptpkg::conda {

struct Payload {
  archive::EntrySet entries;
  std::vector<PathsEntry> paths;  ///< One per entry, sorted by path.
};

/// Maps, sorts and describes the files of `input.tree`; with a placeholder every file is searched for it, in
/// parallel, except symlinks and .pyc/.pyo (conda-build does not relocate them). Digests are those of the
/// tree. Errors: kInvalidInput (an entry at or below info/, two files of one name after the noarch mapping),
/// kIo.
Result<Payload> MakePayload(Env& env, const PackageInput& input);

/// Names that some file systems or tools handle badly, one message each: over 200 bytes, equal but for the
/// case, not ASCII. Sorted; what goes beyond ten of a kind is summed up in one message.
std::vector<std::string> NameWarnings(const std::vector<PathsEntry>& paths);

}  // namespace ptpkg::conda
