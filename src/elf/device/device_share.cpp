// Sums over device code. Layer: elf. Apart from the readers, which need the libraries that unpack bundles.
//
// EffectiveCode decides which code counts. In a linked file the embedded code counts, plus PTX that the
// device linker left for the driver. A library linked with libcudadevrt.a also holds that archive's
// relocatable code for ten architectures: it would make the library look complete for GPUs that its own
// code does not run on. So relocatable PTX counts only from containers without machine code for other
// architectures than the embedded one.

#include <algorithm>

#include "elf/device/device_code.h"

namespace ptpkg::elf {
namespace {

void Add(const DeviceAmounts& more, DeviceAmounts& sum) {
  for (const auto& [architecture, amount] : more) {
    sum[architecture].elements += amount.elements;
    sum[architecture].size_bytes += amount.size_bytes;
  }
}

bool IsWithin(const DeviceAmounts& some, const DeviceAmounts& all) {
  return std::all_of(some.begin(), some.end(), [&](const auto& item) { return all.contains(item.first); });
}

}  // namespace

void AddDeviceCodeStats(const DeviceCodeStats& more, DeviceCodeStats& sum) {
  Add(more.sass, sum.sass);
  Add(more.ptx, sum.ptx);
  sum.other_bytes += more.other_bytes;
  sum.containers += more.containers;
}

void AddElement(const DeviceElement& element, DeviceCodeStats& sum) {
  if (element.kind == DeviceCodeKind::kOther) {
    sum.other_bytes += element.size_bytes;
    return;
  }
  DeviceAmounts& amounts = element.kind == DeviceCodeKind::kSass ? sum.sass : sum.ptx;
  DeviceAmount& amount = amounts[element.architecture];
  ++amount.elements;
  amount.size_bytes += element.size_bytes;
}

DeviceCodeStats DeviceCodeStatsOf(const DeviceContainer& container) {
  DeviceCodeStats share{.containers = 1};
  for (const DeviceElement& element : container.elements) AddElement(element, share);
  return share;
}

DeviceCodeStats DeviceCode::EffectiveCode() const {
  DeviceCodeStats judged = embedded;
  if (is_linked && !embedded.sass.empty()) {
    Add(linkable_ptx, judged.ptx);
  } else {
    AddDeviceCodeStats(relocatable, judged);
  }
  return judged;
}

bool DeviceCode::HasAmd() const {
  const auto is_amd = [](const auto& item) { return item.first.IsAmd(); };
  for (const DeviceCodeStats* share : {&embedded, &relocatable}) {
    for (const DeviceAmounts* amounts : {&share->sass, &share->ptx}) {
      if (std::any_of(amounts->begin(), amounts->end(), is_amd)) return true;
    }
  }
  return false;
}

void DeviceCode::AddRelocatable(const DeviceCodeStats& container) {
  AddDeviceCodeStats(container, relocatable);
  if (is_linked && IsWithin(container.sass, embedded.sass)) Add(container.ptx, linkable_ptx);
}

}  // namespace ptpkg::elf
