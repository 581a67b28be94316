// Reads arbitrary bytes as RECORD.

#include "fuzz/fuzz.h"
#include "fuzz/require.h"
#include "wheel/metadata/record.h"

namespace ptpkg::fuzz {

std::vector<std::string> Seeds() {
  const std::string digest = "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";
  return {"toy/__init__.py," + digest + ",0\r\n\"a,\"\"b\"\"\n\"," + digest +
          ",12\ntoy-1.dist-info/RECORD,,\n"};
}

namespace {

void CheckRecord(std::string_view text) {
  const auto rows = wheel::ParseRecord(text, "RECORD");
  if (!rows) return RequireFair(rows.error());
  const auto again = wheel::ParseRecord(wheel::FormatRecord(*rows), "RECORD");
  Require(again && *again == *rows, "RECORD written again differs");
}

}  // namespace
}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ptpkg::fuzz::CheckRecord({reinterpret_cast<const char*>(data), size});
  return 0;
}
