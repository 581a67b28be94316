#include "verify/library_resolver.h"

namespace ptpkg::verify {

LibraryResolver::LibraryResolver(Env& env, const ElfTree& tree) : env_(env), tree_(tree) {
  for (const ElfMember& member : tree.members) paths_.push_back(ExplainSearchPath(env, tree, member));
  for (std::size_t i = 0; i < tree.members.size(); ++i) {
    for (const std::string& name : tree.members[i].facts.needed) {
      if (const auto found = FindLibrary(env, tree, paths_[i], name)) loaders_[*found].push_back(i);
    }
  }
}

std::optional<std::string> LibraryResolver::Resolve(std::size_t index, const std::string& name) {
  if (auto found = FindLibrary(env_, tree_, paths_[index], name)) return found;
  if (tree_.members[index].facts.runpath) return std::nullopt;
  // ld.so goes on with the DT_RPATH of whoever loaded this file.
  const auto loaders = loaders_.find(tree_.members[index].path.str());
  if (loaders == loaders_.end()) return std::nullopt;
  for (const std::size_t loader : loaders->second) {
    if (tree_.members[loader].facts.runpath) continue;
    if (auto found = FindLibrary(env_, tree_, paths_[loader], name)) return found;
  }
  return std::nullopt;
}

}  // namespace ptpkg::verify
