#include "matrix/run_folder.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>

#include "support/digest/hash.h"
#include "support/digest/sealed_json.h"
#include "support/files/mounts.h"
#include "support/files/scratch.h"
#include "support/process/process.h"
#include "support/text/text.h"

namespace ptpkg::matrix {

namespace {

constexpr int kMatrixVersion = 1;

AbsPath DescriptionOf(const AbsPath& folder) { return folder / "run.json"; }

Json DescriptionToJson(const Run& run, const std::string& plan_digest) {
  const RunSettings& settings = run.settings;
  Json body = {{"matrix_version", kMatrixVersion},
               {"key", settings.key},
               {"ptpkg", settings.version},
               {"engine", settings.engine},
               {"plan", plan_digest},
               {"cache", settings.cache.str()},
               {"output", settings.output.str()},
               {"lease_seconds", settings.lease_seconds},
               {"offline", settings.offline},
               {"remote_cache", settings.remote_cache},
               {"remote_cache_read_only", settings.remote_cache_read_only},
               {"engine_settings", settings.engine_settings},
               {"jobs", JobsToJson(run.graph)}};
  return SealJson(std::move(body));
}

/// The body of run.json, once its seal is whole.
Result<Json> ReadBody(Env& env, const AbsPath& folder) {
  const AbsPath file = DescriptionOf(folder);
  const Result<std::string> text = ReadFile(env.fs, file);
  if (!text && text.error().code() == ErrorCode::kNotFound) {
    return Error(ErrorCode::kNotFound, fmt::format("'{}' is not a run of 'ptpkg matrix'", folder.str()))
        .WithHint("start one with 'ptpkg matrix RECIPE --run DIR'");
  }
  if (!text) return Error(text.error());
  PTPKG_TRY(Json json, ParseJson(*text, file.str()));
  if (std::optional<Json> body = OpenSealedJson(std::move(json)); body && body->is_object())
    return *std::move(body);
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' was edited or is damaged", file.str()))
      .WithHint("start a new run with 'ptpkg matrix'");
}

Result<AbsPath> PathOf(const Json& body, const char* key, std::string_view where) {
  PTPKG_TRY(const std::string text, JsonString(body, key, where));
  return AbsPath::Parse(text);
}

/// True if locks in a directory with these mount options reach only this machine.
bool HasOwnLocks(const std::string& options) {
  const std::vector<std::string> words = Split(options, ',');
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "nolock" || word == "local_lock=all" || word == "local_lock=flock" ||
           word == "localflock" || word == "noflock";
  });
}

/// The options of the file system that holds `folder`: of the longest mount point above it.
std::string MountOptions(Env& env, const AbsPath& folder) {
  std::string options;
  std::size_t longest = 0;
  for (const Mount& mount : ReadMounts(env.fs)) {
    const auto point = AbsPath::Parse(mount.point);
    if (!point || !folder.IsWithin(*point) || mount.point.size() < longest) continue;
    longest = mount.point.size();
    options = mount.options;
  }
  return options;
}

/// The number of an attempt's directory; nullopt for another name.
std::optional<std::uint64_t> NumberOf(const std::string& name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number == 0) return std::nullopt;
  return number;
}

/// The JSON in `file`; nullopt while it is missing or cannot be parsed.
Result<std::optional<Json>> ReadIfThere(Env& env, const AbsPath& file) {
  const Result<std::string> text = ReadFile(env.fs, file);
  if (!text && text.error().code() != ErrorCode::kNotFound) return Error(text.error());
  if (!text) return std::optional<Json>();
  auto json = ParseJson(*text, file.str());
  if (!json || !json->is_object()) return std::optional<Json>();
  return std::optional(*std::move(json));
}

