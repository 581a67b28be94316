// ptpkg builds the script's environment from nothing: with the caller's variables, a result would depend on
// the shell that started it. Each variable has one of these reasons:
//
// - conda-build's and rattler-build's names, so that scripts written for those run unchanged
// - reproducibility: locale, time zone, hash seed, SOURCE_DATE_EPOCH, prefix maps, no build ids
// - relocation: a search path pad in LDFLAGS leaves room for any later search path
// - isolation: pip must neither ask an index nor install into the machine's Python
//
// Invariant: the order decides who wins. Variant keys only fill gaps (`try_emplace`), so a key called PATH
// cannot break a build. `script.env` overrides everything, and PyTorch's version comes last because it reads
// the outcome. docs/formats/build-environment.md describes each variable.

#include "builder/env/environment.h"

#include <algorithm>
#include <fmt/core.h>

#include "builder/env/torch_version.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

using Variables = std::map<std::string, std::string>;

/// Directories for PATH, in order, without repetitions.
class PathList {
 public:
  void Add(const AbsPath& folder) {
    if (std::find(folders_.begin(), folders_.end(), folder.str()) == folders_.end())
      folders_.push_back(folder.str());
  }
  [[nodiscard]] std::string str() const { return Join(folders_, ":"); }

 private:
  std::vector<std::string> folders_;
};

std::string ScriptPath(const EnvironmentInput& input) {
  PathList path;
  path.Add(input.layout.build_prefix / "bin");
  path.Add(input.layout.prefix / "bin");
  // Tools that were laid for this build hide others of the machine.
  for (const Tool& tool : input.tools.tools) {
    if (tool.path.IsWithin(input.layout.build_prefix)) path.Add(tool.path.Parent());
  }
  if (input.tools.python) path.Add(input.tools.python->program_folder);
  path.Add(AbsPath::Literal("/usr/bin"));
  path.Add(AbsPath::Literal("/bin"));
  // Directories elsewhere come last: they may hold other programs that nobody asked for.
  for (const Tool& tool : input.tools.tools) path.Add(tool.path.Parent());
  return path.str();
}

void AddFolders(Variables& out, const EnvironmentInput& input) {
  const WorkLayout& layout = input.layout;
  out["PREFIX"] = layout.prefix.str();
  out["BUILD_PREFIX"] = layout.build_prefix.str();
  out["SRC_DIR"] = input.source_root.str();
  out["RECIPE_DIR"] = layout.recipe_copy.str();
  out["HOME"] = layout.home.str();
  out["TMPDIR"] = layout.temp.str();
  out["PWD"] = input.source_root.str();
  out["PATH"] = ScriptPath(input);
}

void AddPackage(Variables& out, const EnvironmentInput& input) {
  const recipe::Recipe& recipe = input.recipe;
  if (!recipe.staging) {  // which makes no package that could have a name
    out["PKG_NAME"] = recipe.name;
    out["PKG_VERSION"] = recipe.version;
  }
  const Variables on_mention = {{"PKG_BUILDNUM", std::to_string(recipe.build_number)},
                                {"PKG_BUILD_STRING", recipe.build_string},
                                {"PKG_HASH", recipe.hash}};
  for (const auto& [name, value] : on_mention) {
    if (input.mentioned.contains(name) && !recipe.staging) out[name] = value;
  }
  if (!input.source_commit.empty()) out["GIT_FULL_HASH"] = input.source_commit;
  out["SUBDIR"] = recipe.subdir;
  out["SHLIB_EXT"] = ".so";
  out["CONDA_BUILD"] = "1";
  out["CONDA_BUILD_STATE"] = "BUILD";
}

void AddReproducibility(Variables& out, const Env& env) {
  out["LC_ALL"] = "C.UTF-8";
  out["LANG"] = "C.UTF-8";
  out["TZ"] = "UTC";
  out["SOURCE_DATE_EPOCH"] = std::to_string(env.source_date_epoch);
  // Some projects use any ccache that they find. It returns wrong objects for some nvcc commands, and its
  // cache would lie in this build's empty HOME anyway.
  out["CCACHE_DISABLE"] = "1";
  out["PYTHONHASHSEED"] = "0";
  out["PYTHONDONTWRITEBYTECODE"] = "1";
  out["PYTHONNOUSERSITE"] = "1";
  // Like conda-build: a build takes nothing from an index, and pip must not ask one.
  out["PIP_NO_INDEX"] = "1";
  out["PIP_NO_DEPENDENCIES"] = "1";
  // pip reads the negation of a --no option: 0 switches isolation and cache off. pip since 19 takes 1 as well
  // for the cache; pip 18, which comes with Python 3.6, then looks for a directory called 1, and fails.
  out["PIP_NO_BUILD_ISOLATION"] = "0";
  out["PIP_NO_CACHE_DIR"] = "0";
  out["PIP_DISABLE_PIP_VERSION_CHECK"] = "1";
  out["PIP_ROOT_USER_ACTION"] = "ignore";
}

