#pragma once
// List of load faults, and rules that several checks apply. Layer: elf, private to it.

#include <string>
#include <utility>
#include <vector>

#include "elf/load/load_faults.h"

namespace ptpkg::elf {

inline constexpr std::uint64_t kLoaderPage = 4096;

inline std::uint64_t PageDown(std::uint64_t value) { return value / kLoaderPage * kLoaderPage; }

/// Machines whose loader takes tables of both kinds, or lacks the rule.
inline bool IsMips(const Image& image) { return image.header.machine == kMachineMips; }

/// True if the file maps `size` bytes at `vaddr` from file offset `offset`.
inline bool MapsTo(const Image& image, std::uint64_t vaddr, std::uint64_t size, std::uint64_t offset) {
  const auto at = image.OffsetOf(vaddr, size, "");
  return at && *at == offset;
}

/// DF_BIND_NOW, DF_1_NOW or DT_BIND_NOW: ld.so looks all symbols up before it runs code of the file.
inline bool BindsNow(const DynamicTable& dynamic) {
  constexpr std::uint64_t kFlagBindNow = 8;
  constexpr std::uint64_t kFlag1Now = 1;
  return dynamic.Find(kDtBindNow) || (dynamic.Find(kDtFlags).value_or(0) & kFlagBindNow) != 0 ||
         (dynamic.Find(kDtFlags1).value_or(0) & kFlag1Now) != 0;
}

/// Faults in the order in which the checks find them.
class FaultList {
 public:
  void Segments(std::string message) { Add(LoadFault::Part::kSegments, std::move(message)); }
  void Dynamic(std::string message) { Add(LoadFault::Part::kDynamic, std::move(message)); }
  void Start(std::string message) { Add(LoadFault::Part::kStart, std::move(message)); }

  std::vector<LoadFault> Take() && { return std::move(faults_); }

 private:
  void Add(LoadFault::Part part, std::string message) {
    faults_.push_back({.part = part, .message = std::move(message)});
  }

  std::vector<LoadFault> faults_;
};

}  // namespace ptpkg::elf
