#pragma once
// Reads and writes the WHEEL file. Layer: wheel. Source: PyPA binary distribution format, ".dist-info/WHEEL".

#include <string>
#include <string_view>
#include <vector>

#include "wheel/tag.h"

namespace ptpkg::wheel {

struct WheelFile {
  std::string generator;
  std::string build;  ///< "" = none.
  bool root_is_purelib = false;
  std::vector<Tag> tags;  ///< The Tag fields, as written.
  /// From ReadWheelFile: kInvalidInput at `name`:line for each unreadable Tag, and if there is none.
  std::vector<Error> tag_faults = {};
};

/// Takes names of fields in any case and passes over Tag lines that it cannot read: installers read the file
/// name, and what mends a wheel takes its tags. Errors: kInvalidInput at `name`:line (malformed,
/// Root-Is-Purelib missing, repeated or not true/false), kUnsupported (Wheel-Version other than 1.x).
Result<WheelFile> ReadWheelFile(std::string_view text, const std::string& name);
/// ReadWheelFile; the first of its tag_faults is an error too, and so is the name of a field in a case that
/// uv does not take.
Result<WheelFile> ParseWheelFile(std::string_view text, const std::string& name);
/// Checks that installers accept it. They read Wheel-Version alone: uv looks for that very spelling of
/// the name, pip for numbers joined by dots, installer for "1." at the beginning. Errors: kInvalidInput (no
/// header, no Wheel-Version or a wrong one), kUnsupported (other than 1.x).
Result<void> CheckWheelVersion(std::string_view text, const std::string& name);
/// Tags are written in the order given.
std::string FormatWheelFile(const WheelFile& file);

}  // namespace ptpkg::wheel