Result<AttemptState> ReadAttempt(Env& env, const AbsPath& folder, std::uint64_t number) {
  AttemptState state{.number = number};
  PTPKG_TRY(const std::optional<Json> worker, ReadIfThere(env, folder / "worker.json"));
  if (worker) {
    state.worker = worker->value("worker", "");
    state.started_s = worker->value("started", std::int64_t{0});
  }
  const Result<std::string> beat = ReadFile(env.fs, folder / "beat");
  if (beat) state.beat = *beat;
  PTPKG_TRY(const std::optional<Json> end, ReadIfThere(env, folder / "end.json"));
  if (!end) return state;
  PTPKG_TRY(state.end, JobRecordFromJson(*end, (folder / "end.json").str()));
  return state;
}

Error CannotShare(const AbsPath& folder, const char* why) {
  return Error(ErrorCode::kUnsupported, fmt::format("cannot share '{}': {}", folder.str(), why))
      .WithHint(
          "choose a directory on a file system with locks that all machines see, such as NFS 4 or Lustre "
          "with flock");
}

/// Errors: kAlreadyExists for a directory with files of anybody else.
Result<void> RequireFree(Env& env, const AbsPath& folder) {
  PTPKG_TRY(const bool there, Exists(env.fs, folder));
  if (!there) return Ok();
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(folder));
  // A call that was killed leaves these, and no description.
  const bool is_part = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return name == "jobs" || name == "plan.json" || name == "engine" || name == kLeaseName ||
           IsScratchFileName(name);
  });
  if (is_part) return Ok();
  return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' is not empty", folder.str()))
      .WithHint(fmt::format(
          "continue that run with 'ptpkg matrix resume {}', or choose another directory with --run",
          ShellQuote({folder.str()})));
}

}  // namespace

Result<void> RequireLocks(Env& env, const AbsPath& folder) {
  PTPKG_CHECK(env.fs.MakeDirs(folder));
  {
    PTPKG_TRY(const std::optional<Lease> lease, Lease::Try(env.fs, folder, LockKind::kShared));
    if (lease && !lease->is_locked()) return CannotShare(folder, "its file system has no locks");
  }
  Result<void> removed = env.fs.Remove(folder / kLeaseName);
  // Another process may look at the same directory at this moment.
  if (!removed && removed.error().code() != ErrorCode::kNotFound) return removed;
  if (HasOwnLocks(MountOptions(env, folder)))
    return CannotShare(folder, "other machines do not see its locks");
  return Ok();
}

Result<Lease> LeaseRun(Env& env, const Run& run) {
  constexpr int kTurns = 20;
  const AbsPath folder = run.EngineFolder();
  PTPKG_CHECK(env.fs.MakeDirs(folder));
  for (int turn = 0; turn < kTurns; ++turn) {  // a call of status holds it for a moment
    if (turn > 0) PTPKG_CHECK(SleepUnlessCancelled(env.clock, std::chrono::milliseconds(50), env.cancel));
    PTPKG_TRY(std::optional<Lease> lease, Lease::Try(env.fs, folder, LockKind::kExclusive));
    if (!lease) continue;
    if (!lease->is_locked()) return CannotShare(folder, "its file system has no locks");
    return *std::move(lease);
  }
  return Error(
             ErrorCode::kRefused,
             fmt::format("another 'ptpkg matrix' is starting or running the jobs of '{}'", run.folder.str()))
      .WithHint(fmt::format("wait for its end, or stop its jobs with 'ptpkg matrix cancel {}'",
                            ShellQuote({run.folder.str()})));
}

Result<bool> IsRunLeased(Env& env, const Run& run) {
  PTPKG_TRY(const bool there, Exists(env.fs, run.EngineFolder()));
  if (!there) return false;
  PTPKG_TRY(const std::optional<Lease> lease, Lease::Try(env.fs, run.EngineFolder(), LockKind::kShared));
  return !lease.has_value();
}

