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

/// Walks the bundles of one section, and gives each to `take`.
class BundleWalk {
 public:
  using Take = std::function<Result<void>(const DeviceContainer&)>;

  BundleWalk(File& file, std::string_view name, const Section& section, const Take& take)
      : file_(file), name_(name), begin_(section.offset), size_(section.size), take_(take) {}

  Result<void> Run() {
    std::uint64_t at = 0;
    for (std::size_t bundles = 0;; ++bundles) {
      PTPKG_TRY(at, SkipZeros(file_, name_, begin_, at, size_));
      if (at == size_) return Ok();
      if (bundles == kMaxBundles) return Broken(at, fmt::format("more than {} bundles", kMaxBundles));
      PTPKG_TRY(at, ReadBundle(at));
    }
  }

 private:
  [[nodiscard]] std::string Place(std::uint64_t at) const {
    return fmt::format("section {}, byte {} (file offset {})", name_, at, begin_ + at);
  }
  [[nodiscard]] Error Broken(std::uint64_t at, std::string_view what) const {
    return Error(ErrorCode::kInvalidInput, fmt::format("{}: {}", Place(at), what))
        .WithHint("rebuild the file: its device code cannot be read");
  }
  [[nodiscard]] Error Unknown(std::uint64_t at, std::string_view what, std::string_view known) const {
    return Error(ErrorCode::kUnsupported, fmt::format("{}: {}", Place(at), what))
        .WithHint(std::string(known));
  }

  /// Returns where the bundle at `at` ends.
  Result<std::uint64_t> ReadBundle(std::uint64_t at) {
    PTPKG_TRY(const std::string head, Peek(at));
    if (head == kPlainMagic) return ReadPlain(at);
    if (head.starts_with(kPackedMagic)) return ReadPacked(at);
    return Broken(at, "there is no offload bundle here");
  }

  /// Reads as many bytes as the longer magic has, or the rest.
  Result<std::string> Peek(std::uint64_t at) const {
    const std::uint64_t room = std::min<std::uint64_t>(kPlainMagic.size(), size_ - at);
    PTPKG_TRY(const auto bytes, ReadExact(file_, begin_ + at, room, name_));
    return std::string(AsText(bytes));
  }

  Result<std::uint64_t> ReadPlain(std::uint64_t at) {
    FileRangeSource source(file_, begin_ + at, begin_ + size_);
    PTPKG_TRY(DeviceContainer bundle, ReadTable(at, source, size_ - at));
    for (DeviceElement& element : bundle.elements) element.offset += begin_ + at;
    PTPKG_CHECK(take_(bundle));
    return at + bundle.size_bytes;
  }

  /// u32 magic, u16 version, u16 method; version 1: u32 unpacked size, u64 digest; 2: u32 total size before
  /// them; 3: both sizes u64.
  Result<PackedHeader> ReadPackedHeader(std::uint64_t at) const {
    constexpr std::array<std::uint64_t, 4> kHeaderBytes = {0, 20, 24, 32};
    const std::uint64_t room = size_ - at;
    if (room < kHeaderBytes[1]) return Broken(at, fmt::format("{} bytes are left of a bundle", room));
    PTPKG_TRY(const auto bytes,
              ReadExact(file_, begin_ + at, std::min<std::uint64_t>(room, kHeaderBytes.back()), name_));
    const Codec codec = LittleEndianCodec();
    PackedHeader header{.version = codec.U16(bytes, 4), .method = codec.U16(bytes, 6)};
    if (header.version == 0 || header.version >= kHeaderBytes.size()) {
      return Unknown(at, fmt::format("a compressed bundle of version {}", header.version),
                     "versions 1, 2 and 3 are known");
    }
    if (header.method != kZlib && header.method != kZstd) {
      return Unknown(at, fmt::format("a bundle compressed by method {}", header.method),
                     "zlib (0) and zstd (1) are known");
    }
    header.header_bytes = kHeaderBytes.at(header.version);
    if (room < header.header_bytes) return Broken(at, fmt::format("{} bytes are left of a bundle", room));
    if (header.version == 1) {
      header.unpacked_bytes = codec.U32(bytes, 8);
      return header;
    }
    const bool is_wide = header.version == 3;
    header.total_bytes = is_wide ? codec.Word(bytes, 8) : codec.U32(bytes, 8);
    header.unpacked_bytes = is_wide ? codec.Word(bytes, 16) : codec.U32(bytes, 12);
    if (header.total_bytes <= header.header_bytes || header.total_bytes > room) {
      return Broken(
          at, fmt::format("a compressed bundle of {} bytes, where {} are left", header.total_bytes, room));
    }
    return header;
  }

  /// End of a bundle of version 1: the next page that begins with a bundle, or the section's end.
  Result<std::uint64_t> FindEnd(std::uint64_t at) const {
    for (std::uint64_t next = (at / kBundleAlign + 1) * kBundleAlign; next < size_; next += kBundleAlign) {
      PTPKG_TRY(const std::string head, Peek(next));
      if (head == kPlainMagic || head.starts_with(kPackedMagic)) return next;
    }
    return size_;
  }

