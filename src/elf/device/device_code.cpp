// Reads the amounts of GPU code in an ELF file or static archive (docs/formats/device-code.md).
//
// Three kinds of sections hold code: embedded containers, relocatable containers, and single entries of AMD
// bundles in objects that are not linked yet. Each kind has its own walker, and all of them add to the same
// sums. Only headers and tables are read, so that a library of gigabytes costs a few reads.
//
// Section sizes come from the file. The sum of all device sections must not exceed the file's size, or
// overlapping sections could be walked again and again.

#include "elf/device/device_code.h"

#include <fmt/core.h>

#include "elf/device/device_bundles.h"
#include "elf/read/section_table.h"
#include "elf/read/static_archive.h"

namespace ptpkg::elf {
namespace {

/// The member's name in front of the error.
Error InMember(const std::string& name, const Error& error) {
  return Error(error.code(), fmt::format("member '{}': {}", name, error.message())).WithHint(error.hint());
}

bool IsEmpty(const DeviceCode& code) {
  return code.embedded.containers == 0 && code.relocatable.containers == 0;
}

/// ForEachContainer or ForEachBundle.
using SectionWalker = Result<void> (*)(File&, std::string_view, const Section&,
                                       const std::function<Result<void>(const DeviceContainer&)>&);

struct SectionKind {
  std::string_view name;
  SectionWalker walk;
};

/// Calls `take` with the amounts of each container in the sections of that kind.
Result<void> ForEachDeviceCodeStats(File& file, const Image& image, std::string_view names,
                                    const SectionKind& kind,
                                    const std::function<void(const DeviceCodeStats&)>& take) {
  PTPKG_TRY(const std::vector<std::size_t> sections, FindDeviceSections(image, names, kind.name));
  for (const std::size_t section : sections) {
    PTPKG_CHECK(kind.walk(file, kind.name, image.sections[section], [&](const DeviceContainer& container) {
      take(DeviceCodeStatsOf(container));
      return Ok();
    }));
  }
  return Ok();
}

/// The sections of an object that hold one entry of a bundle each, and are linked later.
Result<void> AddUnlinkedEntries(const Image& image, std::string_view names, DeviceCode& code) {
  constexpr std::size_t kLongestName = 1024;
  std::uint64_t sum = 0;
  for (const Section& section : image.sections) {
    if (section.type == kSectionNobits || section.name >= names.size()) continue;
    std::string_view name = names.substr(section.name, kLongestName);
    name = name.substr(0, name.find('\0'));
    // Ignoring it would report an object without code for GPUs that it supports.
    if (name == kPackagerSection && section.size != 0) {
      return Error(ErrorCode::kUnsupported,
                   fmt::format("section {}: ptpkg does not read code of LLVM's offload packager",
                               kPackagerSection))
          .WithHint("compile with --no-offload-new-driver, or link the object");
    }
    if (!name.starts_with(kBundleSection)) continue;
    std::optional<DeviceElement> element = ElementOfId(name.substr(kBundleSection.size()));
    if (!element || section.size == 0) continue;
    if (section.offset > image.file_size || section.size > image.file_size - section.offset ||
        section.size > image.file_size - sum) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("section {} passes the end of the file, or overlaps another", name))
          .WithHint("rebuild the file: its device code cannot be read");
    }
    sum += section.size;
    element->size_bytes = section.size;
    code.AddRelocatable(DeviceCodeStatsOf({.elements = {*std::move(element)}}));
  }
  return Ok();
}

Result<std::optional<DeviceCode>> ReadElf(File& file) {
  PTPKG_TRY(const std::optional<Image> image, ReadImage(file));
  return image ? ReadDeviceCode(file, *image) : std::optional<DeviceCode>();
}

}  // namespace

Result<std::optional<DeviceCode>> ReadDeviceCode(File& file, const Image& image) {
  DeviceCode code{.is_linked = image.header.type != kTypeRel};
  // A library without names for its sections has none that can be found.
  if (image.sections.empty() || image.header.section_names_index == 0) return std::optional<DeviceCode>();
  PTPKG_TRY(const std::string names, ReadSectionNames(file, image));
  const auto embed = [&](const DeviceCodeStats& container) { AddDeviceCodeStats(container, code.embedded); };
  PTPKG_CHECK(ForEachDeviceCodeStats(file, image, names, {kEmbeddedCode, ForEachContainer}, embed));
  PTPKG_CHECK(ForEachDeviceCodeStats(file, image, names, {kAmdCode, ForEachBundle}, embed));
  PTPKG_CHECK(
      ForEachDeviceCodeStats(file, image, names, {kRelocatableCode, ForEachContainer},
                             [&](const DeviceCodeStats& container) { code.AddRelocatable(container); }));
  PTPKG_CHECK(AddUnlinkedEntries(image, names, code));
  return IsEmpty(code) ? std::optional<DeviceCode>() : std::optional(std::move(code));
}

Result<std::optional<DeviceCode>> ReadDeviceCode(File& file) {
  PTPKG_TRY(const bool is_archive, IsStaticArchive(file));
  if (!is_archive) return ReadElf(file);
  DeviceCode sum;
  PTPKG_CHECK(ForEachMember(file, [&](const MemberPlace& place, File& member) -> Result<void> {
    const Result<std::optional<DeviceCode>> code = ReadElf(member);
    if (!code) return InMember(place.name, code.error());
    if (!*code) return Ok();
    AddDeviceCodeStats((*code)->embedded, sum.embedded);
    AddDeviceCodeStats((*code)->relocatable, sum.relocatable);
    return Ok();
  }));
  return IsEmpty(sum) ? std::optional<DeviceCode>() : std::optional(std::move(sum));
}

}  // namespace ptpkg::elf
