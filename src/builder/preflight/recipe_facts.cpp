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

class RecipeFacts {
 public:
  RecipeFacts(Env& env, const RecipeFactsInput& input, Facts& facts)
      : env_(env), input_(input), recipe_(input.recipe), facts_(facts) {}

  Result<void> Add() {
    AddEmptyRecipeFacts(facts_);
    AddRecipe();
    PTPKG_CHECK(AddTools());
    PTPKG_CHECK(AddToolkit());
    AddArchitectures();
    AddNeeds();
    AddSubmodules();
    return env_.cancel.Check();
  }

 private:
  void AddRecipe() {
    facts_["subject"] = Value(input_.subject.empty() ? recipe_.FileStem() : input_.subject);
    facts_["package"] = Value(recipe_.name);
    facts_["version"] = Value(recipe_.version);
    Value::List names;
    for (const versions::MatchSpec& spec : recipe_.requirements.build) names.emplace_back(spec.name);
    facts_["build_requirements"] = Value(std::move(names));
    Value::List magma;
    for (const versions::MatchSpec& spec : recipe_.requirements.host) {
      if (spec.name != "magma" && spec.name != "libmagma") continue;
      const std::string version = ToolVersion(spec.version);
      if (!version.empty()) magma.emplace_back(version);
    }
    facts_["host_magma"] = Value(std::move(magma));
    facts_["script"] = Value(input_.script);
    Value::List given;
    for (const auto& [name, value] : recipe_.script.env) given.emplace_back(name);
    facts_["script_variables"] = Value(std::move(given));
    AddVersionMade();
  }

  void AddVersionMade() {
    if (recipe_.staging || !IsTorch(recipe_.name)) return;
    std::map<std::string, std::string> script_env = recipe_.script.env;
    SetTorchVersion(recipe_, script_env);
    const std::optional<std::string> made = ComposeTorchVersion(script_env);
    facts_["version_made"] = made ? Value(*made) : Value();
    facts_["version_made_differs"] = Value(made && !IsVersionOfRecipe(*made, recipe_.version));
    facts_["build_number_invalid"] = Value(!made && script_env.contains("PYTORCH_BUILD_NUMBER"));
  }

  Result<void> AddTools() {
    for (const Tool& tool : input_.host.tools.tools) PTPKG_CHECK(AddProgram(tool.path));
    if (const std::optional<Python>& python = input_.host.tools.python) {
      facts_["python"] = Value(python->version);
      PTPKG_TRY(const Python asked, ProbePython(env_, python->executable, {"numpy", "setuptools"}));
      for (const auto& [name, version] : asked.packages) facts_[name] = Value(version);
    }
    if (input_.host.wheels) {
      for (const WheelPin& pin : input_.host.wheels->wheels.pins) {
        const auto fact = facts_.find(pin.name);
        if (fact != facts_.end() && kOfWheels.contains(pin.name)) fact->second = Value(pin.version);
      }
    }
    PTPKG_TRY(const auto detected, DetectVersions(env_, input_.host));
    const auto toolkit = detected.find("cuda_toolkit");
    if (toolkit != detected.end()) facts_["nvcc"] = Value(toolkit->second);
    return Ok();
  }

  Result<void> AddProgram(const AbsPath& path) {
    for (const auto& [fact, program] : kPrograms) {
      // "g++-12" is one too.
      const bool is = path.Name() == program || path.Name().starts_with(std::string(program) + "-");
      if (!is || !facts_.at(std::string(fact)).IsNone()) continue;
      const auto version = ProgramVersion(env_, path);
      if (!version && version.error().code() == ErrorCode::kCancelled) return version.error();
      if (version && !version->empty()) facts_[std::string(fact)] = Value(*version);
      if (program == "nvcc") nvcc_ = path;
    }
    return Ok();
  }

  Result<void> AddToolkit() {
    facts_["nvcc_gxx"] = facts_.at("gxx");
    if (!nvcc_) return Ok();
    const auto toolkit = ReadCudaToolkit(env_, *nvcc_);
    if (!toolkit) return Ok();
    AddCudnn({toolkit->root / "lib64", AbsPath::Literal("/usr/lib/x86_64-linux-gnu"),
              AbsPath::Literal("/usr/lib/aarch64-linux-gnu")});
    AddForeignParts(*toolkit);
    if (!toolkit->host_compiler) return Ok();
    PTPKG_TRY(const std::string version, ProgramVersion(env_, *toolkit->host_compiler));
    facts_["nvcc_gxx"] = version.empty() ? Value() : Value(version);
    facts_["nvcc_gxx_missing"] = Value(version.empty());
    return Ok();
  }

  /// cuDNN counts where the recipe requires it: another one may lie in /usr/lib.
  void AddForeignParts(const CudaToolkit& toolkit) {
    const std::string* const nvcc = facts_.at("nvcc").AsText();
    if (nvcc == nullptr) return;
    Value::List foreign;
    for (std::string& part : ForeignCudaParts(env_, toolkit, *nvcc)) foreign.emplace_back(std::move(part));
    facts_["foreign_cuda_parts"] = Value(std::move(foreign));
    for (const AbsPath& header : input_.host.tools.headers) {
      if (header.Name() != "cudnn_version.h") continue;
      const auto cudnn = ForeignCudnn(env_, toolkit, header, *nvcc);
      if (cudnn) facts_["foreign_cudnn"] = Value(*cudnn);
    }
  }

