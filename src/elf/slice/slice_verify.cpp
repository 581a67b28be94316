#include "elf/slice/slice_verify.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/device/device_choice.h"
#include "elf/read/section_table.h"
#include "elf/read/static_archive.h"
#include "elf/slice/archive_compact.h"
#include "elf/slice/object_check.h"
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

/// Of a file that is no archive, or of a member.
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
    // The size alone is new. What the elements add up to is what the walk insists on.
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
      sections.push_back(&before_[i]);
    }
    std::sort(sections.begin(), sections.end(), [](const FoundSection* left, const FoundSection* right) {
      return left->offset < right->offset;
    });
    const auto add = [&](std::uint64_t begin, std::uint64_t end) {
      ranges_.Add(
          {.original = begin, .sliced = begin, .size_bytes = end - begin, .what = "what is no device code"});
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
    const bool is_object = before->header.type == kTypeRel;
    std::vector<ContainerMoves> device;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      const std::uint64_t old_address = is_object ? 0 : before->sections[before_[i].index].addr;
      const std::uint64_t new_address = is_object ? 0 : after->sections[after_[i].index].addr;
      device.push_back(MovesOf(i, old_address, new_address));
    }
    return is_object ? CheckObject({original_, *before}, {sliced_, *after}, device, ranges_)
                     : CheckLayout({original_, *before}, {sliced_, *after}, device, ranges_);
  }

  /// Of the section `i` of both, which lies at these addresses.
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

/// Headers, names and tables of two archives are equal but for the sizes and places of members, and each
/// member is a slice of its original.
class ArchiveComparison {
 public:
  ArchiveComparison(File& original, File& sliced, const SliceRequest& request)
      : original_(original), sliced_(sliced), request_(request), ranges_(original, sliced) {}

  Result<void> Run(int jobs) {
    Compare(0, 0, kArchiveMagic.size(), "the magic number");
    PTPKG_TRY(before_, ReadArchiveParts(original_));
    PTPKG_TRY(after_, ReadArchiveParts(sliced_));
    if (before_.members.size() != after_.members.size())
      return SliceDiffers(
          fmt::format("{} members instead of {}", after_.members.size(), before_.members.size()));
    for (std::size_t i = 0; i < before_.members.size(); ++i) PTPKG_CHECK(CompareMembers(i, jobs));
    if (before_.tables.size() != after_.tables.size()) return SliceDiffers("another number of tables");
    for (std::size_t i = 0; i < before_.tables.size(); ++i)
      PTPKG_CHECK(CompareTables(before_.tables[i], after_.tables[i]));
    return ranges_.Run(jobs);
  }

 private:
  void Compare(std::uint64_t original, std::uint64_t sliced, std::uint64_t size_bytes,
               std::string_view what) {
    ranges_.Add({.original = original, .sliced = sliced, .size_bytes = size_bytes, .what = what});
  }

  Result<void> CompareMembers(std::size_t index, int jobs) {
    const MemberPlace& old = before_.members[index];
    const MemberPlace& now = after_.members[index];
    const std::string what = fmt::format("the header of member '{}'", old.name);
    constexpr std::uint64_t kBehindSize = kMemberSizeAt + kMemberSizeDigits;
    const std::uint64_t header = old.offset - old.header_offset;
    if (header != now.offset - now.header_offset) return SliceDiffers(what);
    constexpr std::string_view kHeader = "the header of a member";
    Compare(old.header_offset, now.header_offset, kMemberSizeAt, kHeader);
    Compare(old.header_offset + kBehindSize, now.header_offset + kBehindSize, header - kBehindSize, kHeader);
    if (old.size_bytes % 2 != now.size_bytes % 2) return SliceDiffers(what);
    PTPKG_TRY(FileStat before, original_.Stat());
    PTPKG_TRY(FileStat after, sliced_.Stat());
    before.size_bytes = old.size_bytes;
    after.size_bytes = now.size_bytes;
    RangeFile member(original_, before, old.offset);
    RangeFile sliced(sliced_, after, now.offset);
    PTPKG_CHECK(SliceComparison(member, sliced, request_).Run(jobs),
                fmt::format("while comparing member '{}'", old.name));
    return Ok();
  }

  Result<void> CompareTables(const ArchiveTable& old, const ArchiveTable& now) {
    if (old.kind != now.kind || old.size_bytes != now.size_bytes)
      return SliceDiffers("a table of the archive");
    Compare(old.header_offset, now.header_offset, old.offset - old.header_offset, "the header of a table");
    PTPKG_TRY(const FileStat before, original_.Stat());
    PTPKG_TRY(const FileStat after, sliced_.Stat());
    // In place nothing moves, and a table need not be understood.
    const bool is_equal = old.PlaceBytes() == 0 || before.size_bytes == after.size_bytes;
    if (is_equal) {
      Compare(old.offset, now.offset, old.size_bytes, "a table of the archive");
      return Ok();
    }
    PTPKG_TRY(const std::vector<std::uint64_t> old_places, ReadSymbolPlaces(original_, old));
    PTPKG_TRY(const std::vector<std::uint64_t> new_places, ReadSymbolPlaces(sliced_, now));
    if (old_places.size() != new_places.size()) return SliceDiffers("the table of symbols");
    for (std::size_t i = 0; i < old_places.size(); ++i) {
      if (before_.MemberAt(old_places[i]) != after_.MemberAt(new_places[i]))
        return SliceDiffers(fmt::format("symbol {} of the archive is another member's", i));
    }
    const std::uint64_t names = std::min(old.size_bytes, old.PlaceBytes() * (1 + old_places.size()));
    Compare(old.offset + names, now.offset + names, old.size_bytes - names, "names of the table of symbols");
    return Ok();
  }

  File& original_;
  File& sliced_;
  const SliceRequest& request_;
  RangeComparison ranges_;
  ArchiveParts before_;
  ArchiveParts after_;
};

}  // namespace

Result<void> VerifySlice(File& original, File& sliced, const SliceRequest& request, int jobs) {
  PTPKG_TRY(const bool is_archive, IsStaticArchive(original));
  if (is_archive) return ArchiveComparison(original, sliced, request).Run(jobs);
  return SliceComparison(original, sliced, request).Run(jobs);
}

}  // namespace ptpkg::elf
