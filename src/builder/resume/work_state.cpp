// The state is the only thing that a later run knows about a work directory, so reading it is strict. A state
// of another version of ptpkg is kUnsupported, since that version may have prepared the directory in another
// way. A damaged state is kCorrupt, and differs from a missing one: without a state, nothing in the directory
// was complete.

#include "builder/resume/work_state.h"

#include <array>
#include <chrono>
#include <fmt/core.h>
#include <utility>

#include "support/text/json.h"
#include "support/text/text.h"

#ifndef PTPKG_VERSION
#error "the build passes PTPKG_VERSION, the version of the project"
#endif

namespace ptpkg::builder {

namespace {

// Raised when a directory is to be read in another way.
constexpr int kFormat = 2;
constexpr std::array<std::pair<WorkPhase, std::string_view>, 4> kPhases = {
    {{WorkPhase::kStarted, "started"},
     {WorkPhase::kPrepared, "sources prepared"},
     {WorkPhase::kScript, "script"},
     {WorkPhase::kInstalled, "installed"}}};

Error DamagedState(const AbsPath& file, std::string_view what) {
  return {ErrorCode::kCorrupt, fmt::format("'{}' is damaged: {}", file.str(), what)};
}

Result<WorkState> Decode(const Json& json, const AbsPath& file) {
  WorkState state;
  PTPKG_TRY(const std::string phase, JsonString(json, "phase", file.str()));
  bool known = false;
  for (const auto& [value, name] : kPhases) {
    if (name != phase) continue;
    state.phase = value;
    known = true;
  }
  if (!known) return DamagedState(file, fmt::format("the phase '{}' is unknown", phase));
  PTPKG_TRY(state.key, JsonString(json, "key", file.str()));
  PTPKG_TRY(state.subject, JsonString(json, "subject", file.str()));
  PTPKG_TRY(state.recipe, JsonString(json, "recipe", file.str()));
  PTPKG_TRY(state.place, JsonString(json, "place", file.str()));
  PTPKG_TRY(state.boot_id, JsonString(json, "boot_id", file.str()));
  PTPKG_TRY(state.inputs, JsonString(json, "inputs", file.str()));
  PTPKG_TRY(state.prepared_ns, JsonInteger(json, "prepared_ns", file.str()));
  return state;
}

}  // namespace

Result<WorkState> ReadWorkState(Fs& fs, const AbsPath& work) {
  const AbsPath file = work / "state.json";
  PTPKG_TRY(const std::string text, ReadFile(fs, file));
  const auto json = ParseJson(text, file.str());
  if (!json) return DamagedState(file, json.error().message());
  const auto format = JsonInteger(*json, "format", file.str());
  const auto version = JsonString(*json, "ptpkg", file.str());
  if (!format || !version) return DamagedState(file, "it does not record the version that wrote it");
  if (*format != kFormat || *version != PTPKG_VERSION) {
    return Error(ErrorCode::kUnsupported, fmt::format("'{}' was written by ptpkg {}", file.str(), *version));
  }
  auto state = Decode(*json, file);
  if (!state && state.error().code() != ErrorCode::kCorrupt)
    return DamagedState(file, state.error().message());
  return state;
}

Result<void> WriteWorkState(Fs& fs, const AbsPath& work, const WorkState& state) {
  std::string_view phase;
  for (const auto& [value, name] : kPhases) {
    if (value == state.phase) phase = name;
  }
  return WriteFile(fs, work / "state.json",
                   DumpJson({{"format", kFormat},
                             {"ptpkg", PTPKG_VERSION},
                             {"phase", phase},
                             {"key", state.key},
                             {"subject", state.subject},
                             {"recipe", state.recipe},
                             {"place", state.place},
                             {"boot_id", state.boot_id},
                             {"inputs", state.inputs},
                             {"prepared_ns", state.prepared_ns}}));
}

std::string BootId(Fs& fs) {
  const auto text = ReadFile(fs, AbsPath::Literal("/proc/sys/kernel/random/boot_id"));
  return text ? std::string(Trim(*text)) : "";
}

std::int64_t NowNs(Env& env) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(env.clock.WallNow().time_since_epoch()).count();
}

}  // namespace ptpkg::builder
