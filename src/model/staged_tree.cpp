// Listing and hashing of a tree. Layer: model.
//
// Lists a tree, checks its links, then hashes its files in parallel. Entries are sorted by path before the
// hashing, so the order of readdir has no effect. Links are checked when all are known, because one link can
// lead through another. Modes become 0644 or 0755: other bits depend on the umask of the building machine.
// Times and owners are not part of a tree. Invariant: equal trees have equal entries, wherever they are.

#include "model/staged_tree.h"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <iterator>
#include <numeric>
#include <unordered_map>

#include "support/process/parallel.h"
#include "support/text/name_problem.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace ptpkg {
namespace {

constexpr std::size_t kReadBytes = 1U << 20U;

/// True if `name` is ptpkg's name for an unfinished item: a temporary file, the scratch directory
/// of an edit. A killed call leaves such items, and they would be packed.
bool IsLeftover(std::string_view name) { return name.find(".ptpkg-") != std::string_view::npos; }

Error InvalidEntry(const AbsPath& root, std::string_view path, std::string_view problem) {
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' in '{}' {}", path, root.str(), problem));
}

using LinkMap = std::unordered_map<std::string, const TreeEntry*>;

bool IsAllowedOutside(const AbsPath& root, const TreeEntry& link, const ScanOptions& options) {
  const AbsPath folder = link.path.ParentText().empty() ? root : root / link.path.ParentText();
  const Result<AbsPath> target = AbsPath::Resolve(folder, link.link_target);
  if (!target) return false;
  return std::any_of(options.allowed_link_roots.begin(), options.allowed_link_roots.end(),
                     [&](const AbsPath& allowed) { return target->IsWithin(allowed); });
}

/// Adds the components of `target` to `todo`, the first one last.
void PushReversed(std::string_view target, std::vector<std::string>& todo) {
  std::vector<std::string> components = Split(target, '/');
  std::move(components.rbegin(), components.rend(), std::back_inserter(todo));
}

/// Walks `link` component by component as the kernel does, through the other links of the tree, for
/// a path that stays inside lexically may still leave through a link to a shallower directory. True if
/// it climbs above the root. Absolute links count only when allowed, and end the walk.
bool EscapesTree(const TreeEntry& link, const LinkMap& links) {
  constexpr int kMaxLinks = 40;  // path_resolution(7)
  std::vector<std::string> here;
  if (!link.path.ParentText().empty()) here = RelPath::Literal(link.path.ParentText()).Components();
  std::vector<std::string> todo;  // reversed: next component last
  PushReversed(link.link_target, todo);
  for (int followed = 0; !todo.empty();) {
    const std::string component = std::move(todo.back());
    todo.pop_back();
    if (component.empty() || component == ".") continue;
    if (component == "..") {
      if (here.empty()) return true;
      here.pop_back();
      continue;
    }
    here.push_back(component);
    const auto next = links.find(fmt::format("{}", fmt::join(here, "/")));
    if (next == links.end()) continue;
    // A loop leads nowhere, not even outside; an allowed absolute link is judged on its own.
    if (++followed > kMaxLinks || next->second->link_target.starts_with('/')) return false;
    here.pop_back();
    PushReversed(next->second->link_target, todo);
  }
  return false;
}

class Scanner {
 public:
  Scanner(Env& env, const AbsPath& root, const ScanOptions& options)
      : env_(env), root_(root), options_(options) {}

  Result<StagedTree> Run() {
    PTPKG_CHECK(List());
    std::sort(tree_.entries.begin(), tree_.entries.end(),
              [](const TreeEntry& a, const TreeEntry& b) { return a.path < b.path; });
    PTPKG_CHECK(CheckLinks());
    if (options_.hash) PTPKG_CHECK(HashFiles());
    tree_.root = root_;
    return std::move(tree_);
  }

 private:
  Result<void> List() {
    std::vector<std::string> folders = {""};
    while (!folders.empty()) {
      PTPKG_CHECK(env_.cancel.Check());
      const std::string folder = std::move(folders.back());
      folders.pop_back();
      PTPKG_TRY(const std::vector<std::string> names,
                env_.fs.ListDir(folder.empty() ? root_ : root_ / folder));
      for (const std::string& name : names) {
        const std::string path = folder.empty() ? name : folder + "/" + name;
        // Zip, paths.json and RECORD hold names as UTF-8 text; other bytes would have no common form.
        if (!IsUtf8(name)) return InvalidEntry(root_, Printable(path), "has a name that is not valid UTF-8");
        if (const auto problem = DepthProblem(path)) return InvalidEntry(root_, ShownName(path), *problem);
        if (IsLeftover(name)) {
          return InvalidEntry(root_, path, "is left over from a killed ptpkg")
              .WithHint("remove it, and build or edit the file beside it again");
        }
        // lstat, so that a link to a directory is an entry and never a way out of the tree.
        PTPKG_TRY(const FileStat stat, env_.fs.Lstat(root_ / path));
        if (stat.kind == FileKind::kDirectory) {
          folders.push_back(path);
        } else {
          PTPKG_CHECK(AddEntry(path, stat));
        }
      }
    }
    return Ok();
  }

