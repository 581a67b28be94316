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

/// Changes to the content of a kept member. A deflated member is spliced (deflate_splice.h), a stored one
/// copied with its changes. Its time becomes env.source_date_epoch.
struct MemberSplice {
  ContentEdits edits = {};
  Sha256 sha256 = {};  ///< Required digest of the new content: the one in a RECORD among `added`.
};

struct ZipEdits {
  std::map<std::string, std::string> renamed = {};   ///< New name by old name.
  std::set<std::string> dropped = {};                ///< Names.
  std::map<std::string, MemberSplice> spliced = {};  ///< By old name.
  /// New members, which are deflated. They follow the kept members in this order, inside and outside of
  /// `last_folder` alike. To replace a member, also list it in `dropped`.
  std::vector<Entry> added = {};
  /// A directory by its new name ("toy-1.0.dist-info/"): its members follow all others. "" = none.
  std::string last_folder = {};
  DeflateOptions deflate = {};  ///< For `added`; its level also for blocks that are spliced.
};

/// Writes `target`: the kept members of `zip` in file order, then the new ones, then the kept and the new
/// members of `last_folder`. New members get the time env.source_date_epoch. Only spliced members are
/// inflated, into scratch files in env.cache_dir. A kept member keeps its local header if a strict reader
/// accepts it unchanged. Others (with data descriptors, extra fields, another name) get a new one. Entries of
/// directories are left out. A mode that was not written on Unix becomes 0644. The CRC of a spliced member is
/// checked; CRCs of kept members are not. Post: `target` exists whole, or not at all. `zip` is unchanged
/// unless it is `target`. Errors:
/// - kCorrupt: damaged directories of `zip`, a spliced member with another CRC, new content with another
///   digest than in its MemberSplice
/// - kUnsupported: an encrypted member, a method other than stored and deflate, a link or device
/// - kInvalidInput: two members of one name, a spliced member that is missing or dropped, edits that
///   SpliceDeflate refuses
/// - kAlreadyExists (kRefuse only), kIo, kCancelled
Result<void> WriteEditedZip(Env& env, const AbsPath& zip, const AbsPath& target,
                            ExistingFilePolicy on_existing, const ZipEdits& edits);

}  // namespace ptpkg::archive
