#pragma once
// A zip made of another one: some members new, some renamed or left out, all others as they are stored there.
// Layer: archive.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "archive/zip_writer.h"
#include "support/atomic_file.h"

namespace ptpkg::archive {

struct ZipEdits {
  std::map<std::string, std::string> renamed = {};  ///< New name by old name.
  std::set<std::string> dropped = {};               ///< Names.
  /// New members, which are deflated; they come last, in this order. One that replaces another is dropped
  /// besides.
  std::vector<Entry> added = {};
  DeflateOptions deflate = {};  ///< Of `added`.
};

/// Writes `target`: the kept members of `zip` in the order in which they lie there, none of them inflated,
/// then the new ones, with the time env.source_date_epoch. A kept member brings its local header along where
/// a strict reader takes that as it is; others (with data descriptors, extra fields, another name) get a new
/// one. Entries of folders are left out, a mode that no Unix wrote becomes 0644. What is not read: CRCs of
/// kept members. Post: `target` exists whole, or not at all; `zip` is as it was, unless it is `target`.
/// Errors: kCorrupt (the directories of `zip`), kUnsupported for an encrypted member, a method besides stored
/// and deflate, a link or device; kInvalidInput for two members of one name; kAlreadyExists (kRefuse only),
/// kIo, kCancelled.
Result<void> WriteEditedZip(Env& env, const AbsPath& zip, const AbsPath& target, OnExisting on_existing,
                            const ZipEdits& edits);

}  // namespace ptpkg::archive
