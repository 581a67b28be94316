// Entries and paths.json rows of a payload. Layer: conda.
//
// Only the search for the placeholder reads files here; sizes and digests come from the tree. The search runs
// before packing, because a .tar.bz2 begins with paths.json, which names the files that hold the placeholder.
// Each thread writes to its own element of `found`, so the result does not depend on the number of threads.
// Invariant: entries and rows are in the same order, sorted by the path in the package.

#include "conda/info/payload.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "conda/info/noarch.h"
#include "conda/info/prefix.h"
#include "support/process/parallel.h"
#include "support/text/case_collisions.h"
#include "support/text/globs.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::conda {
namespace {

// Windows stops at 260 characters including the directory that it is unpacked in; rattler-build warns here
// too.
constexpr std::size_t kLongPath = 200;
constexpr std::size_t kWarningsOfAKind = 10;

struct MappedEntry {
  const TreeEntry* entry = nullptr;
  RelPath path;
};

/// Prefix paths of the scripts that the installer of a noarch package writes by info/link.json. One that the
/// build has made too (pip does) would be in its way.
std::set<std::string> EntryPointScripts(const PackageMetadata& metadata) {
  std::set<std::string> paths;
  for (const std::string& entry_point : metadata.entry_points) {
    paths.insert("bin/" + std::string(Trim(std::string_view(entry_point).substr(0, entry_point.find('=')))));
  }
  return paths;
}

Result<std::vector<MappedEntry>> MapEntries(const PackageInput& input) {
  std::vector<MappedEntry> mapped;
  const std::set<std::string> scripts = EntryPointScripts(input.metadata);
  for (const TreeEntry& entry : input.tree.entries) {
    if (scripts.contains(entry.path.str())) continue;
    std::optional<RelPath> path = entry.path;
    if (input.metadata.noarch_python) path = ToNoarch(entry.path);
    if (!path) continue;
    if (path->IsWithin(RelPath::Literal("info"))) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}' is in info/, which is reserved for package metadata", entry.path.str()))
          .WithHint("install the file elsewhere, or exclude it with build.files");
    }
    mapped.push_back({&entry, *std::move(path)});
  }
  // The noarch mapping changes the beginning of paths, so the order of the tree is not enough.
  std::sort(mapped.begin(), mapped.end(),
            [](const MappedEntry& a, const MappedEntry& b) { return a.path < b.path; });
  return mapped;
}

PathsEntry Describe(const PackageInput& input, const MappedEntry& mapped) {
  const StagedTree& tree = input.tree;
  PathsEntry row;
  row.no_link = MatchesAnyGlob(input.no_link, mapped.entry->path.str());
  row.path = mapped.path.str();
  const TreeEntry* content = mapped.entry;
  if (mapped.entry->kind == FileKind::kSymlink) {
    row.type = PathType::kSoftLink;
    content = LinkedFile(tree, *mapped.entry);
  }
  // A link has size and digest of its target file (CEP 34). Without a target file in the package, they
  // describe zero bytes. Directories have no rows: conda raises NotImplementedError while it verifies one.
  row.sha256 = content == nullptr ? HashText("") : content->sha256;
  row.size_bytes = content == nullptr ? 0 : content->size_bytes;
  return row;
}

bool MayHoldPlaceholder(const TreeEntry& entry) {
  const std::string_view extension = entry.path.Extension();
  return entry.kind == FileKind::kRegular && extension != ".pyc" && extension != ".pyo";
}

enum class Finding : std::uint8_t { kNone, kText, kBinary };

Result<Finding> SearchEntry(Env& env, const PackageInput& input, const TreeEntry& entry) {
  const std::string& path = entry.path.str();
  // The recipe's globs win over the content, and its exclusions win over the forced modes.
  if (!MayHoldPlaceholder(entry) || MatchesAnyGlob(input.keeps_placeholder, path)) return Finding::kNone;
  PTPKG_CHECK(env.cancel.Check());
  PTPKG_TRY(const std::optional<FileMode> mode,
            DetectPlaceholder(env.fs, input.tree.root / entry.path, input.prefix_placeholder),
            fmt::format("while searching '{}' for the prefix", entry.path.str()));
  if (!mode) return Finding::kNone;
  if (MatchesAnyGlob(input.force_text, path)) return Finding::kText;
  if (MatchesAnyGlob(input.force_binary, path)) return Finding::kBinary;
  return *mode == FileMode::kText ? Finding::kText : Finding::kBinary;
}

