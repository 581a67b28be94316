#include "support/files/mounts.h"

#include "support/text/text.h"

namespace ptpkg {

namespace {

/// A blank in a path of mountinfo is "\040".
std::string Unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 3 < text.size();
    plain.push_back(
        escape ? static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'))
               : text[i]);
    if (escape) i += 3;
  }
  return plain;
}

}  // namespace

std::vector<Mount> ReadMounts(Fs& fs) {
  // mountinfo of a host with thousands of containers has some MiB.
  constexpr std::uint64_t kMost = 4U << 20U;
  const Result<std::string> text = ReadFile(fs, AbsPath::Literal("/proc/self/mountinfo"), kMost);
  std::vector<Mount> mounts;
  for (const std::string& line : SplitLines(text ? *text : "")) {
    // "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw": the optional fields before
    // the dash vary in number.
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::vector<std::string> place = Split(std::string_view(line).substr(0, dash), ' ');
    const std::vector<std::string> system = Split(std::string_view(line).substr(dash + 3), ' ');
    if (place.size() < 5 || system.size() < 3) continue;
    mounts.push_back(
        {.root = Unescape(place[3]), .point = Unescape(place[4]), .type = system[0], .options = system[2]});
  }
  return mounts;
}

}  // namespace ptpkg
