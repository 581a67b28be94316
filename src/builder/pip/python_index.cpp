// pip decides which wheels meet a requirement: it applies the user's index, proxies and certificates, and the
// tags of the interpreter. A pin needs the digest of the wheel itself, so a question is a `pip download`. The
// wheels go into the download cache under their digests, and the answer is stored under a key of Python
// version and question.
//
// ptpkg uses a stored answer without asking again, so `cmake >=3.27` keeps its meaning until the cache is
// cleaned. The pins enter the build's key: another machine gets the same bytes, or an error with both
// digests.
//
// Invariants: only wheels, because a source distribution would have to be built. No pip cache, because ptpkg
// keeps the files. Each use compares the digest, under a lease.

#include "builder/pip/python_index.h"

#include <algorithm>
#include <fmt/format.h>

#include "builder/resume/work_state.h"
#include "support/files/scratch.h"
#include "support/process/shared_variables.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

constexpr std::string_view kOfflineHint = "run it once without --offline to fill the cache";

std::string KeyOf(const IndexAccess& access, const WheelQuery& ask) {
  KeyHasher hasher;
  hasher.Add("python", access.pip.MinorVersion()).Add("dependencies", ask.dependencies ? "yes" : "no");
  for (const std::string& text : ask.requirements) hasher.Add("requirement", text);
  for (const std::string& text : ask.constraints) hasher.Add("constraint", text);
  return hasher.Finish().Hex();
}

/// "13.0.0, 13.0.1" of "(from versions: 12.9.0rc1, 13.0.0, 13.0.1)": the newest, final ones; "" for none.
std::string VersionsIn(std::string_view output) {
  constexpr std::string_view kMark = "(from versions: ";
  constexpr std::size_t kShown = 24;
  const std::size_t start = output.find(kMark);
  if (start == std::string_view::npos) return "";
  std::string_view list = output.substr(start + kMark.size());
  list = list.substr(0, list.find(')'));
  std::vector<std::string> versions;
  for (const std::string& part : Split(list, ',')) {
    const std::string version(Trim(part));
    // pip does not choose pre-releases by itself, so they would be no advice.
    if (version.find_first_not_of("0123456789.") == std::string::npos && !version.empty())
      versions.push_back(version);
  }
  const std::size_t left_out = versions.size() > kShown ? versions.size() - kShown : 0;
  versions.erase(versions.begin(), versions.begin() + static_cast<std::ptrdiff_t>(left_out));
  return Join(versions, ", ") + (left_out > 0 ? fmt::format(" and {} earlier", left_out) : "");
}

/// "cuda-toolkit==13.9.*" of pip's line about what it did not find.
std::string MissingIn(std::string_view output) {
  constexpr std::string_view kMark = "that satisfies the requirement ";
  const std::size_t start = output.find(kMark);
  if (start == std::string_view::npos) return "";
  std::string_view text = output.substr(start + kMark.size());
  return std::string(Trim(text.substr(0, std::min(text.find(" (from"), text.find('\n')))));
}

/// True if a request failed for good. pip warns of each attempt, and counts down those that are left: the
/// last has "total=0". A warning with a higher count was followed by an answer.
bool HasNetworkFailure(std::string_view output) {
  for (const std::string& line : SplitLines(output)) {
    const std::size_t retry = line.find("Retrying (Retry(total=");
    if (retry != std::string::npos && line.find("(total=0,", retry) == std::string::npos) continue;
    for (const std::string_view mark :
         {"Retrying (", "NewConnectionError", "Connection to ", "ReadTimeout"}) {
      if (line.find(mark) != std::string::npos) return true;
    }
  }
  return false;
}

