#include "elf/elf_tree.h"

#include "support/find_files.h"

namespace ptpkg::elf {

Result<StagedTree> FindElfFiles(Env& env, const AbsPath& root) {
  constexpr std::uint32_t kOwnerExecute = 0100;
  PTPKG_TRY(std::vector<FoundFile> files, FindFilesByMagic(env, root, "\177ELF"));
  StagedTree tree{.root = root};
  for (FoundFile& file : files) {
    tree.entries.push_back({.path = std::move(file.path),
                            .mode = (file.mode & kOwnerExecute) != 0 ? 0755U : 0644U,
                            .size_bytes = file.size_bytes});
  }
  return tree;
}

}  // namespace ptpkg::elf
