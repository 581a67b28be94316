// Reads arbitrary bytes as an environment marker, as a requirement, and as a conda dependency.

#include "fuzz/fuzz.h"
#include "fuzz/require.h"
#include "spec/match_spec.h"
#include "wheel/marker.h"
#include "wheel/requirement.h"

namespace ptpkg::fuzz {

std::vector<std::string> Seeds() {
  return {"python_version >= '3.10' and (sys_platform == \"linux\" or os.name != 'nt')",
          "extra == 'test' and platform_machine in 'x86_64 aarch64' and implementation_version ~= '3.1.2.*'",
          "Foo.Bar[a, b-c] (>=1.0,!=1.5.*,===x) ; python_full_version not in '3.9'",
          "toy @ https://example.org/a;b.whl ; extra == 'x'",
          "numpy >=1.2,<2.0a0|==3 py311*_0",
          "__glibc >=2.17"};
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

void CheckRequirement(std::string_view text) {
  const auto requirement = wheel::ParseRequirement(text);
  if (!requirement) return RequireFair(requirement.error());
  const auto again = wheel::ParseRequirement(requirement->str());
  Require(again && again->str() == requirement->str(), "a requirement written again differs");
}

void CheckSpec(std::string_view text) {
  const auto spec = spec::NormalizeMatchSpec(text);
  if (!spec) return RequireFair(spec.error());
  const auto again = spec::NormalizeMatchSpec(*spec);
  Require(again && *again == *spec, "a normal form has another normal form");
}

}  // namespace
}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptpkg;  // NOLINT(google-build-using-namespace): one function is all there is
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz::CheckMarkerText(text);
  fuzz::CheckRequirement(text);
  fuzz::CheckSpec(text);
  return 0;
}
