// The list of GPUs is closed, because a slice for a mistyped capability (9.1) would be a package that no
// machine installs. A suffix ('a', 'f') belongs to code and not to a GPU, so it is refused with the GPU to
// write instead. The GPUs of one slice are sorted: "8.6+8.0" and "8.0+8.6" are equal, with one label and one
// file name.

#include "versions/gpu_slice.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>
#include <optional>
#include <set>

#include "support/text/gfx_target.h"
#include "support/text/text.h"
#include "versions/conda_characters.h"

namespace ptpkg::versions {
namespace {

// 10.1 and 11.0 are one chip (Thor): CUDA 13 renamed it.
constexpr std::array<std::uint32_t, 25> kGpus = {30, 32, 35, 37, 50, 52, 53,  60,  61,  62,  70,  72, 75,
                                                 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121};
constexpr std::uint32_t kSmallest = 10;  // 1.0
constexpr std::uint32_t kLargest = 999;

/// nullopt: no number of two or three digits, the first not 0.
std::optional<std::uint32_t> ReadNumber(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = failure == std::errc() && end == text.data() + text.size();
  return whole && !text.starts_with('0') && number >= kSmallest && number <= kLargest ? std::optional(number)
                                                                                      : std::nullopt;
}

std::optional<std::uint32_t> NumberOfGpu(std::string_view text) {
  for (const std::string_view prefix : {"sm_", "sm"}) {
    if (text.starts_with(prefix)) return ReadNumber(text.substr(prefix.size()));
  }
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return ReadNumber(text);
  if (dot + 2 != text.size()) return std::nullopt;
  return ReadNumber(std::string(text.substr(0, dot)) + text.back());
}

std::string KnownText() {
  std::vector<std::string> names;
  for (const std::uint32_t gpu : kGpus) names.push_back(CapabilityOf(gpu));
  return Join(names, ", ");
}

Result<std::uint32_t> ParseGpu(const std::string& word) {
  if (NormalGfxTarget(word)) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is an AMD GPU: ptpkg does not slice AMD code", word))
        .WithHint("build one package per architecture, with a variant key that lists them");
  }
  const bool suffixed = !word.empty() && (word.back() == 'a' || word.back() == 'f');
  if (suffixed) {
    const std::string plain = word.substr(0, word.size() - 1);
    if (const auto gpu = NumberOfGpu(plain)) {
      return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is a code architecture, not a GPU", word))
          .WithHint(fmt::format("write {}: slices for it keep code for sm_{}{}", CapabilityOf(*gpu), *gpu,
                                word.back()));
    }
  }
  const auto gpu = NumberOfGpu(word);
  if (!gpu) {
    return Error(ErrorCode::kInvalidInput, fmt::format("unknown GPU '{}'", word))
        .WithHint("write its compute capability, as 9.0; several for one slice as 8.0+8.6");
  }
  if (std::find(kGpus.begin(), kGpus.end(), *gpu) == kGpus.end()) {
    return Error(ErrorCode::kInvalidInput, fmt::format("unknown compute capability {}", CapabilityOf(*gpu)))
        .WithHint("known are " + KnownText());
  }
  return *gpu;
}

bool IsLabelWord(std::string_view word) {
  return word.starts_with("sm") && ReadNumber(word.substr(2)).has_value();
}

}  // namespace

std::span<const std::uint32_t> KnownGpus() { return kGpus; }

std::string CapabilityOf(std::uint32_t gpu) { return fmt::format("{}.{}", gpu / 10, gpu % 10); }

std::string GpuSlice::Label() const {
  std::vector<std::string> words;
  for (const std::uint32_t gpu : gpus) words.push_back(fmt::format("sm{}", gpu));
  return Join(words, ".");
}

std::string GpuSlice::str() const {
  std::vector<std::string> words;
  for (const std::uint32_t gpu : gpus) words.push_back(CapabilityOf(gpu));
  return Join(words, "+");
}

Result<GpuSlice> ParseGpuSlice(std::string_view text) {
  GpuSlice slice;
  for (const std::string& word : Split(text, '+')) {
    PTPKG_TRY(const std::uint32_t gpu, ParseGpu(word));
    if (std::find(slice.gpus.begin(), slice.gpus.end(), gpu) != slice.gpus.end()) {
      return Error(ErrorCode::kInvalidInput, fmt::format("'{}' lists {} twice", text, CapabilityOf(gpu)));
    }
    slice.gpus.push_back(gpu);
  }
  std::sort(slice.gpus.begin(), slice.gpus.end());
  return slice;
}

Result<std::vector<GpuSlice>> ParseGpuSlices(const std::vector<std::string>& texts) {
  std::vector<GpuSlice> slices;
  std::set<GpuSlice> seen;
  for (const std::string& text : texts) {
    PTPKG_TRY(GpuSlice slice, ParseGpuSlice(text));
    if (!seen.insert(slice).second) {
      return Error(ErrorCode::kInvalidInput, fmt::format("the slice for {} is given twice", slice.str()));
    }
    slices.push_back(std::move(slice));
  }
  return slices;
}

Result<std::string> ParseCudaVersion(std::string_view text) {
  const auto is_number = [](std::string_view part) {
    return !part.empty() && part.size() <= 3 && std::all_of(part.begin(), part.end(), IsDigit);
  };
  const std::size_t dot = text.find('.');
  if (dot != std::string_view::npos && is_number(text.substr(0, dot)) && is_number(text.substr(dot + 1)))
    return std::string(text);
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a CUDA version", text))
      .WithHint("write it as 13.0");
}

std::string WithoutLabel(std::string_view text, char separator) {
  std::vector<std::string> words = Split(text, separator);
  // A label has one word for each GPU.
  while (!words.empty() && IsLabelWord(words.back())) words.pop_back();
  return Join(words, std::string(1, separator));
}

}  // namespace ptpkg::versions
