// Reads arbitrary bytes as an environment marker.

#include "fuzz/fuzz.h"
#include "fuzz/require.h"
#include "wheel/metadata/marker.h"

namespace ptpkg::fuzz {

std::vector<std::string> Seeds() {
  return {"python_version >= '3.10' and (sys_platform == \"linux\" or os.name != 'nt')",
          "extra == 'test' and platform_machine in 'x86_64 aarch64' and implementation_version ~= '3.1.2.*'",
          "python_full_version not in '3.9'"};
}

namespace {

const wheel::MarkerEnvironment& Linux() {
  static const wheel::MarkerEnvironment kLinux = {{"python_version", "3.11"},
                                                  {"python_full_version", "3.11.4"},
                                                  {"os_name", "posix"},
                                                  {"sys_platform", "linux"},
                                                  {"platform_system", "Linux"},
                                                  {"platform_machine", "x86_64"},
                                                  {"platform_release", ""},
                                                  {"platform_version", ""},
                                                  {"platform_python_implementation", "CPython"},
                                                  {"implementation_name", "cpython"},
                                                  {"implementation_version", "3.11.4"}};
  return kLinux;
}

void CheckMarkerText(std::string_view text) {
  const auto sound = wheel::CheckMarker(text);
  const auto value = wheel::EvaluateMarker(text, Linux());
  if (!sound) RequireFair(sound.error());
  if (!value) return RequireFair(value.error());
  const bool blank = text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
  Require(sound.has_value() || blank, "a marker is evaluated that is none");
}

}  // namespace
}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ptpkg::fuzz::CheckMarkerText({reinterpret_cast<const char*>(data), size});
  return 0;
}
