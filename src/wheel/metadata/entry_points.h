#pragma once
// Parses entry_points.txt. Layer: wheel. Source: PyPA entry points specification.

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::wheel {

struct EntryPoint {
  std::string group;   ///< "console_scripts"
  std::string name;    ///< "torchrun"
  std::string module;  ///< "torch.distributed.run"
  std::string object;  ///< "main"; "" = the module itself.
  std::vector<std::string> extras;

  /// True for the groups that installers make scripts of.
  [[nodiscard]] bool IsScript() const { return group == "console_scripts" || group == "gui_scripts"; }
  bool operator==(const EntryPoint&) const = default;
};

/// Entry points in written order. Errors: kInvalidInput at `name`:line for a line outside a group or without
/// '=', and for an object reference that is not a dotted name. Also for a name that its group already has,
/// and for a second group of the same name, which Python's reader refuses.
Result<std::vector<EntryPoint>> ParseEntryPoints(std::string_view text, const std::string& name);
/// Groups and names sorted byte-wise; Parse gives back the sorted list.
std::string FormatEntryPoints(std::vector<EntryPoint> entry_points);

}  // namespace ptpkg::wheel
