#include "elf/device_code.h"

#include <algorithm>
#include <fmt/core.h>
#include <functional>

#include "elf/section_table.h"
#include "elf/static_archive.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint32_t kContainerMagic = 0xba55ed50;
constexpr std::uint16_t kVersion = 1;
constexpr std::uint64_t kContainerHeader = 16;
constexpr std::uint64_t kElementHeader = 64;  // the shortest that was seen; later ones carry more behind it
constexpr std::uint32_t kLargestNumber = 9999;

// Kinds of elements. Those that cuobjdump lists as ELF and PTX; 16 and 64 are later forms of the two.
constexpr std::uint16_t kPtx = 1;
constexpr std::uint16_t kCubin = 2;
constexpr std::uint16_t kLaterCubin = 16;
constexpr std::uint16_t kLaterPtx = 64;

// Bits of an element's flags that fatbinary sets for sm_90a and sm_100f, whether the payload is compressed
// or not.
constexpr std::uint64_t kArchitectureSpecific = 0x100000;
constexpr std::uint64_t kFamilySpecific = 0x200000;

constexpr std::string_view kEmbedded = ".nv_fatbin";
constexpr std::string_view kRelocatable = "__nv_relfatbin";

// Containers are little-endian, as all hosts of CUDA are.
Codec Little() { return {ElfClass::k64, ByteOrder::kLittle}; }

std::string NameOf(std::string_view prefix, const DeviceArchitecture& architecture) {
  std::string name = fmt::format("{}_{}", prefix, architecture.number);
  if (architecture.suffix != '\0') name += architecture.suffix;
  return name;
}

void Add(const DeviceAmounts& more, DeviceAmounts& sum) {
  for (const auto& [architecture, amount] : more) {
    sum[architecture].elements += amount.elements;
    sum[architecture].size_bytes += amount.size_bytes;
  }
}

void Add(const DeviceShare& more, DeviceShare& sum) {
  Add(more.sass, sum.sass);
  Add(more.ptx, sum.ptx);
  sum.other_bytes += more.other_bytes;
  sum.containers += more.containers;
}

/// Whether the name at `at` is `name`; others, which may be megabytes long, are not measured.
bool IsNamed(std::string_view names, std::uint32_t at, std::string_view name) {
  if (at >= names.size()) return false;
  const std::string_view rest = names.substr(at);
  return rest.size() > name.size() && rest.starts_with(name) && rest[name.size()] == '\0';
}

/// The member in front of what is wrong with it.
Error InMember(const std::string& name, const Error& error) {
  return Error(error.code(), fmt::format("member '{}': {}", name, error.message())).WithHint(error.hint());
}

bool IsEmpty(const DeviceCode& code) {
  return code.embedded.containers == 0 && code.relocatable.containers == 0;
}

bool IsWithin(const DeviceAmounts& some, const DeviceAmounts& all) {
  return std::all_of(some.begin(), some.end(), [&](const auto& item) { return all.contains(item.first); });
}

/// Walks the containers of one section, and gives each to `take`.
class SectionWalk {
 public:
  using Take = std::function<void(const DeviceShare&)>;

  SectionWalk(File& file, std::string_view name, const Section& section, Take take)
      : file_(file), name_(name), begin_(section.offset), size_(section.size), take_(std::move(take)) {}

  Result<void> Run() {
    std::uint64_t at = 0;
    while (at < size_) {
      PTPKG_TRY(at, SkipPadding(at));
      if (at == size_) break;
      PTPKG_TRY(at, ReadContainer(at));
    }
    return Ok();
  }

