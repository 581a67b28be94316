#pragma once
// Parses lists of GPU architectures. Layer: versions. Sources: TORCH_CUDA_ARCH_LIST of PyTorch,
// CMAKE_CUDA_ARCHITECTURES of CMake, nvcc's own names; docs/recipe-reference.md.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::versions {

/// "sm_90" before "sm_100".
struct ArchitectureOrder {
  bool operator()(const std::string& left, const std::string& right) const;
};
using ArchitectureNames = std::set<std::string, ArchitectureOrder>;

/// Architectures under nvcc's and AMD's names: machine code apart from code that the driver compiles.
struct DeviceArchitectures {
  ArchitectureNames sass;  ///< "sm_90a", "gfx90a:xnack-"
  ArchitectureNames ptx;   ///< "compute_90", "amdgcnspirv"
  bool more = false;       ///< In a requested list: others may be there, too.

  bool operator==(const DeviceArchitectures&) const = default;
};

/// One text of a list: architectures separated by ';', ',' or blanks.
///
///     9.0, 9.0a, 10.0f     machine code; with +PTX behind it PTX too (TORCH_CUDA_ARCH_LIST)
///     90-real, 90-virtual  machine code, PTX; 90 alone both (CMAKE_CUDA_ARCHITECTURES)
///     sm_90, compute_90    machine code, PTX
///     gfx90a:xnack-        machine code for AMD's GPUs; gfx9-generic too; amdgcnspirv: SPIR-V, with the PTX
///     more                 beside these: whatever else the project compiles is fine
///
/// Errors: kInvalidInput for any other word, and when the text has no architecture; a list that depends on
/// the machine ("native") or on the compiler ("all") asks for nothing that could be compared.
Result<DeviceArchitectures> ParseDeviceArchitectures(std::string_view text);

/// GPU architectures requested for the files of a package.
class DeviceCodeRequest {
 public:
  /// Each text is a list for all files, or "GLOB=list" for those that the glob matches; several lists for
  /// all files are one. "any" for a list asks nothing of its files. Errors: kInvalidInput as above; for a
  /// text without a glob before '='; for "any" beside another list for all files.
  static Result<DeviceCodeRequest> Parse(const std::vector<std::string>& texts);

  /// True if anything is requested for any file.
  [[nodiscard]] bool RequestsCode() const;

  /// The machine code that is asked for, of whichever files.
  [[nodiscard]] ArchitectureNames Sass() const;

  /// Architectures requested for `file`, a path in the package: by the first glob that matches it from the
  /// beginning of a name on, else by the list for all files. Null: nothing.
  [[nodiscard]] const DeviceArchitectures* Of(std::string_view file) const;

  /// The globs that ask for something, and decide about none of `files`: a library that is missing, or lost
  /// its GPU code, must not pass because of another one.
  [[nodiscard]] std::vector<std::string> UnmatchedGlobs(const std::vector<std::string>& files) const;

 private:
  struct Rule {
    std::string glob;
    std::optional<DeviceArchitectures> asked;
  };
  [[nodiscard]] const Rule* RuleOf(std::string_view file) const;

  std::vector<Rule> rules_;
  std::optional<DeviceArchitectures> others_;
};

}  // namespace ptpkg::versions
