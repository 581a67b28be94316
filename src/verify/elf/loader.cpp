// Idea: one process is simulated at a time. It starts with one file; a list of loaded objects grows while it
// is walked, so the search is breadth first, like ld.so's. Each NEEDED name is answered in this order:
// 1. a name that the process knows already (asked for before, or the DT_SONAME of a loaded object);
// 2. a name with '/': that path; only paths below $ORIGIN can lead into the tree;
// 3. with DT_RUNPATH: the directories of the file itself; otherwise the DT_RPATH of the file and then of each
// of its loaders. Each directory is preceded by its glibc-hwcaps subfolders. A file for another architecture
// is skipped and the search continues; a file that ld.so refuses ends the process. A hit with the device and
// inode of a loaded object is that object. Invariants: lookups (directory, name), directory lists (file,
// machine) and verdicts (file, host) do not depend on the process, so loader_lookup.h keeps them for all
// processes; the number of requests is limited, because chains of libraries can need each other
// exponentially. Source: glibc elf/dl-load.c, _dl_map_object and open_verify; elf/dl-deps.c,
// _dl_map_object_deps.

#include "verify/elf/loader.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <unordered_map>

#include "verify/rules/tree_map.h"

namespace ptpkg::verify {
namespace {

/// A file that the process holds.
struct LoadedObject {
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

bool HaveSamePaths(const std::vector<LoaderFolder>& left, const std::vector<LoaderFolder>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const LoaderFolder& a, const LoaderFolder& b) { return a.path == b.path; });
}

/// The objects of one process, and the names under which it finds them again.
class LoadedObjects {
 public:
  LoadedObjects(const ElfTree& tree, LoaderTarget target) : tree_(tree), target_(std::move(target)) {}

  /// `node`: of the file; null for a file outside the tree.
  std::size_t Add(LoadedObject object, const TreeNode* node) {
    const std::size_t index = objects_.size();
    if (node != nullptr) files_.emplace(std::pair(node->device, node->inode), index);
    if (object.member) {
      if (const auto& soname = tree_.members[*object.member].facts.soname) names_.emplace(*soname, index);
    }
    objects_.push_back(std::move(object));
    return index;
  }
  /// Makes the object known as `name`, unless another has that name.
  void Name(const std::string& name, std::size_t object) { names_.emplace(name, object); }

  [[nodiscard]] const LoadedObject* FindNamed(const std::string& name) const {
    const auto known = names_.find(name);
    return known == names_.end() ? nullptr : &objects_[known->second];
  }
  /// The object with the device and inode of `node`.
  [[nodiscard]] std::optional<std::size_t> FindFile(const TreeNode& node) const {
    const auto same = files_.find({node.device, node.inode});
    return same == files_.end() ? std::nullopt : std::optional(same->second);
  }

  /// The nearest of `object` and its loaders with a DT_RPATH. Fills in nearest_rpath and above of them.
  std::optional<std::size_t> NearestRpath(std::size_t object, LoaderLookup& lookup) {
    std::vector<std::size_t> open;
    for (std::optional<std::size_t> at = object; at && !objects_[*at].is_linked; at = objects_[*at].loader)
      open.push_back(*at);
    for (; !open.empty(); open.pop_back()) {
      LoadedObject& one = objects_[open.back()];
      one.is_linked = true;
      const std::optional<std::size_t> outer =
          one.loader ? objects_[*one.loader].nearest_rpath : std::nullopt;
      const elf::LinkFacts* const facts = one.member ? &tree_.members[*one.member].facts : nullptr;
      if (facts == nullptr || !facts->rpath || facts->runpath) {
        one.nearest_rpath = outer;
        continue;
      }
      one.nearest_rpath = open.back();
      one.above = outer;
      while (one.above && HaveSamePaths(RpathFolders(open.back(), lookup), RpathFolders(*one.above, lookup)))
        one.above = objects_[*one.above].above;
    }
    return objects_[object].nearest_rpath;
  }

