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

/// Everything that the bytes of one member are needed for.
struct MemberFacts {
  Sha256 sha256 = {};
  SharedElfFacts elf = {};
  std::string head = {};  ///< Its first bytes.
  std::vector<Finding> build_paths = {};
  std::optional<Error> failure = {};  ///< Error of examining it, not of inflating it.
};

/// A zip that was read. It borrows the environment in which it was.
struct ZipScan {
  explicit ZipScan(archive::ZipMembers read);

  archive::ZipMembers members;
  std::vector<MemberFacts> facts;                           ///< In the order of members.members().
  std::map<std::string, std::size_t, std::less<>> by_path;  ///< Index of each.
};

/// Facts about a wheel or zip before it is read, because it was made of another one.
struct KnownContent {
  /// The members that it stores with the same bytes need not be inflated again. It was examined with the same
  /// options. May be null.
  std::shared_ptr<const ZipScan> zip = {};
  /// Files by the path of the member, which need not be held in memory or written to disk when it inflates to
  /// the bytes of the file; else it is looked at as it is. They may be there in the environment of the
  /// examination alone.
  std::map<std::string, AbsPath, std::less<>> files = {};
};

}  // namespace ptpkg::verify
