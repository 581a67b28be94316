// A run can be killed at any moment, and the machine must not keep its settings. Therefore the record of all
// earlier values is on the disk before the first change, and is removed after the last value is back. A lock,
// which ends with its process, shows whether the run of a record is alive.
//
// Invariants: whoever reads or writes the record holds the lock. Changes happen only while the record lists
// them, and go back in reverse order. A restart of the machine resets all of them, so a record of another
// boot counts for nothing.

#include "pipeline/bench/stabilize.h"

#include <cerrno>
#include <fmt/format.h>

#include "builder/resume/work_state.h"
#include "support/files/atomic_file.h"
#include "support/files/locked_file.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

constexpr std::string_view kSmi = "nvidia-smi ";
constexpr std::string_view kRestoreHint = "put the settings back: sudo ptpkg bench --restore";

AbsPath BenchDir() { return AbsPath::Literal("/var/lib/ptpkg"); }
AbsPath BenchRecord() { return BenchDir() / "bench.json"; }

Result<std::unique_ptr<File>> LockMachine(Env& env) {
  const AbsPath path = BenchDir() / "bench.lock";
  PTPKG_CHECK(env.fs.MakeDirs(BenchDir()));
  const auto made = env.fs.Open(path, OpenMode::kCreateNew);
  if (!made && made.error().code() != ErrorCode::kAlreadyExists) return made.error();
  PTPKG_TRY(LockedFile held, TryLockFile(env.fs, path, LockKind::kExclusive));
  if (held.file != nullptr) {
    PTPKG_CHECK(RemoveAbandoned(env.fs, BenchDir()));
    return std::move(held.file);
  }
  return Error(ErrorCode::kRefused, "another 'ptpkg bench --stabilize' is running on this machine")
      .WithHint("wait until it ends");
}

Result<void> WriteRecord(Env& env, const std::vector<Knob>& knobs) {
  Json list = Json::array();
  for (const Knob& knob : knobs)
    list.push_back(
        {{"name", knob.name}, {"place", knob.place}, {"before", knob.before}, {"during", knob.during}});
  return WriteFile(env.fs, BenchRecord(),
                   DumpJson({{"boot_id", builder::BootId(env.fs)}, {"knobs", std::move(list)}}));
}

Result<std::vector<Knob>> ParseRecord(Env& env, const std::string& text) {
  const std::string where = BenchRecord().str();
  std::vector<Knob> knobs;
  PTPKG_TRY(const Json record, ParseJson(text, where));
  PTPKG_TRY(const std::string boot, JsonString(record, "boot_id", where));
  if (boot != builder::BootId(env.fs)) {
    PTPKG_CHECK(env.fs.Remove(BenchRecord()));
    return knobs;
  }
  for (const Json& item : record.value("knobs", Json::array())) {
    Knob knob;
    PTPKG_TRY(knob.name, JsonString(item, "name", where));
    PTPKG_TRY(knob.place, JsonString(item, "place", where));
    PTPKG_TRY(knob.before, JsonString(item, "before", where));
    PTPKG_TRY(knob.during, JsonString(item, "during", where));
    knobs.push_back(std::move(knob));
  }
  return knobs;
}

/// Returns no settings without a record. Removes a record of an earlier boot. Errors: kIo, kInvalidInput.
Result<std::vector<Knob>> ReadRecord(Env& env) {
  const Result<std::string> text = ReadFile(env.fs, BenchRecord());
  if (!text && text.error().code() == ErrorCode::kNotFound) return std::vector<Knob>();
  if (!text) return text.error();
  Result<std::vector<Knob>> knobs = ParseRecord(env, *text);
  if (knobs) return knobs;
  return std::move(knobs).error().WithHint(
      fmt::format("look at the settings with 'ptpkg bench', then: sudo rm {}", BenchRecord().str()));
}

/// Never interrupted: a half-made change is worse than a late end. Errors: kIo, also if the value does not
/// take.
Result<void> PutValue(Env& env, const Knob& knob, const std::string& value) {
  if (knob.place.starts_with(kSmi)) {
    const std::string line = fmt::format("{} {}", knob.place.substr(kSmi.size()), value);
    PTPKG_TRY(const std::string said, RunNvidiaSmi(env, Split(line, ' '), nullptr));
    // It ends with 0 also for a GPU that lacks the setting, and says that it treats this as a warning.
    if (said.find("Treating as warning") == std::string::npos) return Ok();
    return Error(ErrorCode::kIo,
                 fmt::format("'{}{}' changed nothing: {}", kSmi, line, SplitLines(said).front()));
  }
  PTPKG_TRY(const AbsPath path, AbsPath::Parse(knob.place));
  if (!path.IsWithin(AbsPath::Literal(kCpuRoot))) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a setting of a CPU", knob.place));
  }
  if (ReadSysText(env.fs, path) == value) return Ok();
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(path, OpenMode::kReadWrite));
  PTPKG_CHECK(file->Truncate(0));
  PTPKG_CHECK(file->WriteAt(0, AsBytes(value + "\n")));
  PTPKG_CHECK(file->Close());
  const std::string now = ReadSysText(env.fs, path);
  if (now == value) return Ok();
  return Error(ErrorCode::kIo, fmt::format("'{}' was set to '{}', but reads '{}'", knob.place, value, now));
}

