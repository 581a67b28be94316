// Decides which member names of a hostile archive are acceptable, and where its symlinks lead.
//
// Each path of the tree has one kind: file, symlink or directory. A name that occurs twice, or that lies
// below a file or symlink, is refused, because extraction order would decide about the result. Implied
// parent directories count against the limit too.
//
// Symlinks are judged only after all names are known. A link's text alone is not enough: `a/b/..` is not
// `a` when b is a link. EscapesTree walks components like the kernel (path_resolution(7)) with a stack of
// real directories, replaces each link by its target, and stops after 40 links.
//
// Bytes are counted by all threads together against two limits: a total, and a ratio to the packed size
// that shows decompression bombs.

#include "archive/member_names.h"

#include <algorithm>
#include <deque>
#include <fmt/core.h>

#include "support/text/name_problem.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace ptpkg::archive {
namespace {

constexpr int kMaxLinkHops = 40;  // path_resolution(7)
constexpr std::size_t kMaxLinkBytes = 4096;

bool IsControl(char c) { return HasControlCharacter(std::string_view(&c, 1)); }

std::string DropComponents(const std::string& name, int count) {
  std::size_t at = 0;
  for (int i = 0; i < count; ++i) {
    at = name.find('/', at);
    if (at == std::string::npos) return "";
    ++at;
  }
  return name.substr(at);
}

}  // namespace

MemberNames::MemberNames(const CancelToken& cancel, const ExtractOptions& options, std::string_view archive,
                         std::uint64_t packed_bytes)
    : cancel_(cancel), options_(options), archive_(archive), packed_bytes_(packed_bytes) {}

Error MemberNames::Refuse(std::string_view raw_name, std::string_view why) const {
  return Error(ErrorCode::kCorrupt, fmt::format("'{}': member '{}' {}", archive_, ShownName(raw_name), why));
}

Result<std::string> MemberNames::Normalize(std::string_view raw_name) const {
  if (raw_name.empty()) return Refuse(raw_name, "has no name");
  if (raw_name.size() > limits::kName) {
    return Refuse(raw_name, fmt::format("has a name of more than {} bytes", limits::kName));
  }
  if (raw_name.find('\0') != std::string_view::npos) return Refuse(raw_name, "has a NUL in its name");
  if (raw_name.front() == '/') return Refuse(raw_name, "has an absolute name");
  std::string name;
  for (const std::string& part : Split(raw_name, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return Refuse(raw_name, "has '..' in its name");
    if (!name.empty()) name += '/';
    name += part;
  }
  std::string judged = name;
  // Everything else about the name is still judged, as if the control characters were ordinary.
  if (options_.control_characters) std::replace_if(judged.begin(), judged.end(), IsControl, '_');
  if (const auto problem = NameProblem(judged)) return Refuse(raw_name, *problem);
  return name;
}

/// Directories that no member names count too: one deep name makes two thousand.
Result<void> MemberNames::CountEntry() {
  if (++entries_ <= options_.limits.max_entries) return Ok();
  return Error(ErrorCode::kCorrupt,
               fmt::format("'{}' has more than {} members", archive_, options_.limits.max_entries));
}

Result<std::optional<RelPath>> MemberNames::AcceptName(std::string_view raw_name, Place place) {
  PTPKG_CHECK(cancel_.Check());
  PTPKG_CHECK(CountEntry());
  PTPKG_TRY(const std::string normal, Normalize(raw_name));
  if (normal.empty()) {
    if (place == Place::kFolder) return std::optional<RelPath>();
    return Refuse(raw_name, "is the root directory, but not a directory");
  }
  const std::string name = DropComponents(normal, options_.strip_components);
  if (name.empty()) return std::optional<RelPath>();
  PTPKG_TRY(RelPath path, RelPath::Parse(name));
  return std::optional<RelPath>(std::move(path));
}

Result<void> MemberNames::AddFolderPath(std::string_view raw_name, const std::string& folder) {
  if (folders_.contains(folder)) return Ok();
  if (links_.contains(folder)) return Refuse(raw_name, fmt::format("is below the symlink '{}'", folder));
  if (files_.contains(folder)) return Refuse(raw_name, fmt::format("is below '{}', which is a file", folder));
  PTPKG_CHECK(CountEntry());
  folders_.insert(folder);
  return Ok();
}

Result<void> MemberNames::AddParents(std::string_view raw_name, const RelPath& name) {
  const std::string& text = name.str();
  for (std::size_t slash = text.find('/'); slash != std::string::npos; slash = text.find('/', slash + 1)) {
    PTPKG_CHECK(AddFolderPath(raw_name, text.substr(0, slash)));
  }
  return Ok();
}

Result<std::optional<RelPath>> MemberNames::AddFolder(std::string_view raw_name) {
  PTPKG_TRY(std::optional<RelPath> name, AcceptName(raw_name, Place::kFolder));
  if (!name.has_value()) return name;
  if (files_.contains(name->str()) || links_.contains(name->str())) {
    return Refuse(raw_name, "occurs twice, as a directory and as something else");
  }
  PTPKG_CHECK(AddParents(raw_name, *name));
  PTPKG_CHECK(AddFolderPath(raw_name, name->str()));
  return name;
}

Result<std::optional<RelPath>> MemberNames::AddFile(std::string_view raw_name) {
  PTPKG_TRY(std::optional<RelPath> name, AcceptName(raw_name, Place::kFile));
  if (!name.has_value()) return name;
  if (folders_.contains(name->str())) return Refuse(raw_name, "is also the directory of other members");
  if (links_.contains(name->str()) || files_.contains(name->str())) return Refuse(raw_name, "occurs twice");
  PTPKG_CHECK(AddParents(raw_name, *name));
  files_.insert(name->str());
  return name;
}

Result<std::optional<RelPath>> MemberNames::AddSymlink(std::string_view raw_name, std::string_view target) {
  if (target.empty() || target.size() > kMaxLinkBytes) return Refuse(raw_name, "has no usable link target");
  if (target.find('\0') != std::string_view::npos || !IsUtf8(target)) {
    return Refuse(raw_name, "has a link target that is not text");
  }
  if (target.front() == '/')
    return Refuse(raw_name, fmt::format("links to the absolute path '{}'", Printable(target)));
  PTPKG_TRY(std::optional<RelPath> name, AddFile(raw_name));
  if (!name.has_value()) return name;
  // AddFile has noted it as a file, and a later hard link must not take it for one.
  files_.erase(name->str());
  links_.emplace(name->str(), target);
  return name;
}

Result<std::optional<MemberNames::HardLink>> MemberNames::AddHardLink(std::string_view raw_name,
                                                                      std::string_view raw_target) {
  PTPKG_TRY(const std::string target, Normalize(raw_target),
            fmt::format("while linking '{}'", Printable(raw_name)));
  const std::string stripped = DropComponents(target, options_.strip_components);
  PTPKG_TRY(std::optional<RelPath> name, AddFile(raw_name));
  if (!name.has_value()) return std::optional<HardLink>();
  if (stripped == name->str() || !files_.contains(stripped)) {
    return Refuse(raw_name, fmt::format("is a hard link to '{}', which is not an earlier file of the archive",
                                        Printable(raw_target)));
  }
  return std::optional(HardLink{.name = *std::move(name), .target = RelPath::Literal(stripped)});
}

Result<void> MemberNames::CountBytes(std::uint64_t bytes) {
  if (task_ != nullptr) task_->Advance(bytes);
  const std::uint64_t total = bytes_.fetch_add(bytes) + bytes;
  // The second test catches a sum that wrapped around.
  if (total > options_.limits.max_bytes || bytes > options_.limits.max_bytes) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("'{}' unpacks to more than {} bytes", archive_, options_.limits.max_bytes));
  }
  if (packed_bytes_ != 0 && options_.limits.IsBomb(total, packed_bytes_)) {
    return Error(ErrorCode::kCorrupt, fmt::format("'{}' unpacks to more than {} times its size", archive_,
                                                  options_.limits.max_ratio))
        .WithHint("it may be a decompression bomb; unpack it by hand if you trust it");
  }
  return Ok();
}

