#pragma once
// Checks METADATA, WHEEL and entry points of wheels. Layer: verify.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "model/finding.h"
#include "wheel/file_name.h"

namespace ptpkg::verify {

/// Inputs of a metadata check.
struct WheelView {
  const wheel::FileName& file_name;
  const std::string& dist_info_dir;           ///< "torch-2.15.0.dist-info"
  const std::set<std::string>& member_names;  ///< All files of the wheel.
};

/// METADATA: parses, agrees with the file name, is of a version that indexes accept, requirements parse,
/// licence files exist. `text`: the file's content.
void CheckWheelMetadata(const WheelView& view, const std::string& text, std::vector<Finding>& findings);

/// Place of a wheel's ELF files.
enum class Binaries : std::uint8_t {
  kNone,
  kInPlatlib,  ///< Only in "<stem>.data/platlib", where Root-Is-Purelib does not count.
  kInRoot,
};

/// WHEEL: parses, its tags and build equal the file name's, and fit `binaries`.
void CheckWheelFile(const WheelView& view, const std::string& text, Binaries binaries,
                    std::vector<Finding>& findings);

/// entry_points.txt: parses, script names are harmless, modules of scripts are in the wheel. Returns the
/// names of the scripts.
std::set<std::string> CheckWheelEntryPoints(const WheelView& view, const std::string& text,
                                            std::vector<Finding>& findings);

/// "python", "python3", "python3.11", "Python.exe": uv refuses to install over the interpreter.
bool IsInterpreterName(std::string_view name);

/// "activate", "Activate.ps1", "pip3.11": a program that an environment has without the wheel. `project` is
/// the wheel's own: pip brings pip.
bool IsEnvironmentProgram(std::string_view name, std::string_view project);

/// True if a Windows system installs wheels with this set of platform tags.
bool IsForWindows(const wheel::Tag& tag);

}  // namespace ptpkg::verify
