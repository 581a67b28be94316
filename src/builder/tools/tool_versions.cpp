// Versions for detected() in a build string: the CUDA toolkit, cuDNN and NCCL. They come from the provider of
// the build's tools: names of pinned wheels, packages of the client's dry run, or nvcc and macros of headers
// on the machine. With wheels and machine together, wheels win, because the build uses them.
//
// Versions have at most three fields, like the macros of the headers. A header that lacks a macro gives no
// version, and detected() then reports an error.

#include "builder/tools/tool_versions.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "builder/tools/conda_client.h"
#include "support/assert.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

using Versions = std::map<std::string, std::string>;

struct VersionHeader {
  std::string_view name;
  std::string_view header;
  std::array<std::string_view, 3> macros;
};

constexpr std::array<VersionHeader, 2> kLibraries = {{
    {"cudnn", "cudnn_version.h", {"CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL"}},
    {"nccl", "nccl.h", {"NCCL_MAJOR", "NCCL_MINOR", "NCCL_PATCH"}},
}};

/// Tool of an index or channel package: "nvidia-cudnn-cu13" and "libcudnn" are "cudnn".
std::string_view NameOfPackage(std::string_view package) {
  for (const std::string_view compiler : {"nvidia-cuda-nvcc", "cuda-nvcc", "cuda-nvcc-impl"}) {
    if (package == compiler) return "cuda_toolkit";
  }
  if (package.starts_with("nvidia-cudnn-cu") || package == "cudnn" || package == "libcudnn") return "cudnn";
  if (package.starts_with("nvidia-nccl-cu") || package == "nccl") return "nccl";
  return "";
}

void AddVersion(const std::string& package, const std::string& version, Versions& found) {
  const std::string_view name = NameOfPackage(package);
  if (name.empty()) return;
  std::vector<std::string> fields = Split(version, '.');
  fields.resize(std::min<std::size_t>(fields.size(), 3));
  found.emplace(name, Join(fields, "."));
}

/// "9" of "#define CUDNN_MAJOR 9"; "" for a macro that is not there, or no number.
std::string Macro(const std::string& text, std::string_view name) {
  for (const std::string& line : SplitLines(text)) {
    std::string_view rest = Trim(line);
    if (!rest.starts_with("#define ")) continue;
    rest = Trim(rest.substr(std::string_view("#define ").size()));
    if (!rest.starts_with(name)) continue;
    rest.remove_prefix(name.size());
    if (rest.empty() || (rest.front() != ' ' && rest.front() != '\t')) continue;
    rest = Trim(rest);
    const std::string_view number = rest.substr(0, rest.find_first_not_of("0123456789"));
    return std::string(number);
  }
  return "";
}

std::string VersionOf(const VersionHeader& library, const std::string& text) {
  std::vector<std::string> fields;
  for (const std::string_view macro : library.macros) {
    fields.push_back(Macro(text, macro));
    if (fields.back().empty()) return "";
  }
  return Join(fields, ".");
}

Result<Versions> OfSystem(Env& env, const ToolSet& tools) {
  Versions found;
  for (const Tool& tool : tools.tools) {
    if (tool.path.Name() != "nvcc") continue;
    PTPKG_TRY(const std::string version, ProgramVersion(env, tool.path));
    if (!version.empty()) found.emplace("cuda_toolkit", version);
  }
  for (const VersionHeader& library : kLibraries) {
    for (const AbsPath& header : tools.headers) {
      if (header.Name() != library.header) continue;
      PTPKG_TRY(const std::string text, ReadFile(env.fs, header));
      const std::string version = VersionOf(library, text);
      if (!version.empty()) found.emplace(library.name, version);
    }
  }
  return found;
}

Result<Versions> OfClient(Env& env, const HostPlan& plan) {
  Versions found;
  PTPKG_ASSERT(plan.client.has_value());
  for (const auto* specs : {&plan.build, &plan.host}) {
    PTPKG_TRY(const auto packages, SolvedPackages(env, *plan.client, *specs));
    if (!packages) continue;
    for (const std::string& package : *packages) {
      const std::vector<std::string> fields = Split(package, ' ');  // name, version, …
      if (fields.size() > 1) AddVersion(fields[0], fields[1], found);
    }
  }
  return found;
}

}  // namespace

Result<Versions> DetectVersions(Env& env, const HostPlan& plan) {
  if (plan.host_env == HostEnv::kConda) return OfClient(env, plan);
  Versions found;
  if (plan.wheels) {
    for (const WheelPin& pin : plan.wheels->wheels.pins) AddVersion(pin.name, pin.version, found);
  }
  PTPKG_TRY(const Versions of_system, OfSystem(env, plan.tools));
  found.insert(of_system.begin(), of_system.end());
  return found;
}

}  // namespace ptpkg::builder
