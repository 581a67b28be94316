// A toolkit such as CUDA 12.4.1 has several versions in conda's channels:
//
//   nvidia/label/cuda-12.4.1      NVIDIA's channel for one release, with its patch version
//   cuda-toolkit 12.4.1           lists of packages
//   cuda-nvcc 12.4.131            a part, whose last field counts its own builds
//   cuda-version 12.4             what chooses the parts, and pytorch-cuda of PyTorch's channel
//   libcufft 11.2.1.3             a library, whose version does not show the toolkit
//   magma-cuda124, "* cuda124*"   builds of other packages for one toolkit
//   cuda-pathfinder 1.3           Python packages with versions of their own
//   cudatoolkit 11.8.0            all of CUDA, up to 11

#include "pipeline/environment/environment_cuda.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "support/text/text.h"
#include "versions/version_spec.h"
#include "wheel/metadata/requirement.h"

namespace ptpkg::pipeline {

namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kVersionDigits = "0123456789.";

constexpr auto kLists = std::to_array<std::string_view>(
    {"cuda", "cuda-command-line-tools", "cuda-compiler", "cuda-libraries", "cuda-libraries-dev",
     "cuda-libraries-static", "cuda-minimal-build", "cuda-runtime", "cuda-toolkit", "cuda-tools",
     "cuda-visual-tools", "cudatoolkit", "cudatoolkit-dev"});
constexpr auto kLibraries = std::to_array<std::string_view>(
    {"gds-tools", "libcublas", "libcufft", "libcufile", "libcurand", "libcusolver", "libcusparse", "libnpp",
     "libnvfatbin", "libnvjitlink", "libnvjpeg"});

template <typename List>
bool Has(const List& list, const std::string& name) {
  return std::ranges::find(list, name) != std::end(list);
}

/// True for packages whose version begins with the toolkit's.
bool IsPart(const std::string& name) {
  const bool is_python = name == "cuda-core" || name == "cuda-pathfinder";
  return (name.starts_with("cuda-") && !is_python) || name.starts_with("cuda_") || name == "pytorch-cuda";
}

bool IsLibrary(std::string name) {
  for (const std::string_view end : {"-dev", "-static"}) {
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  }
  return Has(kLibraries, name);
}

bool IsWordByte(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// True if lower-case `text` names another toolkit: "cuda126", "cuda12.6", "cuda11", "+cu126" or "-cu11".
bool IsForAnother(const std::string& cuda, std::string_view text) {
  const std::string two = MajorMinor(cuda);
  const std::string fitting[] = {"", cuda.substr(0, cuda.find('.')), two, ReplaceAll(two, ".", ""), cuda};
  for (std::size_t at = text.find("cu"); at != std::string_view::npos; at = text.find("cu", at + 2)) {
    std::string_view rest = text.substr(at + 2);
    if (rest.starts_with("da")) {
      rest.remove_prefix(2);
    } else if (at > 0 && IsWordByte(text[at - 1])) {
      continue;
    }
    std::string version(rest.substr(0, rest.find_first_not_of(kVersionDigits)));
    while (version.ends_with('.')) version.pop_back();
    if (!Has(fitting, version)) return true;
  }
  return false;
}

/// True if a package with the version of the toolkit can meet the condition.
bool Allows(const std::pair<std::string, std::string>& condition, const std::string& cuda) {
  const auto& [operation, version] = condition;
  const std::string two = MajorMinor(cuda);
  if (operation.ends_with("==") || operation == "~=") return (version + ".").starts_with(two + ".");
  const auto allowed = versions::VersionSpec::Parse(operation + version);
  return allowed && std::ranges::any_of(std::to_array({".0", ".999"}), [&](const char* patch) {
           const auto one = versions::Version::Parse(two + patch);
           return one && allowed->Matches(*one);
         });
}

/// True if a package of the Python index, "nvidia-cuda-runtime-cu12", has a version of another toolkit.
/// Versions of nvidia-cublas and other libraries don't show their toolkit.
bool HasVersionOfAnother(const std::string& cuda, std::string_view text) {
  const auto requirement = wheel::ParseRequirement(text);
  if (!requirement || requirement->specifiers.empty()) return false;
  constexpr std::string_view kVendor = "nvidia-";
  std::string name = ReplaceAll(requirement->name, "_", "-");
  const bool is_nvidia = name.starts_with(kVendor);
  if (is_nvidia) name = name.substr(kVendor.size(), name.rfind("-cu1") - kVendor.size());
  if (is_nvidia && IsLibrary("lib" + name)) return true;
  if (!IsPart(name) && !(is_nvidia && (name == "nvtx" || name == "nvml-dev"))) return false;
  return !std::ranges::all_of(requirement->specifiers, [&](const auto& one) { return Allows(one, cuda); });
}

Error RefusedCuda(const std::string& cuda, const std::string& why, std::string hint) {
  return Error(ErrorCode::kUsage, fmt::format("--cuda {}: {}", cuda, why)).WithHint(std::move(hint));
}

/// The toolkit of one input.
class Toolkit {
 public:
  Toolkit(const std::string& cuda, const AbsPath& file) : cuda_(cuda), file_(file) {}

  Result<void> Set(EnvironmentSpec& spec) {
    for (std::string& channel : spec.channels) PTPKG_CHECK(SetLabel(channel));
    for (EnvironmentPackage& package : spec.packages) {
      PTPKG_CHECK(SetLabel(package.channel));
      PTPKG_CHECK(SetPackage(package.spec));
    }
    for (const std::string& requirement : spec.pip) PTPKG_CHECK(CheckPip(cuda_, requirement));
    if (!changed_)
      return Refused(fmt::format("'{}' names no CUDA toolkit", file_.str()),
                     "add 'cuda-toolkit' to its dependencies");
    if (!HasCudaPatch(cuda_) || took_patch_) return Ok();
    return Refused(
        fmt::format("nothing in '{}' has a patch version", file_.str()),
        fmt::format("write --cuda {}, or add 'cuda-toolkit' to its dependencies", MajorMinor(cuda_)));
  }

 private:
  [[nodiscard]] Error Refused(const std::string& why, std::string hint) const {
    return RefusedCuda(cuda_, why, std::move(hint));
  }

  /// Puts the version in place of the one in a label, "nvidia/label/cuda-12.4.1".
  Result<void> SetLabel(std::string& channel) {
    constexpr std::string_view kLabel = "/label/cuda-";
    const std::size_t at = channel.find(kLabel);
    if (at == std::string::npos) return Ok();
    const std::size_t begin = at + kLabel.size();
    const std::size_t end = std::min(channel.find_first_not_of(kVersionDigits, begin), channel.size());
    const std::string before = channel.substr(begin, end - begin);
    changed_ = true;
    if (before.starts_with(cuda_ + ".")) return Ok();  // a release of the wanted version
    if (HasCudaPatch(before) && !HasCudaPatch(cuda_)) {
      return Refused(fmt::format("the channel '{}' is for a release with its patch version", channel),
                     fmt::format("write it, such as --cuda {}.0", cuda_));
    }
    took_patch_ |= HasCudaPatch(before);
    channel.replace(begin, end - begin, HasCudaPatch(before) ? cuda_ : MajorMinor(cuda_));
    return Ok();
  }

  Result<void> SetPackage(versions::MatchSpec& spec) {
    SetSuffix(spec.name);
    if (spec.name.starts_with("cudatoolkit") && !cuda_.starts_with("11.") && !cuda_.starts_with("10.") &&
        !cuda_.starts_with("9."))
      return Refused(fmt::format("'{}' ends with CUDA 11", spec.name), "write 'cuda-toolkit' in the file");
    if (Has(kLists, spec.name)) {
      spec = {.name = spec.name, .version = cuda_ + ".*"};
      took_patch_ = changed_ = true;
    } else if (IsPart(spec.name)) {
      spec = {.name = spec.name, .version = MajorMinor(cuda_) + ".*"};
      changed_ = true;
    } else if (IsLibrary(spec.name) && !spec.version.empty()) {
      return Refused(fmt::format("'{}' has the version of one toolkit", spec.str()),
                     "remove the version in the file: 'cuda-version' chooses it");
    } else if (IsForAnother(cuda_, spec.build)) {
      return Refused(fmt::format("'{}' is a build for one toolkit", spec.str()), "change it in the file");
    }
    return Ok();
  }

  /// "magma-cuda124" becomes "magma-cuda121".
  void SetSuffix(std::string& name) {
    constexpr std::string_view kMark = "-cuda";
    const std::size_t at = name.rfind(kMark);
    if (at == std::string::npos || at + kMark.size() == name.size()) return;
    const std::size_t digits = at + kMark.size();
    if (name.find_first_not_of(kDigits, digits) != std::string::npos) return;
    name.replace(digits, std::string::npos, ReplaceAll(MajorMinor(cuda_), ".", ""));
    changed_ = true;
  }

  const std::string& cuda_;
  const AbsPath& file_;
  bool changed_ = false;
  bool took_patch_ = false;
};

}  // namespace

Result<void> CheckCudaVersion(const std::string& cuda) {
  const std::vector<std::string> parts = Split(cuda, '.');
  const bool fits =
      (parts.size() == 2 || parts.size() == 3) && std::ranges::all_of(parts, [](const std::string& part) {
        return !part.empty() && part.size() < 4 && part.find_first_not_of(kDigits) == std::string::npos;
      });
  if (cuda.empty() || fits) return Ok();
  return Error(ErrorCode::kUsage, fmt::format("--cuda: '{}' is not a version of CUDA", cuda))
      .WithHint("write it like 12.4 or 12.4.1");
}

std::string MajorMinor(const std::string& cuda) { return cuda.substr(0, cuda.find('.', cuda.find('.') + 1)); }

bool HasCudaPatch(const std::string& cuda) { return std::ranges::count(cuda, '.') == 2; }

Result<void> CheckPip(const std::string& cuda, const std::string& requirement) {
  const std::string text = ReplaceAll(ToLower(requirement), "%2b", "+");
  if (IsForAnother(cuda, text))
    return RefusedCuda(cuda, fmt::format("'{}' is a build for one toolkit", requirement),
                       "change it in the file");
  if (!HasVersionOfAnother(cuda, text)) return Ok();
  return RefusedCuda(cuda, fmt::format("'{}' has the version of one toolkit", requirement),
                     "change or remove the version in the file");
}

Result<void> SetToolkit(const std::string& cuda, const AbsPath& file, EnvironmentSpec& spec) {
  return Toolkit(cuda, file).Set(spec);
}

}  // namespace ptpkg::pipeline
