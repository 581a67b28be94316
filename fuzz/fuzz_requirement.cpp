// Reads arbitrary bytes as a requirement of a wheel.

#include "fuzz/fuzz.h"
#include "fuzz/require.h"
#include "wheel/metadata/requirement.h"

namespace ptpkg::fuzz {

std::vector<std::string> Seeds() {
  return {"Foo.Bar[a, b-c] (>=1.0,!=1.5.*,===x) ; python_full_version not in '3.9'",
          "toy @ https://example.org/a;b.whl ; extra == 'x'", "numpy~=1.21.0"};
}

namespace {

void CheckRequirement(std::string_view text) {
  const auto requirement = wheel::ParseRequirement(text);
  if (!requirement) return RequireFair(requirement.error());
  const auto again = wheel::ParseRequirement(requirement->str());
  Require(again && *again == *requirement, "a requirement written again differs");
}

}  // namespace
}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ptpkg::fuzz::CheckRequirement({reinterpret_cast<const char*>(data), size});
  return 0;
}
