// The platform tag of a new wheel: given, computed from its files, or kept.
//
// `auto` computes the lowest manylinux or musllinux tag that the ELF files satisfy. If no file belongs to a
// Linux machine, the wheel gets `any`, unless its ABI or a file belongs to some other system: then the
// platform of WHEEL stays. A given tag is compared with the files.
//
// The DEFLATE implementation is an input of the node. Another implementation gives other bytes for the same
// files, so a plan runs only with the one that it was made with (CompareDeflater).

#include "pipeline/edit_wheel/wheel_form.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <set>

#include "support/text/text.h"
#include "verify/check_artifact.h"
#include "verify/file_kind.h"
#include "verify/wheel/computed_platform.h"
#include "wheel/file_name.h"
#include "wheel/wheel.h"

namespace ptpkg::pipeline {

namespace {

constexpr std::string_view kAuto = "auto";
constexpr std::string_view kLinux = "linux";

/// The first file of machine code for whatever system, by its name or its first bytes; "" when none is there.
Result<std::string> FirstBinary(Env& env, const StagedTree& tree) {
  constexpr std::array<std::string_view, 4> kEndings = {".dll", ".dylib", ".pyd", ".so"};
  for (const TreeEntry& entry : tree.entries) {
    const std::string& path = entry.path.str();
    if (std::any_of(kEndings.begin(), kEndings.end(), [&](auto ending) { return path.ends_with(ending); }))
      return path;
    PTPKG_TRY(const FileStat stat, env.fs.Stat(tree.root / entry.path));
    if (stat.kind != FileKind::kRegular) continue;
    PTPKG_TRY(const auto code, verify::MachineCodeOf(env.fs, tree.root / entry.path));
    if (code) return path;
  }
  return std::string();
}

/// The platform of files that belong to no Linux machine: "any", unless the ABI or a file belongs to another
/// system, such as Windows. Then only WHEEL has it.
Result<std::string> AnyOrOriginalPlatform(Env& env, const graph::NodeRun& run, const WheelParts& parts) {
  const wheel::Tag& tag = parts.description.tag;
  PTPKG_TRY(const std::string binary, FirstBinary(env, parts.tree.payload));
  if (binary.empty() && tag.abi == "none") return std::string("any");
  env.reporter.Note(fmt::format(
      "'{}' keeps the platform '{}' of WHEEL: {}", run.subject(), tag.platform,
      binary.empty() ? fmt::format("it is for the ABI '{}', and no file determines a platform", tag.abi)
                     : fmt::format("'{}' is not a readable ELF file", binary)));
  return tag.platform;
}

Result<std::string> LinuxOrManylinux(Env& env, const graph::NodeRun& run,
                                     const verify::ComputedPlatform& computed, const std::string& wanted) {
  const std::string machine(verify::MachineOfTag(computed.tag));
  if (computed.tag.empty()) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("cannot compute a platform tag for '{}': it has no ELF files", run.subject()))
        .WithHint("remove --platform, or give the tag");
  }
  if (wanted == kLinux) return "linux_" + machine;
  if (computed.tag.starts_with(kLinux)) {
    env.reporter.Warn(
        fmt::format("'{}' gets the tag '{}', which public indexes reject: {}; bundle missing libraries with "
                    "'ptpkg repair'",
                    run.subject(), computed.tag, Join(computed.reasons, "; ")));
  }
  return computed.tag;
}

/// Gives `parts` the platform that `wanted` asks for.
Result<void> SetPlatform(Env& env, const graph::NodeRun& run, const std::string& wanted, WheelParts& parts) {
  Task task(env.reporter, {.stage = "platform", .subject = run.subject()});
  const std::vector<std::string> dependencies = wheel::RequiredProjects(parts.description.metadata);
  PTPKG_TRY(const verify::Examination examined, verify::ExamineTree(env, parts.tree.payload.root, {}),
            "while computing the platform of the files");
  wheel::Tag& tag = parts.description.tag;
  if (wanted == kAuto || wanted == kLinux) {
    PTPKG_TRY(const verify::ComputedPlatform computed, verify::ComputePlatform(examined.files, dependencies));
    PTPKG_TRY(tag.platform, computed.tag.empty() && wanted == kAuto
                                ? AnyOrOriginalPlatform(env, run, parts)
                                : LinuxOrManylinux(env, run, computed, wanted));
  } else {
    std::set<verify::MachineCode> code;
    // Files for Windows or macOS are not ELF, so their machine code is read by its first bytes.
    if (verify::IsForOtherSystems(wanted)) {
      PTPKG_TRY(code, verify::MachineCodeIn(env, parts.tree.payload));
    }
    PTPKG_CHECK(verify::CheckPlatformFits(examined.files, wanted, code));
    tag.platform = wanted;
  }
  if (tag.platform != "any") parts.description.root_is_purelib = false;  // binaries go to platlib
  task.Done(tag.platform);
  return Ok();
}

}  // namespace

