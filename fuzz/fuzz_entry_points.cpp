// Reads arbitrary bytes as entry_points.txt.

#include <fmt/core.h>

#include "fuzz/fuzz.h"
#include "fuzz/require.h"
#include "support/text/text.h"
#include "wheel/metadata/entry_points.h"

namespace ptpkg::fuzz {

std::vector<std::string> Seeds() {
  return {"[console_scripts]\ntoy = toy.main:run [extra]\n# comment\n[x.y]\na=b\n"};
}

namespace {

/// The lines that the points came from, in their order; each group has its name once, as it must.
std::string Written(const std::vector<wheel::EntryPoint>& points) {
  std::string text;
  std::string group;
  for (const wheel::EntryPoint& point : points) {
    if (point.group != group) text += fmt::format("[{}]\n", point.group);
    group = point.group;
    text += fmt::format("{} = {}", point.name, point.module);
    if (!point.object.empty()) text += ":" + point.object;
    if (!point.extras.empty()) text += " [" + Join(point.extras, ",") + "]";
    text += "\n";
  }
  return text;
}

void CheckEntryPoints(std::string_view text) {
  const auto points = wheel::ParseEntryPoints(text, "entry_points.txt");
  if (!points) return RequireFair(points.error());
  const auto again = wheel::ParseEntryPoints(Written(*points), "entry_points.txt");
  Require(again && *again == *points, "entry points written again differ");
}

}  // namespace
}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ptpkg::fuzz::CheckEntryPoints({reinterpret_cast<const char*>(data), size});
  return 0;
}
