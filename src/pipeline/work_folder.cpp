#include "pipeline/work_folder.h"

namespace ptpkg::pipeline {

Result<TempDir> MakeWorkFolder(Env& env) {
  constexpr std::string_view kPrefix = "tree";
  const AbsPath parent = env.cache_dir / "work";
  PTPKG_CHECK(env.fs.MakeDirs(parent), "while preparing the cache");
  PTPKG_CHECK(RemoveStaleTempDirs(env.fs, parent, kPrefix));
  return TempDir::Create(env.fs, parent, kPrefix);
}

}  // namespace ptpkg::pipeline
