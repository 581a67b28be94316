#pragma once
// Writes an edited copy of a zip without recompressing unchanged members. Layer: archive.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "archive/deflate/deflate_splice.h"
#include "archive/zip/zip_writer.h"
#include "support/digest/hash.h"
#include "support/files/atomic_file.h"

namespace ptpkg::archive {

/// Changes to the content of a kept member. A deflated one is spliced (deflate_splice.h), a stored
/// one copied with its changes; its time becomes env.source_date_epoch.
struct MemberSplice {
  ContentEdits edits = {};
  Sha256 sha256 = {};  ///< Required digest of the new content: the one in a RECORD among `added`.
};

struct ZipEdits {
  std::map<std::string, std::string> renamed = {};   ///< New name by old name.
  std::set<std::string> dropped = {};                ///< Names.
  std::map<std::string, MemberSplice> spliced = {};  ///< By old name.
  /// New members, which are deflated. Of those that are in `last_folder`, and of those that are not, they
  /// come behind the kept ones, in this order. One that replaces another is dropped besides.
  std::vector<Entry> added = {};
  /// A directory by its new name ("toy-1.0.dist-info/"): its members come behind all others. "" = none.
  std::string last_folder = {};
  DeflateOptions deflate = {};  ///< For `added`; its level also for blocks that are spliced.
};

/// Writes `target`: the kept members of `zip` in the order in which they lie there, none of them inflated but
/// spliced ones, and behind them the new ones, with the time env.source_date_epoch; then the same of
/// `last_folder`. A kept member brings its local header along where
/// a strict reader takes that as it is; others (with data descriptors, extra fields, another name) get a new
/// one. Spliced members wait in scratch files of env.cache_dir. Entries of directories are left out, a mode
/// that no Unix wrote becomes 0644. What is not read: CRCs of kept members, but that of a spliced one is
/// checked. Post: `target` exists whole, or not at all; `zip` is as it was, unless it is `target`. Errors:
/// kCorrupt (the directories of `zip`; a spliced member with another CRC, or whose new content has another
/// digest than its MemberSplice says), kUnsupported for an encrypted member, a method besides stored and
/// deflate, a link or device; kInvalidInput for two members of one name, for a spliced one that is not there
/// or dropped, for edits that SpliceDeflate refuses; kAlreadyExists (kRefuse only), kIo, kCancelled.
Result<void> WriteEditedZip(Env& env, const AbsPath& zip, const AbsPath& target,
                            ExistingFilePolicy on_existing, const ZipEdits& edits);

}  // namespace ptpkg::archive
