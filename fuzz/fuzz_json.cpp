// Reads arbitrary bytes as JSON: what our reader takes is what nlohmann's own takes, and written again it is
// equal.

#include "fuzz/fuzz.h"
#include "fuzz/require.h"
#include "support/text/json.h"

namespace ptpkg::fuzz {

std::vector<std::string> Seeds() {
  return {
      R"({"name": "toy", "version": "1.0", "build_number": 0, "depends": ["a >=1", "b"], "noarch": null})",
      R"({"paths": [{"_path": "lib/é", "sha256": "00", "size_in_bytes": 18446744073709551615}], "paths_version": 1})",
      R"([[[{"a": {"a": -1.5e-3}}]], "\ud83d\ude00\u0000\/", true, false, 1e999])", "\xEF\xBB\xBF{}"};
}

}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptpkg;  // NOLINT(google-build-using-namespace): one function is all there is
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ours = ParseJson(text, "x.json", {.depth = 20, .values = 1000});
  if (!ours) {
    fuzz::RequireFair(ours.error());
    // nlohmann's own skips a byte order mark, and ends at a NUL byte.
    const bool is_lenient = text.starts_with("\xEF\xBB\xBF") || text.find('\0') != std::string_view::npos;
    // A place says that it is the syntax; without one, it is a repeated key or a limit.
    if (ours.error().span()) fuzz::Require(is_lenient || !Json::accept(text), "sound JSON is refused");
    return 0;
  }
  fuzz::Require(*ours == Json::parse(text), "another value than nlohmann's");
  const auto again = ParseJson(DumpJson(*ours), "x.json");
  fuzz::Require(again && *again == *ours, "written again it is another value");
  const auto python = ParseJson(DumpJsonPython(*ours), "x.json");
  fuzz::Require(python && *python == *ours, "written as Python does it is another value");
  return 0;
}
