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

/// Maps, sorts and describes the files of `input.tree`. With a placeholder, searches every file for it in
/// parallel, except symlinks and .pyc/.pyo (conda-build does not relocate them). Takes the digests from the
/// tree. Errors: kInvalidInput (an entry at or below info/, two files of one name after the noarch mapping),
/// kIo.
Result<Payload> MakePayload(Env& env, const PackageInput& input);

/// Names that some file systems or tools handle badly, one message each: over 200 bytes, equal except for the
/// case, not ASCII. Sorted. Beyond ten of a kind, one message sums up the rest.
std::vector<std::string> NameWarnings(const std::vector<PathsEntry>& paths);

}  // namespace ptpkg::conda
