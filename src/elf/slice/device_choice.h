#pragma once
// Selects the GPU code that a slice keeps. Layer: elf, private to it.

#include <vector>

#include "elf/slice/device_slice.h"

namespace ptpkg::elf {

struct DeviceChoice {
  /// Indices of the kept elements, ascending; all of them if there are gaps.
  std::vector<std::size_t> kept = {};
  /// The requested GPUs that the container has no code for, ascending. Empty for a container without
  /// elements, which never had code for anything.
  std::vector<std::uint32_t> gaps = {};

  [[nodiscard]] bool DropsElements(const DeviceContainer& container) const {
    return kept.size() != container.elements.size();
  }
};

/// Chooses by the rules of PlanSlice.
DeviceChoice ChooseElements(const DeviceContainer& container, const SliceRequest& request);

}  // namespace ptpkg::elf
