// Reads arbitrary bytes as WHEEL.

#include "fuzz/fuzz.h"
#include "fuzz/require.h"
#include "support/limits.h"
#include "wheel/wheel_file.h"

namespace ptpkg::fuzz {

std::vector<std::string> Seeds() {
  return {"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py2.py3-none-any\nBuild: 1\n"};
}

namespace {

void CheckWheelFile(std::string_view text) {
  const auto file = wheel::ParseWheelFile(text, "WHEEL");
  if (!file) return RequireFair(file.error());
  std::size_t plain = 0;
  for (const wheel::Tag& tag : file->tags) plain += wheel::ExpandTag(tag).size();
  Require(plain <= limits::kTags, "more tags than the limit");
}

}  // namespace
}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ptpkg::fuzz::CheckWheelFile({reinterpret_cast<const char*>(data), size});
  return 0;
}