/// Directories of the build, and what they are called in files.
std::vector<std::string> PrefixMaps(const EnvironmentInput& input) {
  std::vector<std::string> maps = {
      fmt::format("-ffile-prefix-map={}=/usr/local/src/{}-{}", input.source_root.str(), input.recipe.name,
                  input.recipe.version),
      fmt::format("-ffile-prefix-map={}=/usr/local/src/prefix", input.layout.prefix.str())};
  const bool laid = std::any_of(input.tools.tools.begin(), input.tools.tools.end(), [&](const Tool& tool) {
    return tool.path.IsWithin(input.layout.build_prefix);
  });
  // Headers of such tools carry the names of their files into messages.
  if (laid) {
    maps.push_back(
        fmt::format("-ffile-prefix-map={}=/usr/local/src/build_prefix", input.layout.build_prefix.str()));
  }
  return maps;
}

/// Without these an object of device code holds the path of its source and, in the names of static
/// variables, "tmpxft_<process id>", and no two builds are equal.
void AddDeviceCode(Variables& out, const EnvironmentInput& input) {
  const std::vector<std::string> maps = PrefixMaps(input);
  for (const Tool& tool : input.tools.tools) {
    if (tool.path.Name() == "hipcc") out["HIPCC_COMPILE_FLAGS_APPEND"] = Join(maps, " ");
    if (tool.path.Name() != "nvcc") continue;
    std::string flags = "--objdir-as-tempdir";
    for (const std::string& map : maps) flags += " -Xcompiler=" + map;
    out["NVCC_PREPEND_FLAGS"] = flags;
    const bool is_one = tool.toolkit && tool.toolkit->has_profile;
    if (!is_one && !tool.path.IsWithin(input.layout.build_prefix)) continue;
    // Projects look here for the libraries that go with it; PATH may have another one first.
    const std::string toolkit = (is_one ? tool.toolkit->root : tool.path.Parent().Parent()).str();
    for (const char* name : {"CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT"}) out[name] = toolkit;
  }
}

void AddCompilation(Variables& out, const EnvironmentInput& input) {
  const std::string prefix = input.layout.prefix.str();
  const std::string maps = Join(PrefixMaps(input), " ");
  const std::string include = fmt::format("-I{}/include", prefix);
  out["CPPFLAGS"] = include;
  out["CFLAGS"] = maps + " " + include;
  out["CXXFLAGS"] = maps + " " + include;
  out["LDFLAGS"] = fmt::format("-L{}/lib -Wl,-rpath,{} -Wl,--build-id=none", prefix, SearchPathPad());
  out["CMAKE_PREFIX_PATH"] = prefix;
  out["PKG_CONFIG_PATH"] = fmt::format("{0}/lib/pkgconfig:{0}/share/pkgconfig", prefix);
  for (const Tool& tool : input.tools.tools) {
    if (!tool.variable.empty()) out[tool.variable] = tool.path.str();
    if (tool.requirement == "ninja") out["CMAKE_GENERATOR"] = "Ninja";
  }
}

void AddPython(Variables& out, const EnvironmentInput& input) {
  if (!input.tools.python) return;
  const Python& python = *input.tools.python;
  out["PYTHON"] = python.executable.str();
  out["PY_VER"] = python.MinorVersion();
  out["PY3K"] = "1";
  const AbsPath& prefix = input.layout.prefix;
  out["STDLIB_DIR"] = fmt::format("{}/lib/python{}", prefix.str(), python.LibraryVersion());
  out["SP_DIR"] = fmt::format("{}/{}", prefix.str(), python.SitePackages());
  if (!python.is_virtual) return;
  // CMake looks for Python here first. And a pip that is called by the path of another interpreter has to
  // stop: it would install into that one.
  out["VIRTUAL_ENV"] = prefix.str();
  out["PIP_REQUIRE_VIRTUALENV"] = "1";
}

bool IsVariableName(const std::string& name) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  return !name.empty() && (name.front() < '0' || name.front() > '9') &&
         name.find_first_not_of(kAllowed) == std::string::npos;
}

}  // namespace

void SetJobs(int jobs, const recipe::Recipe& recipe, Variables& out) {
  // For tools that are not told a number: torch's setup.py and extensions, and `cmake --build`. Not
  // MAKEFLAGS: there are makefiles that break with several jobs. Plain ninja reads no such variable.
  for (const char* name : {"CPU_COUNT", "MAX_JOBS", "CMAKE_BUILD_PARALLEL_LEVEL"}) {
    if (!recipe.script.env.contains(name)) out[name] = std::to_string(jobs);
  }
}

std::map<std::string, std::string> ScriptEnvironment(const Env& env, const EnvironmentInput& input) {
  Variables out;
  AddFolders(out, input);
  AddPackage(out, input);
  AddReproducibility(out, env);
  AddCompilation(out, input);
  AddDeviceCode(out, input);
  AddPython(out, input);
  SetJobs(env.jobs, input.recipe, out);
  for (const auto& [key, value] : input.recipe.variant) {
    // A key such as "prefix-map" is not a name, and one such as "PATH" must not break the build.
    if (IsVariableName(key)) out.try_emplace(key, value);
  }
  for (const auto& [key, value] : input.recipe.script.env) out[key] = value;
  SetTorchVersion(input.recipe, out);
  return out;
}

}  // namespace ptpkg::builder
