#include "verify/declaration.h"

#include "support/limits.h"

namespace ptpkg::verify {

Result<std::optional<std::string>> ReadDeclaration(Env& env, const AbsPath& path) {
  PTPKG_TRY(const FileStat stat, env.fs.Stat(path));
  if (stat.size_bytes > limits::kMetadata) return std::optional<std::string>();
  PTPKG_TRY(std::string text, ReadFile(env.fs, path, limits::kMetadata));
  return std::optional(std::move(text));
}

}  // namespace ptpkg::verify
