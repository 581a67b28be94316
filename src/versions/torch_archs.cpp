// Sources: TORCH_CUDA_ARCH_LIST of PyTorch, --generate-code in nvcc's manual.

#include "versions/torch_archs.h"

#include <fmt/core.h>
#include <vector>

#include "support/text/text.h"
#include "versions/cuda_archs.h"

namespace ptpkg::versions {
namespace {

/// "sm_90 compute_90" for "-gencode arch=compute_90,code=[sm_90,compute_90]"; other words stay.
Result<std::string> ExpandGencode(std::string_view text) {
  std::string expanded;
  const std::string plain = ReplaceAll(ReplaceAll(text, "--generate-code", "-gencode"), "-gencode=", " ");
  for (const std::string& word : Split(ReplaceAll(plain, "-gencode", " "), ' ')) {
    if (!word.starts_with("arch=")) {
      expanded += " " + word;
      continue;
    }
    const std::size_t comma = word.find(",code=");
    const std::string arch = word.substr(5, comma == std::string::npos ? comma : comma - 5);
    std::string codes = comma == std::string::npos ? "" : word.substr(comma + 6);
    if (codes.starts_with('[') && codes.ends_with(']')) codes = codes.substr(1, codes.size() - 2);
    for (const std::string& code : Split(codes, ',')) {
      if (code != arch && code != ReplaceAll(arch, "compute_", "sm_")) {
        return Error(ErrorCode::kInvalidInput,
                     fmt::format("'{}' is not machine code or PTX of one GPU architecture", word))
            .WithHint("write it like 'arch=compute_90,code=[sm_90,compute_90]'");
      }
      expanded += " " + code;
    }
  }
  return expanded;
}

}  // namespace

Result<std::string> TorchArchitectures(std::string_view text) {
  PTPKG_TRY(const std::string words, ExpandGencode(text));
  PTPKG_TRY(DeviceArchitectures list, ParseDeviceArchitectures(words));
  std::vector<std::string> names;
  for (const std::string& name : list.sass) {
    if (!name.starts_with("sm_")) {
      names.push_back(name);
      continue;
    }
    std::string number = name.substr(3);
    // In PyTorch's list, PTX is a suffix of machine code. PTX that stays in `list.ptx` has no machine code to
    // follow.
    const bool ptx = list.ptx.erase("compute_" + number) > 0;
    // The minor version is always the last digit: "90a" is 9.0a, "120" is 12.0.
    number.insert(number.find_last_of("0123456789"), ".");
    names.push_back(number + (ptx ? "+PTX" : ""));
  }
  if (!list.ptx.empty() || list.more) {
    return Error(ErrorCode::kInvalidInput, fmt::format("TORCH_CUDA_ARCH_LIST cannot express '{}' alone",
                                                       list.more ? "more" : *list.ptx.begin()))
        .WithHint("add the machine code: 9.0+PTX is both");
  }
  return Join(names, ";");
}

}  // namespace ptpkg::versions
