// Idea: a section is a row of bundles with zeros between them. A plain bundle is a table of entries and their
// code. A compressed one is unpacked as far as its table, which is at the begin, so that no payload is read.
// Every size is compared with the bytes that are left before it is used.

#include "elf/device/device_bundles.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <memory>
#include <numeric>

#include "archive/codec/decoder.h"
#include "archive/deflate/inflate.h"
#include "support/text/gfx_target.h"

namespace ptpkg::elf {
namespace {

constexpr std::string_view kPlainMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kPackedMagic = "CCOB";
constexpr std::uint64_t kPlainHeader = kPlainMagic.size() + 8;  // and the number of entries
constexpr std::uint64_t kEntryHeader = 24;
constexpr std::uint64_t kLongestId = 1024;
constexpr std::uint64_t kBundleAlign = 4096;  // of what clang writes into a section
constexpr int kLargestWindowLog = 27;         // LLVM asks zstd for no more
constexpr std::uint16_t kZlib = 0;
constexpr std::uint16_t kZstd = 1;
// A zlib stream is a deflate stream between a header and a checksum (RFC 1950).
constexpr std::uint64_t kZlibHeader = 2;
constexpr std::uint64_t kZlibTrailer = 4;

// AMD's hosts are little-endian.
Codec LittleEndianCodec() { return {ElfClass::k64, ByteOrder::kLittle}; }

/// Bytes [offset, end) of a file.
class FileRangeSource final : public ByteSource {
 public:
  FileRangeSource(File& file, std::uint64_t offset, std::uint64_t end)
      : file_(file), offset_(offset), end_(end) {}
  Result<std::size_t> Read(MutableBytes buffer) override {
    // The table is at the beginning; more would be read in vain.
    constexpr std::uint64_t kMostAtOnce = 64U << 10U;
    const std::uint64_t room = std::min<std::uint64_t>({buffer.size(), end_ - offset_, kMostAtOnce});
    PTPKG_TRY(const std::size_t got, file_.ReadAt(offset_, buffer.first(room)));
    offset_ += got;
    return got;
  }

 private:
  File& file_;
  std::uint64_t offset_;
  std::uint64_t end_;
};

struct PackedHeader {
  std::uint16_t version = 0;
  std::uint16_t method = 0;
  std::uint64_t header_bytes = 0;
  std::uint64_t total_bytes = 0;  // header included; 0 in version 1, which does not tell
  std::uint64_t unpacked_bytes = 0;
};

/// A section with bundles. Places in it are bytes from its begin.
struct BundleSection {
  File& file;
  std::string_view name;
  std::uint64_t begin;  ///< File offset.
  std::uint64_t size;