/// Error for a failure of pip.
Error PipFailed(const WheelQuery& ask, const std::string& output) {
  // pip reports a missing package after network errors too, so these are looked for first.
  if (HasNetworkFailure(output)) {
    return Error(ErrorCode::kNetwork,
                 fmt::format("cannot reach the Python index for {}", fmt::join(ask.requirements, ", ")))
        .WithHint("check pip's own configuration: 'python -m pip config list'");
  }
  const std::string missing = MissingIn(output);
  if (!missing.empty()) {
    const std::string versions = VersionsIn(output);
    const std::string has = versions.empty() ? "no package of that name fits this Python and platform"
                                             : "available versions: " + versions;
    return {ErrorCode::kNotFound, fmt::format("'{}' is not on the Python index: {}", missing, has)};
  }
  std::vector<std::string> lines = SplitLines(Trim(output));
  constexpr std::size_t kShown = 10;
  if (lines.size() > kShown) lines.erase(lines.begin(), lines.end() - kShown);
  return {ErrorCode::kCommandFailed,
          fmt::format("pip could not fetch {}: {}", fmt::join(ask.requirements, ", "), Join(lines, "\n  "))};
}

/// `pip download` into `folder`.
Result<void> Download(Env& env, const Python& pip, const WheelQuery& ask, const AbsPath& folder) {
  const AbsPath constraints = folder / "constraints.txt";
  const AbsPath wheels = folder / "wheels";
  PTPKG_CHECK(env.fs.MakeDirs(wheels));
  Command command;
  command.argv = {pip.executable.str(), "-m", "pip", "download", "--disable-pip-version-check", "--no-input",
                  "--no-color", "--progress-bar", "off",
                  // ptpkg's own cache keeps the files
                  "--no-cache-dir",
                  // a source would have to be built
                  "--only-binary", ":all:", "--dest", wheels.str()};
  if (!ask.dependencies) command.argv.emplace_back("--no-deps");
  if (!ask.constraints.empty()) {
    PTPKG_CHECK(WriteFile(env.fs, constraints, Join(ask.constraints, "\n") + "\n"));
    command.argv.insert(command.argv.end(), {"--constraint", constraints.str()});
  }
  command.argv.insert(command.argv.end(), ask.requirements.begin(), ask.requirements.end());
  command.env = SharedVariables(env);
  command.env["LC_ALL"] = "C.UTF-8";
  command.cancel = &env.cancel;
  Task task(env.reporter, {.stage = "source", .subject = "Python index"});
  command.on_line = [&](std::string_view line) { task.ChildOutput(line); };
  PTPKG_TRY(const ExitStatus status, env.process.Run(command), "while querying the Python index");
  if (!status.ok()) return PipFailed(ask, status.output);
  task.Done();
  return Ok();
}

/// Moves the files of `folder`/wheels to their places in the cache.
Result<std::vector<WheelPin>> Keep(Env& env, const AbsPath& folder) {
  std::vector<WheelPin> pins;
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(folder / "wheels"));
  for (const std::string& name : names) {
    PTPKG_TRY(WheelPin pin, PinFromFileName(name), "while reading the wheels that pip fetched");
    const AbsPath file = folder / "wheels" / name;
    PTPKG_TRY(const Digests digests, HashFile(env.fs, file));
    pin.sha256 = digests.sha256;
    const AbsPath place = env.cache_dir / "downloads" / pin.sha256.Hex();
    PTPKG_TRY([[maybe_unused]] const Lease lease, LeaseCacheDir(env, place));
    PTPKG_CHECK(env.fs.Rename(file, place / name));
    pins.push_back(std::move(pin));
  }
  std::sort(pins.begin(), pins.end(), [](const WheelPin& a, const WheelPin& b) { return a.name < b.name; });
  return pins;
}

Result<std::vector<WheelPin>> Fetch(Env& env, const IndexAccess& access, const WheelQuery& ask) {
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env.fs, env.cache_dir / "wheels", "ask"));
  PTPKG_CHECK(Download(env, access.pip, ask, scratch.path()));
  PTPKG_TRY(std::vector<WheelPin> pins, Keep(env, scratch.path()));
  if (pins.empty()) return Error(ErrorCode::kCommandFailed, "pip succeeded but fetched no wheel");
  return pins;
}

