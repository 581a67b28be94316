// NVIDIA's licences forbid changes of its libraries, so `slice` must recognise them, in any artifact. Two
// independent signs serve: names of libraries, which also appear in packages of others, and the licence of
// the artifact as a whole.
//
// A licence text is recognised by its beginning, with white space folded. Files of third parties and notices
// don't count, and an artifact counts as NVIDIA's only if all of its own licences are.

#include "pipeline/edit_wheel/vendor_code.h"

#include <algorithm>
#include <array>
#include <string>

#include "support/text/text.h"

namespace ptpkg::pipeline {
namespace {

// Libraries of CUDA toolkits 11 to 13, cuDNN, NCCL, NVSHMEM, TensorRT, cuQuantum and the nvidia-* wheels, in
// lower case.
constexpr std::array<std::string_view, 41> kLibraries = {
    "libcublas",         "libcublaslt",  "libcublasmp", "libcuda.",      "libcudadevrt",
    "libcudart",         "libcudla",     "libcudnn",    "libcudss",      "libcufft",
    "libcufile",         "libcuinj64",   "libculibos",  "libcuobj",      "libcupti",
    "libcurand",         "libcusolver",  "libcusparse", "libcutensor",   "libnccl",
    "libnppc",           "libnppi",      "libnpps",     "libnvblas",     "libnvfatbin",
    "libnvinfer",        "libnvjitlink", "libnvjpeg",   "libnvonnx",     "libnvperf",
    "libnvptxcompiler",  "libnvrtc",     "libnvshmem",  "libnvtoolsext", "libnvvm",
    "libpcsamplingutil", "libnvcomp",    "libnvtiff",   "libnvimgcodec", "libcustatevec",
    "libcudensitymat"};

constexpr std::array<std::string_view, 6> kAgreements = {
    "end user license agreement",        "license agreement for nvidia software",
    "nvidia software license agreement", "software license agreement",
    "nvidia software development kits",  "legal agreement between you"};
constexpr std::size_t kTitleBytes = 4096;

/// Lower case, one blank for each run of white space.
std::string Plain(std::string_view text) {
  std::string plain;
  for (const char c : ToLower(text)) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank) plain += c;
    if (blank && !plain.empty() && plain.back() != ' ') plain += ' ';
  }
  return plain;
}

}  // namespace

bool IsVendorLibrary(std::string_view file_name) {
  const std::string name = ToLower(file_name);
  return std::any_of(kLibraries.begin(), kLibraries.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool IsOwnLicence(std::string_view path) {
  constexpr std::string_view kFolder = "licenses/";
  if (path.starts_with(kFolder)) path.remove_prefix(kFolder.size());
  if (path.find('/') != std::string_view::npos) return false;
  const std::string name = ToLower(path);
  // Third-party licences: "LICENSE-3rd-party.txt".
  for (const char* word : {"third", "3rd", "notice"}) {
    if (name.find(word) != std::string::npos) return false;
  }
  const auto begins = [&](std::string_view word) { return name.starts_with(word); };
  return begins("license") || begins("licence") || begins("copying") || begins("eula") || begins("nvidia");
}

bool IsVendorLicence(std::string_view text) {
  const std::string beginning = Plain(text.substr(0, kTitleBytes));
  if (beginning.find("nvidia") == std::string::npos) return false;
  return std::any_of(kAgreements.begin(), kAgreements.end(),
                     [&](std::string_view words) { return beginning.find(words) != std::string::npos; });
}

bool IsVendorLicenceName(std::string_view name) {
  const std::string plain = Plain(name);
  if (plain.find(" and ") != std::string::npos || plain.find(" or ") != std::string::npos) return false;
  return plain.starts_with("licenseref-nvidia") || plain.starts_with("nvidia proprietary");
}

std::string VendorLicenceOf(const std::vector<std::pair<std::string, std::string>>& licences) {
  const bool all = std::all_of(licences.begin(), licences.end(),
                               [](const auto& licence) { return IsVendorLicence(licence.second); });
  return all && !licences.empty() ? licences.front().first : "";
}

}  // namespace ptpkg::pipeline
