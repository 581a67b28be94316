// The directory of `ptpkg dev` outlives its runs, so every run must know whether it can trust it. The file
// state.json has the phase, boot id and place, and dev.json the inputs that the directory was made from. It
// is named after recipe and variant alone, so an edited recipe finds the same directory, and dev.cpp decides
// which steps to repeat.
//
// A missing state means an empty directory. A damaged one, or one that was moved, is reported (`damage_`) and
// starts over, because built files contain their path. I/O errors are neither: they end the run, and nothing
// is lost.
//
// StartOver writes the phase before it removes files: a kill in between leaves a directory that is known to
// be incomplete. A new file of the directory has to be in its list of names.

#include "pipeline/develop/dev_folder.h"

#include <fmt/core.h>

#include "pipeline/stages/build_folder.h"
#include "support/digest/hash.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

using builder::WorkPhase;

// Same length as for build directories: sockets lie below.
constexpr std::size_t kDevNameLength = 16;

Json Encode(const DevState& state) {
  return {{"inputs", state.inputs},
          {"scripts", state.scripts},
          {"origins", state.origins},
          {"source_stamp", state.source_stamp},
          {"source_key", state.source_key},
          {"tools", state.tools},
          {"tool_stamp", state.tool_stamp},
          {"tool_files", state.tool_files},
          {"ran_whole", state.ran_whole ? 1 : 0},
          {"script_ended", state.script_ended ? 1 : 0},
          {"variables", state.place.variables},
          {"preamble", state.place.preamble}};
}

Result<std::map<std::string, std::string>> TextMap(const Json& json, const std::string& name,
                                                   const std::string& where) {
  std::map<std::string, std::string> map;
  if (!json.is_object() || !json.contains(name) || !json.at(name).is_object()) {
    return Error(ErrorCode::kCorrupt, fmt::format("'{}' has no '{}'", where, name));
  }
  for (const auto& [key, value] : json.at(name).items()) {
    if (!value.is_string()) return Error(ErrorCode::kCorrupt, fmt::format("'{}' is damaged", where));
    map.emplace(key, value.get<std::string>());
  }
  return map;
}

Result<DevState> ReadDevState(Fs& fs, const AbsPath& file) {
  PTPKG_TRY(const std::string text, ReadFile(fs, file));
  PTPKG_TRY(const Json json, ParseJson(text, file.str()));
  DevState state;
  PTPKG_TRY(state.inputs, TextMap(json, "inputs", file.str()));
  PTPKG_TRY(state.scripts, TextMap(json, "scripts", file.str()));
  PTPKG_TRY(state.place.variables, TextMap(json, "variables", file.str()));
  PTPKG_TRY(state.place.preamble, JsonString(json, "preamble", file.str()));
  PTPKG_TRY(state.origins, JsonString(json, "origins", file.str()));
  PTPKG_TRY(state.source_stamp, JsonString(json, "source_stamp", file.str()));
  PTPKG_TRY(state.source_key, JsonString(json, "source_key", file.str()));
  PTPKG_TRY(state.tools, JsonString(json, "tools", file.str()));
  PTPKG_TRY(state.tool_stamp, JsonString(json, "tool_stamp", file.str()));
  PTPKG_TRY(state.tool_files, JsonStringsOr(json, "tool_files", {}, file.str()));
  PTPKG_TRY(const std::int64_t ran_whole, JsonInteger(json, "ran_whole", file.str()));
  state.ran_whole = ran_whole != 0;
  PTPKG_TRY(const std::int64_t script_ended, JsonInteger(json, "script_ended", file.str()));
  state.script_ended = script_ended != 0;
  return state;
}

}  // namespace

AbsPath DevFolder::PlaceOf(const Env& env, const recipe::Recipe& recipe) {
  KeyHasher hasher;
  hasher.Add("recipe", recipe.recipe_dir.str()).Add("name", recipe.name);
  for (const auto& [key, value] : recipe.variant) hasher.Add(key, value);
  return env.cache_dir / "dev" / hasher.Finish().Hex().substr(0, kDevNameLength);
}

DevFolder::DevFolder(Env& env, const recipe::Recipe& recipe, Lease lease)
    : env_(&env),
      lease_(std::move(lease)),
      root_(lease_.folder()),
      state_{.subject = recipe.FileStem(), .recipe = recipe.recipe_dir.str(), .place = root_.str()} {}

Result<DevFolder> DevFolder::Take(Env& env, const recipe::Recipe& recipe) {
  PTPKG_TRY(Lease lease, WaitForLease(env, PlaceOf(env, recipe), recipe.FileStem()));
  DevFolder folder(env, recipe, std::move(lease));
  if (!folder.lease_.is_locked()) {
    env.reporter.Warn(fmt::format(
        "'{}' is on a file system without locks: run only one command at a time there", folder.root_.str()));
  }
  PTPKG_CHECK(folder.ReadEarlierState());
  return folder;
}

Result<void> DevFolder::ReadEarlierState() {
  const auto state = builder::ReadWorkState(env_->fs, root_);
  if (!state) {
    if (state.error().code() == ErrorCode::kIo) return state.error();
    if (state.error().code() != ErrorCode::kNotFound) damage_ = state.error().message();
    return Ok();
  }
  if (state->phase == WorkPhase::kStarted) return Ok();
  if (state->place != root_.str()) {
    damage_ = fmt::format("it was created as '{}', and its files contain that path", state->place);
    return Ok();
  }
  auto left = ReadDevState(env_->fs, root_ / "dev.json");
  if (!left && left.error().code() == ErrorCode::kIo) return std::move(left).error();
  if (!left) {
    damage_ = left.error().message();
    return Ok();
  }
  left_ = *std::move(left);
  phase_ = state->phase;
  other_boot_ = state->boot_id.empty() || state->boot_id != builder::BootId(env_->fs);
  state_.prepared_ns = state->prepared_ns;
  return Ok();
}

Result<void> DevFolder::SetPhase(WorkPhase phase) {
  phase_ = phase;
  state_.phase = phase;
  state_.boot_id = builder::BootId(env_->fs);
  if (phase == WorkPhase::kPrepared && state_.prepared_ns == 0) state_.prepared_ns = builder::NowNs(*env_);
  return builder::WriteWorkState(env_->fs, root_, state_);
}

Result<void> DevFolder::Save(const DevState& state) {
  left_ = state;
  return WriteFile(env_->fs, root_ / "dev.json", DumpJson(Encode(state)));
}

Result<void> DevFolder::SaveHostFiles(const std::vector<RelPath>& files) {
  std::string text;
  for (const RelPath& file : files) {
    text += file.str();
    text += '\0';
  }
  return WriteFile(env_->fs, root_ / "host_files", text);
}

Result<std::vector<RelPath>> DevFolder::ReadHostFiles() {
  PTPKG_TRY(const std::string text, ReadFile(env_->fs, root_ / "host_files"));
  std::vector<RelPath> files;
  for (const std::string& name : Split(text, '\0')) {
    if (name.empty()) continue;
    PTPKG_TRY(RelPath path, RelPath::Parse(name));
    files.push_back(std::move(path));
  }
  return files;
}

Result<void> DevFolder::StartOver() {
  left_.reset();
  state_.prepared_ns = 0;
  PTPKG_CHECK(SetPhase(WorkPhase::kStarted));
  for (const char* name : {"d", "dev.json", "sources", "synchronised", "host_files", "entered"}) {
    PTPKG_CHECK(RemoveTree(env_->fs, root_ / name));
  }
  return env_->fs.MakeDirs(path());
}

}  // namespace ptpkg::pipeline
