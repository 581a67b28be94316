#include "builder/env/torch_version.h"

#include <charconv>
#include <fmt/core.h>
#include <set>

#include "versions/conda_version.h"

namespace ptpkg::builder {
namespace {

constexpr const char* kVersion = "PYTORCH_BUILD_VERSION";
constexpr const char* kNumber = "PYTORCH_BUILD_NUMBER";
constexpr const char* kOverride = "OVERRIDE_PACKAGE_VERSION";

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// "1.0rc1" of "1.0.rc1" and "1.0-rc1": PEP 440 takes them for one, conda's order does not.
std::string WithoutSeparators(std::string_view version) {
  std::string out;
  for (std::size_t i = 0; i < version.size(); ++i) {
    const bool separator = version[i] == '.' || version[i] == '-' || version[i] == '_';
    if (!separator || i + 1 == version.size() || !IsLetter(version[i + 1])) out += version[i];
  }
  return out;
}

}  // namespace

bool IsTorch(std::string_view name) {
  static const std::set<std::string, std::less<>> kNames = {"pytorch", "libtorch", "torch", "pytorch-cpu",
                                                            "pytorch-gpu"};
  return kNames.contains(name);
}

void SetTorchVersion(const recipe::Recipe& recipe, std::map<std::string, std::string>& variables) {
  if (recipe.staging || !IsTorch(recipe.name)) return;
  const auto verbatim = variables.find(kOverride);
  if (verbatim != variables.end() && !verbatim->second.empty()) {
    variables[kVersion] = verbatim->second;
    variables[kNumber] = "0";
    return;
  }
  // PyTorch takes an empty one for none.
  const auto given = variables.find(kVersion);
  if (given != variables.end() && !given->second.empty()) return;
  variables[kVersion] = recipe.version;
  variables.try_emplace(kNumber, "1");
}

std::optional<std::string> ComposeTorchVersion(const std::map<std::string, std::string>& variables) {
  const auto version = variables.find(kVersion);
  const auto number = variables.find(kNumber);
  if (version == variables.end() || number == variables.end()) return std::nullopt;
  const std::string& text = number->second;
  int value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value > 1 ? fmt::format("{}.post{}", version->second, value) : version->second;
}

bool IsVersionOfRecipe(std::string_view made, std::string_view wanted) {
  if (wanted.find('+') == std::string_view::npos) made = made.substr(0, made.find('+'));
  return versions::CompareVersions(WithoutSeparators(made), WithoutSeparators(wanted)) == 0;
}

}  // namespace ptpkg::builder
