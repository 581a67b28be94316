#include "verify/wheel/stable_abi.h"

#include <map>
#include <string>

#include "support/text/text.h"
#include "verify/stable_abi_text.h"  // generated from data/stable_abi.txt

namespace ptpkg::verify {
namespace {

/// Lines "3.7", then names behind a space.
std::map<std::string, int, std::less<>> ReadStableAbi() {
  std::map<std::string, int, std::less<>> table;
  int minor = 0;
  for (const std::string& line : Split(kStableAbiText, '\n')) {
    if (line.starts_with("3.")) minor = std::stoi(line.substr(2));
    if (line.starts_with(' ')) table.emplace(line.substr(1), minor);
  }
  return table;
}

}  // namespace

std::optional<int> StableAbiSince(std::string_view symbol) {
  static const std::map<std::string, int, std::less<>> kTable = ReadStableAbi();
  const auto found = kTable.find(symbol);
  return found == kTable.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace ptpkg::verify
