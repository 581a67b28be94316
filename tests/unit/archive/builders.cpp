#include "unit/archive/builders.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <libdeflate.h>
#include <random>

#include "support/process.h"

namespace ptpkg::archive::test {
namespace {

constexpr std::size_t kBlock = 512;

std::string Padded(std::string text) {
  text.resize((text.size() + kBlock - 1) / kBlock * kBlock, '\0');
  return text;
}

}  // namespace

std::string RandomText(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text(count, '\0');
  std::generate(text.begin(), text.end(), [&] { return static_cast<char>(random() >> 56U); });
  return text;
}

std::string WordyText(std::size_t count, std::uint64_t seed) {
  static constexpr std::array<std::string_view, 8> kWords = {
      "tensor ", "kernel ", "stream ", "libtorch_cpu.so\n", "dispatch", "0x7f", "\0\0\0\0", "operator()"};
  std::mt19937_64 random(seed);
  std::string text;
  while (text.size() < count) {
    text += kWords[random() % kWords.size()];
    text += static_cast<char>(random() >> 56U);
  }
  text.resize(count);
  return text;
}

std::optional<ExitStatus> RunTool(Env& env, const std::vector<std::string>& argv, const AbsPath& cwd) {
  auto status = env.process.Run({.argv = argv,
                                 .env = env.variables,
                                 .cwd = cwd,
                                 .log_file = std::nullopt,
                                 .on_line = {},
                                 .timeout = std::nullopt,
                                 .cancel = nullptr});
  if (!status) return std::nullopt;
  return *std::move(status);
}

std::string ToText(const TarHeader& header) {
  std::string block(kBlock, '\0');
  const auto put = [&](std::size_t at, const std::string& text) { block.replace(at, text.size(), text); };
  put(0, header.name.substr(0, 100));
  put(100, fmt::format("{:07o}", header.mode));
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", header.size_bytes));
  put(136, "00000000000");
  put(148, "        ");
  block[156] = header.type;
  put(157, header.link_target.substr(0, 100));
  put(257, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return block;
}

std::string TarFile(const std::string& name, const std::string& content, std::uint32_t mode) {
  return ToText(TarHeader{.name = name, .size_bytes = content.size(), .mode = mode}) + Padded(content);
}
std::string TarLink(const std::string& name, const std::string& target) {
  return ToText(TarHeader{.name = name, .type = '2', .link_target = target, .mode = 0777});
}
std::string TarHardLink(const std::string& name, const std::string& target) {
  return ToText(TarHeader{.name = name, .type = '1', .link_target = target});
}
std::string TarFolder(const std::string& name) {
  return ToText(TarHeader{.name = name, .type = '5', .mode = 0755});
}
std::string TarPax(const std::string& key, const std::string& value) {
  const std::size_t body = key.size() + value.size() + 3;
  std::size_t total = body + 1;
  while (body + std::to_string(total).size() != total) ++total;
  const std::string record = fmt::format("{} {}={}\n", total, key, value);
  return ToText(TarHeader{.name = "PaxHeader", .type = 'x', .size_bytes = record.size()}) + Padded(record);
}
std::string TarEnd() { return std::string(2 * kBlock, '\0'); }

std::uint32_t CrcOf(std::string_view text) { return libdeflate_crc32(0, text.data(), text.size()); }

std::string ToText(const ZipText& zip) {
  namespace z = ptpkg::archive::zip;
  std::string out = zip.prefix;
  std::string central;
  std::size_t count = 0;
  for (const ZipMemberText& member : zip.members) {
    const std::size_t offset = out.size();
    const std::uint32_t crc = member.crc.value_or(CrcOf(member.content));
    const std::uint32_t size = member.size.value_or(static_cast<std::uint32_t>(member.content.size()));
    const std::string local_name = member.local_name.value_or(member.name);
    out += z::Fields()
               .U32(z::kLocalSignature)
               .U16(member.version_needed)
               .U16(member.flags)
               .U16(member.local_method.value_or(member.method))
               .U32(0x00210000)
               .U32(member.local_crc.value_or(crc))
               .U32(member.local_stored.value_or(static_cast<std::uint32_t>(member.content.size())))
               .U32(member.local_size.value_or(size))
               .U16(local_name.size())
               .U16(member.local_extra.size())
               .Text(local_name)
               .Text(member.local_extra)
               .Text(member.content)
               .Text(member.after)
               .str();
    if (!member.in_central) continue;
    ++count;
    central += z::Fields()
                   .U32(z::kCentralSignature)
                   .U16(z::kMadeByUnix | 20)
                   .U16(member.version_needed)
                   .U16(member.flags)
                   .U16(member.method)
                   .U32(0x00210000)
                   .U32(crc)
                   .U32(member.content.size())
                   .U32(size)
                   .U16(member.name.size())
                   .U16(member.central_extra.size())
                   .U16(member.comment.size())
                   .U16(0)
                   .U16(0)
                   .U32(std::uint64_t{member.unix_mode} << 16U)
                   .U32(member.offset.value_or(static_cast<std::uint32_t>(offset)))
                   .Text(member.name)
                   .Text(member.central_extra)
                   .Text(member.comment)
                   .str();
  }
  const std::size_t directory = out.size();
  out += central + zip.before_end;
  out += z::Fields()
             .U32(z::kEndSignature)
             .U16(0)
             .U16(0)
             .U16(zip.count.value_or(static_cast<std::uint16_t>(count)))
             .U16(zip.count.value_or(static_cast<std::uint16_t>(count)))
             .U32(central.size())
             .U32(zip.directory_offset.value_or(static_cast<std::uint32_t>(directory)))
             .U16(zip.comment.size())
             .Text(zip.comment)
             .str();
  return out + zip.suffix;
}

std::string WithZip64End(const std::string& zip, const Zip64End& end) {
  namespace z = ptpkg::archive::zip;
  const std::string plain = zip.substr(zip.size() - z::kEndBytes);
  const std::uint64_t count = z::Get16(plain, 10) + end.count_more;
  const std::uint64_t at = zip.size() - z::kEndBytes;
  return zip.substr(0, at) +
         z::Fields()
             .U32(z::kEnd64Signature)
             .U64(end.record_size)
             .U16(45)
             .U16(45)
             .U32(0)
             .U32(0)
             .U64(count)
             .U64(count)
             .U64(z::Get32(plain, 12))
             .U64(z::Get32(plain, 16))
             .Text(end.between)
             .U32(z::kEnd64LocatorSignature)
             .U32(0)
             .U64(at)
             .U32(end.disks)
             .str() +
         plain;
}

std::vector<std::string> TextsToDeflate() {
  return {"text", WordyText(20'000), RandomText(3000), std::string(70'000, 'x')};
}

}  // namespace ptpkg::archive::test
