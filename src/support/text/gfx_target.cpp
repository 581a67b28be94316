#include "support/text/gfx_target.h"

#include <algorithm>
#include <vector>

#include "support/text/text.h"

namespace ptpkg {
namespace {

constexpr std::size_t kMostBytes = 128;  // real names have 24 at most

bool IsLowerLetter(char c) { return c >= 'a' && c <= 'z'; }
bool IsDecimalDigit(char c) { return c >= '0' && c <= '9'; }

bool IsProcessor(std::string_view text) {
  if (text == kAmdSpirv) return true;
  constexpr std::string_view kPrefix = "gfx";
  if (!text.starts_with(kPrefix)) return false;
  const std::string_view rest = text.substr(kPrefix.size());
  return !rest.empty() && IsDecimalDigit(rest.front()) && rest.back() != '-' &&
         std::all_of(rest.begin(), rest.end(),
                     [](char c) { return IsLowerLetter(c) || IsDecimalDigit(c) || c == '-'; });
}

bool IsFeature(std::string_view text) {
  if (text.size() < 2 || (text.back() != '+' && text.back() != '-')) return false;
  text.remove_suffix(1);
  return std::all_of(text.begin(), text.end(), IsLowerLetter);
}

}  // namespace

bool IsAmdArchitecture(std::string_view name) {
  return name.starts_with("gfx") || name.starts_with("amdgcn");
}

std::optional<std::string> NormalGfxTarget(std::string_view text) {
  if (text.size() > kMostBytes) return std::nullopt;
  std::vector<std::string> words = Split(text, ':');
  if (words.empty() || !IsProcessor(words.front())) return std::nullopt;
  if (!std::all_of(words.begin() + 1, words.end(), IsFeature)) return std::nullopt;
  // One target has one spelling: LLVM orders features by name, but people write them in any order.
  std::sort(words.begin() + 1, words.end());
  const auto same_name = [](const std::string& left, const std::string& right) {
    return left.substr(0, left.size() - 1) == right.substr(0, right.size() - 1);
  };
  if (std::adjacent_find(words.begin() + 1, words.end(), same_name) != words.end()) return std::nullopt;
  return Join(words, ":");
}

}  // namespace ptpkg