  Result<void> AddEntry(const std::string& path, const FileStat& stat) {
    if (stat.kind == FileKind::kOther) {
      return InvalidEntry(root_, path, "is a device, socket or fifo, which packages cannot contain");
    }
    PTPKG_TRY(RelPath relative, RelPath::Parse(path));
    TreeEntry entry{
        .path = std::move(relative),
        .kind = stat.kind,
    };
    if (stat.kind == FileKind::kRegular) {
      entry.mode = (stat.mode & 0100U) != 0 ? 0755 : 0644;
      entry.size_bytes = stat.size_bytes;
    } else {
      PTPKG_TRY(entry.link_target, env_.fs.ReadLink(root_ / path));
      if (!IsUtf8(entry.link_target)) {
        return InvalidEntry(root_, path, "is a symlink to a name that is not valid UTF-8");
      }
    }
    tree_.entries.push_back(std::move(entry));
    return Ok();
  }

  Result<void> CheckLinks() const {
    LinkMap links;
    for (const TreeEntry& entry : tree_.entries) {
      if (entry.kind == FileKind::kSymlink) links.emplace(entry.path.str(), &entry);
    }
    for (const TreeEntry& entry : tree_.entries) {
      if (entry.kind != FileKind::kSymlink || IsAllowedOutside(root_, entry, options_)) continue;
      const bool absolute = entry.link_target.starts_with('/');
      if (!absolute && !EscapesTree(entry, links)) continue;
      return InvalidEntry(root_, entry.path.str(),
                          fmt::format("is a symlink to '{}', {}", entry.link_target,
                                      absolute ? "an absolute path" : "outside the tree"))
          .WithHint("make it a relative link to a file of the tree, or remove it");
    }
    return Ok();
  }

  Result<void> HashFiles() {
    std::vector<TreeEntry*> files;
    for (TreeEntry& entry : tree_.entries) {
      if (entry.kind == FileKind::kRegular) files.push_back(&entry);
    }
    // Largest first: a 1 GB library that starts last would leave one thread working alone.
    std::stable_sort(files.begin(), files.end(),
                     [](const TreeEntry* a, const TreeEntry* b) { return a->size_bytes > b->size_bytes; });
    Task task(env_.reporter,
              {.stage = "hash", .subject = std::string(root_.Name()), .total_bytes = tree_.TotalBytes()});
    PTPKG_CHECK(
        ParallelFor(env_.jobs, files.size(), [&](std::size_t i) { return HashEntry(*files[i], task); }));
    task.Done();
    return Ok();
  }

  Result<void> HashEntry(TreeEntry& entry, Task& task) {
    PTPKG_TRY(const std::unique_ptr<File> file, env_.fs.Open(root_ / entry.path, OpenMode::kRead));
    FileSource source(*file);
    HashingSink sink(nullptr);
    std::vector<std::byte> buffer(std::min<std::uint64_t>(kReadBytes, entry.size_bytes + 1));
    while (true) {
      PTPKG_CHECK(env_.cancel.Check());
      PTPKG_TRY(const std::size_t got, source.Read(buffer));
      if (got == 0) break;
      task.Advance(got);
      PTPKG_CHECK(sink.Write(Bytes(buffer).first(got)));
    }
    const Digests digests = sink.Finish();
    entry.sha256 = digests.sha256;
    entry.size_bytes =
        digests.size_bytes;  // what was hashed, should the file have has changed since it was read
    return Ok();
  }

  Env& env_;
  const AbsPath& root_;
  const ScanOptions& options_;
  StagedTree tree_;
};

}  // namespace

const TreeEntry* StagedTree::Find(std::string_view path) const {
  // The entries are sorted (StagedTree), so no index is needed.
  const auto found = std::lower_bound(
      entries.begin(), entries.end(), path,
      [](const TreeEntry& entry, std::string_view wanted) { return entry.path.str() < wanted; });
  if (found == entries.end() || found->path.str() != path) return nullptr;
  return &*found;
}

std::uint64_t StagedTree::TotalBytes() const {
  return std::accumulate(entries.begin(), entries.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const TreeEntry& entry) { return sum + entry.size_bytes; });
}

Result<StagedTree> ScanTree(Env& env, const AbsPath& root, const ScanOptions& options) {
  return Scanner(env, root, options).Run();
}

/// Sizes are not part of it, since the digest of the content covers them.
Sha256 TreeDigest(const StagedTree& tree) {
  KeyHasher hasher;
  for (const TreeEntry& entry : tree.entries) {
    const bool is_link = entry.kind == FileKind::kSymlink;
    hasher.Add("path", entry.path.str());
    if (is_link) {
      hasher.Add("link", entry.link_target);
    } else {
      hasher.Add("mode", entry.mode == 0755 ? "755" : "644");
      hasher.Add("sha256", entry.sha256.Hex());
    }
  }
  return hasher.Finish();
}

}  // namespace ptpkg
