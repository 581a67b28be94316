// The members of an archive that is being made, in byte-wise order of their names.
//
// Refused here, before anything is packed: names that some file system or reader cannot have, duplicates,
// and a file that is also a directory of other members. The order and the normalised modes make equal
// content give equal archives.

#include "archive/entry_set.h"

#include <algorithm>
#include <fmt/core.h>
#include <numeric>

#include "support/text/name_problem.h"

namespace ptpkg::archive {

Result<void> EntrySet::AddText(RelPath name, std::string text, std::uint32_t mode) {
  const std::uint64_t size_bytes = text.size();
  return Add(Entry{.name = std::move(name),
                   .is_symlink = false,
                   .mode = mode,
                   .size_bytes = size_bytes,
                   .link_target = {},
                   .text = std::move(text),
                   .file = std::nullopt});
}

Result<void> EntrySet::AddTreeEntry(const StagedTree& tree, const TreeEntry& entry) {
  const bool is_symlink = entry.kind == FileKind::kSymlink;
  if (!is_symlink && entry.kind != FileKind::kRegular) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is neither a regular file nor a symlink", entry.path.str()));
  }
  return Add(Entry{.name = entry.path,
                   .is_symlink = is_symlink,
                   .mode = entry.mode,
                   .size_bytes = entry.size_bytes,
                   .link_target = entry.link_target,
                   .text = {},
                   .file = tree.root / entry.path});
}

Result<void> EntrySet::Add(Entry entry) {
  const std::string& name = entry.name.str();
  const auto refuse = [&](std::string_view why) {
    return Error(ErrorCode::kInvalidInput, fmt::format("archive member '{}' {}", ShownName(name), why));
  };
  if (const auto problem = NameProblem(name)) return refuse(*problem);
  if (entry.is_symlink && entry.link_target.empty()) return refuse("is a symlink without a target");
  if (HasControlCharacter(entry.link_target) || !IsUtf8(entry.link_target)) {
    return refuse("has a link target that is not printable UTF-8");
  }
  if (entries_.contains(name)) return refuse("was already added");
  for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    if (entries_.contains(name.substr(0, slash))) {
      return refuse(fmt::format("is below '{}', which is a file", name.substr(0, slash)));
    }
  }
  // Both directions are needed: the file can come before or after the members below it.
  const auto below = entries_.lower_bound(name + "/");
  if (below != entries_.end() && below->first.starts_with(name + "/")) {
    return refuse(fmt::format("is a file, but '{}' lies below it", below->first));
  }
  entry.mode = (entry.mode & 0100U) != 0 ? 0755 : 0644;
  if (entry.is_symlink) entry.size_bytes = 0;
  std::string key = name;
  entries_.emplace(std::move(key), std::move(entry));
  return Ok();
}

std::vector<const Entry*> EntrySet::Sorted() const {
  std::vector<const Entry*> sorted;
  sorted.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) sorted.push_back(&entry);
  return sorted;
}

std::uint64_t EntrySet::TotalBytes() const {
  return std::accumulate(entries_.begin(), entries_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& item) { return sum + item.second.size_bytes; });
}

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Error ChangedWhilePacked(const Entry& entry) {
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' changed while being packed", entry.file->str()))
      .WithHint("make sure that no other process writes to the tree during packing");
}

}  // namespace ptpkg::archive
