// Idea: one process is simulated at a time. It starts with one file; a list of loaded objects grows while it
// is walked, so the search is breadth first, like ld.so's. Each NEEDED name is answered in this order:
// 1. a name that the process knows already (asked for before, or the DT_SONAME of a loaded object);
// 2. a name with '/': that path; only paths below $ORIGIN can lead into the tree;
// 3. with DT_RUNPATH: the directories of the file itself; otherwise the DT_RPATH of the file and then of each
// of its loaders. Each directory is preceded by its glibc-hwcaps subfolders. A file for another architecture
// is skipped and the search continues; a file that ld.so refuses ends the process. A hit with the device and
// inode of a loaded object is that object. Invariants: lookups (directory, name), directory lists (file,
// machine) and verdicts (file, host) do not depend on the process, so they are cached across processes; the
// number of requests is limited, because chains of libraries can need each other exponentially. Source: glibc
// elf/dl-load.c, _dl_map_object and open_verify; elf/dl-deps.c, _dl_map_object_deps.

#include "verify/elf/loader.h"

#include <algorithm>
#include <fmt/core.h>
#include <unordered_map>

#include "elf/load/search_path.h"
#include "verify/rules/tree_map.h"

namespace ptpkg::verify {
namespace {

/// Subfolders of every directory of a search path, best first; they are searched before the directory itself.
std::vector<std::string> Subfolders(const elf::Host& host, elf::IsaLevel isa) {
  std::vector<std::string> folders;
  if (host.machine == elf::kMachineX8664 && host.elf_class == elf::ElfClass::k64) {
    if (isa >= elf::IsaLevel::kV4) folders.emplace_back("glibc-hwcaps/x86-64-v4");
    if (isa >= elf::IsaLevel::kV3) folders.emplace_back("glibc-hwcaps/x86-64-v3");
    if (isa >= elf::IsaLevel::kV2) folders.emplace_back("glibc-hwcaps/x86-64-v2");
  }
  return folders;
}

}  // namespace

/// A file that the process holds.
struct Loader::Object {
  std::optional<std::size_t> member;  ///< nullopt for one outside the tree.
  std::string origin;
  std::optional<std::size_t> loader;  ///< Object that asked for it; nullopt for the first.
  std::string path;
  /// The nearest object, itself or one of its loaders, with a DT_RPATH that counts; of one that has it,
  /// `above` is the next one that leads to other directories. Long chains mostly have one search path, which
  /// is then looked through once.
  std::optional<std::size_t> nearest_rpath = {};
  std::optional<std::size_t> above = {};
  bool is_linked = false;  ///< True if these two are filled in.
};

struct Loader::Process {
  elf::Host host;
  const LoaderMachine& machine;
  std::vector<std::string> subfolders;
  std::vector<Object> objects;
  std::unordered_map<std::string, std::size_t> names;  ///< Asked for, or DT_SONAME; the first keeps it.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> files;  ///< By device and inode.

  std::size_t Add(Object object, const ElfTree& tree, const TreeNode* node) {
    const std::size_t index = objects.size();
    if (node != nullptr) files.emplace(std::pair(node->device, node->inode), index);
    if (object.member) {
      if (const auto& soname = tree.members[*object.member].facts.soname) names.emplace(*soname, index);
    }
    objects.push_back(std::move(object));
    return index;
  }

  /// Fills in nearest_rpath and above of `object` and of its loaders, and returns the first.
  template <class FoldersOf>
  std::optional<std::size_t> NearestRpath(std::size_t object, const ElfTree& tree,
                                          const FoldersOf& folders_of) {
    std::vector<std::size_t> open;
    for (std::optional<std::size_t> at = object; at && !objects[*at].is_linked; at = objects[*at].loader)
      open.push_back(*at);
    for (; !open.empty(); open.pop_back()) {
      Object& one = objects[open.back()];
      one.is_linked = true;
      const std::optional<std::size_t> outer = one.loader ? objects[*one.loader].nearest_rpath : std::nullopt;
      const elf::LinkFacts* const facts = one.member ? &tree.members[*one.member].facts : nullptr;
      if (facts == nullptr || !facts->rpath || facts->runpath) {
        one.nearest_rpath = outer;
        continue;
      }
      one.nearest_rpath = open.back();
      one.above = outer;
      while (one.above && HaveSamePaths(folders_of(open.back()), folders_of(*one.above)))
        one.above = objects[*one.above].above;
    }
    return objects[object].nearest_rpath;
  }