  /// REQUIRES: the object is a member with a DT_RPATH.
  [[nodiscard]] const std::vector<LoaderFolder>& RpathFolders(std::size_t object,
                                                              LoaderLookup& lookup) const {
    return FoldersOf(object, *FactsOf(object).rpath, lookup);
  }
  /// REQUIRES: the object is a member with a DT_RUNPATH.
  [[nodiscard]] const std::vector<LoaderFolder>& RunpathFolders(std::size_t object,
                                                                LoaderLookup& lookup) const {
    return FoldersOf(object, *FactsOf(object).runpath, lookup);
  }

  /// REQUIRES: the object is a member.
  [[nodiscard]] const elf::LinkFacts& FactsOf(std::size_t object) const {
    return tree_.members[*objects_[object].member].facts;
  }
  [[nodiscard]] const LoadedObject& operator[](std::size_t object) const { return objects_[object]; }
  [[nodiscard]] std::size_t size() const { return objects_.size(); }
  [[nodiscard]] const ElfTree& tree() const { return tree_; }
  [[nodiscard]] const LoaderTarget& target() const { return target_; }

 private:
  [[nodiscard]] const std::vector<LoaderFolder>& FoldersOf(std::size_t object, const elf::SearchPath& path,
                                                           LoaderLookup& lookup) const {
    return lookup.FoldersOf(target_, *objects_[object].member, objects_[object].origin, path);
  }

  const ElfTree& tree_;
  LoaderTarget target_;
  std::vector<LoadedObject> objects_;
  std::unordered_map<std::string, std::size_t> names_;  ///< Asked for, or DT_SONAME; the first keeps it.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> files_;  ///< By device and inode.
};

/// A file that ends a search.
struct LoaderHit {
  LoaderCandidate file;
  std::string origin;  ///< Directory that it was found in.
  elf::LoaderCompatibility fit;
  LoadRule rule = {};
};

/// Appends files for other processors to `passed_over`.
Result<std::optional<LoaderHit>> SearchFolders(LoaderLookup& lookup, const elf::Host& host,
                                               const std::vector<LoaderFolder>& folders,
                                               const std::string& name,
                                               std::vector<std::string>& passed_over) {
  for (const LoaderFolder& folder : folders) {
    const LoaderCandidate& candidate = lookup.LookUp(folder.path, name);
    if (candidate.kind == LoaderCandidate::Kind::kNone) continue;
    if (candidate.kind == LoaderCandidate::Kind::kLoop) {
      // ELOOP is none of the errors that let ld.so go on with this path.
      // glibc tests errno after the subdirectories of an entry, so only the error of the directory itself
      // counts (open_path).
      if (folder.named) return std::optional<LoaderHit>();
      continue;
    }
    PTPKG_TRY(const elf::LoaderCompatibility fit, lookup.Judge(candidate, host));
    if (fit.fit != elf::CompatibilityKind::kPassedOver) {
      return std::optional(LoaderHit{.file = candidate,
                                     .origin = folder.path,
                                     .fit = fit,
                                     .rule = {.kind = LoadRule::Kind::kRunpath, .entry = folder.entry}});
    }
    passed_over.push_back(candidate.path);
  }
  return std::optional<LoaderHit>();
}

/// A NEEDED with a '/' is opened as it stands; only what begins with $ORIGIN can lead into the tree.
Result<std::optional<LoaderHit>> OpenPath(LoaderLookup& lookup, const elf::Host& host,
                                          const std::string& path, std::vector<std::string>& passed_over) {
  const std::optional<PlacedCandidate> placed = lookup.LookUpPath(path);
  if (!placed) return std::optional<LoaderHit>();
  const LoaderCandidate& candidate = placed->candidate;
  if (candidate.kind == LoaderCandidate::Kind::kNone || candidate.kind == LoaderCandidate::Kind::kLoop)
    return std::optional<LoaderHit>();
  PTPKG_TRY(const elf::LoaderCompatibility fit, lookup.Judge(candidate, host));
  if (fit.fit == elf::CompatibilityKind::kPassedOver) {
    passed_over.push_back(candidate.path);
    return std::optional<LoaderHit>();
  }
  return std::optional(LoaderHit{
      .file = candidate, .origin = placed->folder, .fit = fit, .rule = {.kind = LoadRule::Kind::kPath}});
}

/// `loader`: the object that needs `name`.
Result<std::optional<LoaderHit>> SearchName(LoaderLookup& lookup, LoadedObjects& objects, std::size_t loader,
                                            const std::string& name, std::vector<std::string>& passed_over) {
  const elf::Host& host = objects.target().host;
  if (name.find('/') != std::string::npos) return OpenPath(lookup, host, name, passed_over);
  // DT_RUNPATH switches off each DT_RPATH, also the ones of the file's loaders.
  if (objects.FactsOf(loader).runpath)
    return SearchFolders(lookup, host, objects.RunpathFolders(loader, lookup), name, passed_over);
  for (std::optional<std::size_t> at = objects.NearestRpath(loader, lookup); at; at = objects[*at].above) {
    PTPKG_TRY(auto hit, SearchFolders(lookup, host, objects.RpathFolders(*at, lookup), name, passed_over));
    if (!hit) continue;
    hit->rule.kind = LoadRule::Kind::kRpath;
    hit->rule.holder = *objects[*at].member;
    return hit;
  }
  return std::optional<LoaderHit>();
}

/// Answers one NEEDED of the object `loader`, and adds the file that it leads to.
Result<Load> AnswerRequest(LoaderLookup& lookup, LoadedObjects& objects, std::size_t loader,
                           const std::string& needed) {
  Load load{.needed_by = *objects[loader].member, .name = needed};
  const std::string name = needed.find('$') == std::string::npos
                               ? needed
                               : lookup.Expand(needed, objects[loader].origin, objects.target().machine);
  // Before any search, like _dl_map_object: a library that is loaded under this name wins over every search
  // path.
  if (const LoadedObject* const known = objects.FindNamed(name)) {
    load.end = LoadEnd::kFound;
    load.path = known->path;
    return load;
  }
  PTPKG_TRY(const std::optional<LoaderHit> hit, SearchName(lookup, objects, loader, name, load.passed_over));
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
  // The file is loaded already, by another name. It is not loaded twice, but the new name is known from now
  // on.
  if (const auto same = node == nullptr ? std::nullopt : objects.FindFile(*node)) {
    objects.Name(name, *same);
    load.path = objects[*same].path;
    return load;
  }
  const std::size_t index = objects.Add({.member = objects.tree().FindMember(hit->file.path),
                                         .origin = hit->origin,
                                         .loader = loader,
                                         .path = hit->file.path},
                                        node);
  objects.Name(name, index);
  return load;
}

}  // namespace