  [[nodiscard]] std::string Place(std::uint64_t at) const {
    return fmt::format("section {}, byte {} (file offset {})", name, at, begin + at);
  }
  [[nodiscard]] Error Broken(std::uint64_t at, std::string_view what) const {
    return Error(ErrorCode::kInvalidInput, fmt::format("{}: {}", Place(at), what))
        .WithHint("rebuild the file: its device code cannot be read");
  }
  [[nodiscard]] Error Unknown(std::uint64_t at, std::string_view what, std::string_view known) const {
    return Error(ErrorCode::kUnsupported, fmt::format("{}: {}", Place(at), what))
        .WithHint(std::string(known));
  }
};

/// Reads as many bytes as the longer magic has, or the rest.
Result<std::string> Peek(const BundleSection& section, std::uint64_t at) {
  const std::uint64_t room = std::min<std::uint64_t>(kPlainMagic.size(), section.size - at);
  PTPKG_TRY(const auto bytes, ReadExact(section.file, section.begin + at, room, section.name));
  return std::string(AsText(bytes));
}

Result<std::string> TakeBytes(const BundleSection& section, std::uint64_t at, ByteSource& source,
                              std::uint64_t count) {
  std::string bytes(count, '\0');
  const MutableBytes all = std::as_writable_bytes(std::span(bytes));
  for (std::size_t got = 0; got < bytes.size();) {
    PTPKG_TRY(const std::size_t more, source.Read(all.subspan(got)));
    if (more == 0) return section.Broken(at, "the table of the bundle is truncated");
    got += more;
  }
  return bytes;
}

/// `source` begins with the magic; the bundle has at most `room` bytes. Offsets are those in the bundle.
/// u64 number of entries; of each u64 offset, u64 size, u64 length of its id, and the id.
Result<DeviceContainer> ReadTable(const BundleSection& section, std::uint64_t at, ByteSource& source,
                                  std::uint64_t room) {
  const auto left = [&](std::uint64_t count, std::uint64_t used) {
    return room >= used && room - used >= count;
  };
  if (!left(kPlainHeader, 0)) return section.Broken(at, fmt::format("a bundle of {} bytes", room));
  PTPKG_TRY(const std::string head, TakeBytes(section, at, source, kPlainHeader));
  if (!head.starts_with(kPlainMagic)) return section.Broken(at, "no offload bundle was compressed here");
  const std::uint64_t count = LittleEndianCodec().Word(AsBytes(head), kPlainMagic.size());
  if (count > kMaxDeviceElements)
    return section.Broken(at, fmt::format("a bundle of {} entries, more than {}", count, kMaxDeviceElements));
  DeviceContainer bundle{.offset = section.begin + at, .header_bytes = kPlainHeader};
  std::uint64_t end = 0;
  std::uint64_t sum = 0;
  std::uint64_t least_offset = room;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!left(kEntryHeader, bundle.header_bytes))
      return section.Broken(at, "the table of the bundle passes its end");
    PTPKG_TRY(const std::string entry, TakeBytes(section, at, source, kEntryHeader));
    const std::uint64_t offset = LittleEndianCodec().Word(AsBytes(entry), 0);
    const std::uint64_t size = LittleEndianCodec().Word(AsBytes(entry), 8);
    const std::uint64_t id_bytes = LittleEndianCodec().Word(AsBytes(entry), 16);
    bundle.header_bytes += kEntryHeader;
    if (id_bytes > kLongestId || !left(id_bytes, bundle.header_bytes))
      return section.Broken(at, fmt::format("an entry with an id of {} bytes", id_bytes));
    PTPKG_TRY(const std::string id, TakeBytes(section, at, source, id_bytes));
    bundle.header_bytes += id_bytes;
    if (size == 0) continue;  // the host's
    if (!left(size, offset) || size > room - sum) {
      return section.Broken(
          at, fmt::format("entry {} has {} bytes at {} of a bundle of {}", i, size, offset, room));
    }
    sum += size;
    end = std::max(end, offset + size);
    least_offset = std::min(least_offset, offset);
    std::optional<DeviceElement> element = ElementOfId(id);
    if (!element) continue;
    element->offset = offset;
    element->size_bytes = size;
    bundle.elements.push_back(*std::move(element));
  }
  if (sum != 0 && least_offset < bundle.header_bytes)
    return section.Broken(at, fmt::format("an entry at {} lies in the table of the bundle", least_offset));
  bundle.size_bytes = std::max(end, bundle.header_bytes);
  return bundle;
}

/// A bundle that is not compressed.
Result<DeviceContainer> ReadPlain(const BundleSection& section, std::uint64_t at) {
  FileRangeSource source(section.file, section.begin + at, section.begin + section.size);
  PTPKG_TRY(DeviceContainer bundle, ReadTable(section, at, source, section.size - at));
  for (DeviceElement& element : bundle.elements) element.offset += section.begin + at;
  return bundle;
}

