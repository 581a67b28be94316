// Decides which elements of a container the wanted GPUs need.
//
// For each GPU: the machine code of the highest number that runs on it, in all its variants, or else the
// highest PTX that the driver can compile for it. A container without code for one of the GPUs stays whole,
// and the report names it. Source: NVIDIA's programming guide, "Binary Compatibility".
// docs/formats/device-code.md has the table of code and GPUs.

#include "elf/slice/device_choice.h"

#include <algorithm>
#include <array>
#include <set>

namespace ptpkg::elf {
namespace {

// Compute capabilities of Tegra chips. Their machine code runs on no other chip of the same major number
// (NVIDIA's programming guide, "Binary Compatibility").
constexpr std::array<std::uint32_t, 7> kTegra = {32, 53, 62, 72, 87, 101, 110};

bool IsTegra(std::uint32_t number) { return std::find(kTegra.begin(), kTegra.end(), number) != kTegra.end(); }

/// 103 runs what was made for 100.
bool IsLaterOfItsMajor(std::uint32_t gpu, std::uint32_t code) { return gpu / 10 == code / 10 && gpu >= code; }

/// The elements of `kind` with the highest number among those that `fits` takes; none when there is none.
template <class Fits>
std::vector<std::size_t> Highest(const DeviceContainer& container, DeviceCodeKind kind, Fits fits) {
  std::uint32_t highest = 0;
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < container.elements.size(); ++i) {
    const DeviceElement& element = container.elements[i];
    if (element.kind != kind || !fits(element) || element.architecture.number < highest) continue;
    if (element.architecture.number > highest) found.clear();
    highest = element.architecture.number;
    found.push_back(i);
  }
  return found;
}

std::vector<std::size_t> ForGpu(const DeviceContainer& container, std::uint32_t gpu) {
  const auto runs = [&](const DeviceElement& element) {
    return RunsOn(element.kind, element.architecture, gpu);
  };
  std::vector<std::size_t> found = Highest(container, DeviceCodeKind::kSass, runs);
  return found.empty() ? Highest(container, DeviceCodeKind::kPtx, runs) : found;
}

}  // namespace

bool RunsOn(DeviceCodeKind kind, const DeviceArchitecture& code, std::uint32_t gpu) {
  if (kind == DeviceCodeKind::kOther || code.IsAmd()) return false;
  if (code.suffix == 'a') return code.number == gpu;
  if (kind == DeviceCodeKind::kPtx && code.suffix != 'f') return code.number <= gpu;
  // Machine code and the PTX of a family are left: such PTX is compiled for features of these chips alone.
  if (IsTegra(code.number) || IsTegra(gpu)) return code.number == gpu;
  return IsLaterOfItsMajor(gpu, code.number);
}

DeviceChoice ChooseElements(const DeviceContainer& container, const SliceRequest& request) {
  DeviceChoice choice;
  const auto for_all_later = [](const DeviceElement& element) { return element.architecture.suffix == '\0'; };
  std::set<std::size_t> kept;
  for (const std::uint32_t gpu : std::set<std::uint32_t>(request.gpus.begin(), request.gpus.end())) {
    const std::vector<std::size_t> found = ForGpu(container, gpu);
    kept.insert(found.begin(), found.end());
    if (found.empty() && !container.elements.empty()) choice.gaps.push_back(gpu);
  }
  if (request.keep_ptx) {
    const std::vector<std::size_t> ptx = Highest(container, DeviceCodeKind::kPtx, for_all_later);
    kept.insert(ptx.begin(), ptx.end());
  }
  for (std::size_t i = 0; i < container.elements.size(); ++i) {
    const bool is_other = container.elements[i].kind == DeviceCodeKind::kOther;
    if (is_other || !choice.gaps.empty() || kept.contains(i)) choice.kept.push_back(i);
  }
  return choice;
}

}  // namespace ptpkg::elf
