#include "archive/entry_set.h"

#include <algorithm>
#include <fmt/core.h>
#include <numeric>

namespace ptpkg::archive {
namespace {

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none. RFC 3629 section 4.
std::size_t SequenceLength(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
  };
  const auto is_tail = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned char lead = byte(0);
  const unsigned char second = byte(1);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return is_tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool overlong = lead == 0xE0 && second < 0xA0;
    const bool surrogate = lead == 0xED && second >= 0xA0;
    return is_tail(1) && is_tail(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool overlong = lead == 0xF0 && second < 0x90;
    const bool too_large = lead == 0xF4 && second >= 0x90;
    return is_tail(1) && is_tail(2) && is_tail(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool HasControlCharacter(std::string_view text) { return std::any_of(text.begin(), text.end(), IsControl); }

std::string Printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = SequenceLength(text);
    if (length == 0 || IsControl(text.front())) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

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
    return Error(ErrorCode::kInvalidInput, fmt::format("archive member '{}' {}", Printable(name), why));
  };
  if (HasControlCharacter(name)) return refuse("has a control character in its name");
  if (!IsUtf8(name)) return refuse("has a name that is not UTF-8");
  if (entry.is_symlink && entry.link_target.empty()) return refuse("is a symlink without a target");
  if (HasControlCharacter(entry.link_target) || !IsUtf8(entry.link_target)) {
    return refuse("has a link target that is not printable UTF-8");
  }
  if (entries_.contains(name)) return refuse("was already added");
  for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    if (entries_.contains(name.substr(0, slash))) {
      return refuse(fmt::format("lies below '{}', which is a file", name.substr(0, slash)));
    }
  }
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

}  // namespace ptpkg::archive
