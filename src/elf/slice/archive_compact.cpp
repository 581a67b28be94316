#include "elf/slice/archive_compact.h"

#include <algorithm>
#include <fmt/core.h>

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kMaxSymbolTableBytes = 64U << 20U;

std::uint64_t BigEndian(Bytes bytes) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8U | std::to_integer<std::uint64_t>(byte);
  return value;
}

}  // namespace

Result<std::vector<std::uint64_t>> ReadSymbolPlaces(File& archive, const ArchiveTable& table) {
  const std::uint64_t width = table.PlaceBytes();
  std::vector<std::uint64_t> places;
  if (table.size_bytes == 0) return places;
  PTPKG_TRY(const auto bytes, ReadExact(archive, table.offset, table.size_bytes, "the table of symbols"));
  const std::uint64_t count = bytes.size() < width ? 0 : BigEndian(Bytes(bytes).first(width));
  if (bytes.size() < width || count > bytes.size() / width - 1) {
    return Error(
               ErrorCode::kInvalidInput,
               fmt::format("static archive, file offset {}: the table of symbols is cut short", table.offset))
        .WithHint("make it again with 'ranlib'");
  }
  places.reserve(count);
  for (std::uint64_t i = 1; i <= count; ++i)
    places.push_back(BigEndian(Bytes(bytes).subspan(i * width, width)));
  return places;
}

Result<std::string> FindArchiveObstacle(File& archive, const ArchiveParts& parts) {
  for (const ArchiveTable& table : parts.tables) {
    if (table.kind == ArchiveTable::Kind::kBsdSymbols)
      return std::string("its table of symbols is that of BSD");
    if (table.PlaceBytes() == 0) continue;
    if (table.size_bytes > kMaxSymbolTableBytes)
      return fmt::format("its table of symbols has {} bytes", table.size_bytes);
    auto places = ReadSymbolPlaces(archive, table);
    if (!places && places.error().code() == ErrorCode::kInvalidInput) return places.error().message();
    PTPKG_CHECK(places);
    for (const std::uint64_t place : *places) {
      if (!parts.MemberAt(place))
        return fmt::format("its table of symbols has a member at file offset {}, where none is", place);
    }
  }
  return std::string();
}

Result<std::vector<Replacement>> PlanArchive(File& archive, const ArchiveParts& parts,
                                             const std::vector<SmallerMember>& smaller) {
  std::vector<Replacement> replacements;
  std::vector<std::uint64_t> removed;  // up to each of `smaller`, itself included
  for (const SmallerMember& member : smaller) {
    removed.push_back((removed.empty() ? 0 : removed.back()) + member.removed_bytes);
    const MemberPlace& place = member.place;
    const std::uint64_t name_bytes = place.offset - place.header_offset - kMemberHeaderBytes;
    const std::string text =
        fmt::format("{:<{}}", name_bytes + place.size_bytes - member.removed_bytes, kMemberSizeDigits);
    const Bytes digits = AsBytes(text);
    Replacement number{.offset = place.header_offset + kMemberSizeAt,
                       .size_bytes = text.size(),
                       .pieces = {},
                       .what = "the header of a member"};
    number.pieces.push_back(BytesPiece({digits.begin(), digits.end()}));
    replacements.push_back(std::move(number));
  }
  for (const ArchiveTable& table : parts.tables) {
    if (table.PlaceBytes() == 0) continue;
    PTPKG_TRY(const std::vector<std::uint64_t> places, ReadSymbolPlaces(archive, table));
    if (places.empty()) continue;
    const std::uint64_t width = table.PlaceBytes();
    std::vector<std::byte> bytes;
    bytes.reserve(places.size() * width);
    for (const std::uint64_t place : places) {
      const auto before = std::lower_bound(
          smaller.begin(), smaller.end(), place,
          [](const SmallerMember& one, std::uint64_t at) { return one.place.header_offset < at; });
      const auto count = static_cast<std::size_t>(before - smaller.begin());
      const std::uint64_t now = place - (count == 0 ? 0 : removed[count - 1]);
      for (std::uint64_t i = width; i-- > 0;) bytes.push_back(static_cast<std::byte>(now >> (8 * i)));
    }
    Replacement moved{.offset = table.offset + width,
                      .size_bytes = bytes.size(),
                      .pieces = {},
                      .what = "the table of symbols"};
    moved.pieces.push_back(BytesPiece(std::move(bytes)));
    replacements.push_back(std::move(moved));
  }
  return replacements;
}

}  // namespace ptpkg::elf