/// The kept answer; nullopt: there is none, or none that can be read.
Result<std::optional<std::vector<WheelPin>>> CachedAnswer(Env& env, const AbsPath& record) {
  using Answer = std::optional<std::vector<WheelPin>>;
  PTPKG_TRY(const bool there, Exists(env.fs, record));
  if (!there) return Answer();
  constexpr std::uint64_t kMaxRecordBytes = 16U << 20U;
  const auto text = ReadFile(env.fs, record, kMaxRecordBytes);
  const auto json = text ? ParseJson(*text, record.str()) : Result<Json>(text.error());
  const auto given = json ? LockedWheelsFromJson(*json, record.str()) : Result<LockedWheels>(json.error());
  if (given) return Answer(given->pins);
  env.reporter.Warn(fmt::format("'{}' is damaged; querying the Python index again", record.str()));
  PTPKG_CHECK(env.fs.Remove(record));
  return Answer();
}

}  // namespace

Result<std::vector<WheelPin>> ResolveFromIndex(Env& env, const IndexAccess& access, const WheelQuery& ask) {
  const AbsPath folder = env.cache_dir / "wheels" / KeyOf(access, ask);
  PTPKG_TRY(const auto kept, CachedAnswer(env, folder / "pins.json"));
  if (kept) {
    // The time of the last use, for `ptpkg cache clean --older-than`. A cache that cannot be written to keeps
    // the old one.
    static_cast<void>(env.fs.SetMtime(folder, NowNs(env)));
    return *kept;
  }
  if (env.offline) {
    return Error(ErrorCode::kNotFound, fmt::format("cannot query the Python index for {} offline",
                                                   fmt::join(ask.requirements, ", ")))
        .WithHint(std::string(kOfflineHint));
  }
  PTPKG_TRY(std::vector<WheelPin> pins, Fetch(env, access, ask));
  PTPKG_CHECK(env.fs.MakeDirs(folder));
  PTPKG_CHECK(WriteFile(env.fs, folder / "pins.json",
                        DumpJson(LockedWheelsToJson({.names = ask.requirements, .pins = pins}))));
  return pins;
}

Result<LeasedWheel> LeaseWheel(Env& env, const IndexAccess& access, const WheelPin& pin) {
  const AbsPath folder = env.cache_dir / "downloads" / pin.sha256.Hex();
  const AbsPath file = folder / pin.file;
  PTPKG_TRY(Lease lease, LeaseCacheDir(env, folder));
  PTPKG_TRY(const bool there, Exists(env.fs, file));
  if (there) {
    PTPKG_TRY(const Digests digests, HashFile(env.fs, file));
    if (digests.sha256 == pin.sha256) return LeasedWheel{.file = file, .lease = std::move(lease)};
    env.reporter.Warn(fmt::format("'{}' in the download cache is damaged; fetching it again", pin.file));
    PTPKG_CHECK(env.fs.Remove(file));
  }
  if (env.offline) {
    return Error(ErrorCode::kNotFound, fmt::format("'{}' of the Python index is not in the cache", pin.file))
        .WithHint(std::string(kOfflineHint));
  }
  const WheelQuery ask{.requirements = {fmt::format("{}=={}", pin.name, pin.version)}, .dependencies = false};
  PTPKG_TRY(const std::vector<WheelPin> fetched, Fetch(env, access, ask));
  if (fetched.front().sha256 != pin.sha256) {
    return Error(ErrorCode::kHashMismatch,
                 fmt::format("the Python index has '{}' with sha256 {}, but the plan has '{}' with {}",
                             fetched.front().file, fetched.front().sha256.Hex(), pin.file, pin.sha256.Hex()))
        .WithHint(
            "plan on a machine with the same Python and platform; if it was this one, drop the old answer: "
            "ptpkg cache clean");
  }
  return LeasedWheel{.file = file, .lease = std::move(lease)};
}

}  // namespace ptpkg::builder
