// Architectures and sizes of AMD's code by its bundles' tables, plain and compressed, and bundles that lie.

#include "elf/device/device_bundles.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf/device/device_code.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "unit/elf/fixtures/device_container_bytes.h"
#include "unit/elf/fixtures/offload_bundles.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::MemFs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<std::optional<DeviceCode>> ReadAmdCode(const std::string& bytes) {
  MemFs fs;
  const AbsPath path = AbsPath::Literal("/lib.so");
  fs.AddFile(path.str(), bytes);
  PTPKG_TRY(const auto file, fs.Open(path, OpenMode::kRead));
  return ReadDeviceCode(*file);
}

Result<std::optional<DeviceCode>> ReadSection(const std::string& content) {
  return ReadAmdCode(LibraryWith({{".hip_fatbin", content}}));
}

/// "gfx90a 1x8" for each architecture, and "other 8".
std::vector<std::string> Told(const DeviceCodeStats& share) {
  std::vector<std::string> told;
  const auto add = [&](const DeviceAmounts& amounts, std::string (DeviceArchitecture::*name)() const) {
    for (const auto& [architecture, amount] : amounts)
      told.push_back(fmt::format("{} {}x{}", (architecture.*name)(), amount.elements, amount.size_bytes));
  };
  add(share.sass, &DeviceArchitecture::SassName);
  add(share.ptx, &DeviceArchitecture::PtxName);
  if (share.other_bytes != 0) told.push_back(fmt::format("other {}", share.other_bytes));
  return told;
}

std::vector<std::string> ToldOf(const std::string& content) {
  const auto code = ReadSection(content);
  EXPECT_OK(code);
  EXPECT_TRUE(code && *code);
  return code && *code ? Told((**code).embedded) : std::vector<std::string>();
}

const std::vector<BundleEntry> kTwo = {{kHostId, ""},
                                       {"hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "12345678"},
                                       {"hipv4-amdgcn-amd-amdhsa--gfx1100", "1234"}};

TEST(DeviceBundles, EntriesByTheirTargets) {
  EXPECT_THAT(ToldOf(Bundle(kTwo)), ElementsAre("gfx1100 1x4", "gfx90a:sramecc+:xnack- 1x8"));
  EXPECT_THAT(ToldOf(Bundle({{"hip-amdgcn-amd-amdhsa--gfx906"},
                             {"hip-amdgcn-amd-amdhsa-gfx908"},
                             {"hipv4-amdgcn-amd-amdhsa-unknown-gfx9-4-generic:xnack+"},
                             {"hipv4-amdgcn-amd-amdhsa--gfx908:xnack-:sramecc-"},
                             {"hip-spirv64-amd-amdhsa--amdgcnspirv"},
                             {"openmp-nvptx64-nvidia-cuda--sm_70"},
                             {"hip"}})),
              ElementsAre("gfx9-4-generic:xnack+ 1x8", "gfx906 1x8", "gfx908 1x8",
                          "gfx908:sramecc-:xnack- 1x8", "amdgcnspirv 1x8", "other 16"));
}

TEST(DeviceBundles, FollowEachOther) {
  std::string content = Bundle(kTwo, 4096);
  content.resize(4096 * 4, '\0');
  const auto code = ReadSection(content + Bundle(kTwo, 4096) + Bundle({}) + std::string(9000, '\0'));
  ASSERT_OK(code);
  ASSERT_TRUE(*code);
  EXPECT_THAT(Told((**code).EffectiveCode()), ElementsAre("gfx1100 2x8", "gfx90a:sramecc+:xnack- 2x16"));
  EXPECT_EQ((**code).embedded.containers, 3U);
  EXPECT_TRUE((**code).HasAmd());
}

TEST(DeviceBundles, Compressed) {
  const std::string raw = Bundle(kTwo);
  for (const unsigned version : {1U, 2U, 3U}) {
    for (const unsigned method : {0U, 1U}) {
      const std::string packed = method == 0 ? StoredZlib(raw) : StoredZstd(raw);
      std::string content = PackedBundle(version, method, packed, raw.size());
      const std::size_t payload = packed.size();
      content.resize(4096, '\0');
      const std::size_t padding = version == 1 ? 4096 - payload - 20 : 0;
      const std::size_t all = payload + padding;  // version 1 does not tell where it ends
      const std::string rest = Bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942"}});
      EXPECT_THAT(ToldOf(content + rest),
                  ElementsAre(fmt::format("gfx1100 1x{}", all / 3),
                              fmt::format("gfx90a:sramecc+:xnack- 1x{}", all * 2 / 3), "gfx942 1x8"))
          << version << " " << method;
    }
  }
}

TEST(DeviceBundles, ObjectsToLinkHaveASectionForEachEntry) {
  const std::string object = LibraryWith({{"__CLANG_OFFLOAD_BUNDLE__hipv4-amdgcn-amd-amdhsa--gfx90a", "BC"},
                                          {std::string("__CLANG_OFFLOAD_BUNDLE__") + kHostId, "x"}},
                                         kTypeRel);
  for (const std::string& file : {object, StaticArchive({{"a.o", object}})}) {
    const auto code = ReadAmdCode(file);
    ASSERT_OK(code);
    ASSERT_TRUE(*code);
    EXPECT_THAT(Told((**code).relocatable), ElementsAre("gfx90a 1x2"));
    EXPECT_THAT(Told((**code).EffectiveCode()), ElementsAre("gfx90a 1x2"));
  }
  EXPECT_THAT(ReadAmdCode(LibraryWith({{".llvm.offloading", "x"}}, kTypeRel)),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("LLVM's offload packager")));
}

