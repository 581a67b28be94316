#pragma once
// Facts about each member of an examined zip. Layer: verify.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "archive/archive_member_pass.h"
#include "model/finding.h"
#include "support/digest/hash.h"
#include "verify/elf/elf_tree_map.h"

namespace ptpkg::verify {

/// Everything that needs the bytes of one member.
struct MemberFacts {
  Sha256 sha256 = {};
  SharedElfFacts elf = {};
  std::string head = {};  ///< Its first bytes.
  std::vector<Finding> build_paths = {};
  std::optional<Error> failure = {};  ///< Error of examining it, not of inflating it.
};

/// A zip that was read. It borrows the environment that it was read in.
struct ZipScan {
  explicit ZipScan(archive::ZipMembers read);

  archive::ZipMembers members;
  std::vector<MemberFacts> facts;                           ///< In the order of members.members().
  std::map<std::string, std::size_t, std::less<>> by_path;  ///< Index of each.
};

/// Facts about a wheel or zip before it is read, because it was made from another one.
struct KnownContent {
  /// Members stored here with the same bytes need not be inflated again. It was examined with the same
  /// options. Can be null.
  std::shared_ptr<const ZipScan> zip = {};
  /// Files by the path of the member. A member that inflates to the bytes of its file need not be held in
  /// memory or written to disk; otherwise the member itself is examined. The files can exist only in the
  /// environment of the examination.
  std::map<std::string, AbsPath, std::less<>> files = {};
};

}  // namespace ptpkg::verify
