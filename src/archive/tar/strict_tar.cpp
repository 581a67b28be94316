// Refuses tars that two readers can unpack differently, while the bytes pass to the real reader.
//
// This is a second, minimal parser next to libarchive: it follows headers and sizes only, and keeps PAX
// records. It stops at features about which readers disagree, namely sparse files, unknown types, global
// PAX names or sizes, content behind links, and data after the end mark. Otherwise ptpkg would check one
// tree, and an installer could unpack another one.
//
// Invariant: the position of the next header must be the same for every reader. Therefore a PAX `size`
// overrides the header's field for the next member only, and a size that cannot be read is an error.
// Source: POSIX.1-2017 pax, and GNU tar's base-256 sizes.

#include "archive/tar/strict_tar.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>

#include "support/text/name_problem.h"

namespace ptpkg::archive {
namespace {

constexpr std::uint64_t kMaxPaxBytes = 1U << 20U;
constexpr std::uint64_t kMaxSize = 1ULL << 62U;

Error Refused(std::string_view name, std::string_view why) {
  return {ErrorCode::kCorrupt, fmt::format("member '{}' {}", ShownName(name), why)};
}

/// A field up to its first NUL byte.
std::string_view TextOf(std::string_view field) { return field.substr(0, field.find('\0')); }

/// Octal digits, or GNU's binary form for large files.
std::optional<std::uint64_t> SizeOf(std::string_view field) {
  std::uint64_t size = 0;
  if (static_cast<unsigned char>(field[0]) == 0x80) {
    for (const char byte : field.substr(1)) {
      if (size >= kMaxSize >> 8U) return std::nullopt;
      size = (size << 8U) | static_cast<unsigned char>(byte);
    }
    return size;
  }
  field = TextOf(field);
  field.remove_prefix(std::min(field.find_first_not_of(' '), field.size()));
  field = field.substr(0, field.find(' '));
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), size, 8);
  if (!field.empty() && (error != std::errc() || end != field.data() + field.size())) return std::nullopt;
  return size;
}

}  // namespace

Result<std::size_t> StrictTar::Read(MutableBytes buffer) {
  PTPKG_TRY(const std::size_t count, below_.Read(buffer));
  if (count == 0 && !buffer.empty()) PTPKG_CHECK(CheckEnd());
  begun_ = begun_ || count > 0;
  PTPKG_CHECK(Take(Bytes(buffer).first(count)));
  return count;
}

Result<void> StrictTar::CheckEnd() const {
  // libarchive takes both for the end of the archive.
  if (!begun_) return Error(ErrorCode::kCorrupt, "tar is empty: it has not even an end mark");
  if (header_bytes_ > 0) return Error(ErrorCode::kCorrupt, "tar ends inside a header block");
  return Ok();
}

Result<void> StrictTar::Take(Bytes bytes) {
  while (!bytes.empty()) {
    // GNU tar pads to a record of 10 KiB with zeros, so zeros after the end mark are fine.
    if (ended_) {
      const bool rest =
          std::any_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte != std::byte{0}; });
      if (rest) return Error(ErrorCode::kCorrupt, "tar has data after its end mark");
      return Ok();
    }
    if (content_left_ > 0) {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(content_left_, bytes.size()));
      if (pax_kind_ != '\0') pax_ += AsText(bytes.first(count));
      content_left_ -= count;
      bytes = bytes.subspan(count);
      if (content_left_ == 0 && pax_kind_ != '\0') PTPKG_CHECK(TakePax());
      continue;
    }
    const std::size_t count = std::min(kBlock - header_bytes_, bytes.size());
    std::copy_n(bytes.begin(), count, header_.begin() + static_cast<std::ptrdiff_t>(header_bytes_));
    header_bytes_ += count;
    bytes = bytes.subspan(count);
    if (header_bytes_ == kBlock) PTPKG_CHECK(TakeHeader());
  }
  return Ok();
}

Result<void> StrictTar::TakeHeader() {
  header_bytes_ = 0;
  const std::string_view header = AsText(header_);
  if (header.find_first_not_of('\0') == std::string_view::npos) {
    ended_ = true;
    return Ok();
  }
  const std::string_view name = TextOf(header.substr(0, 100));
  const char kind = header[156];
  if (kind == 'S') return Refused(name, "is a sparse file, which readers unpack differently");
  if (std::string_view("\0"
                       "01234567xgLK",
                       13)
          .find(kind) == std::string_view::npos) {
    return Refused(name, fmt::format("has the tar type 0x{:02x}, which readers unpack differently",
                                     static_cast<unsigned char>(kind)));
  }
  const std::optional<std::uint64_t> own_size = SizeOf(header.substr(124, 12));
  // Header-only members carry their own size. A PAX size meant for the real member stays valid until it
  // comes.
  const bool extends = std::string_view("xgLK").find(kind) != std::string_view::npos;
  const std::optional<std::uint64_t> size = extends || !size_ ? own_size : size_;
  if (!size || *size > kMaxSize) return Refused(name, "has no readable size");
  if (!extends) size_.reset();
  if (*size > 0 && std::string_view("123456").find(kind) != std::string_view::npos) {
    return Refused(name, "has content but is not a file; readers continue at different offsets");
  }
  // Content is padded to whole blocks, and the next header follows the padding.
  content_left_ = (*size + kBlock - 1) / kBlock * kBlock;
  pax_kind_ = kind == 'x' || kind == 'g' ? kind : '\0';
  pax_bytes_ = *size;
  pax_.clear();
  if (pax_kind_ != '\0' && *size > kMaxPaxBytes) return Refused(name, "has more than 1 MiB of PAX records");
  return Ok();
}

/// Records are "<length> <key>=<value>\n". Those that cannot be read are libarchive's to refuse.
Result<void> StrictTar::TakePax() {
  const bool global = pax_kind_ == 'g';
  pax_kind_ = '\0';
  std::string_view rest = std::string_view(pax_).substr(0, pax_bytes_);
  while (!rest.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    const auto digits = static_cast<std::size_t>(end - rest.data());
    if (error != std::errc() || length > rest.size() || length < digits + 4) break;
    const std::string_view record = rest.substr(digits + 1, length - digits - 2);
    rest.remove_prefix(length);
    const std::string_view key = record.substr(0, record.find('='));
    const std::string_view value = record.substr(std::min(key.size() + 1, record.size()));
    const bool names = key == "path" || key == "linkpath";
    if (key.starts_with("GNU.sparse.")) {
      return Refused(
          value, fmt::format("has the PAX key '{}' of sparse files, which readers unpack differently", key));
    }
    if (global && (names || key == "size")) {
      return Refused(value,
                     fmt::format("is a global PAX '{}', which some readers apply to all members", key));
    }
    if (names && (value.empty() || value.find('\0') != std::string_view::npos)) {
      return Refused(value, fmt::format("has an empty PAX '{}', or a NUL byte in it", key));
    }
    if (key != "size") continue;
    std::uint64_t size = 0;
    const auto [size_end, size_error] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (size_error != std::errc() || size_end != value.data() + value.size())
      return Refused(value, "is not a PAX size");
    size_ = size;
  }
  return Ok();
}

}  // namespace ptpkg::archive