 private:
  [[nodiscard]] Error Broken(std::uint64_t at, std::string_view what) const {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("section {}, byte {} (file offset {}): {}", name_, at, begin_ + at, what))
        .WithHint("build the file again; its device code cannot be told");
  }

  /// From `at` to the next byte that is not 0: linkers align containers, and tools that take code out of a
  /// library leave zeros where it was.
  Result<std::uint64_t> SkipPadding(std::uint64_t at) {
    for (std::uint64_t chunk = 16; at < size_; chunk = std::min<std::uint64_t>(chunk * 4, 1U << 16U)) {
      PTPKG_TRY(const auto bytes, ReadExact(file_, begin_ + at, std::min(chunk, size_ - at), name_));
      const auto found =
          std::find_if(bytes.begin(), bytes.end(), [](std::byte byte) { return byte != std::byte{0}; });
      at += static_cast<std::uint64_t>(found - bytes.begin());
      if (found != bytes.end()) break;
    }
    return at;
  }

  /// Returns where the container at `at` ends. u32 magic, u16 version, u16 size of this header, u64 size of
  /// the elements.
  Result<std::uint64_t> ReadContainer(std::uint64_t at) {
    if (size_ - at < kContainerHeader) {
      return Broken(at, fmt::format("{} bytes are left, too few for a container of device code", size_ - at));
    }
    PTPKG_TRY(const auto bytes, ReadExact(file_, begin_ + at, kContainerHeader, name_));
    const std::uint32_t magic = Little().U32(bytes, 0);
    const std::uint16_t version = Little().U16(bytes, 4);
    const std::uint64_t header = Little().U16(bytes, 6);
    const std::uint64_t size = Little().Word(bytes, 8);
    if (magic != kContainerMagic)
      return Broken(at, fmt::format("no container of device code begins here ({:#010x})", magic));
    if (version != kVersion) {
      return Error(
                 ErrorCode::kUnsupported,
                 fmt::format("section {}, byte {} (file offset {}): a container of device code of version {}",
                             name_, at, begin_ + at, version))
          .WithHint("containers of version 1 are known");
    }
    const std::uint64_t room = size_ - at;
    if (header < kContainerHeader || header > room || size > room - header) {
      return Broken(at, fmt::format("a container of {} + {} bytes, where {} are left", header, size, room));
    }
    DeviceShare container{.containers = 1};
    const std::uint64_t end = at + header + size;
    for (std::uint64_t element = at + header; element < end;) {
      PTPKG_TRY(element, ReadElement(element, end, container));
    }
    take_(container);
    return end;
  }

  /// Returns where the element at `at` ends. u16 kind, u16 version, u32 size of this header, u64 size of the
  /// payload, …, u32 number of the architecture at 28, u64 flags at 40.
  Result<std::uint64_t> ReadElement(std::uint64_t at, std::uint64_t end, DeviceShare& container) const {
    if (end - at < kElementHeader) {
      return Broken(at, fmt::format("{} bytes are left, too few for an element of the container", end - at));
    }
    PTPKG_TRY(const auto bytes, ReadExact(file_, begin_ + at, kElementHeader, name_));
    const std::uint64_t header = Little().U32(bytes, 4);
    const std::uint64_t payload = Little().Word(bytes, 8);
    if (header < kElementHeader || header > end - at || payload > end - at - header) {
      return Broken(at, fmt::format("an element of {} + {} bytes, where {} are left in its container", header,
                                    payload, end - at));
    }
    const std::uint16_t kind = Little().U16(bytes, 0);
    const bool is_sass = kind == kCubin || kind == kLaterCubin;
    if (!is_sass && kind != kPtx && kind != kLaterPtx) {
      container.other_bytes += header + payload;
      return at + header + payload;
    }
    DeviceArchitecture architecture{.number = Little().U32(bytes, 28)};
    if (architecture.number == 0 || architecture.number > kLargestNumber) {
      return Broken(at, fmt::format("an element for architecture {}", architecture.number));
    }
    const std::uint64_t flags = Little().Word(bytes, 40);
    if ((flags & kFamilySpecific) != 0) architecture.suffix = 'f';
    if ((flags & kArchitectureSpecific) != 0) architecture.suffix = 'a';
    DeviceAmount& amount = (is_sass ? container.sass : container.ptx)[architecture];
    ++amount.elements;
    amount.size_bytes += header + payload;
    return at + header + payload;
  }

  File& file_;
  std::string_view name_;
  std::uint64_t begin_;
  std::uint64_t size_;
  Take take_;
};

