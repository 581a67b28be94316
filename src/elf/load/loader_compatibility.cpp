// Repeats the checks that glibc's loader makes on a candidate library, in its order and with its words
// (elf/dl-load.c, open_verify).
//
// Two outcomes differ: a file of another class or processor is passed over, and the search continues with
// the next directory. Any other defect ends the process, although a good file may follow later in the path.
// A check that took the first good file would call a broken package sound.

#include "elf/load/loader_compatibility.h"

#include <algorithm>

namespace ptpkg::elf {
namespace {

// Places in e_ident.
constexpr std::size_t kClassAt = 4;
constexpr std::size_t kOrderAt = 5;
constexpr std::size_t kVersionAt = 6;
constexpr std::size_t kOsAbiAt = 7;
constexpr std::size_t kAbiVersionAt = 8;
constexpr std::size_t kPadAt = 9;
constexpr std::size_t kIdentBytes = 16;
constexpr std::size_t kFileVersionAt = 20;  // e_version
constexpr std::uint8_t kOsAbiSysv = 0;
constexpr std::uint8_t kOsAbiGnu = 3;

LoaderCompatibility Refused(std::string_view reason) { return {CompatibilityKind::kRefused, reason}; }

std::uint8_t ByteAt(Bytes head, std::size_t at) { return std::to_integer<std::uint8_t>(head[at]); }

/// glibc's LIBC_ABI_MAX up to 2.41 for machines without ABIs of their own: unique symbols, absolute ones.
constexpr std::uint8_t kGnuAbiVersions = 4;

LoaderCompatibility CompatibilityFromIdent(Bytes head, const Host& host) {
  if (AsText(head.first(4)) !=
      "\x7f"
      "ELF") {
    return Refused("invalid ELF header");
  }
  if (ByteAt(head, kClassAt) != static_cast<std::uint8_t>(host.elf_class))
    return {CompatibilityKind::kPassedOver, ""};
  if (ByteAt(head, kOrderAt) != static_cast<std::uint8_t>(host.order)) {
    return Refused(host.order == ByteOrder::kLittle ? "ELF file data encoding not little-endian"
                                                    : "ELF file data encoding not big-endian");
  }
  if (ByteAt(head, kVersionAt) != 1) return Refused("ELF file version ident does not match current one");
  const std::uint8_t os_abi = ByteAt(head, kOsAbiAt);
  if (os_abi != kOsAbiSysv && os_abi != kOsAbiGnu) return Refused("ELF file OS ABI invalid");
  const std::uint8_t abi_version = ByteAt(head, kAbiVersionAt);
  if (abi_version != 0 && (os_abi != kOsAbiGnu || abi_version >= kGnuAbiVersions))
    return Refused("ELF file ABI version invalid");
  const Bytes pad = head.subspan(kPadAt, kIdentBytes - kPadAt);
  const bool zero = std::all_of(pad.begin(), pad.end(), [](std::byte b) { return b == std::byte{0}; });
  return zero ? LoaderCompatibility{} : Refused("nonzero padding in e_ident");
}

}  // namespace

LoaderCompatibility CompatibilityFromHeader(Bytes head, const Host& host) {
  const Codec codec(host.elf_class, host.order);
  if (head.size() < codec.FileHeaderSize()) return Refused("file too short");
  if (const LoaderCompatibility ident = CompatibilityFromIdent(head, host);
      ident.fit != CompatibilityKind::kLoads)
    return ident;
  const FileHeader header = codec.DecodeFileHeader(head);
  if (codec.U32(head, kFileVersionAt) != 1) return Refused("ELF file version does not match current one");
  if (header.machine != host.machine) return {CompatibilityKind::kPassedOver, ""};
  if (header.type != kTypeDyn && header.type != kTypeExec) {
    return Refused("only ET_DYN and ET_EXEC can be loaded");
  }
  if (header.program_header_size != codec.SegmentSize()) {
    return Refused("ELF file's phentsize not the expected size");
  }
  if (header.type == kTypeExec) return Refused("cannot dynamically load executable");
  return {};
}

LoaderCompatibility CompatibilityFromFlags(const LinkFacts& facts) {
  if ((facts.flags_1 & kFlag1Pie) != 0) {
    return Refused("cannot dynamically load position-independent executable");
  }
  return {};
}

}  // namespace ptpkg::elf
