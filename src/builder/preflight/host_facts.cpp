// Facts that preflight rules read about the machine. They are collected before every build, so each must be
// cheap: nvidia-smi runs only where /proc shows NVIDIA's driver, and has two seconds. An unreadable fact
// stays unknown and is not an error, because a machine without a GPU or with a restricted /proc can still
// build.

#include "builder/preflight/host_facts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "support/process/machine.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

using recipe::Value;

std::string Variable(const Env& env, const std::string& name) {
  const auto found = env.variables.find(name);
  return found == env.variables.end() ? "" : found->second;
}

/// Free space of the file system of `folder`, existing or not; nothing if it is unknown.
Value FreeDisk(Fs& fs, AbsPath folder) {
  // The cache directory may not exist yet: the nearest existing parent is on its file system.
  while (true) {
    if (const auto bytes = fs.FreeBytes(folder)) return InGiB(*bytes);
    const AbsPath parent = folder.Parent();
    if (parent == folder) return Value();
    folder = parent;
  }
}

void AddMemory(Fs& fs, Facts& facts) {
  const MachineLimits limits = ReadMachineLimits(fs);
  facts["cores"] = Value(std::int64_t{CoresOf(limits)});
  facts["memory_gib"] = Value();
  std::optional<std::uint64_t> free = limits.free_bytes;
  const bool of_group = limits.group_free_bytes && (!free || *limits.group_free_bytes < *free);
  if (of_group) free = limits.group_free_bytes;
  if (free) facts["memory_gib"] = InGiB(*free);
  facts["memory_of_group"] = Value(of_group);
}

bool IsShadowing(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kLibraries = {
      "libcudnn",     "libcublas",   "libnccl.so",   "libcusparse",
      "libcudart.so", "libcufft.so", "libstdc++.so", "libgomp.so"};
  return std::any_of(kLibraries.begin(), kLibraries.end(), [&](std::string_view library) {
    return name.starts_with(library) && name.find(".so") != std::string_view::npos;
  });
}

/// One library of each directory is enough to say what is wrong with it.
void AddSearchPath(Env& env, Facts& facts) {
  Value::List shadowing;
  facts["compatibility_driver"] = Value();
  facts["stub_library"] = Value();
  for (const std::string& text : Split(Variable(env, "LD_LIBRARY_PATH"), ':')) {
    const auto folder = AbsPath::Parse(text);
    if (!folder) continue;
    const auto names = env.fs.ListDir(*folder);
    if (!names) continue;
    const auto found = std::find_if(names->begin(), names->end(), IsShadowing);
    if (found != names->end()) shadowing.emplace_back((*folder / *found).str());
    // NVIDIA's compatibility package brings a libcuda of its own, in a directory of that name.
    const bool has_driver = std::find(names->begin(), names->end(), "libcuda.so.1") != names->end();
    if (has_driver && folder->str().find("compat") != std::string::npos)
      facts["compatibility_driver"] = Value((*folder / "libcuda.so.1").str());
    const auto stub = std::find_if(names->begin(), names->end(),
                                   [](const std::string& name) { return name.starts_with("libcuda.so"); });
    if (folder->Name() == "stubs" && stub != names->end())
      facts["stub_library"] = Value((*folder / *stub).str());
  }
  facts["shadowing_libraries"] = Value(std::move(shadowing));
}

/// "580.65.06" of "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul …".
Value Driver(Fs& fs) {
  constexpr std::uint64_t kMostBytes = 4096;
  const auto text = ReadFile(fs, AbsPath::Literal("/proc/driver/nvidia/version"), kMostBytes);
  if (!text) return Value();
  for (const std::string& word : Split(*text, ' ')) {
    const bool number =
        word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos;
    if (number) return Value(word);
  }
  return Value();
}

/// GPUs listed by nvidia-smi, which takes a second where nobody has opened the device before.
Result<Value> Gpus(Env& env) {
  const auto program = FindProgram("nvidia-smi", Variable(env, "PATH") + ":/usr/bin");
  if (!program) return Value(Value::List());
  Command command;
  command.argv = {program->str(), "--query-gpu=compute_cap", "--format=csv,noheader"};
  command.env = {{"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C"}};
  command.timeout = std::chrono::milliseconds(2000);
  command.cancel = &env.cancel;
  const auto status = env.process.Run(command);
  if (!status && status.error().code() == ErrorCode::kCancelled) return status.error();
  Value::List gpus;
  if (status && status->ok()) {
    for (const std::string& line : SplitLines(status->output)) {
      const std::string text(Trim(line));
      const bool number = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
      if (number && std::find(gpus.begin(), gpus.end(), Value(text)) == gpus.end()) gpus.emplace_back(text);
    }
  }
  return Value(std::move(gpus));
}

}  // namespace

recipe::Value InGiB(std::uint64_t bytes) {
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  return Value(std::round(static_cast<double>(bytes) / kGiB * 10) / 10);
}

Result<Facts> ReadMachineFacts(Env& env) {
  Facts facts;
  AddMemory(env.fs, facts);
  facts["cache"] = Value(env.cache_dir.str());
  facts["free_disk_gib"] = FreeDisk(env.fs, env.cache_dir);
  Value::List names;
  for (const auto& variable : env.variables) names.emplace_back(variable.first);
  facts["caller_variables"] = Value(std::move(names));
  AddSearchPath(env, facts);
  facts["driver"] = Driver(env.fs);
  facts["gpus"] = Value(Value::List());
  if (!facts.at("driver").IsNone()) {
    PTPKG_TRY(facts["gpus"], Gpus(env));
  }
  return facts;
}

}  // namespace ptpkg::builder
