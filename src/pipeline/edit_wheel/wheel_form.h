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
  /// "": what WHEEL says. "auto": the lowest manylinux or musllinux tag that the files satisfy, else linux;
  /// without ELF files "any", or what WHEEL says of an ABI, or of files for other systems.
  /// "linux": linux_<machine>. Else a platform tag, or a dot-joined set, which the files must satisfy.
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

/// True if the wheel that `node` makes may be tagged linux_<machine> because the user asked for the computed
/// platform, or for that one: external libraries are then stated by the tag, and not an error.
bool MayBeTaggedLinux(const graph::Node& node);
/// True if the wheel of this file name is for linux_<machine> and for no other platform.
bool IsForLinuxAlone(std::string_view file_name);

/// Errors: kRefused when this program has another deflater than the plan says.
Result<void> CompareDeflater(const graph::NodeRun& run);

/// Parts of a wheel.
struct WheelParts {
  convert::WheelDescription description = {};
  std::string build = {};         ///< Build tag, "" = none.
  std::string entry_points = {};  ///< Text of entry_points.txt, "" if none.
  convert::WheelTree tree = {};
};

/// Writes the wheel into the node's directory, in the form that its inputs say. A platform tag is held
/// against what the ELF files need before anything is packed; "auto" that ends at linux is warned of, with
/// the reason. Errors: kCheckFailed (a tag that the files do not satisfy, with the symbols); kInvalidInput
/// ("linux" for files that say no machine); those of verify::ComputePlatform and WriteWheel.
Result<Artifact> WriteWheelOf(Env& env, const graph::NodeRun& run, WheelParts parts);

}  // namespace ptpkg::pipeline
