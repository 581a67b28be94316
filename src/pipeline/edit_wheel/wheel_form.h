#pragma once
// Compression and platform tag of new wheels. Layer: pipeline.

#include <string>
#include <string_view>

#include "archive/codec/compression.h"
#include "convert/package_metadata.h"
#include "convert/tree/wheel_tree.h"
#include "graph/stage.h"
#include "model/artifact.h"

namespace ptpkg::pipeline {

struct WheelForm {
  archive::Compression compression = archive::Compression::kDefault;
  /// "": the platform in WHEEL. "auto": the lowest manylinux or musllinux tag that the files satisfy, else
  /// linux. Without ELF files, "auto" is "any", or the platform in WHEEL for a wheel with an ABI tag or files
  /// for other systems. "linux": linux_<machine>. Else a platform tag, or a dot-joined set, which the files
  /// must satisfy.
  std::string platform = {};
};

/// --platform: "", "auto", "linux", or the tags in their normal order. Errors: kUsage for no platform tag.
Result<std::string> ParsePlatform(const std::string& platform);

/// The two of --compression and --platform. Errors: kUsage.
Result<WheelForm> ParseWheelForm(const std::string& compression, const std::string& platform);

/// Sets the inputs "compression", "platform" and "deflater" of a node that writes wheels.
void SetWheelForm(const WheelForm& form, graph::Node& node);
/// Sets the input "deflater" of a node that writes a zip: its version decides bytes.
void SetDeflater(graph::Node& node);

/// True if the wheel from `node` can be tagged linux_<machine>, because the user requested that platform or
/// the computed one. The tag then states external libraries, which are not an error.
bool MayBeTaggedLinux(const graph::Node& node);
/// True if the wheel of this file name is for linux_<machine> and for no other platform.
bool IsForLinuxAlone(std::string_view file_name);

/// Errors: kRefused when this program's deflater differs from the plan's.
Result<void> CompareDeflater(const graph::NodeRun& run);

/// Parts of a wheel.
struct WheelParts {
  convert::WheelDescription description = {};
  std::string build = {};         ///< Build tag, "" = none.
  std::string entry_points = {};  ///< Text of entry_points.txt, "" if none.
  convert::WheelTree tree = {};
};

/// Writes the wheel into the node's directory, in the form that its inputs set. A platform tag is compared
/// with the requirements of the ELF files before packing. If "auto" results in linux, a warning has the
/// reason. Errors: any from verify::ComputePlatform and WriteWheel, kCheckFailed (a tag that the files do not
/// satisfy, with the symbols), kInvalidInput ("linux" for files without a machine).
Result<Artifact> WriteWheelOf(Env& env, const graph::NodeRun& run, WheelParts parts);

}  // namespace ptpkg::pipeline
