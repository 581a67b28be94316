#include "support/files/lock_file.h"

#include <chrono>
#include <optional>
#include <string>

namespace ptpkg {

Result<std::unique_ptr<File>> WaitForLock(Env& env, const AbsPath& path, std::string_view subject) {
  // A blocking flock(2) would not see that the run was cancelled.
  constexpr std::chrono::milliseconds kPause{50};
  constexpr std::chrono::milliseconds kUnseen{500};  // usual between the nodes of one run
  // The file is never removed, so two processes can't lock two files of one name.
  auto file = env.fs.Open(path, OpenMode::kCreateNew);
  if (!file && file.error().code() == ErrorCode::kAlreadyExists)
    file = env.fs.Open(path, OpenMode::kReadWrite);
  if (!file) return std::move(file).error();
  std::optional<Task> waiting;
  std::chrono::milliseconds waited{0};
  while (true) {
    PTPKG_TRY(const LockOutcome outcome, (*file)->TryLock(LockKind::kExclusive));
    if (outcome != LockOutcome::kBusy) break;
    if (!waiting && waited >= kUnseen)
      waiting.emplace(env.reporter, TaskInfo{.stage = "wait", .subject = std::string(subject)});
    PTPKG_CHECK(env.cancel.Check());
    env.clock.SleepFor(kPause);
    waited += kPause;
  }
  if (waiting) waiting->Done("another ptpkg was writing there");
  return file;
}

}  // namespace ptpkg