  static bool HaveSamePaths(const std::vector<Folder>& left, const std::vector<Folder>& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](const Folder& a, const Folder& b) { return a.path == b.path; });
  }
};

Result<std::vector<Load>> Loader::Run(std::size_t entry, const LoaderMachine& machine) {
  const ElfMember& first = tree_.members[entry];
  const elf::Host host = HostOf(first);
  Process process{.host = host,
                  .machine = machine,
                  .subfolders = Subfolders(host, machine.isa),
                  .objects = {},
                  .names = {},
                  .files = {}};
  const auto node = tree_.map.nodes().find(first.path.str());
  process.Add({.member = entry, .origin = OriginOf(first), .loader = {}, .path = first.path.str()}, tree_,
              &node->second);
  std::vector<Load> loads;
  // The list grows while it is walked: that makes the search breadth first.
  for (std::size_t at = 0; at < process.objects.size(); ++at) {
    PTPKG_CHECK(env_.cancel.Check());
    const std::optional<std::size_t> member = process.objects[at].member;
    if (!member) continue;
    std::vector<std::string> asked = tree_.members[*member].facts.needed;
    for (const ElfFilter& filter : tree_.members[*member].filters) asked.push_back(filter.name);
    for (const std::string& name : asked) {
      if (++requests_ > max_requests_) {
        return Error(ErrorCode::kInvalidInput,
                     fmt::format("the files of '{}' need each other more than {} times", tree_.root.str(),
                                 max_requests_));
      }
      PTPKG_TRY(Load load, Request(process, at, name));
      loads.push_back(std::move(load));
    }
  }
  return loads;
}

Result<Load> Loader::Request(Process& process, std::size_t loader, const std::string& needed) {
  const std::size_t member = *process.objects[loader].member;
  Load load{.needed_by = member, .name = needed};
  const std::string name =
      needed.find('$') == std::string::npos
          ? needed
          : elf::ExpandTokens(needed, {.origin = (tree_.root.str() + "/") + process.objects[loader].origin,
                                       .lib = process.machine.lib,
                                       .platform = process.machine.platform});
  if (const auto known = process.names.find(name); known != process.names.end()) {
    load.end = LoadEnd::kFound;
    load.path = process.objects[known->second].path;
    return load;
  }
  PTPKG_TRY(const std::optional<Hit> hit, Search(process, loader, name, load.passed_over));
  if (!hit) return load;
  load.path = hit->file.path;
  load.rule = hit->rule;
  if (hit->fit.fit == elf::CompatibilityKind::kRefused) {
    load.end = LoadEnd::kRefused;
    load.reason = hit->fit.reason;
    return load;
  }
  load.end = LoadEnd::kFound;
  const TreeNode* const node = hit->file.node;
  if (node != nullptr) {
    const auto same = process.files.find({node->device, node->inode});
    if (same != process.files.end()) {
      process.names.emplace(name, same->second);
      load.path = process.objects[same->second].path;
      return load;
    }
  }
  const std::size_t index = process.Add({.member = tree_.FindMember(hit->file.path),
                                         .origin = hit->origin,
                                         .loader = loader,
                                         .path = hit->file.path},
                                        tree_, node);
  process.names.emplace(name, index);
  return load;
}