Result<Lease> CreateRun(Env& env, const Run& run, const graph::Plan& plan) {
  PTPKG_CHECK(RequireFree(env, run.folder));
  PTPKG_CHECK(RequireLocks(env, run.folder));
  PTPKG_TRY(Lease lease, LeaseRun(env, run));
  PTPKG_CHECK(RequireFree(env, run.folder));  // another call may have written its run meanwhile
  for (const Job& job : run.graph.jobs) PTPKG_CHECK(env.fs.MakeDirs(run.AttemptsFolder(job)));
  const std::string text = DumpJson(graph::PlanToJson(plan));
  PTPKG_CHECK(WriteFile(env.fs, run.PlanFile(), text));
  PTPKG_CHECK(
      WriteFile(env.fs, DescriptionOf(run.folder), DumpJson(DescriptionToJson(run, HashText(text).Hex()))));
  return lease;
}

Result<Run> OpenRun(Env& env, const AbsPath& folder, const std::string& version) {
  PTPKG_TRY(const Json body, ReadBody(env, folder));
  const std::string where = DescriptionOf(folder).str();
  Run run{.folder = folder};
  PTPKG_TRY(run.settings.version, JsonString(body, "ptpkg", where));
  const bool other = body.value("matrix_version", Json(0)) != kMatrixVersion;
  if (other || run.settings.version != version) {
    return Error(ErrorCode::kInvalidInput, fmt::format("the run '{}' is from ptpkg {}, but this is ptpkg {}",
                                                       folder.str(), run.settings.version, version))
        .WithHint("use the ptpkg that started the run, or start a new one with 'ptpkg matrix'");
  }
  PTPKG_TRY(run.settings.key, JsonString(body, "key", where));
  PTPKG_TRY(run.settings.engine, JsonString(body, "engine", where));
  PTPKG_TRY(run.settings.cache, PathOf(body, "cache", where));
  PTPKG_TRY(run.settings.output, PathOf(body, "output", where));
  PTPKG_TRY(const std::int64_t lease, JsonInteger(body, "lease_seconds", where));
  run.settings.lease_seconds = static_cast<std::uint64_t>(std::max<std::int64_t>(1, lease));
  run.settings.offline = body.value("offline", Json(false)) == true;
  run.settings.remote_cache = body.value("remote_cache", "");
  run.settings.remote_cache_read_only = body.value("remote_cache_read_only", Json(false)) == true;
  run.settings.engine_settings = body.value("engine_settings", Json::object());
  PTPKG_TRY(run.graph, JobsFromJson(body.value("jobs", Json()), where));
  return run;
}

Result<graph::Plan> ReadPlan(Env& env, const Run& run) {
  PTPKG_TRY(const Json body, ReadBody(env, run.folder));
  PTPKG_TRY(const std::string text, ReadFile(env.fs, run.PlanFile()));
  if (body.value("plan", "") != HashText(text).Hex()) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' was edited after the run started", run.PlanFile().str()))
        .WithHint("start a new run with 'ptpkg matrix'");
  }
  PTPKG_TRY(const Json json, ParseJson(text, run.PlanFile().str()));
  return graph::PlanFromJson(json, run.PlanFile().str());
}

Result<std::vector<AttemptState>> ReadAttempts(Env& env, const Run& run, const Job& job) {
  std::vector<AttemptState> attempts;
  const AbsPath folder = run.AttemptsFolder(job);
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(folder));
  for (const std::string& name : names) {
    const std::optional<std::uint64_t> number = NumberOf(name);
    if (!number) continue;
    PTPKG_TRY(AttemptState state, ReadAttempt(env, folder / name, *number));
    attempts.push_back(std::move(state));
  }
  std::sort(attempts.begin(), attempts.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return attempts;
}

const AttemptState* PassedAttempt(const std::vector<AttemptState>& attempts) {
  const auto found = std::find_if(attempts.rbegin(), attempts.rend(), [](const AttemptState& attempt) {
    return attempt.end && attempt.end->end == JobEnd::kPassed;
  });
  return found == attempts.rend() ? nullptr : &*found;
}

}  // namespace ptpkg::matrix
