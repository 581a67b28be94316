// Compares a slice with its original before anybody uses it, from a second read of both files.
//
// The check shares the choice of elements with the planner, but finds sections and containers again in both
// files. In each container the header may differ in its size alone, and each kept element must be equal.
// Outside of device code, a slice in place must equal the original byte for byte. A compact slice is
// compared by its layout (elf/slice/slice_layout_check.cpp): headers, sections, and bytes between them.

#include "elf/slice/slice_verify.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/read/section_table.h"
#include "elf/read/static_archive.h"
#include "elf/slice/device_choice.h"
#include "elf/slice/slice_compare.h"
#include "elf/slice/slice_layout_check.h"
#include "support/files/read_only_file.h"

namespace ptpkg::elf {
namespace {

/// A section of containers as a fresh read finds it.
struct FoundSection {
  std::string_view name;
  std::size_t index = 0;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
  std::vector<DeviceContainer> containers;
};

Result<std::vector<FoundSection>> FindSections(File& file) {
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
                       .offset = section.offset,
                       .size_bytes = section.size,
                       .containers = {}};
      PTPKG_CHECK(ForEachContainer(file, name, section, [&](const DeviceContainer& container) {
        one.containers.push_back(container);
        return Ok();
      }));
      found.push_back(std::move(one));
    }
  }
  return found;
}

/// Compares a file that is not an archive, or a member.
class SliceComparison {
 public:
  SliceComparison(File& original, File& sliced, const SliceRequest& request)
      : original_(original), sliced_(sliced), request_(request), ranges_(original, sliced) {}

  Result<void> Run(int jobs) {
    PTPKG_TRY(before_, FindSections(original_));
    PTPKG_TRY(after_, FindSections(sliced_));
    if (before_.size() != after_.size())
      return SliceDiffers(
          fmt::format("{} sections of device code instead of {}", after_.size(), before_.size()));
    for (std::size_t i = 0; i < before_.size(); ++i) PTPKG_CHECK(CompareSections(before_[i], after_[i]));
    PTPKG_TRY(const FileStat before, original_.Stat());
    PTPKG_TRY(const FileStat after, sliced_.Stat());
    PTPKG_CHECK(before.size_bytes == after.size_bytes ? CompareOutside(before.size_bytes) : CompareLayouts());
    return ranges_.Run(jobs);
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
    const auto name = [&] { return fmt::format("the container that was at file offset {}", before.offset); };
    const auto add = [&](std::uint64_t original, std::uint64_t sliced, std::uint64_t size_bytes) {
      ranges_.Add({.original = original, .sliced = sliced, .size_bytes = size_bytes, .what = "a container"});
    };
    const DeviceChoice choice = ChooseElements(before, request_);
    if (before.header_bytes != after.header_bytes || choice.kept.size() != after.elements.size())
      return SliceDiffers(
          fmt::format("{} has {} elements instead of {}", name(), after.elements.size(), choice.kept.size()));
    // The size alone is new, and the walk has compared it with the sum of the elements.
    add(before.offset, after.offset, kContainerSizeAt);
    constexpr std::uint64_t kBehindSize = kContainerSizeAt + 8;
    add(before.offset + kBehindSize, after.offset + kBehindSize, before.header_bytes - kBehindSize);
    for (std::size_t i = 0; i < choice.kept.size(); ++i) {
      const DeviceElement& old = before.elements[choice.kept[i]];
      const DeviceElement& now = after.elements[i];
      if (old.size_bytes != now.size_bytes)
        return SliceDiffers(fmt::format("{} has another element {}", name(), i));
      add(old.offset, now.offset, old.size_bytes);
    }
    return Ok();
  }

