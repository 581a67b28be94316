#include "elf/slice_verify.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/device_choice.h"
#include "elf/section_table.h"
#include "elf/slice_layout_check.h"
#include "elf/static_archive.h"

namespace ptpkg::elf {
namespace {

Error SliceDiffers(std::string what) {
  return Error(ErrorCode::kInternal, "the slice differs from its original: " + std::move(what))
      .WithHint("please report this; the original is unchanged");
}

/// A section of containers as a fresh read finds it.
struct FoundSection {
  std::string_view name;
  std::size_t index = 0;
  std::uint64_t offset = 0;  ///< In the whole file.
  std::uint64_t size_bytes = 0;
  std::vector<DeviceContainer> containers;  ///< Offsets in the whole file.
};

Result<std::vector<FoundSection>> FindInElf(File& file, std::uint64_t base) {
  std::vector<FoundSection> found;
  PTPKG_TRY(const std::optional<Image> image, ReadImage(file));
  if (!image || image->sections.empty() || image->header.section_names_index == 0) return found;
  PTPKG_TRY(const std::string names, ReadSectionNames(file, *image));
  for (const std::string_view name : {kEmbeddedCode, kRelocatableCode}) {
    PTPKG_TRY(const std::vector<std::size_t> indices, FindDeviceSections(*image, names, name));
    for (const std::size_t index : indices) {
      const Section& section = image->sections[index];
      FoundSection one{.name = name,
                       .index = index,
                       .offset = base + section.offset,
                       .size_bytes = section.size,
                       .containers = {}};
      PTPKG_CHECK(ForEachContainer(file, name, section, [&](const DeviceContainer& container) {
        DeviceContainer placed = container;
        placed.offset += base;
        for (DeviceElement& element : placed.elements) element.offset += base;
        one.containers.push_back(std::move(placed));
        return Ok();
      }));
      found.push_back(std::move(one));
    }
  }
  return found;
}

Result<std::vector<FoundSection>> FindAll(File& file) {
  PTPKG_TRY(const bool is_archive, IsStaticArchive(file));
  if (!is_archive) return FindInElf(file, 0);
  std::vector<FoundSection> all;
  PTPKG_CHECK(ForEachMember(file, [&](const MemberPlace& place, File& member) -> Result<void> {
    PTPKG_TRY(std::vector<FoundSection> found, FindInElf(member, place.offset));
    for (FoundSection& one : found) all.push_back(std::move(one));
    return Ok();
  }));
  return all;
}

class SliceComparison {
 public:
  SliceComparison(File& original, File& sliced, const SliceRequest& request)
      : original_(original), sliced_(sliced), request_(request) {}

  Result<void> Run() {
    PTPKG_TRY(before_, FindAll(original_));
    PTPKG_TRY(after_, FindAll(sliced_));
    if (before_.size() != after_.size())
      return SliceDiffers(
          fmt::format("{} sections of device code instead of {}", after_.size(), before_.size()));
    for (std::size_t i = 0; i < before_.size(); ++i) PTPKG_CHECK(CompareSections(before_[i], after_[i]));
    PTPKG_TRY(const FileStat before, original_.Stat());
    PTPKG_TRY(const FileStat after, sliced_.Stat());
    return before.size_bytes == after.size_bytes ? CompareOutside(before.size_bytes) : CompareLayouts();
  }

 private:
  Result<void> CompareSections(const FoundSection& before, const FoundSection& after) {
    if (before.name != after.name || before.index != after.index)
      return SliceDiffers("sections of device code in another order");
    if (before.containers.size() != after.containers.size()) {
      return SliceDiffers(fmt::format("{} containers in {} instead of {}", after.containers.size(),
                                      before.name, before.containers.size()));
    }
    for (std::size_t i = 0; i < before.containers.size(); ++i) {
      PTPKG_CHECK(CompareContainers(before.containers[i], after.containers[i]));
    }
    return Ok();
  }