/// u32 magic, u16 version, u16 method; version 1: u32 unpacked size, u64 digest; 2: u32 total size before
/// them; 3: both sizes u64.
Result<PackedHeader> ReadPackedHeader(const BundleSection& section, std::uint64_t at) {
  constexpr std::array<std::uint64_t, 4> kHeaderBytes = {0, 20, 24, 32};
  const std::uint64_t room = section.size - at;
  if (room < kHeaderBytes[1]) return section.Broken(at, fmt::format("{} bytes are left of a bundle", room));
  PTPKG_TRY(const auto bytes, ReadExact(section.file, section.begin + at,
                                        std::min<std::uint64_t>(room, kHeaderBytes.back()), section.name));
  const Codec codec = LittleEndianCodec();
  PackedHeader header{.version = codec.U16(bytes, 4), .method = codec.U16(bytes, 6)};
  if (header.version == 0 || header.version >= kHeaderBytes.size()) {
    return section.Unknown(at, fmt::format("a compressed bundle of version {}", header.version),
                           "versions 1, 2 and 3 are known");
  }
  if (header.method != kZlib && header.method != kZstd) {
    return section.Unknown(at, fmt::format("a bundle compressed by method {}", header.method),
                           "zlib (0) and zstd (1) are known");
  }
  header.header_bytes = kHeaderBytes.at(header.version);
  if (room < header.header_bytes)
    return section.Broken(at, fmt::format("{} bytes are left of a bundle", room));
  if (header.version == 1) {
    header.unpacked_bytes = codec.U32(bytes, 8);
    return header;
  }
  const bool is_wide = header.version == 3;
  header.total_bytes = is_wide ? codec.Word(bytes, 8) : codec.U32(bytes, 8);
  header.unpacked_bytes = is_wide ? codec.Word(bytes, 16) : codec.U32(bytes, 12);
  if (header.total_bytes <= header.header_bytes || header.total_bytes > room) {
    return section.Broken(
        at, fmt::format("a compressed bundle of {} bytes, where {} are left", header.total_bytes, room));
  }
  return header;
}

/// End of a bundle of version 1: the next page that begins with a bundle, or the section's end.
Result<std::uint64_t> FindEnd(const BundleSection& section, std::uint64_t at) {
  for (std::uint64_t next = (at / kBundleAlign + 1) * kBundleAlign; next < section.size;
       next += kBundleAlign) {
    PTPKG_TRY(const std::string head, Peek(section, next));
    if (head == kPlainMagic || head.starts_with(kPackedMagic)) return next;
  }
  return section.size;
}

Result<DeviceContainer> ReadZstd(const BundleSection& section, std::uint64_t at, std::uint64_t from,
                                 std::uint64_t end, std::uint64_t unpacked) {
  FileRangeSource packed(section.file, from, end);
  const auto source = archive::MakeZstdSource(packed, kLargestWindowLog);
  return ReadTable(section, at, *source, unpacked);
}

Result<DeviceContainer> ReadZlib(const BundleSection& section, std::uint64_t at, std::uint64_t from,
                                 std::uint64_t end, std::uint64_t unpacked) {
  constexpr unsigned kDeflate = 8;
  constexpr unsigned kDictionary = 0x20;
  if (end - from <= kZlibHeader + kZlibTrailer) return section.Broken(at, "a truncated zlib stream");
  PTPKG_TRY(const auto head, ReadExact(section.file, from, kZlibHeader, section.name));
  const auto method = std::to_integer<unsigned>(head[0]);
  const auto flags = std::to_integer<unsigned>(head[1]);
  if ((method & 0xFU) != kDeflate || (method * 256 + flags) % 31 != 0 || (flags & kDictionary) != 0)
    return section.Broken(at, "no zlib stream begins behind the header");
  const auto source =
      archive::MakeInflateSource(section.file, {.offset = from + kZlibHeader,
                                                .stored_bytes = end - from - kZlibHeader - kZlibTrailer,
                                                .size_bytes = unpacked});
  return ReadTable(section, at, *source, unpacked);
}

