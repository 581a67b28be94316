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
/// - 9.0, 9.0a, 10.0f: machine code; with "+PTX" also PTX (TORCH_CUDA_ARCH_LIST)
/// - 90-real, 90-virtual, 90: machine code, PTX, both (CMAKE_CUDA_ARCHITECTURES)
/// - sm_90, compute_90: machine code, PTX
/// - gfx90a:xnack-, gfx9-generic: machine code for AMD's GPUs
/// - amdgcnspirv: SPIR-V, which counts as PTX
/// - more: besides these, whatever else the project compiles is fine
///
/// Errors: kInvalidInput for any other word, and when the text has no architecture. Words that depend on the
/// machine ("native") or on the compiler ("all") are errors too, since a request for them cannot be compared
/// with anything.
Result<DeviceArchitectures> ParseDeviceArchitectures(std::string_view text);

/// GPU architectures requested for the files of a package.
class DeviceCodeRequest {
 public:
  /// Each text is a list for all files, or "GLOB=list" for the files that the glob matches. Several lists for
  /// all files are joined. The list "any" requests nothing for its files. Errors: kInvalidInput as above, for
  /// a text without a glob before '=', and for "any" together with another list for all files.
  static Result<DeviceCodeRequest> Parse(const std::vector<std::string>& texts);

  /// True if anything is requested for any file.
  [[nodiscard]] bool RequestsCode() const;

  /// The requested machine code, over all files.
  [[nodiscard]] ArchitectureNames Sass() const;

  /// Architectures requested for `file`, a path in the package: by the first glob that matches it from the
  /// beginning of a name on, else by the list for all files. Null: nothing.
  [[nodiscard]] const DeviceArchitectures* Of(std::string_view file) const;

  /// The globs that request something but decide about none of `files`. A missing library, or one without its
  /// GPU code, must not pass because of another one.
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