  Result<void> CompareContainers(const DeviceContainer& before, const DeviceContainer& after) {
    const std::string what = fmt::format("the container that was at file offset {}", before.offset);
    const DeviceChoice choice = ChooseElements(before, request_);
    if (before.header_bytes != after.header_bytes || choice.kept.size() != after.elements.size())
      return SliceDiffers(
          fmt::format("{} has {} elements instead of {}", what, after.elements.size(), choice.kept.size()));
    // The size alone is new. What the elements add up to is what the walk insists on.
    PTPKG_CHECK(CompareBytes({original_, before.offset}, {sliced_, after.offset}, kContainerSizeAt, what));
    constexpr std::uint64_t kBehindSize = kContainerSizeAt + 8;
    PTPKG_CHECK(CompareBytes({original_, before.offset + kBehindSize}, {sliced_, after.offset + kBehindSize},
                             before.header_bytes - kBehindSize, what));
    for (std::size_t i = 0; i < choice.kept.size(); ++i) {
      const DeviceElement& old = before.elements[choice.kept[i]];
      const DeviceElement& now = after.elements[i];
      if (old.size_bytes != now.size_bytes)
        return SliceDiffers(fmt::format("{} has another element {}", what, i));
      PTPKG_CHECK(CompareBytes({original_, old.offset}, {sliced_, now.offset}, old.size_bytes, what));
    }
    return Ok();
  }

  /// In place: every byte that is in no section of containers.
  Result<void> CompareOutside(std::uint64_t size) {
    std::vector<const FoundSection*> sections;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (before_[i].offset != after_[i].offset || before_[i].size_bytes != after_[i].size_bytes)
        return SliceDiffers(fmt::format("section {} lies elsewhere", before_[i].name));
      sections.push_back(&before_[i]);
    }
    std::sort(sections.begin(), sections.end(), [](const FoundSection* left, const FoundSection* right) {
      return left->offset < right->offset;
    });
    std::uint64_t at = 0;
    for (const FoundSection* section : sections) {
      if (section->offset > at)
        PTPKG_CHECK(
            CompareBytes({original_, at}, {sliced_, at}, section->offset - at, "what lies before a section"));
      at = std::max(at, section->offset + section->size_bytes);
    }
    return CompareBytes({original_, at}, {sliced_, at}, size - at, "what lies behind the device code");
  }

  Result<void> CompareLayouts() {
    PTPKG_TRY(const std::optional<Image> before, ReadImage(original_));
    PTPKG_TRY(const std::optional<Image> after, ReadImage(sliced_));
    if (!before || !after || before->sections.size() != after->sections.size())
      return SliceDiffers("another number of sections");
    ContainerMoves embedded;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> skipped;
    std::size_t count = 0;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (before_[i].name != kEmbeddedCode) {
        skipped.emplace_back(before_[i].offset, before_[i].size_bytes);
        continue;
      }
      ++count;
      embedded.section = before_[i].index;
      const Section& old = before->sections[before_[i].index];
      const Section& now = after->sections[after_[i].index];
      for (std::size_t k = 0; k < before_[i].containers.size(); ++k) {
        const DeviceContainer& from = before_[i].containers[k];
        const DeviceContainer& to = after_[i].containers[k];
        embedded.moves.push_back({.from = old.addr + (from.offset - old.offset),
                                  .to = now.addr + (to.offset - now.offset),
                                  .from_size = from.size_bytes,
                                  .to_size = to.size_bytes});
      }
    }
    if (count != 1) return SliceDiffers(fmt::format("its size, with {} sections .nv_fatbin", count));
    return CheckLayout({original_, *before}, {sliced_, *after}, embedded, skipped);
  }

  File& original_;
  File& sliced_;
  const SliceRequest& request_;
  std::vector<FoundSection> before_;
  std::vector<FoundSection> after_;
};

}  // namespace

Result<void> VerifySlice(File& original, File& sliced, const SliceRequest& request) {
  return SliceComparison(original, sliced, request).Run();
}

}  // namespace ptpkg::elf
