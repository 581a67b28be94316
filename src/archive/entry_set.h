#pragma once
// Entries of a new archive, validated before writing starts. Layer: archive. All writers share it, so that
// one place refuses duplicates and hostile names and fixes order and modes (model: maturin
// module_writer/virtual_writer.rs).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/staged_tree.h"
#include "support/path.h"
#include "support/text/utf8.h"

namespace ptpkg::archive {

/// Bytes of a file that repeat a range of an original. Other files of the same name share that original.
struct SharedRange {
  std::uint64_t offset = 0;  ///< In the file.
  std::uint64_t size_bytes = 0;
  std::uint64_t from = 0;  ///< Offset in the original.
};

/// Archive entry with the source of its bytes.
struct Entry {
  RelPath name;
  bool is_symlink = false;
  std::uint32_t mode = 0644;
  std::uint64_t size_bytes = 0;
  std::string link_target = {};      ///< Symlinks.
  std::string text = {};             ///< Small generated files, when `file` is empty.
  std::optional<AbsPath> file = {};  ///< Content on disk; for a symlink of a tree, the link itself.
  /// Ranges that a deflated file shares with others of its name, ascending. Chunks also begin and end at
  /// these borders, and can come from a DeflateCache.
  std::vector<SharedRange> shared = {};
};

class EntrySet {
 public:
  /// Adds a generated file. Errors: as Add.
  Result<void> AddText(RelPath name, std::string text, std::uint32_t mode = 0644);
  /// Adds a regular file or symlink of a staged tree, under its own path. Errors: as Add.
  Result<void> AddTreeEntry(const StagedTree& tree, const TreeEntry& entry);
  /// Modes become 0755 if the owner can execute the file, else 0644; a symlink's size is 0. Errors:
  /// kInvalidInput for a duplicate name, for a name that is also a directory of another one ("a" next to
  /// "a/b"), and for names that NameProblem refuses. Also for a link target that is empty or not printable
  /// UTF-8.
  Result<void> Add(Entry entry);

  /// Byte-wise order of names. The pointers stay valid until the set changes.
  [[nodiscard]] std::vector<const Entry*> Sorted() const;
  /// Sum of size_bytes.
  [[nodiscard]] std::uint64_t TotalBytes() const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  std::map<std::string, Entry> entries_;  // by name
};

/// True if every byte of `text` is below 0x80.
bool IsAscii(std::string_view text);
/// Error for a file of `entry` that changed after Add. REQUIRES: entry.file.
Error ChangedWhilePacked(const Entry& entry);

}  // namespace ptpkg::archive
