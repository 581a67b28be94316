#include "elf/host_fit.h"

#include <algorithm>

namespace ptpkg::elf {
namespace {

// Places in e_ident.
constexpr std::size_t kClassAt = 4;
constexpr std::size_t kOrderAt = 5;
constexpr std::size_t kVersionAt = 6;
constexpr std::size_t kOsAbiAt = 7;
constexpr std::size_t kPadAt = 9;
constexpr std::size_t kIdentBytes = 16;
constexpr std::uint8_t kOsAbiSysv = 0;
constexpr std::uint8_t kOsAbiGnu = 3;

HostFit Refused(std::string_view reason) { return {Fit::kRefused, reason}; }

std::uint8_t ByteAt(Bytes head, std::size_t at) { return std::to_integer<std::uint8_t>(head[at]); }

/// ABI versions are not judged: each release of glibc accepts some more.
HostFit JudgeIdent(Bytes head, const Host& host) {
  if (AsText(head.first(4)) !=
      "\x7f"
      "ELF") {
    return Refused("invalid ELF header");
  }
  if (ByteAt(head, kClassAt) != static_cast<std::uint8_t>(host.elf_class)) return {Fit::kPassedOver, ""};
  if (ByteAt(head, kOrderAt) != static_cast<std::uint8_t>(host.order)) {
    return Refused(host.order == ByteOrder::kLittle ? "ELF file data encoding not little-endian"
                                                    : "ELF file data encoding not big-endian");
  }
  if (ByteAt(head, kVersionAt) != 1) return Refused("ELF file version ident does not match current one");
  const std::uint8_t os_abi = ByteAt(head, kOsAbiAt);
  if (os_abi != kOsAbiSysv && os_abi != kOsAbiGnu) return Refused("ELF file OS ABI invalid");
  const Bytes pad = head.subspan(kPadAt, kIdentBytes - kPadAt);
  const bool zero = std::all_of(pad.begin(), pad.end(), [](std::byte b) { return b == std::byte{0}; });
  return zero ? HostFit{} : Refused("nonzero padding in e_ident");
}

}  // namespace

HostFit JudgeHeader(Bytes head, const Host& host) {
  const Codec codec(host.elf_class, host.order);
  if (head.size() < codec.FileHeaderSize()) return Refused("file too short");
  if (const HostFit ident = JudgeIdent(head, host); ident.fit != Fit::kLoads) return ident;
  const FileHeader header = codec.DecodeFileHeader(head);
  if (header.machine != host.machine) return {Fit::kPassedOver, ""};
  if (header.type != kTypeDyn && header.type != kTypeExec) {
    return Refused("only ET_DYN and ET_EXEC can be loaded");
  }
  if (header.program_header_size != codec.SegmentSize()) {
    return Refused("ELF file's phentsize not the expected size");
  }
  if (header.type == kTypeExec) return Refused("cannot dynamically load executable");
  return {};
}

HostFit JudgeFlags(const LinkFacts& facts) {
  if ((facts.flags_1 & kFlag1Pie) != 0) {
    return Refused("cannot dynamically load position-independent executable");
  }
  return {};
}

}  // namespace ptpkg::elf