Result<std::optional<Loader::Hit>> Loader::Search(Process& process, std::size_t loader,
                                                  const std::string& name,
                                                  std::vector<std::string>& passed_over) {
  if (name.find('/') != std::string::npos) return OpenPath(process, name, passed_over);
  const elf::LinkFacts& own = tree_.members[*process.objects[loader].member].facts;
  if (!own.runpath) {
    const auto folders_of = [&](std::size_t object) -> const std::vector<Folder>& {
      return FoldersOf(process, object, *tree_.members[*process.objects[object].member].facts.rpath);
    };
    for (std::optional<std::size_t> at = process.NearestRpath(loader, tree_, folders_of); at;
         at = process.objects[*at].above) {
      const std::optional<std::size_t> member = process.objects[*at].member;
      const elf::LinkFacts& facts = tree_.members[*member].facts;
      PTPKG_TRY(auto hit, SearchFolders(process, FoldersOf(process, *at, *facts.rpath), name, passed_over));
      if (!hit) continue;
      hit->rule.kind = LoadRule::Kind::kRpath;
      hit->rule.holder = *member;
      return hit;
    }
    return std::optional<Hit>();
  }
  return SearchFolders(process, FoldersOf(process, loader, *own.runpath), name, passed_over);
}

Result<std::optional<Loader::Hit>> Loader::SearchFolders(const Process& process,
                                                         const std::vector<Folder>& folders,
                                                         const std::string& name,
                                                         std::vector<std::string>& passed_over) {
  for (const Folder& folder : folders) {
    const Candidate& candidate = LookUp(folder.path, name);
    if (candidate.kind == Candidate::Kind::kNone) continue;
    if (candidate.kind == Candidate::Kind::kLoop) {
      // ELOOP is none of the errors that let ld.so go on with this path.
      if (folder.named) return std::optional<Hit>();
      continue;
    }
    PTPKG_TRY(const elf::LoaderCompatibility fit, Judge(candidate, process.host));
    if (fit.fit != elf::CompatibilityKind::kPassedOver) {
      return std::optional(Hit{.file = candidate,
                               .origin = folder.path,
                               .fit = fit,
                               .rule = {.kind = LoadRule::Kind::kRunpath, .entry = folder.entry}});
    }
    passed_over.push_back(candidate.path);
  }
  return std::optional<Hit>();
}

/// A NEEDED with a '/' is opened as it stands; only what begins with $ORIGIN can lead into the tree.
Result<std::optional<Loader::Hit>> Loader::OpenPath(const Process& process, const std::string& path,
                                                    std::vector<std::string>& passed_over) {
  const std::optional<std::string> inside = PathInTree(path);
  if (!inside) return std::optional<Hit>();
  const std::size_t slash = inside->rfind('/');
  const std::string parent = slash == std::string::npos ? "" : inside->substr(0, slash);
  const std::optional<std::string> folder = tree_.map.FollowToFolder("", parent);
  if (!folder) return std::optional<Hit>();
  const Candidate& candidate = LookUp(*folder, inside->substr(slash + 1));
  if (candidate.kind == Candidate::Kind::kNone || candidate.kind == Candidate::Kind::kLoop) {
    return std::optional<Hit>();
  }
  PTPKG_TRY(const elf::LoaderCompatibility fit, Judge(candidate, process.host));
  if (fit.fit == elf::CompatibilityKind::kPassedOver) {
    passed_over.push_back(candidate.path);
    return std::optional<Hit>();
  }
  return std::optional(
      Hit{.file = candidate, .origin = *folder, .fit = fit, .rule = {.kind = LoadRule::Kind::kPath}});
}

Result<elf::LoaderCompatibility> Loader::Judge(const Candidate& candidate, const elf::Host& host) {
  if (candidate.kind == Candidate::Kind::kElsewhere) return elf::LoaderCompatibility{};
  if (candidate.kind == Candidate::Kind::kFolder) {
    return elf::LoaderCompatibility{.fit = elf::CompatibilityKind::kRefused,
                                    .reason = "cannot read file data: Is a directory"};
  }
  const std::pair key(candidate.path, host);
  if (const auto known = fits_.find(key); known != fits_.end()) return known->second;
  PTPKG_TRY(const elf::LoaderCompatibility fit, ContentCompatibility(candidate.path, host));
  fits_.emplace(key, fit);
  return fit;
}