  Result<std::uint64_t> ReadPacked(std::uint64_t at) {
    PTPKG_TRY(const PackedHeader header, ReadPackedHeader(at));
    std::uint64_t end = at + header.total_bytes;
    if (header.total_bytes == 0) {
      PTPKG_TRY(end, FindEnd(at));
    }
    const std::uint64_t from = begin_ + at + header.header_bytes;
    Result<DeviceContainer> bundle = header.method == kZstd
                                         ? ReadZstd(at, from, begin_ + end, header.unpacked_bytes)
                                         : ReadZlib(at, from, begin_ + end, header.unpacked_bytes);
    if (!bundle && bundle.error().code() == ErrorCode::kCorrupt)
      return Broken(at, fmt::format("a compressed bundle: {}", bundle.error().message()));
    if (!bundle) return bundle.error();
    bundle->size_bytes = end - at;
    bundle->header_bytes = header.header_bytes;
    SplitAmongElements(begin_ + at, *bundle);
    PTPKG_CHECK(take_(*bundle));
    return end;
  }

  Result<DeviceContainer> ReadZstd(std::uint64_t at, std::uint64_t from, std::uint64_t end,
                                   std::uint64_t unpacked) {
    FileRangeSource packed(file_, from, end);
    const auto source = archive::MakeZstdSource(packed, kLargestWindowLog);
    return ReadTable(at, *source, unpacked);
  }

  Result<DeviceContainer> ReadZlib(std::uint64_t at, std::uint64_t from, std::uint64_t end,
                                   std::uint64_t unpacked) {
    constexpr unsigned kDeflate = 8;
    constexpr unsigned kDictionary = 0x20;
    if (end - from <= kZlibHeader + kZlibTrailer) return Broken(at, "a truncated zlib stream");
    PTPKG_TRY(const auto head, ReadExact(file_, from, kZlibHeader, name_));
    const auto method = std::to_integer<unsigned>(head[0]);
    const auto flags = std::to_integer<unsigned>(head[1]);
    if ((method & 0xFU) != kDeflate || (method * 256 + flags) % 31 != 0 || (flags & kDictionary) != 0)
      return Broken(at, "no zlib stream begins behind the header");
    const auto source =
        archive::MakeInflateSource(file_, {.offset = from + kZlibHeader,
                                           .stored_bytes = end - from - kZlibHeader - kZlibTrailer,
                                           .size_bytes = unpacked});
    return ReadTable(at, *source, unpacked);
  }

  /// `source` begins with the magic; the bundle has at most `room` bytes. Offsets are those in the bundle.
  /// u64 number of entries; of each u64 offset, u64 size, u64 length of its id, and the id.
  Result<DeviceContainer> ReadTable(std::uint64_t at, ByteSource& source, std::uint64_t room) const {
    const auto left = [&](std::uint64_t count, std::uint64_t used) {
      return room >= used && room - used >= count;
    };
    if (!left(kPlainHeader, 0)) return Broken(at, fmt::format("a bundle of {} bytes", room));
    PTPKG_TRY(const std::string head, TakeBytes(at, source, kPlainHeader));
    if (!head.starts_with(kPlainMagic)) return Broken(at, "no offload bundle was compressed here");
    const std::uint64_t count = LittleEndianCodec().Word(AsBytes(head), kPlainMagic.size());
    if (count > kMaxDeviceElements)
      return Broken(at, fmt::format("a bundle of {} entries, more than {}", count, kMaxDeviceElements));
    DeviceContainer bundle{.offset = begin_ + at, .header_bytes = kPlainHeader};
    std::uint64_t end = 0;
    std::uint64_t sum = 0;
    std::uint64_t least_offset = room;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!left(kEntryHeader, bundle.header_bytes))
        return Broken(at, "the table of the bundle passes its end");
      PTPKG_TRY(const std::string entry, TakeBytes(at, source, kEntryHeader));
      const std::uint64_t offset = LittleEndianCodec().Word(AsBytes(entry), 0);
      const std::uint64_t size = LittleEndianCodec().Word(AsBytes(entry), 8);
      const std::uint64_t id_bytes = LittleEndianCodec().Word(AsBytes(entry), 16);
      bundle.header_bytes += kEntryHeader;
      if (id_bytes > kLongestId || !left(id_bytes, bundle.header_bytes))
        return Broken(at, fmt::format("an entry with an id of {} bytes", id_bytes));
      PTPKG_TRY(const std::string id, TakeBytes(at, source, id_bytes));
      bundle.header_bytes += id_bytes;
      if (size == 0) continue;  // the host's
      if (!left(size, offset) || size > room - sum) {
        return Broken(at,
                      fmt::format("entry {} has {} bytes at {} of a bundle of {}", i, size, offset, room));
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
      return Broken(at, fmt::format("an entry at {} lies in the table of the bundle", least_offset));
    bundle.size_bytes = std::max(end, bundle.header_bytes);
    return bundle;
  }

  Result<std::string> TakeBytes(std::uint64_t at, ByteSource& source, std::uint64_t count) const {
    std::string bytes(count, '\0');
    const MutableBytes all = std::as_writable_bytes(std::span(bytes));
    for (std::size_t got = 0; got < bytes.size();) {
      PTPKG_TRY(const std::size_t more, source.Read(all.subspan(got)));
      if (more == 0) return Broken(at, "the table of the bundle is truncated");
      got += more;
    }
    return bytes;
  }

  /// Entries that are compressed together share the bytes in the file: each gets its part by unpacked size.
  static void SplitAmongElements(std::uint64_t offset, DeviceContainer& bundle) {
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

  File& file_;
  std::string_view name_;
  std::uint64_t begin_;
  std::uint64_t size_;
  const Take& take_;
};

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
  return BundleWalk(file, name, section, take).Run();
}

}  // namespace ptpkg::elf
