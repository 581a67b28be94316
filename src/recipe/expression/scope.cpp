// Names of expressions. Layer: recipe.
//
// The order of lookup decides what is hashed. Names that the recipe defines come first, so its context can
// hide a variant key. Then variant keys, whose reading is recorded, then names of the platform. Script
// variables come last, and only where a shell will expand them.
//
// All values of one evaluation count against one limit (SpendBytes), because many small values add up.
// Mappings are counted when they are made or loaded (Keep), and not again at each copy, which shares them.
//
// detected() gives a placeholder on the first rendering. The tools are known only after planning has begun,
// so such recipes are rendered again with their versions.

#include "recipe/expression/scope.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "recipe/document/data_files.h"
#include "recipe/script_variables.h"
#include "support/limits.h"

namespace ptpkg::recipe {
namespace {

constexpr std::array<std::string_view, 4> kFamilies = {"linux", "osx", "win", "emscripten"};
constexpr std::array<std::string_view, 6> kArchitectures = {"x86_64",  "aarch64", "arm64",
                                                            "ppc64le", "s390x",   "riscv64"};
constexpr std::array<std::string_view, 3> kDetected = {"cuda_toolkit", "cudnn", "nccl"};
constexpr std::array<std::string_view, 3> kPlatforms = {"target_platform", "build_platform", "host_platform"};

template <std::size_t kCount>
bool Contains(const std::array<std::string_view, kCount>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string NormalizedKey(std::string_view key) {
  std::string normal(key);
  for (char& c : normal) {
    if (c == '-' || c == '.') c = '_';
  }
  return normal;
}

std::string PlatformFamily(std::string_view platform) {
  return std::string(platform.substr(0, platform.find('-')));
}

std::string PlatformArchitecture(std::string_view platform) {
  const std::size_t dash = platform.find('-');
  if (dash == std::string_view::npos) return "";
  const std::string_view arch = platform.substr(dash + 1);
  if (arch == "64") return "x86_64";
  return std::string(arch == "32" ? "x86" : arch);
}

Result<void> Scope::Spend(const Value& value) {
  const std::size_t bytes = value.Bytes();
  if (bytes > limits::kValue) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the value grows above {} MiB", limits::kValue >> 20U));
  }
  return SpendBytes(bytes);
}

Result<Value> Scope::Keep(Value value) {
  PTPKG_CHECK(SpendBytes(value.BytesWithMappings()));
  return value;
}

Result<void> Scope::SpendBytes(std::size_t bytes) {
  spent_bytes_ += bytes;
  if (spent_bytes_ <= limits::kEvaluation) return Ok();
  return Error(ErrorCode::kInvalidInput,
               fmt::format("the values of this recipe grow above {} MiB", limits::kEvaluation >> 20U));
}

Result<Value> Scope::Detected(const std::string& name) {
  if (!Contains(kDetected, name)) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a version that ptpkg detects", name))
        .WithHint(fmt::format("these are: {}", fmt::join(kDetected, ", ")));
  }
  if (detected_ == nullptr) {
    return Error(ErrorCode::kInvalidInput, "detected() is only allowed in 'build.string'")
        .WithHint(
            "ptpkg detects tools after it reads the recipe, so only the build string can use their versions");
  }
  detects_.insert(name);
  if (!*detected_) return Value(std::string(kNotDetected));
  const auto found = (*detected_)->find(name);
  if (found != (*detected_)->end()) return Value(found->second);
  return Error(ErrorCode::kInvalidInput,
               fmt::format("no tool of this build provides the version of '{}'", name))
      .WithHint("require it in 'requirements.build' or 'requirements.host'");
}

Result<Value> Scope::Load(const std::string& name) {
  if (files_ == nullptr) return Error(ErrorCode::kInvalidInput, "load_from_file() is not available here");
  loads_.insert(name);
  PTPKG_TRY(Value value, files_->Load(name));
  return Keep(std::move(value));
}

std::optional<Value> PlatformValue(const std::string& name, const std::string& platform) {
  const std::string family = PlatformFamily(platform);
  if (name == "unix") return Value(family == "linux" || family == "osx" || family == "emscripten");
  if (Contains(kFamilies, name)) return Value(name == family);
  if (Contains(kArchitectures, name)) return Value(name == PlatformArchitecture(platform));
  // ptpkg builds where it packages, so the three platforms are one.
  return Contains(kPlatforms, name) ? std::optional<Value>(Value(platform)) : std::nullopt;
}

std::optional<Value> Scope::FindPlatformName(const std::string& name) {
  std::optional<Value> value = PlatformValue(name, target_platform_);
  // rattler-build hashes the platforms that a recipe reads.
  if (value && name == "build_platform") variants_.NoteBuiltin(name, *value);
  return value;
}

std::optional<Value> Scope::Find(const std::string& name) {
  if (const auto found = defined_.find(name); found != defined_.end()) return found->second;
  if (std::optional<Value> value = variants_.Read(name)) return value;
  if (std::optional<Value> value = FindPlatformName(name)) return value;
  if (!script_variables_ || !MayBeScriptVariable(name)) return std::nullopt;
  // With braces, so that the text after the template does not become part of the name.
  return Value(fmt::format("${{{}}}", name));
}

std::vector<std::string> Scope::Names() const {
  std::vector<std::string> names = variants_.Keys();
  for (const auto& [name, value] : defined_) names.push_back(name);
  names.emplace_back("unix");
  names.insert(names.end(), kFamilies.begin(), kFamilies.end());
  names.insert(names.end(), kArchitectures.begin(), kArchitectures.end());
  names.insert(names.end(), kPlatforms.begin(), kPlatforms.end());
  if (script_variables_) names.insert(names.end(), ScriptVariables().begin(), ScriptVariables().end());
  return names;
}

}  // namespace ptpkg::recipe
