#pragma once
// Writes unpacked members below one directory. Layer: archive, internal to it.

#include <optional>
#include <set>

#include "archive/member_names.h"

namespace ptpkg::archive {

/// Writes below one directory. Nothing is written through a symlink: parents are checked on disk before
/// first use, files are created exclusively, and symlinks come last, when no file follows.
/// WriteContent may run in several threads, everything else in one.
class ExtractTree {
 public:
  ExtractTree(Env& env, const AbsPath& destination, const ExtractOptions& options, std::string_view archive,
              std::uint64_t packed_bytes);

  /// `task` gets the bytes unpacked from now on; it outlives the tree.
  void Tell(Task& task) { names_.Tell(task); }

  Result<void> AddFolder(std::string_view raw_name);
  /// Admits a file and makes its directories. nullopt: left out by strip_components.
  Result<std::optional<RelPath>> AddFile(std::string_view raw_name);
  Result<void> AddSymlink(std::string_view raw_name, std::string_view target);
  /// The target must be a file that was written before.
  Result<void> AddHardLink(std::string_view raw_name, std::string_view raw_target);

  /// Creates the file `name` from `content`. `mode`: any; becomes 0755 or 0644.
  Result<void> WriteContent(const RelPath& name, std::uint32_t mode, ByteSource& content);
  /// Adds to the bytes unpacked. Errors: kCorrupt beyond the limits. Any thread.
  Result<void> CountBytes(std::uint64_t bytes) { return names_.CountBytes(bytes); }
  /// Strips a single root and makes the symlinks. Call once, last.
  Result<void> Finish();

  [[nodiscard]] Error Refuse(std::string_view raw_name, std::string_view why) const {
    return names_.Refuse(raw_name, why);
  }

 private:
  Result<void> MakeFolder(std::string_view raw_name, const std::string& folder);
  Result<void> MakeParents(std::string_view raw_name, const RelPath& name);
  Result<void> StripSingleRoot();
  Result<std::optional<std::string>> LinkOnDisk(const std::string& path) const;

  Env& env_;
  AbsPath destination_;
  bool strip_single_root_;
  MemberNames names_;
  std::set<std::string> made_;  // directories that are there and no links
};

}  // namespace ptpkg::archive
