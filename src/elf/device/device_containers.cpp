// Walks the containers of NVIDIA's GPU code that fatbinary writes. docs/formats/device-code.md has the
// fields, compared with cuobjdump.
//
// A section is a row of containers with zeros between them. Each container and each element states its
// size, so the walk never looks into a payload. Every size is compared with the room that is left before it
// is used. An unknown version is unsupported, and anything else that does not fit is an error: a guess
// would miscount the code that `ptpkg slice` removes.
//
// Zeros between containers can take hundreds of megabytes in a library that was sliced in place. They are
// skipped by holes of the file where it has some, and else compared in large steps.

#include "elf/device/device_containers.h"

#include <algorithm>
#include <fmt/core.h>

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

// Containers are little-endian, as all hosts of CUDA are.
Codec LittleEndian() { return {ElfClass::k64, ByteOrder::kLittle}; }

std::string NameOf(std::string_view prefix, const DeviceArchitecture& architecture) {
  if (architecture.IsAmd()) return architecture.target;
  std::string name = fmt::format("{}_{}", prefix, architecture.number);
  if (architecture.suffix != '\0') name += architecture.suffix;
  return name;
}

DeviceCodeKind KindOf(std::uint16_t kind) {
  if (kind == kCubin || kind == kLaterCubin) return DeviceCodeKind::kSass;
  return kind == kPtx || kind == kLaterPtx ? DeviceCodeKind::kPtx : DeviceCodeKind::kOther;
}

/// True if the name at `at` is `name`; others, which may be megabytes long, are not measured.
bool IsNamed(std::string_view names, std::uint32_t at, std::string_view name) {
  if (at >= names.size()) return false;
  const std::string_view rest = names.substr(at);
  return rest.size() > name.size() && rest.starts_with(name) && rest[name.size()] == '\0';
}

/// Walks the containers of one section, and gives each to `take`.
class SectionWalk {
 public:
  using Take = std::function<Result<void>(const DeviceContainer&)>;

  SectionWalk(File& file, std::string_view name, const Section& section, const Take& take)
      : file_(file), name_(name), begin_(section.offset), size_(section.size), take_(take) {}

  Result<void> Run() {
    std::uint64_t at = 0;
    while (at < size_) {
      PTPKG_TRY(at, SkipZeros(file_, name_, begin_, at, size_));
      if (at == size_) break;
      PTPKG_TRY(at, ReadContainer(at));
    }
    return Ok();
  }

 private:
  [[nodiscard]] Error Broken(std::uint64_t at, std::string_view what) const {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("section {}, byte {} (file offset {}): {}", name_, at, begin_ + at, what))
        .WithHint("rebuild the file: its device code cannot be read");
  }

  /// Returns where the container at `at` ends. u32 magic, u16 version, u16 size of this header, u64 size of
  /// the elements.
  Result<std::uint64_t> ReadContainer(std::uint64_t at) {
    if (size_ - at < kContainerHeader) {
      return Broken(at, fmt::format("{} bytes are left, too few for a container of device code", size_ - at));
    }
    PTPKG_TRY(const auto bytes, ReadExact(file_, begin_ + at, kContainerHeader, name_));
    const std::uint32_t magic = LittleEndian().U32(bytes, 0);
    const std::uint16_t version = LittleEndian().U16(bytes, 4);
    const std::uint64_t header = LittleEndian().U16(bytes, 6);
    const std::uint64_t size = LittleEndian().Word(bytes, 8);
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
    DeviceContainer container{
        .offset = begin_ + at, .header_bytes = header, .size_bytes = header + size, .elements = {}};
    const std::uint64_t end = at + header + size;
    for (std::uint64_t element = at + header; element < end;) {
      PTPKG_TRY(element, ReadElement(element, end, container));
    }
    PTPKG_CHECK(take_(container));
    return end;
  }

  /// Returns where the element at `at` ends. u16 kind, u16 version, u32 size of this header, u64 size of the
  /// payload, …, u32 number of the architecture at 28, u64 flags at 40.
  Result<std::uint64_t> ReadElement(std::uint64_t at, std::uint64_t end, DeviceContainer& container) const {
    if (end - at < kElementHeader) {
      return Broken(at, fmt::format("{} bytes are left, too few for an element of the container", end - at));
    }
    PTPKG_TRY(const auto bytes, ReadExact(file_, begin_ + at, kElementHeader, name_));
    const std::uint64_t header = LittleEndian().U32(bytes, 4);
    const std::uint64_t payload = LittleEndian().Word(bytes, 8);
    if (header < kElementHeader || header > end - at || payload > end - at - header) {
      return Broken(at, fmt::format("an element of {} + {} bytes, where {} are left in its container", header,
                                    payload, end - at));
    }
    // A hostile container of many empty elements must not fill the memory.
    if (container.elements.size() == kMaxDeviceElements)
      return Broken(at, fmt::format("a container of more than {} elements", kMaxDeviceElements));
    DeviceElement element{
        .kind = KindOf(LittleEndian().U16(bytes, 0)), .offset = begin_ + at, .size_bytes = header + payload};
    if (element.kind != DeviceCodeKind::kOther) {
      element.architecture.number = LittleEndian().U32(bytes, 28);
      if (element.architecture.number == 0 || element.architecture.number > kLargestNumber)
        return Broken(at, fmt::format("an element for architecture {}", element.architecture.number));
      const std::uint64_t flags = LittleEndian().Word(bytes, 40);
      if ((flags & kFamilySpecific) != 0) element.architecture.suffix = 'f';
      if ((flags & kArchitectureSpecific) != 0) element.architecture.suffix = 'a';
    }
    container.elements.push_back(element);
    return at + header + payload;
  }

  File& file_;
  std::string_view name_;
  std::uint64_t begin_;
  std::uint64_t size_;
  const Take& take_;
};

}  // namespace

