#pragma once
// Checks and reads the zip container of an artifact. Layer: verify. Source: archive/zip/zip_strict.h.

#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "model/consumers.h"
#include "model/finding.h"
#include "model/staged_tree.h"
#include "support/env.h"
#include "verify/elf/elf_tree_map.h"
#include "verify/rules/member_fs.h"
#include "verify/rules/zip_scan.h"

namespace ptpkg::verify {

/// Severity, for a kind of artifact, of problems that strict readers refuse.
struct ContainerRule {
  std::string_view id;  ///< Id of the findings.
  std::string_view fix;
  /// For content that readers refuse but read alike. If they read it differently, people get different files,
  /// and that is an error in any artifact.
  Severity where_readers_agree = Severity::kError;
  /// The readers whose refusal makes it an error, else a warning; nullopt: where_readers_agree.
  std::optional<Consumers> targets = {};
  bool is_streamed = false;  ///< A member without its length in front is an error.
};

/// Appends a finding by `rule` for each problem of `zip`. Errors: any from reading.
Result<void> CheckZipContainer(Env& env, const AbsPath& zip, const ContainerRule& rule,
                               std::vector<Finding>& findings);

/// Searches to make while the members pass.
struct ZipReading {
  const DlopenTable& opened;            ///< Borrowed.
  std::vector<std::string> paths = {};  ///< From SearchableBuildPaths.
  /// Returns the directory that holds everything, which paths omit, or "" for none. Can be empty: none.
  std::function<std::string(const std::vector<archive::ArchiveMember>&)> top_folder = {};
  OnFile on_file = {};                  ///< CheckOptions::on_file.
  const KnownContent* known = nullptr;  ///< CheckOptions::known. Borrowed; null: none.
};

/// A zip with every member inflated once.
class ZipTree {
 public:
  /// Null, and a finding, when the zip cannot be read. Errors: kIo, kCancelled.
  static Result<std::unique_ptr<ZipTree>> Read(Env& env, const AbsPath& zip, const ZipReading& reading,
                                               std::vector<Finding>& findings);

  /// An environment in which the files of tree() can be opened.
  [[nodiscard]] Env& env() { return env_; }
  /// The zip's own path, or its top directory below that, is the root.
  [[nodiscard]] const StagedTree& tree() const { return tree_; }
  /// The ELF files. Appends their findings, and the findings of the search for paths. Call once. Errors:
  /// kInvalidInput for directories that are nested too deep.
  Result<ElfTree> TakeElfTree(std::vector<Finding>& findings);
  /// Facts about each member.
  [[nodiscard]] std::shared_ptr<const ZipScan> Seen() const { return seen_; }

 private:
  ZipTree(Env& env, const AbsPath& zip, archive::ZipMembers members, const ZipReading& reading);
  [[nodiscard]] TreeEntry EntryOf(const archive::ArchiveMember& member) const;
  Result<bool> UseKnownContent(const ZipReading& reading, std::size_t index);
  Result<void> Visit(const ZipReading& reading);
  Result<void> Scan();

  AbsPath zip_;
  std::shared_ptr<ZipScan> seen_;  // shared with whoever asked for it
  std::string top_;                // ZipReading::top_folder
  MemberFs fs_;
  Env env_;
  StagedTree tree_;
  std::optional<Error> failure_;  // of looking at a member
};

}  // namespace ptpkg::verify
