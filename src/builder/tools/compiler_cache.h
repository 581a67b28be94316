#pragma once
// ccache between a build and its C, C++ and CUDA compilers: --ccache. Layer: builder.
// docs/decisions/0014-compiler-cache.md explains the layout, and the faults of ccache 4.7 that it avoids.
//
//   <root>/ccache/launch       CMake's launcher: runs the compiler that it is given
//   <root>/ccache/bin/<name>   the same for one compiler: CC, CXX and CUDACXX of builds without CMake
//   <root>/ccache/log          the result of each compilation

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "builder/resume/work_layout.h"
#include "recipe/recipe.h"
#include "support/files/lease.h"

namespace ptpkg::builder {

/// Directory that holds the objects.
AbsPath CompilerCacheFolder(const Env& env);

/// ccache of PATH. Errors: kNotFound with the command that installs it.
Result<AbsPath> FindCompilerCache(const Env& env);

struct OpenCompilerCache {
  AbsPath program;
  Lease lease;  ///< While it lives, `ptpkg cache clean` keeps the objects.
};

/// Makes the directory, and checks that ccache accepts it and the user's settings. Otherwise each compilation
/// would fail. Errors: as FindCompilerCache and LeaseCacheDir; kUsage for a setting and kIo for the
/// directory. These two quote ccache's message without the value of CCACHE_REMOTE_STORAGE, which can hold a
/// password.
Result<OpenCompilerCache> PrepareCompilerCache(Env& env);

struct CompilerCacheInput {
  std::optional<AbsPath> program = {};  ///< ccache; nullopt: the same programs, which only run the compiler.
  const recipe::Recipe& recipe;
  const WorkLayout& layout;
  const std::map<std::string, std::string>& variables;  ///< Variables of the script.
};

struct CompilerCache {
  std::map<std::string, std::string> variables = {};  ///< For the script; they replace existing ones.
  std::string preamble = {};                          ///< For a shell, after compilers have been switched on.
};

/// Writes the programs. They wrap CC, CXX and CUDACXX of the variables if these name a compiler, the
/// compilers of the build and host prefix, and cc, c++, gcc and g++ of PATH. For a link to ccache they call
/// the next program of its name on PATH. Changes CUDACXX only if CUDA_HOME is set, because scripts look for
/// the toolkit next to $CUDACXX.
///
/// ptpkg caches gcc and nvcc. The key of a gcc covers its version and the content of its driver, cc1, cc1plus
/// and as, but not the libraries that these load. NvccKey makes the key of nvcc. clang is not cached, because
/// its code is in such libraries. A compiler that does not print its version and parts is not cached either.
///
/// Applies the user's settings CCACHE_REMOTE_STORAGE and CCACHE_MAXSIZE. ccache leaves a remote storage out
/// of a compilation if it does not answer within a second, or the operation-timeout that it has.
/// Errors: kIo, kCancelled.
Result<CompilerCache> WrapCompilers(Env& env, const CompilerCacheInput& input);

/// Records that a build contains files with the paths of these programs: HasCompilerCache is true from then
/// on. Errors: kIo.
Result<void> MarkCompilerCacheUsed(Env& env, const WorkLayout& layout);

/// True if WrapCompilers or MarkCompilerCacheUsed was called for `layout`, by this run or by the interrupted
/// run that it resumes. Errors: kIo.
Result<bool> HasCompilerCache(Env& env, const WorkLayout& layout);

/// "ccache_hits" and "ccache_misses" since WrapCompilers. Errors: kIo.
Result<std::map<std::string, std::uint64_t>> CompilerCacheCounts(Env& env, const WorkLayout& layout);

/// Refuses a file below `folder` that holds the path of one of these programs: a build without them would
/// make another file. Errors: kInvalidInput naming the first such file, with a hint for a build that inherits
/// nothing; kIo.
Result<void> CheckNoCompilerCachePaths(Env& env, const WorkLayout& layout, const AbsPath& folder,
                                       const std::vector<RelPath>& files);

}  // namespace ptpkg::builder
