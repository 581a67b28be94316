// Reads arbitrary bytes as a requirement of a conda package.

#include "fuzz/fuzz.h"
#include "fuzz/require.h"
#include "versions/match_spec.h"

namespace ptpkg::fuzz {

std::vector<std::string> Seeds() {
  return {"numpy >=1.2,<2.0a0|==3 py311*_0", "__glibc >=2.17", "numpy=1.21=py311_0"};
}

namespace {

void CheckSpec(std::string_view text) {
  const auto spec = versions::NormalizeMatchSpec(text);
  if (!spec) return RequireFair(spec.error());
  const auto again = versions::NormalizeMatchSpec(*spec);
  Require(again && *again == *spec, "a normal form has another normal form");
}

}  // namespace
}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ptpkg::fuzz::CheckSpec({reinterpret_cast<const char*>(data), size});
  return 0;
}
