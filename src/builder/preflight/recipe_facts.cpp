#include "builder/preflight/recipe_facts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>
#include <set>

#include "builder/env/torch_version.h"
#include "builder/preflight/jobs.h"
#include "builder/tools/tool_versions.h"
#include "support/text/text.h"
#include "versions/conda_version.h"
#include "versions/cuda_archs.h"

namespace ptpkg::builder {

namespace {

using recipe::Value;

// Names of facts that a version of a program is told under, and the requirements that bring it.
struct ProgramFact {
  std::string_view fact;
  std::string_view program;
};
constexpr auto kPrograms = std::to_array<ProgramFact>({{"cmake", "cmake"},
                                                       {"ninja", "ninja"},
                                                       {"gxx", "g++"},
                                                       {"clangxx", "clang++"},
                                                       {"nvcc", "nvcc"},
                                                       {"ccache", "ccache"}});

// Distributions of the Python index that are facts under the same name.
const std::set<std::string, std::less<>> kOfWheels = {"cmake", "ninja", "numpy", "setuptools"};

// Measured: the tree of PyTorch 2.6 has 160 MB and its objects for the CPU some 3 GB; torch 2.15.0 with CUDA
// installs 1.7 GB, which a build holds as objects, staged tree, package, wheel and test prefix.
constexpr double kDiskOfAny = 1;
constexpr double kDiskOfTorch = 10;
constexpr double kDiskOfTorchWithCuda = 30;

/// The number of "sm_90a" and "compute_100f".
std::optional<std::int64_t> NumberOf(std::string_view name) {
  const std::size_t at = name.find('_');
  if (at == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const auto parsed = std::from_chars(name.data() + at + 1, name.data() + name.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;
  return number;
}

/// Replaces the facts of the same names.
void MergeFacts(Facts from, Facts& facts) {
  from.merge(facts);
  facts = std::move(from);
}

/// Version facts of PyTorch: those that its build gives to itself.
Facts TorchVersionFacts(const recipe::Recipe& recipe) {
  if (recipe.staging || !IsTorch(recipe.name)) return {};
  std::map<std::string, std::string> script_env = recipe.script.env;
  SetTorchVersion(recipe, script_env);
  const std::optional<std::string> made = ComposeTorchVersion(script_env);
  return {{"version_made", made ? Value(*made) : Value()},
          {"version_made_differs", Value(made && !IsVersionOfRecipe(*made, recipe.version))},
          {"build_number_invalid", Value(!made && script_env.contains("PYTORCH_BUILD_NUMBER"))}};
}

/// Facts that the recipe alone gives.
Facts WrittenFacts(const RecipeFactsInput& input) {
  const recipe::Recipe& recipe = input.recipe;
  Value::List names;
  for (const versions::MatchSpec& spec : recipe.requirements.build) names.emplace_back(spec.name);
  Value::List magma;
  for (const versions::MatchSpec& spec : recipe.requirements.host) {
    if (spec.name != "magma" && spec.name != "libmagma") continue;
    const std::string version = ToolVersion(spec.version);
    if (!version.empty()) magma.emplace_back(version);
  }
  Value::List given;
  for (const auto& [name, value] : recipe.script.env) given.emplace_back(name);
  Facts facts = TorchVersionFacts(recipe);
  facts["subject"] = Value(input.subject.empty() ? recipe.FileStem() : input.subject);
  facts["package"] = Value(recipe.name);
  facts["version"] = Value(recipe.version);
  facts["build_requirements"] = Value(std::move(names));
  facts["host_magma"] = Value(std::move(magma));
  facts["script"] = Value(input.script);
  facts["script_variables"] = Value(std::move(given));
  return facts;
}

struct ProgramFacts {
  Facts versions;                    ///< Of the programs that were found.
  std::optional<AbsPath> nvcc = {};  ///< The program.
};

/// Versions of the machine's programs. The first of several programs that give one fact counts.
Result<ProgramFacts> VersionsOfPrograms(Env& env, const std::vector<Tool>& tools) {
  ProgramFacts found;
  for (const Tool& tool : tools) {
    for (const auto& [fact, program] : kPrograms) {
      // "g++-12" is one too.
      const bool is = tool.path.Name() == program || tool.path.Name().starts_with(std::string(program) + "-");
      if (!is || found.versions.contains(std::string(fact))) continue;
      const auto version = ProgramVersion(env, tool.path);
      if (!version && version.error().code() == ErrorCode::kCancelled) return version.error();
      if (version && !version->empty()) found.versions[std::string(fact)] = Value(*version);
      if (program == "nvcc") found.nvcc = tool.path;
    }
  }
  return found;
}

/// Versions of Python and of packages that it, or the Python index, brings; of the toolkit of either.
Result<Facts> PackageFacts(Env& env, const HostPlan& host) {
  Facts facts;
  if (const std::optional<Python>& python = host.tools.python) {
    facts["python"] = Value(python->version);
    PTPKG_TRY(const Python asked, ProbePython(env, python->executable, {"numpy", "setuptools"}));
    for (const auto& [name, version] : asked.packages) facts[name] = Value(version);
  }
  if (host.wheels) {
    for (const WheelPin& pin : host.wheels->wheels.pins) {
      if (kOfWheels.contains(pin.name)) facts[pin.name] = Value(pin.version);
    }
  }
  PTPKG_TRY(const auto detected, DetectVersions(env, host));
  const auto toolkit = detected.find("cuda_toolkit");
  if (toolkit != detected.end()) facts["nvcc"] = Value(toolkit->second);
  return facts;
}

/// Parts of another CUDA than `nvcc`, its version. cuDNN counts where the recipe requires it, among
/// `headers`: another one may lie in /usr/lib.
Facts ForeignPartFacts(Env& env, const CudaToolkit& toolkit, const std::string& nvcc,
                       const std::vector<AbsPath>& headers) {
  Facts facts;
  Value::List foreign;
  for (std::string& part : ForeignCudaParts(env, toolkit, nvcc)) foreign.emplace_back(std::move(part));
  facts["foreign_cuda_parts"] = Value(std::move(foreign));
  for (const AbsPath& header : headers) {
    if (header.Name() != "cudnn_version.h") continue;
    const auto cudnn = ForeignCudnn(env, toolkit, header, nvcc);
    if (cudnn) facts["foreign_cudnn"] = Value(*cudnn);
  }
  return facts;
}

/// The first cuDNN, which CMake finds, if it lacks the link that linkers need.
std::optional<AbsPath> CudnnWithoutLink(Fs& fs, const std::vector<AbsPath>& folders) {
  for (const AbsPath& folder : folders) {
    const auto names = fs.ListDir(folder);
    if (!names) continue;
    const auto versioned = std::find_if(names->begin(), names->end(), [](const std::string& name) {
      return name.starts_with("libcudnn.so.");
    });
    if (versioned == names->end()) continue;
    const bool linked = std::find(names->begin(), names->end(), "libcudnn.so") != names->end();
    return linked ? std::nullopt : std::optional(folder / *versioned);
  }
  return std::nullopt;
}

/// Facts about the toolkit of `nvcc`. `known`: facts so far, with the version of nvcc. `headers`: those that
/// the recipe requires.
Result<Facts> ToolkitFacts(Env& env, const AbsPath& nvcc, const Facts& known,
                           const std::vector<AbsPath>& headers) {
  const auto toolkit = ReadCudaToolkit(env, nvcc);
  if (!toolkit) return Facts{};
  Facts facts;
  const std::optional<AbsPath> cudnn =
      CudnnWithoutLink(env.fs, {toolkit->root / "lib64", AbsPath::Literal("/usr/lib/x86_64-linux-gnu"),
                                AbsPath::Literal("/usr/lib/aarch64-linux-gnu")});
  if (cudnn) facts["cudnn_without_link"] = Value(cudnn->str());
  if (const std::string* version = known.at("nvcc").AsText()) {
    MergeFacts(ForeignPartFacts(env, *toolkit, *version, headers), facts);
  }
  if (!toolkit->host_compiler) return facts;
  PTPKG_TRY(const std::string version, ProgramVersion(env, *toolkit->host_compiler));
  facts["nvcc_gxx"] = version.empty() ? Value() : Value(version);
  facts["nvcc_gxx_missing"] = Value(version.empty());
  return facts;
}

/// The architectures that the recipe asks for. Those without a number are left out: the machine's GPUs are
/// known by CUDA's numbers, and names of AMD have none.
versions::DeviceArchitectures RequestedArchitectures(const recipe::Recipe& recipe) {
  std::vector<std::string> lists = recipe.ptpkg.device_code;
  for (const char* name : {"TORCH_CUDA_ARCH_LIST", "CMAKE_CUDA_ARCHITECTURES", "CUDAARCHS"}) {
    const auto found = recipe.script.env.find(name);
    if (lists.empty() && found != recipe.script.env.end()) lists.push_back(found->second);
  }
  versions::DeviceArchitectures all;
  for (const std::string& list : lists) {
    const std::size_t glob = list.find('=');
    const auto parsed = versions::ParseDeviceArchitectures(
        glob == std::string::npos ? std::string_view(list) : std::string_view(list).substr(glob + 1));
    if (!parsed) continue;  // "any", "native": nothing to compare
    const auto add = [](const versions::ArchitectureNames& from, versions::ArchitectureNames& to) {
      for (const std::string& name : from) {
        if (NumberOf(name)) to.insert(name);
      }
    };
    add(parsed->sass, all.sass);
    add(parsed->ptx, all.ptx);
  }
  return all;
}

/// Their numbers, each once.
Value::List NumbersOf(const versions::DeviceArchitectures& architectures) {
  Value::List numbers;
  for (const auto* names : {&architectures.sass, &architectures.ptx}) {
    for (const std::string& name : *names) {
      const auto number = NumberOf(name);
      if (number && std::find(numbers.begin(), numbers.end(), Value(*number)) == numbers.end()) {
        numbers.emplace_back(*number);
      }
    }
  }
  return numbers;
}

/// True if code of the architecture `name` runs on `device`. Suffix 'a': on this chip alone. Machine code and
/// PTX with the suffix 'f': on chips of the same major number, and a minor one that is not less. Other PTX:
/// on all later chips too. Source: CUDA programming guide, "Compute capabilities".
bool RunsOn(const std::string& name, std::int64_t device) {
  const std::int64_t number = NumberOf(name).value_or(0);
  if (name.ends_with('a')) return number == device;
  if (name.starts_with("compute_") && !name.ends_with('f')) return number <= device;
  return number / 10 == device / 10 && number <= device;
}

/// The members of `gpus` that cannot run the code.
Value::List UnservedGpus(const Value::List& gpus, const versions::DeviceArchitectures& asked) {
  Value::List unserved;
  for (const Value& gpu : gpus) {
    std::string digits = *gpu.AsText();
    std::erase(digits, '.');
    const std::int64_t device = NumberOf("sm_" + digits).value_or(0);
    const auto runs = [&](const std::string& name) { return RunsOn(name, device); };
    const bool served = std::any_of(asked.sass.begin(), asked.sass.end(), runs) ||
                        std::any_of(asked.ptx.begin(), asked.ptx.end(), runs);
    if (!served) unserved.push_back(gpu);
  }
  return unserved;
}

/// `known`: facts so far, with the machine's GPUs.
Facts ArchitectureFacts(const recipe::Recipe& recipe, const Facts& known) {
  const versions::DeviceArchitectures asked = RequestedArchitectures(recipe);
  Value::List numbers = NumbersOf(asked);
  Facts facts;
  if (!numbers.empty()) facts["unserved_gpus"] = Value(UnservedGpus(*known.at("gpus").AsList(), asked));
  facts["architectures"] = Value(std::move(numbers));
  return facts;
}

Facts NeedFacts(const RecipeFactsInput& input, bool cuda) {
  Facts facts;
  const std::uint64_t bytes = MemoryPerJob(input.recipe, input.memory_per_job);
  if (bytes > 0) facts["memory_per_job_gib"] = InGiB(bytes);
  const double torch = cuda ? kDiskOfTorchWithCuda : kDiskOfTorch;
  facts["needed_disk_gib"] = Value(IsTorch(input.recipe.name) ? torch : kDiskOfAny);
  return facts;
}

/// Submodules of `source` without content; nullopt if it has none. Reads .gitmodules like `git submodule`:
/// "path = third_party/fmt".
std::optional<Value::List> EmptySubmodules(Fs& fs, const AbsPath& source) {
  const auto text = ReadFile(fs, source / ".gitmodules");
  if (!text) return std::nullopt;
  Value::List empty;
  for (const std::string& line : SplitLines(*text)) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || Trim(line.substr(0, equals)) != "path") continue;
    const std::string path(Trim(line.substr(equals + 1)));
    const auto below = RelPath::Parse(path);
    if (!below) continue;
    const auto names = fs.ListDir(source / *below);
    if (names && names->empty()) empty.emplace_back(path);
  }
  return empty;
}

}  // namespace

void AddEmptyRecipeFacts(Facts& facts) {
  for (const char* text : {"subject", "package", "version", "script"}) facts[text] = Value("");
  for (const char* list : {"build_requirements", "host_magma", "script_variables", "architectures",
                           "unserved_gpus", "empty_submodules", "foreign_cuda_parts"}) {
    facts[list] = Value(Value::List());
  }
  for (const char* version :
       {"cmake", "ninja", "gxx", "clangxx", "nvcc", "nvcc_gxx", "ccache", "python", "setuptools", "numpy",
        "foreign_cudnn", "cudnn_without_link", "memory_per_job_gib", "version_made"}) {
    facts[version] = Value();
  }
  for (const char* flag : {"nvcc_gxx_missing", "version_made_differs", "build_number_invalid"})
    facts[flag] = Value(false);
  facts["needed_disk_gib"] = Value(kDiskOfAny);
}

Result<void> AddRecipeFacts(Env& env, const RecipeFactsInput& input, Facts& facts) {
  AddEmptyRecipeFacts(facts);
  MergeFacts(WrittenFacts(input), facts);
  PTPKG_TRY(ProgramFacts programs, VersionsOfPrograms(env, input.host.tools.tools));
  MergeFacts(std::move(programs.versions), facts);
  PTPKG_TRY(Facts packages, PackageFacts(env, input.host));
  MergeFacts(std::move(packages), facts);
  facts["nvcc_gxx"] = facts.at("gxx");
  if (programs.nvcc) {
    PTPKG_TRY(Facts toolkit, ToolkitFacts(env, *programs.nvcc, facts, input.host.tools.headers));
    MergeFacts(std::move(toolkit), facts);
  }
  MergeFacts(ArchitectureFacts(input.recipe, facts), facts);
  MergeFacts(NeedFacts(input, !facts.at("nvcc").IsNone()), facts);
  if (input.source) {
    std::optional<Value::List> empty = EmptySubmodules(env.fs, *input.source);
    if (empty) facts["empty_submodules"] = Value(*std::move(empty));
  }
  return env.cancel.Check();
}

}  // namespace ptpkg::builder