/// Tries all of them; removes the record if all are back. Returns the first error.
Result<void> PutBack(Env& env, const std::vector<Knob>& knobs) {
  Result<void> first = Ok();
  for (auto knob = knobs.rbegin(); knob != knobs.rend(); ++knob) {
    Result<void> put = PutValue(env, *knob, knob->before);
    if (!put && first)
      first = std::move(put).error().WithContext("while putting back the machine's settings");
  }
  if (first) return RemoveTree(env.fs, BenchRecord());  // a missing one is not an error
  return std::move(first).error().WithHint(std::string(kRestoreHint));
}

/// The knobs to turn: those that have another value now.
Result<std::vector<Knob>> KnobsToTurn(Env& env, const std::set<int>& cpus,
                                      std::optional<std::uint64_t> gpu_mhz) {
  std::vector<Knob> knobs = ReadCpuKnobs(env.fs, cpus);
  std::erase_if(knobs, [](const Knob& knob) { return knob.before == knob.during; });
  if (!gpu_mhz) return knobs;
  PTPKG_TRY(const std::vector<Gpu> gpus, ReadGpus(env));
  if (gpus.empty()) {
    return Error(ErrorCode::kNotFound, "nvidia-smi lists no GPU whose clock could be locked")
        .WithHint("leave out --gpu-clock");
  }
  for (const Gpu& gpu : gpus) {
    const std::string place = fmt::format("{}-i {}", kSmi, gpu.uuid);
    if (gpu.has_clock_limit) {  // nvidia-smi cannot read which one, so it could not be put back
      return Error(ErrorCode::kRefused, fmt::format("GPU {} has a clock limit already", gpu.index))
          .WithHint(
              fmt::format("leave out --gpu-clock, or remove the limit: {} -rgc; {} -rac", place, place));
    }
    if (!gpu.has_persistence) knobs.push_back({"persistence mode", place, "-pm 0", "-pm 1"});
    knobs.push_back({"SM clock", place, "-rgc", fmt::format("-lgc {0},{0}", *gpu_mhz)});
  }
  return knobs;
}

}  // namespace

Result<StableMachine> StableMachine::Set(Env& env, const std::set<int>& cpus,
                                         std::optional<std::uint64_t> gpu_mhz) {
  PTPKG_TRY(std::unique_ptr<File> lock, LockMachine(env));
  PTPKG_TRY(const std::vector<Knob> left, ReadRecord(env));
  if (!left.empty()) {
    return Error(ErrorCode::kRefused, "a killed 'ptpkg bench --stabilize' left its settings on this machine")
        .WithHint(std::string(kRestoreHint));
  }
  StableMachine machine(env, std::move(lock));
  PTPKG_TRY(machine.changed_, KnobsToTurn(env, cpus, gpu_mhz));
  if (machine.changed_.empty()) return machine;
  Result<void> done = WriteRecord(env, machine.changed_);
  std::vector<Knob> turned;
  for (std::size_t i = 0; done && i < machine.changed_.size(); ++i) {
    const Knob& knob = machine.changed_[i];
    done = PutValue(env, knob, knob.during);
    // A file that refused its value can have a third one; nvidia-smi has then changed nothing, unless it was
    // ended in the middle.
    const bool is_refused = !done && knob.place.starts_with(kSmi) && done.error().sys_errno() != ETIMEDOUT;
    if (!is_refused) turned.push_back(knob);
  }
  if (done) return machine;
  PTPKG_CHECK(PutBack(env, turned), done.error().message());
  return std::move(done).error().WithContext("while setting up the machine; all settings are back");
}

Result<void> StableMachine::Restore() && { return changed_.empty() ? Ok() : PutBack(*env_, changed_); }

Result<std::vector<Knob>> RestoreMachine(Env& env) {
  PTPKG_TRY(const bool has_record, Exists(env.fs, BenchRecord()));
  if (!has_record) return std::vector<Knob>();  // which needs no root
  const Result<std::unique_ptr<File>> lock = LockMachine(env);
  if (!lock) {
    const int number = lock.error().sys_errno();
    if (number != EACCES && number != EPERM) return lock.error();
    return Error(lock.error()).WithHint(std::string(kRestoreHint));
  }
  PTPKG_TRY(std::vector<Knob> knobs, ReadRecord(env));
  if (!knobs.empty()) PTPKG_CHECK(PutBack(env, knobs));
  return knobs;
}

}  // namespace ptpkg::pipeline