std::string DeviceArchitecture::SassName() const { return NameOf("sm", *this); }
std::string DeviceArchitecture::PtxName() const { return NameOf("compute", *this); }

Result<std::vector<std::size_t>> FindDeviceSections(const Image& image, std::string_view names,
                                                    std::string_view name) {
  std::vector<std::size_t> found;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < image.sections.size(); ++i) {
    const Section& section = image.sections[i];
    if (section.type == kSectionNobits || !IsNamed(names, section.name, name)) continue;  // debug companions
    const bool fits = section.offset <= image.file_size && section.size <= image.file_size - section.offset;
    if (!fits || section.size > image.file_size - sum) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("section {} ({} bytes at file offset {}) {}", name, section.size,
                               section.offset, fits ? "overlaps another" : "passes the end of the file"))
          .WithHint("rebuild the file: its device code cannot be read");
    }
    sum += section.size;
    found.push_back(i);
  }
  return found;
}

/// Linkers align containers, and tools that remove code from a library leave zeros in its place.
Result<std::uint64_t> SkipZeros(File& file, std::string_view name, std::uint64_t begin, std::uint64_t at,
                                std::uint64_t size) {
  for (std::uint64_t chunk = 16; at < size; chunk = std::min<std::uint64_t>(chunk * 4, 1U << 16U)) {
    PTPKG_TRY(const auto bytes, ReadExact(file, begin + at, std::min(chunk, size - at), name));
    // memcmp with itself, one byte on: a library sliced in place has hundreds of megabytes of zeros.
    const std::string_view text = AsText(bytes);
    const bool has_zeros = text.front() == '\0' && text.substr(1) == text.substr(0, text.size() - 1);
    const auto found = has_zeros ? bytes.end() : std::find_if(bytes.begin(), bytes.end(), [](std::byte byte) {
      return byte != std::byte{0};
    });
    at += static_cast<std::uint64_t>(found - bytes.begin());
    if (found != bytes.end() || at == size) break;
    // Most of the code dropped by a slice in place is a hole: 281 MB in libtorch_cuda.so.
    PTPKG_TRY(const std::uint64_t data, file.NextData(begin + at));
    at = std::min(size, std::max(at, data - begin));
  }
  return at;
}

Result<void> ForEachContainer(File& file, std::string_view name, const Section& section,
                              const std::function<Result<void>(const DeviceContainer&)>& take) {
  return SectionWalk(file, name, section, take).Run();
}

}  // namespace ptpkg::elf
