#include "elf/edit/elf_files.h"

#include <array>

#include "support/files/find_files.h"

namespace ptpkg::elf {
namespace {

// No compiler or interpreter takes an ELF file under these names, and no loader asks for one. They are 98 of
// 100 files of a torch wheel, and looking into them took two thirds of a run. Everything else is looked at.
constexpr std::array<std::string_view, 5> kSourceText = {".h", ".hpp", ".cuh", ".py", ".pyi"};

}  // namespace

Result<StagedTree> FindElfFiles(Env& env, const AbsPath& root) {
  constexpr std::uint32_t kOwnerExecute = 0100;
  PTPKG_TRY(std::vector<FoundFile> files,
            FindFilesByMagic(env, root, {.magic = "\177ELF", .skipped_extensions = kSourceText}));
  StagedTree tree{.root = root};
  for (FoundFile& file : files) {
    tree.entries.push_back({.path = std::move(file.path),
                            .mode = (file.mode & kOwnerExecute) != 0 ? 0755U : 0644U,
                            .size_bytes = file.size_bytes});
  }
  return tree;
}

}  // namespace ptpkg::elf
