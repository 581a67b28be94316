#pragma once
// Unpacks hostile members below a directory, with rollback. Layer: conda.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "archive/tar/tar_reader.h"
#include "support/digest/hash.h"
#include "support/env.h"

namespace ptpkg::conda {

/// Result of writing one member.
struct WrittenFile {
  bool symlink = false;
  bool executable = false;
  Sha256 sha256;                 ///< Regular files.
  std::uint64_t size_bytes = 0;  ///< Regular files.
  std::string link_target;       ///< Symlinks.
};

class TreeWriter {
 public:
  /// `root` exists. The destructor removes everything that was created, unless Keep was called.
  TreeWriter(Env& env, AbsPath root);
  ~TreeWriter();
  TreeWriter(const TreeWriter&) = delete;
  TreeWriter& operator=(const TreeWriter&) = delete;

  /// Writes a regular file, symlink or hard link (as a copy of its target, which came before) at `path`.
  /// Creates directories with their first member; skips directories that the archive lists. Errors:
  /// - kCorrupt: a symlink that is absolute or leaves the tree, a path through a symlink
  /// - kCorrupt: a hard link to a missing file, a device
  /// - kCorrupt: a duplicate name, one name for a file and a directory, a name that NameProblem refuses
  /// - kAlreadyExists (anything of that name existed before), kIo
  Result<void> Write(const RelPath& path, const archive::TarMember& member, ByteSource& content);
  /// Adds a generated file. Errors: as Write.
  Result<void> WriteText(const RelPath& path, std::string_view text, bool executable);

  /// Files written so far, by the key passed to Write.
  [[nodiscard]] const std::map<std::string, WrittenFile>& files() const { return files_; }

  void Keep() { keep_ = true; }

 private:
  Result<void> MakeParents(const RelPath& path);
  Result<WrittenFile> WriteRegular(const AbsPath& target, ByteSource& content, bool executable);
  Result<WrittenFile> WriteSymlink(const RelPath& path, const std::string& link_target);
  Result<WrittenFile> WriteHardLink(const RelPath& path, const std::string& link_target);

  Env& env_;
  AbsPath root_;
  std::map<std::string, WrittenFile> files_;
  std::set<std::string> folders_;  // known to be real directories, relative to root
  std::vector<AbsPath> created_;   // in order of creation
  bool keep_ = false;
};

}  // namespace ptpkg::conda
