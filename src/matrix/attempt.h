#pragma once
// One attempt of a job: who works on it, and how it ends. Layer: matrix.
//
//   attempts/N/worker.json   host, process and the engine's job, for people
//   attempts/N/beat          a counter that the worker renews
//   attempts/N/end.json      how it ended; written once
//
// Schedulers start a second attempt while the first still runs, when they lose sight of a machine. So an
// attempt gets its number by making its directory, and takes the job over only from an attempt that has
// ended. One that shows no progress for the time of the lease, measured by the clock of the observer, is
// ended by him: he writes its end.json. Both write that name without replacing, so exactly one of them
// succeeds, and a worker that was ended so publishes nothing.

#include <chrono>
#include <string>

#include "matrix/run_folder.h"

namespace ptpkg::matrix {

/// Ends attempt `number` of a job, whose worker is known to be dead. Does nothing if it has ended. Errors:
/// kIo.
Result<void> EndDeadAttempt(Env& env, const Run& run, const Job& job, std::uint64_t number,
                            const JobRecord& record);

class Attempt {
 public:
  /// Waits until every earlier attempt has ended, or ends it as above, and starts a new one. `worker`: "host
  /// h1, process 4711". Errors: kIo, kCancelled.
  static Result<Attempt> Begin(Env& env, const Run& run, const Job& job, const std::string& worker);

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] const AbsPath& folder() const { return folder_; }

  /// Shows progress. Errors: kRefused when another attempt has ended this one, kCancelled when the run was
  /// cancelled, kIo.
  Result<void> Renew();
  /// Errors: kRefused when another attempt has ended this one; kIo. Any thread.
  [[nodiscard]] Result<void> CheckOpen() const;
  /// Writes how it ended. Errors: kRefused when another attempt has ended this one; kIo.
  Result<void> End(const JobRecord& record);

 private:
  Attempt(Env& env, AbsPath folder, AbsPath cancel_file, std::uint64_t number)
      : env_(&env), folder_(std::move(folder)), cancel_file_(std::move(cancel_file)), number_(number) {}

  Env* env_;
  AbsPath folder_;
  AbsPath cancel_file_;
  std::uint64_t number_;
  std::uint64_t beats_ = 0;
};

}  // namespace ptpkg::matrix