/// The sections of that name, which have bytes. Those of an honest file share none; a million that do could
/// be walked for hours.
Result<std::vector<const Section*>> FindSections(const Image& image, std::string_view names,
                                                 std::string_view name) {
  std::vector<const Section*> found;
  std::uint64_t sum = 0;
  for (const Section& section : image.sections) {
    if (section.type == kSectionNobits || !IsNamed(names, section.name, name)) continue;  // debug companions
    const bool fits = section.offset <= image.file_size && section.size <= image.file_size - section.offset;
    if (!fits || section.size > image.file_size - sum) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("section {} ({} bytes at file offset {}) {}", name, section.size,
                               section.offset, fits ? "overlaps another" : "passes the end of the file"))
          .WithHint("build the file again; its device code cannot be told");
    }
    sum += section.size;
    found.push_back(&section);
  }
  return found;
}

Result<std::optional<DeviceCode>> ReadElf(File& file) {
  PTPKG_TRY(const std::optional<Image> image, ReadImage(file));
  return image ? ReadDeviceCode(file, *image) : std::optional<DeviceCode>();
}

}  // namespace

std::string DeviceArchitecture::SassName() const { return NameOf("sm", *this); }
std::string DeviceArchitecture::PtxName() const { return NameOf("compute", *this); }

DeviceShare DeviceCode::Judged() const {
  DeviceShare judged = embedded;
  if (is_linked && !embedded.sass.empty()) {
    Add(linkable_ptx, judged.ptx);
  } else {
    Add(relocatable, judged);
  }
  return judged;
}

Result<std::optional<DeviceCode>> ReadDeviceCode(File& file, const Image& image) {
  DeviceCode code{.is_linked = image.header.type != kTypeRel};
  // A library without names for its sections has none that can be found.
  if (image.sections.empty() || image.header.section_names_index == 0) return std::optional<DeviceCode>();
  PTPKG_TRY(const std::string names, ReadSectionNames(file, image));
  PTPKG_TRY(const std::vector<const Section*> embedded, FindSections(image, names, kEmbedded));
  for (const Section* section : embedded) {
    PTPKG_CHECK(SectionWalk(file, kEmbedded, *section, [&](const DeviceShare& container) {
                  Add(container, code.embedded);
                }).Run());
  }
  PTPKG_TRY(const std::vector<const Section*> relocatable, FindSections(image, names, kRelocatable));
  for (const Section* section : relocatable) {
    PTPKG_CHECK(SectionWalk(file, kRelocatable, *section, [&](const DeviceShare& container) {
                  Add(container, code.relocatable);
                  const bool own = IsWithin(container.sass, code.embedded.sass);
                  if (code.is_linked && own) Add(container.ptx, code.linkable_ptx);
                }).Run());
  }
  return IsEmpty(code) ? std::optional<DeviceCode>() : std::optional(std::move(code));
}

Result<std::optional<DeviceCode>> ReadDeviceCode(File& file) {
  PTPKG_TRY(const bool is_archive, IsStaticArchive(file));
  if (!is_archive) return ReadElf(file);
  DeviceCode sum;
  PTPKG_CHECK(ForEachMember(file, [&](const std::string& name, File& member) -> Result<void> {
    const Result<std::optional<DeviceCode>> code = ReadElf(member);
    if (!code) return InMember(name, code.error());
    if (!*code) return Ok();
    Add((*code)->embedded, sum.embedded);
    Add((*code)->relocatable, sum.relocatable);
    return Ok();
  }));
  return IsEmpty(sum) ? std::optional<DeviceCode>() : std::optional(std::move(sum));
}

}  // namespace ptpkg::elf