std::optional<std::string> MemberNames::StripSingleRoot() {
  std::optional<std::string> root;
  const auto is_other_root = [&](const std::string& name) {
    const std::string top = name.substr(0, name.find('/'));
    if (!root.has_value()) root = top;
    return *root != top;
  };
  const auto link_elsewhere = [&](const auto& link) { return is_other_root(link.first); };
  if (std::any_of(folders_.begin(), folders_.end(), is_other_root) ||
      std::any_of(files_.begin(), files_.end(), is_other_root) ||
      std::any_of(links_.begin(), links_.end(), link_elsewhere)) {
    return std::nullopt;
  }
  // A single file at the top is not a root directory.
  if (!root.has_value() || !folders_.contains(*root)) return std::nullopt;
  std::map<std::string, std::string> links;
  for (const auto& [name, target] : links_) links.emplace(DropComponents(name, 1), target);
  links_ = std::move(links);
  return root;
}

/// Follows `link` as the kernel would, other symlinks included: "a/b/.." is not "a" when b is a link.
Result<bool> MemberNames::EscapesTree(const RelPath& link, const LinkElsewhere& elsewhere) const {
  std::vector<std::string> at;  // the directory reached, free of links
  std::deque<std::string> rest;
  for (const std::string& part : link.Components()) rest.push_back(part);
  int hops = 0;
  while (!rest.empty()) {
    const std::string part = std::move(rest.front());
    rest.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (at.empty()) return true;
      at.pop_back();
      continue;
    }
    at.push_back(part);
    const std::string path = Join(at, "/");
    std::optional<std::string> target;
    if (const auto own = links_.find(path); own != links_.end()) {
      target = own->second;
    } else if (elsewhere) {
      PTPKG_TRY(target, elsewhere(path));
    }
    if (!target.has_value()) continue;
    if (target->starts_with('/')) return true;
    if (++hops > kMaxLinkHops) return false;  // leads nowhere: the kernel stops here too
    at.pop_back();
    const std::vector<std::string> parts = Split(*target, '/');
    rest.insert(rest.begin(), parts.begin(), parts.end());
  }
  return false;
}

Result<void> MemberNames::CheckLinks(const LinkElsewhere& elsewhere) const {
  for (const auto& [name, target] : links_) {
    PTPKG_TRY(const bool leaves, EscapesTree(RelPath::Literal(name), elsewhere));
    if (leaves) {
      return Refuse(name, fmt::format("is a symlink to '{}', outside the tree", Printable(target)));
    }
  }
  return Ok();
}

}  // namespace ptpkg::archive
