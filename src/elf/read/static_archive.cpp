// Walks the members of static archives: GNU and BSD forms of `ar`.
//
// A header has a name of 16 bytes and a decimal size. Longer names are in a table ("//", GNU) or in the
// first bytes of the member itself (BSD, "#1/length"). Tables of symbols or names belong to the archive and
// are not visited. Thin archives hold only names of other files and are refused.
//
// Each member is shown as a file of its own, a range of the archive, so that ELF readers need no other code
// for it.

#include "elf/read/static_archive.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <optional>

#include "elf/read/image.h"
#include "support/files/read_only_file.h"
#include "support/text/text.h"

namespace ptpkg::elf {
namespace {

constexpr std::string_view kArchiveMagic = "!<arch>\n";
constexpr std::string_view kThinMagic = "!<thin>\n";
// Header fields: name 16, time 12, owner 6, group 6, mode 8, size 10, end 2.
constexpr std::uint64_t kMemberHeaderBytes = 60;
constexpr std::uint64_t kMemberSizeAt = 48;
constexpr std::uint64_t kMemberSizeDigits = 10;
constexpr std::string_view kHeaderEnd = "`\n";
constexpr std::uint64_t kMaxLongNameBytes = 16U << 20U;  // bytes of the table of long names
constexpr std::uint64_t kMaxName = 4096;

Result<std::string> Magic(File& file) {
  std::string head(kArchiveMagic.size(), '\0');
  PTPKG_TRY(const std::size_t got, file.ReadAt(0, std::as_writable_bytes(std::span(head))));
  head.resize(got);
  return head;
}

std::optional<std::uint64_t> Number(std::string_view text) {
  text = Trim(text);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Error Broken(std::uint64_t at, std::string_view what) {
  return Error(ErrorCode::kInvalidInput, fmt::format("static archive, file offset {}: {}", at, what))
      .WithHint("the file is damaged or truncated; rebuild or fetch it");
}

/// One member as its header and long name tell it.
struct Member {
  std::string name;
  bool is_table = false;  ///< A table of symbols or names, for the archive itself.
  std::uint64_t begin = 0;
  std::uint64_t size_bytes = 0;
};

using Visit = std::function<Result<void>(const MemberPlace& place, File& member)>;

class Walk {
 public:
  Walk(File& archive, const FileStat& stat) : archive_(archive), stat_(stat) {}

  Result<void> Run(const Visit& visit) {
    std::uint64_t at = kArchiveMagic.size();
    while (at < stat_.size_bytes) {
      PTPKG_TRY(const Member member, ReadMember(at));
      if (!member.is_table) {
        FileStat stat = stat_;
        stat.size_bytes = member.size_bytes;
        RangeFile file(archive_, stat, member.begin);
        PTPKG_CHECK(
            visit({.name = member.name, .offset = member.begin, .size_bytes = member.size_bytes}, file));
      }
      at = member.begin + member.size_bytes;
      at += at % 2;  // members begin at even offsets
    }
    return Ok();
  }

 private:
  Result<Member> ReadMember(std::uint64_t at) {
    if (stat_.size_bytes - at < kMemberHeaderBytes) return Broken(at, "the header of a member is truncated");
    PTPKG_TRY(const auto bytes, ReadExact(archive_, at, kMemberHeaderBytes, "the header of a member"));
    const std::string_view header = AsText(bytes);
    const std::optional<std::uint64_t> size = Number(header.substr(kMemberSizeAt, kMemberSizeDigits));
    if (!size || header.substr(58) != kHeaderEnd) return Broken(at, "there is no member header here");
    Member member{.name = {}, .begin = at + kMemberHeaderBytes, .size_bytes = *size};
    if (member.size_bytes > stat_.size_bytes - member.begin) {
      return Broken(at, fmt::format("a member of {} bytes, where {} are left", member.size_bytes,
                                    stat_.size_bytes - member.begin));
    }
    std::string_view name = Trim(header.substr(0, 16));
    member.is_table = name == "/" || name == "/SYM64/" || name == "//" || name.starts_with("__.SYMDEF");
    if (name == "//") {
      PTPKG_CHECK(ReadNames(member));
    }
    if (member.is_table) return member;
    if (name.starts_with("#1/")) {
      PTPKG_CHECK(TakeLeadingName(at, name.substr(3), member));
      return member;
    }
    if (name.starts_with('/')) {
      PTPKG_TRY(member.name, LongName(at, name.substr(1)));
      return member;
    }
    if (name.ends_with('/')) name.remove_suffix(1);
    member.name = name.empty() ? "?" : std::string(name);
    return member;
  }

  Result<void> ReadNames(const Member& table) {
    if (table.size_bytes > kMaxLongNameBytes)
      return Broken(table.begin, fmt::format("{} bytes of long names", table.size_bytes));
    PTPKG_TRY(const auto bytes, ReadExact(archive_, table.begin, table.size_bytes, "the long names"));
    names_ = AsText(bytes);
    return Ok();
  }

  /// GNU: the header holds the place in the table of names, where "/\n" ends each.
  [[nodiscard]] Result<std::string> LongName(std::uint64_t at, std::string_view place) const {
    const std::optional<std::uint64_t> offset = Number(place);
    if (!offset || *offset >= names_.size()) return Broken(at, "a name that is not in the table of names");
    std::string name = names_.substr(*offset, kMaxName);
    name.resize(std::min(name.size(), name.find('\n')));
    if (name.ends_with('/')) name.pop_back();
    return name.empty() ? "?" : name;
  }

  /// BSD: the name takes the first bytes of the member.
  Result<void> TakeLeadingName(std::uint64_t at, std::string_view length, Member& member) {
    const std::optional<std::uint64_t> size = Number(length);
    if (!size || *size > member.size_bytes || *size > kMaxName)
      return Broken(at, "a name longer than its member");
    PTPKG_TRY(const auto bytes, ReadExact(archive_, member.begin, *size, "the name of a member"));
    std::string name(AsText(bytes));
    name.resize(std::min(name.size(), name.find('\0')));
    // The name counts as a part of the member's size.
    member.begin += *size;
    member.size_bytes -= *size;
    member.is_table = name.starts_with("__.SYMDEF");
    member.name = name.empty() ? "?" : name;
    return Ok();
  }

  File& archive_;
  FileStat stat_;
  std::string names_;
};

}  // namespace

Result<bool> IsStaticArchive(File& file) {
  PTPKG_TRY(const std::string magic, Magic(file));
  return magic == kArchiveMagic || magic == kThinMagic;
}

Result<void> ForEachMember(File& archive, const Visit& visit) {
  PTPKG_TRY(const std::string magic, Magic(archive));
  if (magic == kThinMagic) {
    return Error(ErrorCode::kUnsupported, "a thin archive does not contain its members")
        .WithHint("create the archive without 'T' or '--thin' of ar");
  }
  PTPKG_TRY(const FileStat stat, archive.Stat());
  return Walk(archive, stat).Run(visit);
}

}  // namespace ptpkg::elf
