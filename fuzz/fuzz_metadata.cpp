// Reads arbitrary bytes as METADATA.

#include "fuzz/fuzz.h"
#include "fuzz/require.h"
#include "wheel/metadata/core_metadata.h"

namespace ptpkg::fuzz {

std::vector<std::string> Seeds() {
  return {
      "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\nSummary: a\n        b\nRequires-Dist: "
      "x>=1\n\nText.\n"};
}

namespace {

void CheckMetadata(std::string_view text) {
  const auto metadata = wheel::ParseCoreMetadata(text, "METADATA");
  if (!metadata) return RequireFair(metadata.error());
  const auto again = wheel::ParseCoreMetadata(wheel::FormatCoreMetadata(*metadata), "METADATA");
  Require(again && again->fields == metadata->fields && again->description == metadata->description,
          "METADATA written again differs");
}

}  // namespace
}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ptpkg::fuzz::CheckMetadata({reinterpret_cast<const char*>(data), size});
  return 0;
}
