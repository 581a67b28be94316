#include "wheel/metadata/record_lines.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

namespace ptpkg::wheel {
namespace {

// A RECORD can have 128 MiB (limits::kRecord), all of them empty lines.
constexpr std::size_t kMaxLineFaults = 100;

}  // namespace

/// pip and installer cut the text at every line break of Unicode, and take no empty line; uv and the csv
/// module know LF and CR alone.
std::vector<RecordFault> FindLineFaults(std::string_view text, const std::string& name) {
  std::vector<RecordFault> faults;
  constexpr std::array<std::string_view, 8> kOtherBreaks = {"\v",   "\f",       "\x1c",   "\x1d",
                                                            "\x1e", "\xc2\x85", "\u2028", "\u2029"};
  const auto add = [&](std::size_t number, std::string_view what) {
    faults.push_back({RecordFault::Kind::kLine, "", fmt::format("'{}', line {}: {}", name, number, what)});
  };
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) add(number, "is empty");
    const bool other = line.find('\r') != std::string_view::npos ||
                       std::any_of(kOtherBreaks.begin(), kOtherBreaks.end(), [&](std::string_view one) {
                         return line.find(one) != std::string_view::npos;
                       });
    if (other) add(number, "has a line break that only some readers recognise");
    if (faults.size() >= kMaxLineFaults) return faults;
  }
  return faults;
}

}  // namespace ptpkg::wheel