/// Entries that are compressed together share the bytes in the file: each gets its part by unpacked size.
void SplitAmongElements(std::uint64_t offset, DeviceContainer& bundle) {
  // Each part is below 2^63: entries do not overlap, and none is larger than the unpacked bundle.
  const long double all = std::accumulate(bundle.elements.begin(), bundle.elements.end(), 0.0L,
                                          [](long double sum, const DeviceElement& one) {
                                            return sum + static_cast<long double>(one.size_bytes);
                                          });
  const auto payload = static_cast<long double>(bundle.size_bytes - bundle.header_bytes);
  for (DeviceElement& element : bundle.elements) {
    const long double share = static_cast<long double>(element.size_bytes) / all * payload;
    element.size_bytes = static_cast<std::uint64_t>(share);
    element.offset = offset;
  }
}

/// A compressed bundle.
Result<DeviceContainer> ReadPacked(const BundleSection& section, std::uint64_t at) {
  PTPKG_TRY(const PackedHeader header, ReadPackedHeader(section, at));
  std::uint64_t end = at + header.total_bytes;
  if (header.total_bytes == 0) {
    PTPKG_TRY(end, FindEnd(section, at));
  }
  const std::uint64_t from = section.begin + at + header.header_bytes;
  Result<DeviceContainer> bundle =
      header.method == kZstd ? ReadZstd(section, at, from, section.begin + end, header.unpacked_bytes)
                             : ReadZlib(section, at, from, section.begin + end, header.unpacked_bytes);
  if (!bundle && bundle.error().code() == ErrorCode::kCorrupt)
    return section.Broken(at, fmt::format("a compressed bundle: {}", bundle.error().message()));
  if (!bundle) return bundle.error();
  bundle->size_bytes = end - at;
  bundle->header_bytes = header.header_bytes;
  SplitAmongElements(section.begin + at, *bundle);
  return bundle;
}

/// The bundle at `at`; it ends size_bytes behind.
Result<DeviceContainer> ReadBundle(const BundleSection& section, std::uint64_t at) {
  PTPKG_TRY(const std::string head, Peek(section, at));
  if (head == kPlainMagic) return ReadPlain(section, at);
  if (head.starts_with(kPackedMagic)) return ReadPacked(section, at);
  return section.Broken(at, "there is no offload bundle here");
}

/// Without "<kind>-<architecture>-<vendor>-<system>-": the environment, which is mostly empty, and the
/// target. Until ROCm 4 the target came where the environment is now.
std::string_view TargetOf(std::string_view id) {
  for (int i = 0; i < 4; ++i) {
    const std::size_t dash = id.find('-');
    if (dash == std::string_view::npos) return {};
    id.remove_prefix(dash + 1);
  }
  if (NormalGfxTarget(id)) return id;
  const std::size_t dash = id.find('-');
  return dash == std::string_view::npos ? std::string_view() : id.substr(dash + 1);
}

}  // namespace

std::optional<DeviceElement> ElementOfId(std::string_view id) {
  if (id.starts_with("host-")) return std::nullopt;
  DeviceElement element;
  std::optional<std::string> target = NormalGfxTarget(TargetOf(id));
  if (!target) return element;
  element.kind = *target == kAmdSpirv ? DeviceCodeKind::kPtx : DeviceCodeKind::kSass;
  element.architecture.target = *std::move(target);
  return element;
}

Result<void> ForEachBundle(File& file, std::string_view name, const Section& section,
                           const std::function<Result<void>(const DeviceContainer&)>& take) {
  const BundleSection bundles{.file = file, .name = name, .begin = section.offset, .size = section.size};
  std::uint64_t at = 0;
  for (std::size_t count = 0;; ++count) {
    PTPKG_TRY(at, SkipZeros(file, name, bundles.begin, at, bundles.size));
    if (at == bundles.size) return Ok();
    if (count == kMaxBundles) return bundles.Broken(at, fmt::format("more than {} bundles", kMaxBundles));
    PTPKG_TRY(const DeviceContainer bundle, ReadBundle(bundles, at));
    PTPKG_CHECK(take(bundle));
    at += bundle.size_bytes;
  }
}

}  // namespace ptpkg::elf
