#include "verify/declaration.h"

#include "support/limits.h"

namespace ptpkg::verify {

Result<std::optional<std::string>> ReadDeclaration(Env& env, const AbsPath& path) {
  // A link could lead to any file of this machine.
  PTPKG_TRY(const FileStat stat, env.fs.Lstat(path));
  if (stat.kind != FileKind::kRegular || stat.size_bytes > limits::kMetadata)
    return std::optional<std::string>();
  PTPKG_TRY(std::string text, ReadFile(env.fs, path, limits::kMetadata));
  return std::optional(std::move(text));
}

}  // namespace ptpkg::verify