  /// In place: every byte that is in no section of containers.
  Result<void> CompareOutside(std::uint64_t size) {
    std::vector<const FoundSection*> sections;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (before_[i].offset != after_[i].offset || before_[i].size_bytes != after_[i].size_bytes)
        return SliceDiffers(fmt::format("section {} lies elsewhere", before_[i].name));
      for (std::size_t k = 0; k < before_[i].containers.size(); ++k) {
        const std::uint64_t offset = before_[i].containers[k].offset;
        if (after_[i].containers[k].offset != offset)
          return SliceDiffers(fmt::format("the container that was at file offset {} moved", offset));
      }
      sections.push_back(&before_[i]);
    }
    std::sort(sections.begin(), sections.end(), [](const FoundSection* left, const FoundSection* right) {
      return left->offset < right->offset;
    });
    const auto add = [&](std::uint64_t begin, std::uint64_t end) {
      ranges_.Add({.original = begin,
                   .sliced = begin,
                   .size_bytes = end - begin,
                   .what = "a part without device code"});
    };
    std::uint64_t at = 0;
    for (const FoundSection* section : sections) {
      if (section->offset > at) add(at, section->offset);
      at = std::max(at, section->offset + section->size_bytes);
    }
    add(at, size);
    return Ok();
  }

  Result<void> CompareLayouts() {
    PTPKG_TRY(const std::optional<Image> before, ReadImage(original_));
    PTPKG_TRY(const std::optional<Image> after, ReadImage(sliced_));
    if (!before || !after || before->sections.size() != after->sections.size())
      return SliceDiffers("another number of sections");
    if (before->header.type == kTypeRel) return SliceDiffers("the size of the object");
    std::vector<ContainerMoves> device;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      device.push_back(
          MovesOf(i, before->sections[before_[i].index].addr, after->sections[after_[i].index].addr));
    }
    return CheckLayout({original_, *before}, {sliced_, *after}, device, ranges_);
  }

  /// Moves in section `i` of both, which lies at these addresses.
  [[nodiscard]] ContainerMoves MovesOf(std::size_t i, std::uint64_t old_address,
                                       std::uint64_t new_address) const {
    ContainerMoves moves{.section = before_[i].index,
                         .from_end = old_address + before_[i].size_bytes,
                         .to_end = new_address + after_[i].size_bytes};
    for (std::size_t k = 0; k < before_[i].containers.size(); ++k) {
      const DeviceContainer& from = before_[i].containers[k];
      const DeviceContainer& to = after_[i].containers[k];
      moves.moves.push_back({.from = old_address + (from.offset - before_[i].offset),
                             .to = new_address + (to.offset - after_[i].offset),
                             .from_size = from.size_bytes,
                             .to_size = to.size_bytes});
    }
    return moves;
  }

  File& original_;
  File& sliced_;
  const SliceRequest& request_;
  RangeComparison ranges_;
  std::vector<FoundSection> before_;
  std::vector<FoundSection> after_;
};

/// Each member is a slice of its original, and all other bytes are equal.
Result<void> CompareArchives(File& original, File& sliced, const SliceRequest& request, int jobs) {
  PTPKG_TRY(const FileStat before, original.Stat());
  PTPKG_TRY(const FileStat after, sliced.Stat());
  if (before.size_bytes != after.size_bytes) return SliceDiffers("the size of the archive");
  RangeComparison ranges(original, sliced);
  std::uint64_t at = 0;
  const auto compare_up_to = [&](std::uint64_t end) {
    ranges.Add({.original = at, .sliced = at, .size_bytes = end - at, .what = "a header or table"});
  };
  PTPKG_CHECK(ForEachMember(original, [&](const MemberPlace& place, File& member) -> Result<void> {
    compare_up_to(place.offset);
    at = place.offset + place.size_bytes;
    FileStat stat = after;
    stat.size_bytes = place.size_bytes;
    RangeFile now(sliced, stat, place.offset);
    PTPKG_CHECK(SliceComparison(member, now, request).Run(jobs),
                fmt::format("while comparing member '{}'", place.name));
    return Ok();
  }));
  compare_up_to(before.size_bytes);
  return ranges.Run(jobs);
}

}  // namespace

Result<void> VerifySlice(File& original, File& sliced, const SliceRequest& request, int jobs) {
  PTPKG_TRY(const bool is_archive, IsStaticArchive(original));
  if (is_archive) return CompareArchives(original, sliced, request, jobs);
  return SliceComparison(original, sliced, request).Run(jobs);
}

}  // namespace ptpkg::elf
