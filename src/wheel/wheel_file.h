#pragma once
// The WHEEL file of a .dist-info folder. Layer: wheel.
// Source: PyPA binary distribution format, ".dist-info/WHEEL".

#include <string>
#include <string_view>
#include <vector>

#include "wheel/tag.h"

namespace ptpkg::wheel {

struct WheelFile {
  std::string generator;
  std::string build;  ///< "" = none.
  bool root_is_purelib = false;
  std::vector<Tag> tags;  ///< As written.
};

/// Errors: kInvalidInput at `name`:line (malformed, Root-Is-Purelib missing, repeated or not true/false, no
/// Tag, bad Tag), kUnsupported (Wheel-Version other than 1.x).
Result<WheelFile> ParseWheelFile(std::string_view text, const std::string& name);
/// Whether installers install it at all: they look at Wheel-Version alone, at its first line, whatever the
/// rest is. Errors: kInvalidInput (none), kUnsupported (other than 1.x).
Result<void> CheckWheelVersion(std::string_view text, const std::string& name);
/// Tags are written in the order given.
std::string FormatWheelFile(const WheelFile& file);

}  // namespace ptpkg::wheel