Result<void> FindPlaceholders(Env& env, const PackageInput& input, const std::vector<MappedEntry>& mapped,
                              std::vector<PathsEntry>& rows) {
  if (input.prefix_placeholder.empty()) return Ok();
  std::vector<Finding> found(mapped.size(), Finding::kNone);
  const auto search = [&](std::size_t i) -> Result<void> {
    PTPKG_TRY(found[i], SearchEntry(env, input, *mapped[i].entry));
    return Ok();
  };
  PTPKG_CHECK(ParallelFor(env.jobs, mapped.size(), search));
  std::size_t left = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == Finding::kNone) continue;
    if (found[i] == Finding::kBinary && !input.binary_placeholders) {
      ++left;
      continue;
    }
    rows[i].placeholder = input.prefix_placeholder;
    rows[i].mode = found[i] == Finding::kText ? FileMode::kText : FileMode::kBinary;
  }
  if (left > 0) {
    env.reporter.Note(
        fmt::format("{} with the build prefix will not be relocated, as requested by the recipe",
                    Plural(left, "binary file")));
  }
  return Ok();
}

Result<void> AddEntries(const PackageInput& input, const std::vector<MappedEntry>& mapped,
                        archive::EntrySet& entries) {
  for (const MappedEntry& item : mapped) {
    archive::Entry entry{.name = item.path,
                         .is_symlink = item.entry->kind == FileKind::kSymlink,
                         .mode = item.entry->mode,
                         .size_bytes = item.entry->size_bytes,
                         .link_target = item.entry->link_target,
                         .text = {},
                         .file = input.tree.root / item.entry->path};
    PTPKG_CHECK(entries.Add(std::move(entry)));
  }
  return Ok();
}

/// The first ten messages of one kind, then one that counts the rest.
void AddLimited(std::vector<std::string>& all, std::vector<std::string> messages, std::string_view kind) {
  if (messages.size() > kWarningsOfAKind) {
    const std::size_t rest = messages.size() - kWarningsOfAKind;
    messages.resize(kWarningsOfAKind);
    messages.push_back(fmt::format("{} more {}", rest, kind));
  }
  all.insert(all.end(), messages.begin(), messages.end());
}

}  // namespace

Result<Payload> MakePayload(Env& env, const PackageInput& input) {
  PTPKG_TRY(const std::vector<MappedEntry> mapped, MapEntries(input));
  Payload payload;
  payload.paths.reserve(mapped.size());
  for (const MappedEntry& item : mapped) payload.paths.push_back(Describe(input, item));
  PTPKG_CHECK(FindPlaceholders(env, input, mapped, payload.paths));
  PTPKG_CHECK(AddEntries(input, mapped, payload.entries));
  return payload;
}

std::vector<std::string> NameWarnings(const std::vector<PathsEntry>& paths) {
  std::vector<std::string> long_names;
  std::vector<std::string> foreign;
  std::vector<std::string> collisions;
  std::vector<std::string> names;
  for (const PathsEntry& entry : paths) {
    if (entry.path.size() > kLongPath) {
      long_names.push_back(fmt::format("'{}' is longer than {} bytes", entry.path, kLongPath));
    }
    if (std::any_of(entry.path.begin(), entry.path.end(), [](char c) { return (c & 0x80) != 0; })) {
      foreign.push_back(fmt::format("'{}' is not ASCII", entry.path));
    }
    names.push_back(entry.path);
  }
  for (const auto& [first, second] : CaseCollisions(names))
    collisions.push_back(fmt::format("'{}' and '{}' are one name on macOS and Windows", first, second));
  std::vector<std::string> all;
  AddLimited(all, std::move(long_names), "names are too long for some file systems");
  AddLimited(all, std::move(collisions), "names are one name on macOS and Windows");
  AddLimited(all, std::move(foreign), "names are not ASCII");
  return all;
}

}  // namespace ptpkg::conda
