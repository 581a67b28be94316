// ${{ NAME }} in a script becomes "${NAME}" for these names, which only exist while the script runs. Any
// other name in capitals does as well, since packages of the build environment export more. So the list
// serves hints and suggestions, and names that are not all capitals (CUDAToolkit_ROOT).

#include "recipe/script_variables.h"

#include <algorithm>
#include <array>

namespace ptpkg::recipe {
namespace {

constexpr auto kNames = std::to_array<std::string_view>({"BUILD_PREFIX",
                                                         "CC",
                                                         "CCACHE_DISABLE",
                                                         "CFLAGS",
                                                         "CMAKE_BUILD_PARALLEL_LEVEL",
                                                         "CMAKE_GENERATOR",
                                                         "CMAKE_PREFIX_PATH",
                                                         "CONDA_BUILD",
                                                         "CONDA_BUILD_STATE",
                                                         "CPPFLAGS",
                                                         "CPU_COUNT",
                                                         "CUDACXX",
                                                         "CUDAToolkit_ROOT",
                                                         "CUDA_HOME",
                                                         "CUDA_PATH",
                                                         "CXX",
                                                         "CXXFLAGS",
                                                         "FC",
                                                         "GIT_FULL_HASH",
                                                         "HIPCC_COMPILE_FLAGS_APPEND",
                                                         "HOME",
                                                         "LANG",
                                                         "LC_ALL",
                                                         "LDFLAGS",
                                                         "MAX_JOBS",
                                                         "NVCC_PREPEND_FLAGS",
                                                         "PATH",
                                                         "PIP_DISABLE_PIP_VERSION_CHECK",
                                                         "PIP_NO_BUILD_ISOLATION",
                                                         "PIP_NO_CACHE_DIR",
                                                         "PIP_NO_DEPENDENCIES",
                                                         "PIP_NO_INDEX",
                                                         "PIP_REQUIRE_VIRTUALENV",
                                                         "PIP_ROOT_USER_ACTION",
                                                         "PKG_BUILDNUM",
                                                         "PKG_BUILD_STRING",
                                                         "PKG_CONFIG_PATH",
                                                         "PKG_HASH",
                                                         "PKG_NAME",
                                                         "PKG_VERSION",
                                                         "PREFIX",
                                                         "PWD",
                                                         "PY3K",
                                                         "PYTHON",
                                                         "PYTHONDONTWRITEBYTECODE",
                                                         "PYTHONHASHSEED",
                                                         "PYTHONNOUSERSITE",
                                                         "PYTORCH_BUILD_NUMBER",
                                                         "PYTORCH_BUILD_VERSION",
                                                         "PY_VER",
                                                         "RECIPE_DIR",
                                                         "SHLIB_EXT",
                                                         "SOURCE_DATE_EPOCH",
                                                         "SP_DIR",
                                                         "SRC_DIR",
                                                         "STDLIB_DIR",
                                                         "SUBDIR",
                                                         "TMPDIR",
                                                         "TZ",
                                                         "VIRTUAL_ENV"});
static_assert(std::is_sorted(kNames.begin(), kNames.end()));

}  // namespace

std::span<const std::string_view> ScriptVariables() { return kNames; }

bool IsScriptVariable(std::string_view name) {
  return std::binary_search(kNames.begin(), kNames.end(), name);
}

bool MayBeScriptVariable(std::string_view name) {
  const auto is_word = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  return IsScriptVariable(name) ||
         (!name.empty() && name.front() >= 'A' && name.front() <= 'Z' && std::ranges::all_of(name, is_word));
}

}  // namespace ptpkg::recipe
