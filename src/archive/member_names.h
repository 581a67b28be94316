#pragma once
// Rules for names, links and sizes in untrusted archives. Layer: archive.

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "archive/extract.h"

namespace ptpkg::archive {

/// Errors: as ExtractTar. CountBytes can run in several threads, everything else in one.
class MemberNames {
 public:
  MemberNames(const CancelToken& cancel, const ExtractOptions& options, std::string_view archive,
              std::uint64_t packed_bytes);

  /// Counts the bytes unpacked from now on in `task`, which must outlive this object.
  void Tell(Task& task) { task_ = &task; }

  /// nullopt: left out by strip_components, or the root itself.
  Result<std::optional<RelPath>> AddFolder(std::string_view raw_name);
  /// nullopt: left out by strip_components.
  Result<std::optional<RelPath>> AddFile(std::string_view raw_name);
  Result<std::optional<RelPath>> AddSymlink(std::string_view raw_name, std::string_view target);
  struct HardLink {
    RelPath name;
    RelPath target;  ///< A file that was added before.
  };
  Result<std::optional<HardLink>> AddHardLink(std::string_view raw_name, std::string_view raw_target);

  /// Adds to the bytes unpacked. Errors: kCorrupt beyond the limits.
  Result<void> CountBytes(std::uint64_t bytes);

  /// The top directory if it holds everything. It is then removed from the names of links(). Call before
  /// CheckLinks.
  std::optional<std::string> StripSingleRoot();
  /// Looks up a path that is not among the archive's own links: the target of a symlink there, else nullopt.
  using LinkElsewhere = std::function<Result<std::optional<std::string>>(const std::string& path)>;
  /// Refuses links that lead out of the tree. Call when all members are known.
  Result<void> CheckLinks(const LinkElsewhere& elsewhere = {}) const;
  /// Target by name.
  [[nodiscard]] const std::map<std::string, std::string>& links() const { return links_; }

  [[nodiscard]] Error Refuse(std::string_view raw_name, std::string_view why) const;

 private:
  enum class Place : std::uint8_t { kFolder, kFile };
  Result<std::optional<RelPath>> AcceptName(std::string_view raw_name, Place place);
  Result<void> CountEntry();
  Result<std::string> Normalize(std::string_view raw_name) const;
  Result<void> AddFolderPath(std::string_view raw_name, const std::string& folder);
  Result<void> AddParents(std::string_view raw_name, const RelPath& name);
  Result<bool> EscapesTree(const RelPath& link, const LinkElsewhere& elsewhere) const;

  const CancelToken& cancel_;
  ExtractOptions options_;
  std::string archive_;
  std::uint64_t packed_bytes_;
  std::uint64_t entries_ = 0;
  std::atomic<std::uint64_t> bytes_{0};
  Task* task_ = nullptr;
  std::set<std::string> folders_;
  std::set<std::string> files_;
  std::map<std::string, std::string> links_;  // name to target
};

}  // namespace ptpkg::archive