  void AddCudnn(const std::vector<AbsPath>& folders) {
    for (const AbsPath& folder : folders) {
      const auto names = env_.fs.ListDir(folder);
      if (!names) continue;
      const auto versioned = std::find_if(names->begin(), names->end(), [](const std::string& name) {
        return name.starts_with("libcudnn.so.");
      });
      if (versioned == names->end()) continue;
      const bool linked = std::find(names->begin(), names->end(), "libcudnn.so") != names->end();
      if (!linked) facts_["cudnn_without_link"] = Value((folder / *versioned).str());
      return;  // what CMake finds first
    }
  }

  void AddArchitectures() {
    std::vector<std::string> lists = recipe_.ptpkg.device_code;
    for (const char* name : {"TORCH_CUDA_ARCH_LIST", "CMAKE_CUDA_ARCHITECTURES", "CUDAARCHS"}) {
      const auto found = recipe_.script.env.find(name);
      if (lists.empty() && found != recipe_.script.env.end()) lists.push_back(found->second);
    }
    versions::DeviceArchitectures all;
    for (const std::string& list : lists) {
      const std::size_t glob = list.find('=');
      const auto parsed = versions::ParseDeviceArchitectures(
          glob == std::string::npos ? std::string_view(list) : std::string_view(list).substr(glob + 1));
      if (!parsed) continue;  // "any", "native": nothing to compare
      // The machine's GPUs are known by CUDA's numbers: names of AMD have none.
      const auto add = [](const versions::ArchitectureNames& from, versions::ArchitectureNames& to) {
        for (const std::string& name : from) {
          if (NumberOf(name)) to.insert(name);
        }
      };
      add(parsed->sass, all.sass);
      add(parsed->ptx, all.ptx);
    }
    Value::List numbers;
    for (const auto* names : {&all.sass, &all.ptx}) {
      for (const std::string& name : *names) {
        const auto number = NumberOf(name);
        if (number && std::find(numbers.begin(), numbers.end(), Value(*number)) == numbers.end())
          numbers.emplace_back(*number);
      }
    }
    if (!numbers.empty()) AddUnserved(all);
    facts_["architectures"] = Value(std::move(numbers));
  }

  /// Machine code runs on devices of the same major number and a minor one that is not less; PTX on later
  /// ones; code with a suffix is left out: it is for one chip or family.
  void AddUnserved(const versions::DeviceArchitectures& asked) {
    Value::List unserved;
    for (const Value& gpu : *facts_.at("gpus").AsList()) {
      std::string digits = *gpu.AsText();
      std::erase(digits, '.');
      const std::int64_t device = NumberOf("sm_" + digits).value_or(0);
      const auto runs = [&](const std::string& name) {
        const std::int64_t number = NumberOf(name).value_or(0);
        return name.starts_with("sm_") ? number / 10 == device / 10 && number <= device : number <= device;
      };
      const bool served = std::any_of(asked.sass.begin(), asked.sass.end(), runs) ||
                          std::any_of(asked.ptx.begin(), asked.ptx.end(), runs);
      if (!served) unserved.push_back(gpu);
    }
    facts_["unserved_gpus"] = Value(std::move(unserved));
  }

  void AddNeeds() {
    const std::uint64_t bytes = MemoryPerJob(recipe_, input_.memory_per_job);
    if (bytes > 0) facts_["memory_per_job_gib"] = InGiB(bytes);
    const bool cuda = !facts_.at("nvcc").IsNone();
    const double torch = cuda ? kDiskOfTorchWithCuda : kDiskOfTorch;
    facts_["needed_disk_gib"] = Value(IsTorch(recipe_.name) ? torch : kDiskOfAny);
  }

  /// Like `git submodule`: "path = third_party/fmt".
  void AddSubmodules() {
    if (!input_.source) return;
    const auto text = ReadFile(env_.fs, *input_.source / ".gitmodules");
    if (!text) return;
    Value::List empty;
    for (const std::string& line : SplitLines(*text)) {
      const std::size_t equals = line.find('=');
      if (equals == std::string::npos || Trim(line.substr(0, equals)) != "path") continue;
      const std::string path(Trim(line.substr(equals + 1)));
      const auto below = RelPath::Parse(path);
      if (!below) continue;
      const auto names = env_.fs.ListDir(*input_.source / *below);
      if (names && names->empty()) empty.emplace_back(path);
    }
    facts_["empty_submodules"] = Value(std::move(empty));
  }

  Env& env_;
  const RecipeFactsInput& input_;
  const recipe::Recipe& recipe_;
  Facts& facts_;
  std::optional<AbsPath> nvcc_;
};

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
  return RecipeFacts(env, input, facts).Add();
}

}  // namespace ptpkg::builder