Result<elf::LoaderCompatibility> Loader::ContentCompatibility(const std::string& path,
                                                              const elf::Host& host) {
  PTPKG_TRY(const auto file, env_.fs.Open(tree_.root / path, OpenMode::kRead));
  std::array<std::byte, elf::kCompatibilityHeaderBytes> head{};
  PTPKG_TRY(const std::size_t got, file->ReadAt(0, head));
  const elf::LoaderCompatibility by_header = elf::CompatibilityFromHeader(Bytes(head).first(got), host);
  if (by_header.fit != elf::CompatibilityKind::kLoads) return by_header;
  if (const auto member = tree_.FindMember(path))
    return elf::CompatibilityFromFlags(tree_.members[*member].facts);
  auto image = elf::ReadImage(*file);
  if (!image && image.error().code() == ErrorCode::kIo) return std::move(image).error();
  if (!image) return elf::LoaderCompatibility{};  // elf-damaged says what is wrong with it
  return elf::LoaderCompatibility{.fit = elf::CompatibilityKind::kRefused,
                                  .reason = "object file has no dynamic section"};
}

const std::vector<Loader::Folder>& Loader::FoldersOf(const Process& process, std::size_t object,
                                                     const elf::SearchPath& path) {
  const Object& holder = process.objects[object];
  const auto [place, fresh] =
      folders_.try_emplace(std::tuple(*holder.member, holder.origin, process.machine));
  if (!fresh) return place->second;
  const elf::TokenValues values{.origin = (tree_.root.str() + "/") + holder.origin,
                                .lib = process.machine.lib,
                                .platform = process.machine.platform};
  for (const std::string& entry : elf::SplitSearchPath(path.text)) {
    // An empty or relative entry is the working directory's: whatever lies there, it is not the tree's.
    const std::optional<std::string> inside = PathInTree(elf::ExpandTokens(entry, values));
    if (!inside) continue;
    const std::optional<std::string> folder = tree_.map.FollowToFolder("", *inside);
    if (!folder) continue;
    for (const std::string& name : process.subfolders) {
      if (auto below = tree_.map.FollowToFolder(*folder, name)) {
        place->second.push_back(
            {.path = *std::move(below), .named = false, .entry = fmt::format("{}/{}", entry, name)});
      }
    }
    place->second.push_back({.path = *folder, .named = true, .entry = entry});
  }
  return place->second;
}

const Loader::Candidate& Loader::LookUp(const std::string& folder, const std::string& name) {
  const auto [place, fresh] = candidates_.try_emplace(std::pair(folder, name));
  Candidate& candidate = place->second;
  if (!fresh) return candidate;
  const Walk walk = tree_.map.Follow(folder, name);
  if (walk.end == WalkEnd::kFound) {
    const bool directory = walk.node->kind == FileKind::kDirectory;
    if (!directory && walk.node->kind != FileKind::kRegular) return candidate;
    candidate.kind = directory ? Candidate::Kind::kFolder : Candidate::Kind::kFile;
    candidate.path = walk.path.empty() ? "." : walk.path;
    candidate.node = walk.node;
  } else if (walk.end == WalkEnd::kLoop) {
    candidate.kind = Candidate::Kind::kLoop;
  } else if (walk.end == WalkEnd::kOutside) {
    // A link to a library of this machine: followed, and its own needs are not looked at.
    const auto path = AbsPath::Resolve(tree_.root, Child(folder, name));
    const auto stat = path ? env_.fs.Stat(*path) : Result<FileStat>(path.error());
    if (!stat || stat->kind != FileKind::kRegular) return candidate;
    candidate.kind = Candidate::Kind::kElsewhere;
    candidate.path = Child(folder, name);
  }
  return candidate;
}

std::optional<std::string> Loader::PathInTree(std::string_view expanded) const {
  const std::string& root = tree_.root.str();
  if (!expanded.starts_with(root)) return std::nullopt;
  expanded.remove_prefix(root.size());
  if (root != "/" && !expanded.empty() && expanded.front() != '/') return std::nullopt;
  return std::string(expanded);
}

}  // namespace ptpkg::verify