Result<std::vector<Load>> Loader::Run(std::size_t entry, const LoaderMachine& machine) {
  const ElfMember& first = tree_.members[entry];
  LoadedObjects objects(tree_, MakeLoaderTarget(HostOf(first), machine));
  const auto node = tree_.map.nodes().find(first.path.str());
  objects.Add({.member = entry, .origin = OriginOf(first), .loader = {}, .path = first.path.str()},
              &node->second);
  std::vector<Load> loads;
  // The list grows while it is walked: that makes the search breadth first.
  for (std::size_t at = 0; at < objects.size(); ++at) {
    PTPKG_CHECK(env_.cancel.Check());
    const std::optional<std::size_t> member = objects[at].member;
    // The needs of a file outside the tree are not known.
    if (!member) continue;
    std::vector<std::string> asked = tree_.members[*member].facts.needed;
    for (const ElfFilter& filter : tree_.members[*member].filters) asked.push_back(filter.name);
    for (const std::string& name : asked) {
      if (++requests_ > max_requests_) {
        return Error(ErrorCode::kInvalidInput,
                     fmt::format("the files of '{}' need each other more than {} times", tree_.root.str(),
                                 max_requests_));
      }
      PTPKG_TRY(Load load, AnswerRequest(lookup_, objects, at, name));
      loads.push_back(std::move(load));
    }
  }
  return loads;
}

}  // namespace ptpkg::verify