Result<std::string> ParsePlatform(const std::string& platform) {
  if (platform.empty() || platform == kAuto || platform == kLinux) return platform;
  const auto tag = wheel::ParseTag("py3-none-" + platform);
  const std::vector<std::string> plain = Split(platform, '.');
  const bool fit = std::all_of(plain.begin(), plain.end(), [](const std::string& one) {
    const bool linux = one.find(kLinux) != std::string::npos;
    return one != kAuto && (!linux || !verify::MachineOfTag(one).empty());
  });
  if (!tag || !fit) {
    return Error(ErrorCode::kUsage, fmt::format("--platform '{}' is not a platform tag", platform))
        .WithHint("use auto, linux, or a tag with an architecture, such as manylinux_2_28_x86_64");
  }
  return wheel::SortTag(*tag).platform;
}

Result<WheelForm> ParseWheelForm(const std::string& compression, const std::string& platform) {
  WheelForm form;
  PTPKG_TRY(form.compression, archive::ParseCompression(compression));
  PTPKG_TRY(form.platform, ParsePlatform(platform));
  return form;
}

void SetDeflater(graph::Node& node) { node.inputs["deflater"] = archive::Deflater(); }

void SetWheelForm(const WheelForm& form, graph::Node& node) {
  node.inputs["compression"] = archive::CompressionName(form.compression);
  node.inputs["platform"] = form.platform;
  SetDeflater(node);
}

bool MayBeTaggedLinux(const graph::Node& node) {
  const auto platform = node.inputs.find("platform");
  if (platform == node.inputs.end() || !platform->is_string()) return false;
  const auto wanted = platform->get<std::string>();
  return wanted == kAuto || wanted == kLinux;
}

bool IsForLinuxAlone(std::string_view file_name) {
  const auto name = wheel::FileName::Parse(file_name);
  if (!name) return false;
  const std::vector<std::string> platforms = Split(name->tag.platform, '.');
  return std::all_of(platforms.begin(), platforms.end(),
                     [](const std::string& platform) { return platform.starts_with("linux_"); });
}

Result<void> CompareDeflater(const graph::NodeRun& run) {
  PTPKG_TRY(const std::string planned, run.Text("deflater"));
  if (planned == archive::Deflater()) return Ok();
  return Error(ErrorCode::kRefused, fmt::format("the plan packs '{}' with {}, but this ptpkg has {}",
                                                run.subject(), planned, archive::Deflater()))
      .WithHint("make the plan again with this version of ptpkg");
}

Result<Artifact> WriteWheelOf(Env& env, const graph::NodeRun& run, WheelParts parts) {
  PTPKG_CHECK(CompareDeflater(run));
  PTPKG_TRY(const std::string compression, run.Text("compression"));
  PTPKG_TRY(const std::string platform, run.Text("platform"));
  PTPKG_TRY(const WheelForm form, ParseWheelForm(compression, platform));
  if (!form.platform.empty()) PTPKG_CHECK(SetPlatform(env, run, form.platform, parts));
  return wheel::WriteWheel(env,
                           {.metadata = parts.description.metadata,
                            .metadata_text = parts.description.metadata_text,
                            .tag = parts.description.tag,
                            .root_is_purelib = parts.description.root_is_purelib,
                            .entry_points = parts.entry_points,
                            .tree = parts.tree.payload,
                            .dist_info = parts.tree.dist_info,
                            .build = parts.build},
                           run.folder(), {.deflate_level = archive::DeflateLevel(form.compression)});
}

}  // namespace ptpkg::pipeline