std::string Poked(std::string bytes, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<char>((value >> (8 * i)) & 0xFFU);
  return bytes;
}

TEST(DeviceBundles, LiesAreTold) {
  const std::string plain = Bundle({{"hip-amdgcn-amd-amdhsa--gfx906"}});
  constexpr std::uint64_t kHuge = ~std::uint64_t{0} - 3;
  struct Row {
    std::string content;
    const char* what;
  };
  const std::vector<Row> rows = {
      {"ELF", "there is no offload bundle here"},
      {plain.substr(0, 30), "a bundle of 30 bytes"},
      {Poked(plain, 24, kHuge), "entries, more than 65536"},
      {Poked(plain, 24, 9), "the table of the bundle passes its end"},
      {Poked(plain, 32, kHuge), "entry 0 has 8 bytes"},
      {Poked(plain, 40, kHuge), "entry 0 has"},
      {Poked(plain, 32, 8), "lies in the table"},
      {Poked(plain, 48, kHuge), "an id of"},
      {Poked(plain, 48, 1025), "an id of"},
      {plain.substr(0, plain.size() - 1), "entry 0 has 8 bytes"},
      {plain + "x", "there is no offload bundle here"},
      {PackedBundle(2, 1, StoredZstd(plain), plain.size()).substr(0, 40), "where 40 are left"},
      {PackedBundle(2, 1, "", plain.size()), "where 24 are left"},
      {PackedBundle(2, 1, StoredZstd("x" + plain), plain.size()), "no offload bundle was compressed"},
      {PackedBundle(2, 1, StoredZstd(plain.substr(0, 40)), plain.size()), "truncated"},
      {PackedBundle(2, 1, "not zstd", plain.size()), "zstd data is damaged"},
      {PackedBundle(2, 0, "not zlib", plain.size()), "no zlib stream"},
      {PackedBundle(2, 0, StoredZlib(plain.substr(0, 40)), plain.size()), "a compressed bundle: "},
      {PackedBundle(3, 0, "\x78\x01", plain.size()), "truncated"},
      {PackedBundle(3, 1, StoredZstd(plain), 40), "the table of the bundle passes its end"},
      {"CCOB" + std::string(9, '\1'), "13 bytes are left"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(ReadSection(row.content), FailsWith(ErrorCode::kInvalidInput, HasSubstr(row.what)))
        << row.what;
  }
  EXPECT_THAT(ReadSection(PackedBundle(4, 1, StoredZstd(plain), plain.size())),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("version 4")));
  EXPECT_THAT(ReadSection(PackedBundle(3, 7, StoredZstd(plain), plain.size())),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("method 7")));
}

TEST(DeviceBundles, EntriesThatShareBytesAreRefused) {
  std::string content = Bundle({{"hip-amdgcn-amd-amdhsa--gfx906"}, {"hip-amdgcn-amd-amdhsa--gfx908", ""}});
  const std::size_t second = 32 + 24 + 29;
  content = Poked(Poked(content, second, 32), second + 8, content.size() - 32);
  EXPECT_THAT(ReadSection(content), FailsWith(ErrorCode::kInvalidInput, HasSubstr("section .hip_fatbin")));
}

}  // namespace
}  // namespace ptpkg::elf::test
