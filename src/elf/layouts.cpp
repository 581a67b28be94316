#include "elf/layouts.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "support/text.h"

namespace ptpkg::elf {
namespace {

constexpr std::string_view kModules = "torch/*.so*";
constexpr std::string_view kLibraries = "torch/lib/*.so*";

/// A layout puts `shared` before the tails of both groups. The upstream scripts give torch/*.so the list
/// that is written for torch/lib (one folder too high for nvidia/); it is kept, so that relinking an upstream
/// wheel to its own layout changes nothing: the modules find everything through libtorch_python.
struct Layout {
  std::string_view name;
  PathTag tag;
  std::string_view shared;        ///< Colon separated, may be empty.
  std::string_view modules_tail;  ///< For torch/*.so*.
  std::string_view library_tail;  ///< For torch/lib/*.so*.
};

constexpr std::string_view kCuda12 =
    "$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN/../../nvidia/nvshmem/lib:$ORIGIN/../../nvidia/nccl/lib:"
    "$ORIGIN/../../nvidia/cusparselt/lib:$ORIGIN/../../nvidia/cublas/lib:"
    "$ORIGIN/../../nvidia/cuda_cupti/lib:$ORIGIN/../../nvidia/cuda_nvrtc/lib:"
    "$ORIGIN/../../nvidia/cuda_runtime/lib:$ORIGIN/../../nvidia/cufft/lib:"
    "$ORIGIN/../../nvidia/curand/lib:$ORIGIN/../../nvidia/cusolver/lib:"
    "$ORIGIN/../../nvidia/cusparse/lib:$ORIGIN/../../nvidia/nvtx/lib:$ORIGIN/../../nvidia/cufile/lib:"
    "$ORIGIN/../../cusparselt/lib";
constexpr std::string_view kCuda13 =
    "$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN/../../nvidia/nvshmem/lib:$ORIGIN/../../nvidia/nccl/lib:"
    "$ORIGIN/../../nvidia/cusparselt/lib:$ORIGIN/../../nvidia/cu13/lib";
constexpr std::string_view kRocm =
    "$ORIGIN/../../_rocm_sdk_core/lib:$ORIGIN/../../_rocm_sdk_core/lib/rocm_sysdeps/lib:"
    "$ORIGIN/../../_rocm_sdk_libraries/lib";
constexpr std::string_view kModulesWheel = "$ORIGIN:$ORIGIN/lib";
constexpr std::string_view kLibraryWheel = "$ORIGIN";

constexpr std::array<Layout, 7> kLayouts = {{
    {"pytorch-conda", PathTag::kRpath, "", "$ORIGIN:$ORIGIN/lib:$ORIGIN/../../..",
     "$ORIGIN:$ORIGIN/../../../.."},
    {"pytorch-wheel-cpu", PathTag::kRunpath, "", kModulesWheel, kLibraryWheel},
    {"pytorch-wheel-cuda12", PathTag::kRpath, kCuda12, kModulesWheel, kLibraryWheel},
    {"pytorch-wheel-cuda13", PathTag::kRpath, kCuda13, kModulesWheel, kLibraryWheel},
    {"pytorch-wheel-rocm", PathTag::kRpath, kRocm, kModulesWheel, kLibraryWheel},
    {"pytorch-wheel-rocm-bundled", PathTag::kRpath, "", kModulesWheel, kLibraryWheel},
    {"pytorch-wheel-xpu", PathTag::kRpath, "$ORIGIN/../../../..", kModulesWheel, kLibraryWheel},
}};

PathRule MakeRule(std::string_view files, const Layout& layout, std::string_view tail) {
  PathRule rule{.files = std::string(files), .search_path = {}, .tag = layout.tag};
  if (!layout.shared.empty()) rule.search_path = Split(layout.shared, ':');
  for (std::string& entry : Split(tail, ':')) rule.search_path.push_back(std::move(entry));
  return rule;
}

}  // namespace

std::vector<std::string> BuiltInLayoutNames() {
  std::vector<std::string> names;
  for (const Layout& layout : kLayouts) names.emplace_back(layout.name);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<PathRule>> BuiltInLayout(std::string_view name) {
  const auto it =
      std::find_if(kLayouts.begin(), kLayouts.end(), [&](const Layout& l) { return l.name == name; });
  if (it != kLayouts.end()) {
    return std::vector<PathRule>{MakeRule(kModules, *it, it->modules_tail),
                                 MakeRule(kLibraries, *it, it->library_tail)};
  }
  const std::vector<std::string> names = BuiltInLayoutNames();
  const auto nearest = NearestMatch(name, names);
  return Error(ErrorCode::kNotFound, fmt::format("there is no layout '{}'", name))
      .WithHint(nearest ? fmt::format("did you mean '{}'?", *nearest)
                        : fmt::format("known layouts: {}", Join(names, ", ")));
}

}  // namespace ptpkg::elf
