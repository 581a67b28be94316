// Reads arbitrary bytes as a library or a static archive with GPU code.

#include "elf/device/device_code.h"
#include "fuzz/fuzz.h"
#include "fuzz/require.h"
#include "support/mem_fs.h"
#include "unit/elf/fixtures/device_container_bytes.h"
#include "unit/elf/fixtures/offload_bundles.h"

namespace ptpkg::fuzz {
namespace {

std::uint64_t BytesIn(const elf::DeviceCodeStats& share) {
  std::uint64_t sum = share.other_bytes;
  for (const auto& [architecture, amount] : share.sass) sum += amount.size_bytes;
  for (const auto& [architecture, amount] : share.ptx) sum += amount.size_bytes;
  return sum;
}

/// With a plain bundle behind one that is compressed that way.
std::string AmdLibrary(std::string_view compression) {
  using elf::test::PackedBundle;
  const std::string bundle =
      elf::test::Bundle({{elf::test::kHostId, ""}, {}, {"hip-amdgcn-amd-amdhsa--gfx9"}});
  std::string packed;
  if (compression == "zlib") packed = PackedBundle(2, 0, elf::test::StoredZlib(bundle), bundle.size());
  if (compression == "zstd") packed = PackedBundle(3, 1, elf::test::StoredZstd(bundle), bundle.size());
  return elf::test::LibraryWith({{".hip_fatbin", packed + bundle}});
}

}  // namespace

std::vector<std::string> Seeds() {
  using elf::test::Container;
  using elf::test::DeviceLibrary;
  const std::string one =
      Container({{.number = 80}, {.number = 90, .flags = elf::test::kFlagA}, {.kind = 1}});
  const std::string two =
      one + std::string(24, '\0') + Container({{.kind = 8}, {.kind = 16, .header_bytes = 112}});
  const std::string library = DeviceLibrary(one, two);
  const std::string object = DeviceLibrary("", one, elf::kTypeRel);
  return {library,
          object,
          elf::test::StaticArchive({{"a.o", object}, {"a_name_of_many_letters.o", object}}),
          "!<arch>\n" + elf::test::ArchiveMember("#1/4", "b.o" + object),
          "!<thin>\n",
          AmdLibrary(""),
          AmdLibrary("zlib"),
          AmdLibrary("zstd")};
}

}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptpkg;  // NOLINT(google-build-using-namespace): one function is all there is
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  test::MemFs fs;
  const AbsPath path = AbsPath::Literal("/lib");
  fs.AddFile(path.str(), std::string(input));
  const auto file = fs.Open(path, OpenMode::kRead);
  fuzz::Require(file.has_value(), "the file cannot be opened");
  const auto code = elf::ReadDeviceCode(**file);
  if (!code) {
    const ErrorCode why = code.error().code();
    fuzz::Require(
        why == ErrorCode::kInvalidInput || why == ErrorCode::kCorrupt || why == ErrorCode::kUnsupported,
        "a damaged file is reported as something else");
    return 0;
  }
  if (!*code) return 0;
  fuzz::Require(fuzz::BytesIn((*code)->embedded) + fuzz::BytesIn((*code)->relocatable) <= size,
                "more code than the file has bytes");
  return 0;
}
