// Properties of variant wheels (PEP 825): GPU architectures, the lowest CUDA version, and the processor's
// level. Installers choose by them, so a wheel that needs more than it states would be installed where it
// cannot run. The level is therefore the highest of all files.
//
// The label is part of the file name and must differ between slices. The CUDA version comes from the local
// version (cu130) or --cuda. Two digits are an old form and mean 9.2 for cu92, but "cu12" names a major
// version only.

#include "pipeline/slice/slice_variant.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg::pipeline {
namespace {

constexpr const char* kGpuSpace = "nvidia";
constexpr const char* kCpuSpace = "x86_64";

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() <= 3 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// "v3"; "" for code that every x86-64 processor runs.
std::string LevelValue(elf::IsaLevel level) {
  return level <= elf::IsaLevel::kBaseline ? "" : fmt::format("v{}", static_cast<int>(level));
}

std::vector<std::string> Namespaces(const VariantFacts& facts) {
  std::vector<std::string> names = {kGpuSpace};
  if (!LevelValue(facts.level).empty()) names.emplace_back(kCpuSpace);
  return names;
}

}  // namespace

std::string CudaOfLocal(const std::vector<std::string>& local) {
  if (local.empty() || !local.front().starts_with("cu")) return {};
  const std::string digits = local.front().substr(2);
  // "cu130", and "cu92" of old; "cu12" is not 1.2.
  const bool is_old = digits.size() == 2 && digits >= "75";
  if (!IsNumber(digits) || (digits.size() != 3 && !is_old)) return {};
  return digits.substr(0, digits.size() - 1) + "." + digits.back();
}

Result<std::string> ParseCuda(std::string_view text) {
  auto version = versions::ParseCudaVersion(text);
  if (version) return version;
  return Error(ErrorCode::kUsage, "--cuda " + version.error().message()).WithHint(version.error().hint());
}

elf::IsaLevel HighestLevel(const std::vector<verify::FileNeeds>& files) {
  elf::IsaLevel level = elf::IsaLevel::kUnstated;
  for (const verify::FileNeeds& file : files) level = std::max(level, file.isa);
  return level;
}

std::string VariantLabel(const versions::GpuSlice& slice, const VariantFacts& facts) {
  std::string label = slice.Label();
  if (facts.labels_cuda) label += ".cuda" + ReplaceAll(facts.cuda, ".", "_");
  const std::string level = LevelValue(facts.level);
  return level.empty() ? label : fmt::format("{}.{}_{}", label, kCpuSpace, level);
}

wheel::VariantDocument VariantOf(const versions::GpuSlice& slice, const VariantFacts& facts) {
  wheel::VariantProperties properties;
  std::vector<std::string>& architectures = properties[kGpuSpace]["sm_arch"];
  for (const std::uint32_t gpu : slice.gpus) architectures.push_back(fmt::format("{}_real", gpu));
  std::sort(architectures.begin(), architectures.end());
  if (!facts.cuda.empty()) properties[kGpuSpace]["cuda_version_lower_bound"] = {facts.cuda};
  if (const std::string level = LevelValue(facts.level); !level.empty())
    properties[kCpuSpace]["level"] = {level};
  return {.namespaces = Namespaces(facts), .variants = {{VariantLabel(slice, facts), std::move(properties)}}};
}

wheel::VariantDocument NullVariantOf(const VariantFacts& facts) {
  return {.namespaces = Namespaces(facts), .variants = {{std::string(wheel::kNullVariant), {}}}};
}

}  // namespace ptpkg::pipeline
